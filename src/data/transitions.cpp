#include "stap/data/transitions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/child_read.h"
#include "stap/config/files.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/hash64.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// The second where parameters vary.
constexpr const char *kTransitionsFormat = "transitions/2", *kVariedFormat = "transitions/3";
constexpr std::int64_t kMostCounted = 9'000'000'000'000'000;

[[noreturn]] void broken(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::data, fmt::format("{} {}", path.string(), why));
}

std::vector<std::size_t> states_shape(const Grid& grid, std::size_t n) {
  std::vector<std::size_t> shape{n, grid.channels};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  return shape;
}

std::vector<std::size_t> read_counts(const fs::path& path, const char* name, std::size_t n) {
  std::vector<std::size_t> counts;
  for (const std::int64_t value : read_integers(path, name).values) {
    if (value < 0 || value >= kMostCounted)
      broken(path, fmt::format("holds {} under {}", value, name));
    counts.push_back(static_cast<std::size_t>(value));
  }
  if (counts.size() != n)
    broken(path, fmt::format("has {} values under {}, expected {}", counts.size(), name, n));
  return counts;
}

std::size_t read_cluster(const fs::path& path) {
  if (!has_attribute(path, "/", "cluster")) return 1;
  const double there = read_attribute(path, "/", "cluster").values.at(0);
  if (!(there >= 1 && there < 1e6 && there == std::floor(there)))
    broken(path, fmt::format("holds clusters of {} states", there));
  return static_cast<std::size_t>(there);
}

RowParameters read_row_parameters(const fs::path& path, std::size_t n) {
  RowParameters rows;
  std::istringstream text(read_text_attribute(path, "/", kParameterNames));
  for (std::string name; std::getline(text, name, ',');) rows.names.push_back(name);
  Array<double> values = read_array(path, kParameters);
  if (values.shape != std::vector<std::size_t>{n, rows.names.size()})
    broken(path, fmt::format("holds parameters {}, expected {} x {}", shape_text(values.shape), n,
                             rows.names.size()));
  rows.values = std::move(values.values);
  if (!std::ranges::all_of(rows.values, [](double v) { return std::isfinite(v); }))
    broken(path, "holds parameters that are not finite");
  return rows;
}

TransitionSet read_set(const fs::path& path, const Grid& grid, std::size_t cluster) {
  TransitionSet set;
  set.grid = grid;
  set.cluster = cluster;
  set.acquisitions = read_counts(path, "acquisitions", 1)[0];
  if (set.acquisitions == 0) broken(path, "holds no acquisition");
  Array<double> inputs = read_array(path, "inputs"), outputs = read_array(path, "outputs");
  const std::size_t n = inputs.shape.empty() ? 0 : inputs.shape[0];
  if (inputs.shape != states_shape(grid, n) || outputs.shape != inputs.shape)
    broken(path, fmt::format("holds states {}, expected {} x {}", shape_text(inputs.shape), n,
                             grid.shape_text()));
  set.inputs = std::move(inputs.values);
  set.outputs = std::move(outputs.values);
  const auto acquisition = read_counts(path, "acquisition", n);
  const auto candidate = read_counts(path, "candidate", n);
  const auto step = read_counts(path, "step", n);
  if (!std::is_sorted(acquisition.begin(), acquisition.end()) ||
      (n > 0 && acquisition.back() >= set.acquisitions))
    broken(path, "holds acquisitions that do not follow each other");
  for (std::size_t i = 0; i < n; ++i)
    set.origins.push_back({acquisition[i], candidate[i], step[i]});
  return set;
}

}  // namespace

void drop_last_acquisition(TransitionSet& set) {
  --set.acquisitions;
  while (!set.origins.empty() && set.origins.back().acquisition == set.acquisitions)
    set.origins.pop_back();
  set.parameters.values.resize(set.count() * set.parameters.names.size());
  set.inputs.resize(set.count() * set.grid.values());
  set.outputs.resize(set.count() * set.grid.values());
}

std::string digest(const TransitionSet& set) {
  std::vector<std::uint64_t> all{set.acquisitions};
  for (const Provenance& origin : set.origins)
    all.insert(all.end(), {origin.acquisition, origin.candidate, origin.step});
  for (const std::vector<double>* values : {&set.inputs, &set.outputs})
    all.push_back(hash64(std::as_bytes(std::span(*values))));
  if (!set.parameters.names.empty())
    all.push_back(hash64(std::as_bytes(std::span(set.parameters.values))));
  return fmt::format("{:016x}", hash64(std::as_bytes(std::span(all))));
}

void write_transitions(const fs::path& path, const TransitionSet& set, const std::string& run) {
  const std::size_t n = set.count();
  std::vector<std::int64_t> acquisition, candidate, step;
  for (const Provenance& origin : set.origins) {
    acquisition.push_back(static_cast<std::int64_t>(origin.acquisition));
    candidate.push_back(static_cast<std::int64_t>(origin.candidate));
    step.push_back(static_cast<std::int64_t>(origin.step));
  }
  const std::vector<std::int64_t> acquisitions{static_cast<std::int64_t>(set.acquisitions)};
  ArrayWriter writer(path);
  const auto& [names, values] = set.parameters;
  writer.add_text_attribute("format", names.empty() ? kTransitionsFormat : kVariedFormat);
  if (!run.empty()) writer.add_text_attribute("run", run);
  writer.describe({set.equation, frame_grid(set.grid, set.cluster), set.dt});
  if (set.cluster > 1) writer.add_attribute("cluster", static_cast<double>(set.cluster));
  writer.add_integers("acquisitions", {1}, acquisitions);
  writer.add_integers("acquisition", {n}, acquisition);
  writer.add_integers("candidate", {n}, candidate);
  writer.add_integers("step", {n}, step);
  writer.add("inputs", states_shape(set.grid, n), set.inputs);
  writer.add("outputs", states_shape(set.grid, n), set.outputs);
  if (!names.empty()) {
    writer.add_text_attribute(kParameterNames, fmt::format("{}", fmt::join(names, ",")));
    writer.add(kParameters, {n, names.size()}, values);
  }
  writer.commit();
}

TransitionSet read_transitions(const fs::path& path) {
  return h5::guarded(path, [&] {
    const std::string format = read_text_attribute(path, "/", "format");
    if (format != kVariedFormat) check_format(format, kTransitionsFormat, path);
    const StateInfo info = read_state_info(path);
    const std::size_t cluster = read_cluster(path);
    TransitionSet set = read_set(path, cluster_grid(info.grid, cluster), cluster);
    if (format == kVariedFormat) set.parameters = read_row_parameters(path, set.count());
    set.equation = info.equation;
    set.dt = info.dt;
    return set;
  });
}

}  // namespace stap
