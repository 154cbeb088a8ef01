#include "stap/data/transitions.h"

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"

namespace stap {
namespace {

constexpr const char* kFormat = "transitions/1";

std::vector<std::size_t> states_shape(const Grid& grid, std::size_t n) {
  std::vector<std::size_t> shape{n, grid.channels};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  return shape;
}

std::vector<std::size_t> read_counts(const std::filesystem::path& path, const char* name,
                                     std::size_t n) {
  const Array<double> array = read_array(path, name);
  std::vector<std::size_t> counts;
  for (double value : array.values) {
    if (!(value >= 0 && value < 9e15))
      throw Error(ErrorKind::data, fmt::format("{}: {} holds {}", path.string(), name, value));
    counts.push_back(static_cast<std::size_t>(value));
  }
  if (counts.size() != n)
    throw Error(ErrorKind::data, fmt::format("{}: {} has {} values, expected {}", path.string(),
                                             name, counts.size(), n));
  return counts;
}

}  // namespace

void write_transitions(const std::filesystem::path& path, const TransitionSet& set) {
  const std::size_t n = set.count();
  std::vector<double> acquisition(n), candidate(n), step(n);
  for (std::size_t i = 0; i < n; ++i) {
    acquisition[i] = static_cast<double>(set.origins[i].acquisition);
    candidate[i] = static_cast<double>(set.origins[i].candidate);
    step[i] = static_cast<double>(set.origins[i].step);
  }
  const std::vector<double> acquisitions{static_cast<double>(set.acquisitions)};
  ArrayWriter writer(path);
  writer.add_text_attribute("format", kFormat);
  if (set.cluster > 1) writer.add_attribute("cluster", static_cast<double>(set.cluster));
  writer.add("acquisitions", {1}, acquisitions);
  writer.add("acquisition", {n}, acquisition);
  writer.add("candidate", {n}, candidate);
  writer.add("step", {n}, step);
  writer.add("inputs", states_shape(set.grid, n), set.inputs);
  writer.add("outputs", states_shape(set.grid, n), set.outputs);
  writer.commit();
}

TransitionSet read_transitions(const std::filesystem::path& path, const Grid& grid,
                               std::size_t cluster) {
  const std::string format = read_text_attribute(path, "/", "format");
  if (format != kFormat)
    throw Error(ErrorKind::data,
                fmt::format("{} has format '{}', expected '{}'", path.string(), format, kFormat));
  TransitionSet set;
  set.grid = grid;
  set.cluster = cluster;
  const double there =
      has_attribute(path, "/", "cluster") ? read_attribute(path, "/", "cluster").values.at(0) : 1.0;
  if (there != static_cast<double>(cluster))
    throw Error(ErrorKind::data, fmt::format("{} holds clusters of {} states, expected {}",
                                             path.string(), there, cluster));
  set.acquisitions = read_counts(path, "acquisitions", 1)[0];
  Array<double> inputs = read_array(path, "inputs"), outputs = read_array(path, "outputs");
  const std::size_t n = inputs.shape.empty() ? 0 : inputs.shape[0];
  if (inputs.shape != states_shape(grid, n) || outputs.shape != inputs.shape)
    throw Error(ErrorKind::data, fmt::format("{} holds states {}, expected {} x {}", path.string(),
                                             shape_text(inputs.shape), n, grid.shape_text()));
  set.inputs = std::move(inputs.values);
  set.outputs = std::move(outputs.values);
  const auto acquisition = read_counts(path, "acquisition", n);
  const auto candidate = read_counts(path, "candidate", n), step = read_counts(path, "step", n);
  for (std::size_t i = 0; i < n; ++i)
    set.origins.push_back({acquisition[i], candidate[i], step[i]});
  return set;
}

}  // namespace stap
