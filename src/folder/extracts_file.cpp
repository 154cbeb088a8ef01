// extracts.h5 of a run folder.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"
#include "stap/folder/run_folder.h"

namespace stap {
namespace {

constexpr const char* kExtractsFormat = "extracts/1";
constexpr ExtractKind kKinds[] = {ExtractKind::best, ExtractKind::median, ExtractKind::worst};

std::vector<double> doubles(const std::vector<Extract>& rollouts, std::vector<float> Extract::*of) {
  std::vector<double> values;
  for (const Extract& e : rollouts) values.insert(values.end(), (e.*of).begin(), (e.*of).end());
  return values;
}

template <class T>
std::vector<T> numbers(const Array<double>& array) {
  std::vector<T> values;
  for (double v : array.values) values.push_back(static_cast<T>(v));
  return values;
}

}  // namespace

void RunFolder::write_extracts(const RunExtracts& extracts, const char* name) const {
  const Extracts& e = extracts.extracts;
  const Grid& grid = extracts.states.grid;
  const std::size_t n = e.rollouts.size();
  std::vector<std::size_t> shape{n, e.times.size(), grid.channels};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  const std::vector<std::int64_t> times(e.times.begin(), e.times.end());
  std::vector<std::int64_t> kinds, trajectories;
  std::vector<double> rmse;
  for (const Extract& one : e.rollouts) {
    kinds.push_back(static_cast<std::int64_t>(one.kind));
    trajectories.push_back(static_cast<std::int64_t>(one.trajectory));
    rmse.push_back(one.rmse);
  }
  const std::vector<double> truth = doubles(e.rollouts, &Extract::truth);
  const std::vector<double> mean = doubles(e.rollouts, &Extract::mean);
  ArrayWriter writer(path_ / name);
  writer.add_text_attribute("format", kExtractsFormat);
  writer.add_text_attribute("run", run());
  writer.describe(extracts.states);
  writer.add_attribute("round", static_cast<double>(extracts.round));
  if (n > 0) {
    writer.add_integers("times", {times.size()}, times);
    writer.add_integers("kind", {n}, kinds);
    writer.add_integers("trajectory", {n}, trajectories);
    writer.add("rmse", {n}, rmse);
    writer.add("truth", shape, truth);
    writer.add("mean", shape, mean);
  }
  const Calibration& c = e.calibration;
  if (c.trajectories > 0) {
    const std::vector<std::size_t> pairs{c.trajectories, c.steps};
    writer.add("calibration_spread", pairs, c.spread);
    writer.add("calibration_mean_error", pairs, c.mean_error);
    writer.add("calibration_member_error", pairs, c.member_error);
  }
  writer.commit();
}

RunExtracts RunFolder::read_extracts(const char* name) const {
  const std::filesystem::path path = path_ / name;
  const auto damaged = [&](const std::string& what) {
    return Error(ErrorKind::data, fmt::format("{}: {}", path.string(), what));
  };
  check_seal(path, Sealed::always);
  check_format(read_text_attribute(path, "/", "format"), kExtractsFormat, path);
  check_run(read_text_attribute(path, "/", "run"), path.string());
  RunExtracts result{.round = 0, .extracts = {}, .states = read_state_info(path)};
  result.round = static_cast<std::size_t>(read_attribute(path, "/", "round").values.at(0));
  Extracts& e = result.extracts;
  const std::vector<std::string> there = list_datasets(path);
  const auto has = [&](const char* dataset) { return std::ranges::count(there, dataset) > 0; };
  if (has("truth")) {
    e.times = numbers<std::size_t>(read_array(path, "times"));
    const auto kinds = numbers<std::size_t>(read_array(path, "kind"));
    const auto trajectories = numbers<std::size_t>(read_array(path, "trajectory"));
    const Array<double> rmse = read_array(path, "rmse");
    const auto truth = numbers<float>(read_array(path, "truth"));
    const auto mean = numbers<float>(read_array(path, "mean"));
    const std::size_t n = kinds.size(), values = e.times.size() * result.states.grid.values();
    if (trajectories.size() != n || rmse.values.size() != n || truth.size() != n * values ||
        mean.size() != n * values || std::ranges::any_of(kinds, [](auto k) { return k > 2; }))
      throw damaged("its rollouts do not fit each other");
    for (std::size_t i = 0; i < n; ++i) {
      const auto part = [&](const std::vector<float>& all) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i * values);
        return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(values));
      };
      e.rollouts.push_back(
          {kKinds[kinds[i]], trajectories[i], rmse.values[i], part(truth), part(mean)});
    }
  }
  if (has("calibration_spread")) {
    Calibration& c = e.calibration;
    const Array<double> spread = read_array(path, "calibration_spread");
    if (spread.shape.size() != 2) throw damaged("its calibration is no table");
    c = {.trajectories = spread.shape[0], .steps = spread.shape[1], .spread = spread.values};
    c.mean_error = read_array(path, "calibration_mean_error").values;
    c.member_error = read_array(path, "calibration_member_error").values;
    if (c.mean_error.size() != c.spread.size() || c.member_error.size() != c.spread.size())
      throw damaged("its calibration does not fit together");
  }
  return result;
}

}  // namespace stap
