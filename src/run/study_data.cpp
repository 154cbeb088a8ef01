#include "stap/run/study_data.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/isa.h"
#include "stap/core/sha256.h"
#include "stap/core/version.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"
#include "stap/ic/ic.h"
#include "stap/pde/pde.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "hashes are of little-endian values");

// Goes up whenever a solver or sampler is changed so that its numbers change.
constexpr const char* kFormat = "study/1";
// Rows computed between two reports of progress.
constexpr std::size_t kRowsAtOnce = 256;
constexpr std::chrono::hours kStale{24};

struct Sections {
  config::Value effective;  // pde and initial, every field with its value
  config::Choice pde, initial;
};

Sections check_sections(const DataRequest& request) {
  const config::Family families[] = {
      config::named_family("pde", "the equation and its solver", pde_table()),
      config::named_family("initial", "how initial conditions are drawn", sampler_table())};
  config::Value document;
  document.set("pde", request.pde);
  document.set("initial", request.initial);
  config::Problems problems;
  config::Value effective = config::check(families, document, problems);
  if (request.pool == 0) problems.add("pool", "is 0, expected at least one initial condition");
  if (request.test == 0) problems.add("test", "is 0, expected at least one trajectory");
  if (request.steps == 0) problems.add("steps", "is 0, expected at least one step");
  problems.throw_if_any();
  // What passed the check names an entry.
  std::optional<config::Choice> pde = config::choose(families[0], *effective.find("pde"), problems);
  std::optional<config::Choice> initial =
      config::choose(families[1], *effective.find("initial"), problems);
  return {std::move(effective), *std::move(pde), *std::move(initial)};
}

// All that decides about the bits, in one order.
std::string request_text(const DataRequest& request, const Sections& sections) {
  config::Value text;
  text.set("format", kFormat);
  text.set("version", version());
  text.set("instruction_set", to_string(active_isa()));
  text.set("pool", request.pool);
  text.set("test", request.test);
  text.set("steps", request.steps);
  text.set("data_seed", request.data_seed);
  for (const config::Value::Member& section : *sections.effective.map())
    text.set(section.key, section.value);
  return config::yaml_text(text);
}

std::string hash(std::span<const double> values) {
  return sha256_hex(std::as_bytes(values));
}

// Makes the data, with no thought of a cache.
class Maker {
 public:
  Maker(const DataRequest& request, const Sections& sections, const Solver& solver, int threads,
        Observer& observer)
      : request_(request), solver_(solver), observer_(observer) {
    sampler_ =
        sampler_table()[sections.initial.index].make(sections.initial.options, solver.grid());
    if (sampler_->warm_up() > 0) {
      config::Value options = sections.pde.options;
      options.set("dt", sampler_->warm_up());
      warm_up_ = pde_table()[sections.pde.index].make(options, threads);
    }
  }

  States<double> pool() const {
    const Rng stream = Rng(request_.data_seed).split("pool");
    States<double> pool(solver_.grid(), request_.pool);
    for (std::size_t first = 0; first < request_.pool; first += kRowsAtOnce) {
      const std::size_t n = std::min(kRowsAtOnce, request_.pool - first);
      const States<double> part = initial(stream, first, n);
      std::copy(part.values().begin(), part.values().end(), pool.row(first).begin());
      observer_.progress({.phase = "pool", .done = first + n, .total = request_.pool});
    }
    return pool;
  }

  States<double> test() const {
    const Rng stream = Rng(request_.data_seed).split("test");
    const std::size_t times = request_.steps + 1;
    States<double> test(solver_.grid(), request_.test * times);
    for (std::size_t first = 0; first < request_.test; first += kRowsAtOnce) {
      const std::size_t n = std::min(kRowsAtOnce, request_.test - first);
      const States<double> start = initial(stream, first, n);
      for (std::size_t b = 0; b < n; ++b)
        std::copy(start.row(b).begin(), start.row(b).end(), test.row((first + b) * times).begin());
      for (std::size_t step = 0; step < request_.steps; ++step) {
        advance(first, n, step, test);
        observer_.progress({.phase = "test set",
                            .done = first * request_.steps + n * (step + 1),
                            .total = request_.test * request_.steps});
      }
    }
    return test;
  }

 private:
  // Initial conditions first .. first+n-1 of a stream.
  States<double> initial(const Rng& stream, std::size_t first, std::size_t n) const {
    std::vector<std::uint64_t> indices(n);
    std::iota(indices.begin(), indices.end(), first);
    return warm_up_ ? draw_initial(*sampler_, stream, indices, *warm_up_)
                    : draw_states(*sampler_, stream, indices);
  }

  // Step `step` (from 0) of trajectories first .. first+n-1.
  void advance(std::size_t first, std::size_t n, std::size_t step, States<double>& test) const {
    const auto row = [&](std::size_t b) { return (first + b) * (request_.steps + 1) + step; };
    std::vector<Query> queries(n);
    std::vector<Answer> answers(n);
    for (std::size_t b = 0; b < n; ++b)
      queries[b] = {.id = first + b,
                    .state = test.row(row(b)),
                    .time = static_cast<double>(step) * solver_.dt(),
                    .params = {}};
    solver_.solve(queries, answers);
    for (std::size_t b = 0; b < n; ++b) {
      if (answers[b].status != Answer::Status::ok)
        throw Error(ErrorKind::numerics,
                    fmt::format("test trajectory {} was {} at step {} of {}: {}; a test set must "
                                "be whole, so choose other initial conditions or solver options",
                                first + b, to_string(answers[b].status), step + 1, request_.steps,
                                answers[b].reason));
      std::copy(answers[b].state.begin(), answers[b].state.end(), test.row(row(b) + 1).begin());
    }
  }

  const DataRequest& request_;
  const Solver& solver_;
  Observer& observer_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Solver> warm_up_;  // null: initial conditions are used as drawn
};

// Throws Error(data) if the file is not what it should be.
StudyData read_cached(const fs::path& path, const DataRequest& request, const std::string& text,
                      const Grid& grid) {
  const auto expect = [&](bool fits, const char* what) {
    if (!fits)
      throw Error(ErrorKind::data, fmt::format("{}: {} does not fit", path.string(), what));
  };
  expect(read_text_attribute(path, "/", "format") == kFormat, "its format");
  expect(read_text_attribute(path, "/", "request") == text, "what it was made for");
  Trajectories test = read_trajectories(path, grid);
  StudyData data{.pool = read_states(path, grid),
                 .test = std::move(test.states),
                 .test_times = test.times,
                 .pool_sha256 = read_text_attribute(path, "/", "pool_sha256"),
                 .test_sha256 = read_text_attribute(path, "/", "test_sha256")};
  expect(data.pool.count() == request.pool, "the size of the pool");
  expect(data.test_times == request.steps + 1, "the number of steps");
  expect(data.test.count() == request.test * data.test_times, "the size of the test set");
  expect(hash(data.pool.values()) == data.pool_sha256, "the hash of the pool");
  expect(hash(data.test.values()) == data.test_sha256, "the hash of the test set");
  return data;
}

void write_cached(const fs::path& path, const DataRequest& request, const std::string& text,
                  const StudyData& data) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);  // the writer says why it failed
  const Grid& grid = data.pool.grid();
  const auto shape = [&](std::vector<std::size_t> sizes) {
    sizes.push_back(grid.channels);
    sizes.insert(sizes.end(), grid.points.begin(), grid.points.end());
    return sizes;
  };
  ArrayWriter writer(path);
  writer.add_text_attribute("format", kFormat);
  writer.add_text_attribute("request", text);
  writer.add_text_attribute("pool_sha256", data.pool_sha256);
  writer.add_text_attribute("test_sha256", data.test_sha256);
  writer.add("states", shape({request.pool}), data.pool.values());
  writer.add("trajectory", shape({request.test, data.test_times}), data.test.values());
  writer.commit();
}

// What killed processes have left behind. Nothing of this may fail.
void remove_stale(const fs::path& folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string().find(".h5.tmp-") != std::string::npos &&
        now - fs::last_write_time(entry->path(), ignored) > kStale && !ignored)
      fs::remove(entry->path(), ignored);
  }
}

}  // namespace

std::string study_key(const DataRequest& request) {
  const std::string text = request_text(request, check_sections(request));
  return sha256_hex(std::as_bytes(std::span(text)));
}

fs::path cache_folder() {
  if (const char* own = std::getenv("STAP_CACHE"))
    return std::string_view(own) == "off" ? fs::path() : fs::path(own);
  const auto below = [](const char* variable, const char* folder) {
    const char* root = std::getenv(variable);
    return root && *root ? fs::path(root) / folder : fs::path();
  };
  const fs::path shared = below("XDG_CACHE_HOME", "stap");
  return shared.empty() ? below("HOME", ".cache/stap") : shared;
}

StudyData make_study_data(const DataRequest& request, const Solver& solver, int threads,
                          Observer& observer) {
  const Sections sections = check_sections(request);
  const std::string text = request_text(request, sections);
  const fs::path folder = cache_folder();
  const fs::path path = folder / (study_key(request) + ".h5");
  std::error_code error;
  if (!folder.empty()) remove_stale(folder);
  if (!folder.empty() && fs::exists(path, error)) {
    try {
      return read_cached(path, request, text, solver.grid());
    } catch (const Error& problem) {
      if (problem.kind() != ErrorKind::data) throw;
      observer.warning(fmt::format("cached data are made anew: {}", problem.what()));
    }
  }

  const Maker maker(request, sections, solver, threads, observer);
  StudyData data{.pool = maker.pool(), .test = maker.test(), .test_times = request.steps + 1};
  data.pool_sha256 = hash(data.pool.values());
  data.test_sha256 = hash(data.test.values());
  if (!folder.empty()) {
    try {
      write_cached(path, request, text, data);
    } catch (const Error& problem) {
      if (problem.kind() != ErrorKind::storage) throw;
      observer.warning(fmt::format(
          "data are not cached: {}; set STAP_CACHE to a folder, or to 'off'", problem.what()));
    }
  }
  return data;
}

}  // namespace stap
