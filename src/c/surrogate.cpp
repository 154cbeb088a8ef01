// Functions that C can call: arguments are checked, exceptions become texts, nothing else is here.
#include "stap/c/surrogate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "stap/core/error.h"
#include "stap/core/version.h"
#include "stap/eval/predicted_bars.h"
#include "stap/eval/rollout.h"
#include "stap/folder/bars_of.h"
#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"

struct stap_surrogate {
  std::mutex lock{};  // a committee is used by one thread at a time
  stap::Surrogate model{};
  std::optional<stap::ErrorBars> bars{};
  std::string no_bars{};
  std::string text{};
};

namespace stap {
namespace {

constexpr std::size_t kRowsOfCall = 64;

// Runs what may throw.
template <class Body>
int guarded(char* why, std::size_t why_size, const Body& body) {
  const auto failed = [&](int kind, std::string_view text) {
    if (why != nullptr && why_size > 0) {
      const std::size_t n = std::min(text.size(), why_size - 1);
      std::memcpy(why, text.data(), n);
      why[n] = '\0';
    }
    return kind;
  };
  try {
    body();
    return 0;
  } catch (const Error& error) {
    return failed(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(static_cast<int>(ErrorKind::unavailable), "there is not enough memory");
  } catch (const std::exception& error) {
    return failed(static_cast<int>(ErrorKind::internal), error.what());
  } catch (...) {
    return failed(static_cast<int>(ErrorKind::internal), "an error of an unknown kind");
  }
}

void check(bool good, const std::string& otherwise) {
  if (!good) throw Error(ErrorKind::config, otherwise);
}
// A pointer that must be there.
void check_given(const void* pointer, std::string_view name) {
  check(pointer != nullptr, fmt::format("'{}' is NULL", name));
}

ComputeOptions compute_of(const char* device) {
  using Device = ComputeOptions::Device;
  const std::string_view name = device == nullptr ? "auto" : device;
  for (const auto& [known, means] :
       {std::pair("auto", Device::automatic), std::pair("cpu", Device::cpu),
        std::pair("cuda", Device::cuda)})
    if (name == known) return {.device = means};
  throw Error(ErrorKind::config, fmt::format("device '{}', expected cpu, cuda or auto", name));
}

// What the file does not say of the problem, the run does.
void complete_problem(const std::filesystem::path& given, Surrogate& model) {
  const RunFolder folder(given);
  std::error_code missing;
  if (!std::filesystem::exists(folder.manifest_file(), missing)) return;
  const Manifest manifest = folder.read_manifest();
  const config::Value* dt = manifest.identity.find("dt");
  model.problem = {identity_text(manifest, "name"),
                   channel_names(manifest, model.grid().channels / model.cluster),
                   dt != nullptr ? dt->real().value_or(0.0) : 0.0};
}

config::Value about(const stap_surrogate& opened, const std::string& warning,
                    const std::string& device) {
  const Surrogate& model = opened.model;
  const Grid& grid = model.grid();
  const std::size_t channels = grid.channels / model.cluster;
  config::Value text;
  text.set("problem", model.problem.name);
  text.set("channels",
           config::list_of(model.problem.channels.size() == channels ? model.problem.channels
                                                                     : unnamed_channels(channels)));
  text.set("points", config::list_of(grid.points));
  text.set("lengths", config::list_of(grid.lengths));
  text.set("walls", config::list_of(wall_names(grid)));
  text.set("dt", model.problem.dt > 0 ? config::Value(model.problem.dt) : config::Value());
  text.set("members", model.committee->members());
  text.set("cluster", model.cluster);
  const ConditionInputs& told = model.committee->told();
  text.set("horizon", told.time ? config::Value(told.horizon) : config::Value());
  config::Value::List parameters;
  for (const ParameterDraw& draw : told.parameters) {
    config::Value row;
    row.set("name", draw.name);
    row.set("least", draw.least());
    row.set("greatest", draw.greatest());
    parameters.push_back(std::move(row));
  }
  text.set("parameters", std::move(parameters));
  config::Value bars;
  if (opened.bars) {
    bars.set("level", opened.bars->level);
    bars.set("steps", opened.bars->steps);
    bars.set("trajectories", opened.bars->trajectories);
  }
  text.set("bars", std::move(bars));
  text.set("no_bars", opened.no_bars);
  text.set("warning", warning.empty() ? config::Value() : config::Value(warning));
  text.set("device", device);
  return text;
}

// The rows of a call in single precision, and what they depend on.
struct Rows {
  States<float> states;
  ConditionsView conditions;
};
Rows rows_of(const stap_surrogate& opened, std::size_t rows, std::size_t calls,
             const double* states, const std::uint32_t* first, const double* parameters) {
  const Grid& grid = opened.model.grid();
  const std::vector<ParameterDraw>& draws = opened.model.committee->told().parameters;
  const std::size_t count = draws.size();
  check(rows > 0 && calls > 0,
        fmt::format("{} rows and {} calls, expected at least 1 of each", rows, calls));
  std::size_t total = grid.values() * sizeof(double);
  check(!__builtin_mul_overflow(total, rows, &total) &&
            !__builtin_mul_overflow(total, calls + opened.model.cluster, &total),
        fmt::format("{} rows of {} calls are more values than there can be", rows, calls));
  check_given(states, "states");
  if (count > 0) check_given(parameters, "parameters");
  for (std::size_t i = 0; i < rows * count; ++i) {
    const ParameterDraw& draw = draws[i % count];
    const bool logarithm = draw.kind == ParameterDraw::Kind::log;
    check(std::isfinite(parameters[i]) && (!logarithm || parameters[i] > 0),
          fmt::format("parameter {} of row {} is {}, expected a finite number{}", draw.name,
                      i / count, parameters[i], logarithm ? " above 0" : ""));
  }
  Rows made{States<float>(grid, rows), {}};
  convert(std::span(states, rows * grid.values()), made.states.values());
  if (first != nullptr) made.conditions.steps = {first, rows};
  if (count > 0) {
    made.conditions.parameters = {parameters, rows * count};
    made.conditions.count = count;
  }
  return made;
}

}  // namespace
}  // namespace stap

using stap::check;
using stap::check_given;
using stap::Error;
using stap::ErrorKind;
using stap::guarded;

const char* stap_library_version(void) {
  static const std::string text(stap::version());
  return text.c_str();
}

int stap_surrogate_open(const char* path, const char* device, int threads, stap_surrogate** opened,
                        char* why, size_t why_size) {
  return guarded(why, why_size, [&] {
    check_given(path, "path");
    check_given(opened, "opened");
    check(threads >= 0, fmt::format("{} threads, expected 0 (all cores) or more", threads));
    const stap::ComputeOptions compute = stap::compute_of(device);
    auto made = std::make_unique<stap_surrogate>();
    made->model = stap::load_surrogate(stap::model_of(path), compute, threads);
    std::string warning;
    if (std::filesystem::is_directory(path)) {
      stap::complete_problem(path, made->model);
      warning = stap::about_older_networks(path);
    }
    stap::FoundBars found = stap::find_bars(path);
    made->bars = std::move(found.bars);
    made->no_bars = std::move(found.absent);
    made->text = stap::config::json_text(
        stap::about(*made, warning, stap::device_text(compute, made->model.engine->spec().family)),
        0);
    *opened = made.release();
  });
}

void stap_surrogate_close(stap_surrogate* surrogate) {
  delete surrogate;
}

stap_surrogate_sizes stap_surrogate_about(const stap_surrogate* surrogate) {
  if (surrogate == nullptr) return {};
  const stap::Surrogate& model = surrogate->model;
  return {.values = model.grid().values(),
          .channels = model.grid().channels / model.cluster,
          .parameters = model.committee->told().parameters.size(),
          .members = model.committee->members(),
          .cluster = static_cast<int>(model.cluster)};
}

const char* stap_surrogate_text(const stap_surrogate* surrogate) {
  return surrogate == nullptr ? "" : surrogate->text.c_str();
}

int stap_surrogate_rollout(stap_surrogate* surrogate, int member, size_t rows, size_t calls,
                           const double* states, const uint32_t* first, const double* parameters,
                           double* made, char* why, size_t why_size) {
  return guarded(why, why_size, [&] {
    check_given(surrogate, "surrogate");
    check_given(made, "made");
    const std::lock_guard<std::mutex> mine(surrogate->lock);
    stap::Committee& committee = *surrogate->model.committee;
    check(member == STAP_SURROGATE_MEAN || (member >= 0 && member < committee.members()),
          fmt::format("there is no member {}: expected 0 to {}, or -1 for the averaged model",
                      member, committee.members() - 1));
    const stap::Rows from = stap::rows_of(*surrogate, rows, calls, states, first, parameters);
    const std::size_t values = surrogate->model.grid().values();
    stap::roll_out(
        committee, from.states.view(), member == STAP_SURROGATE_MEAN ? stap::kMean : member, calls,
        stap::kRowsOfCall,
        [&](std::size_t call, std::size_t row, stap::StatesView<const float> block) {
          for (std::size_t r = 0; r < block.count; ++r)
            stap::convert(block.row(r),
                          std::span(made + ((row + r) * calls + call) * values, values));
        },
        from.conditions);
  });
}

int stap_surrogate_bars(stap_surrogate* surrogate, int anywhere, size_t rows, size_t calls,
                        const double* states, const double* parameters, double* all,
                        double* channels, double* bands, size_t* unlike, char* why,
                        size_t why_size) {
  return guarded(why, why_size, [&] {
    check_given(surrogate, "surrogate");
    check_given(all, "all");
    check_given(channels, "channels");
    if (!surrogate->bars) throw Error(ErrorKind::data, surrogate->no_bars);
    const std::lock_guard<std::mutex> mine(surrogate->lock);
    const stap::Rows from = stap::rows_of(*surrogate, rows, calls, states, nullptr, parameters);
    const stap::PredictedBars bars = stap::predict_bars(
        *surrogate->model.committee, from.states.view(), calls, *surrogate->bars,
        {.from_any = anywhere != 0, .bands = bands != nullptr, .block = stap::kRowsOfCall},
        from.conditions);
    std::ranges::copy(bars.all, all);
    std::ranges::copy(bars.channels, channels);
    if (bands != nullptr) std::ranges::copy(bars.bands, bands);
    if (unlike != nullptr) *unlike = bars.unlike;
  });
}

int stap_export_model(const char* run, long round, const char* path, char* why, size_t why_size) {
  return guarded(why, why_size, [&] {
    check_given(run, "run");
    check_given(path, "path");
    check(round >= -1, fmt::format("round {}, expected 0 or more, or -1 for the newest", round));
    stap::write_model(
        path, stap::standalone_model(
                  run, round < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(round))));
  });
}

int stap_read_config(const char* run, char** json, char* why, size_t why_size) {
  return guarded(why, why_size, [&] {
    check_given(run, "run");
    check_given(json, "json");
    const std::string text = stap::config::json_text(stap::RunFolder(run).read_config(), 0);
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *json = copy;
  });
}

void stap_free(char* text) {
  std::free(text);
}

uint32_t stap_checksum(const void* bytes, size_t size) {
  return stap::crc32c({static_cast<const std::byte*>(bytes), size});
}
