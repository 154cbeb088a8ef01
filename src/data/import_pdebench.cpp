// Four layouts: one dataset `tensor`; a dataset for each field of a gas; a group for each
// trajectory; `velocity` with its components last.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/import_layout.h"
#include "stap/core/error.h"

namespace stap::foreign {

namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

bool has(const Names& datasets, const std::string& name) {
  return std::ranges::find(datasets, name) != datasets.end();
}

// Lengths and interval from coordinates with these names, where they are there and wanted.
void take_coordinates(const fs::path& file, const Names& datasets, const std::string& prefix,
                      const std::string& suffix, const std::string& time, std::size_t times,
                      const ImportOptions& options, ForeignData& data) {
  if (has(datasets, time) && options.dt == 0) data.dt = spacing(file, time, times);
  if (!options.lengths.empty()) return;
  for (std::size_t a = 0; a < data.points.size(); ++a) {
    const std::string name = prefix + "xy"[a] + suffix;
    if (!has(datasets, name)) {
      data.lengths.clear();
      return;
    }
    data.lengths.push_back(spacing(file, name, data.points[a]) *
                           static_cast<double>(data.points[a]));
  }
}

std::vector<std::size_t> shape_of(const fs::path& file, const std::string& dataset,
                                  std::size_t least, std::size_t most, const char* axes) {
  std::vector<std::size_t> shape = read_shape(file, dataset);
  if (shape.size() < least || shape.size() > most)
    fail(file, fmt::format("'{}' has shape {}, expected {}", dataset, shape_text(shape), axes));
  return shape;
}

ForeignData open_tensor(const fs::path& file, const Names& datasets, const ImportOptions& options) {
  const std::vector<std::size_t> shape =
      shape_of(file, "tensor", 3, 4, "N x T x X or N x T x X x Y");
  ForeignData data;
  data.layout = "pdebench, one tensor";
  data.points.assign(shape.begin() + 2, shape.end());
  std::string axes = shape.size() == 3 ? "btx" : "btxy";
  // A line of several channels, where x has a coordinate and y none.
  if (shape.size() == 4 && has(datasets, "x-coordinate") && !has(datasets, "y-coordinate")) {
    axes = "btxc";
    data.points.pop_back();
  }
  take_coordinates(file, datasets, "", "-coordinate", "t-coordinate", shape[1], options, data);
  const std::size_t channels = size_of('c', axes, shape);
  read_by(file, chosen(file, {{"tensor", axes, unnamed_channels(channels)}}, options.fields),
          options, data);
  return data;
}

ForeignData open_gas(const fs::path& file, const Names& datasets, const ImportOptions& options) {
  // In the order of our own equation.
  std::vector<Field> fields;
  for (const char* name : {"density", "Vx", "Vy", "Vz", "pressure"})
    if (has(datasets, name)) fields.push_back({name, "", {name}});
  fields = chosen(file, std::move(fields), options.fields);
  const std::vector<std::size_t> shape =
      shape_of(file, fields[0].dataset, 3, 4, "N x T x X or N x T x X x Y");
  for (Field& field : fields) field.axes = shape.size() == 3 ? "btx" : "btxy";
  ForeignData data;
  data.layout = "pdebench, a dataset for each field";
  data.points.assign(shape.begin() + 2, shape.end());
  take_coordinates(file, datasets, "", "-coordinate", "t-coordinate", shape[1], options, data);
  read_by(file, std::move(fields), options, data);
  return data;
}

ForeignData open_flow(const fs::path& file, const Names& datasets, const ImportOptions& options) {
  const std::vector<std::size_t> shape = shape_of(file, "velocity", 5, 5, "N x T x X x Y x 2");
  std::vector<Field> fields{{"velocity", "btxyc", {"velocity_x", "velocity_y"}}};
  if (has(datasets, "particles")) fields.push_back({"particles", "btxyc", {"particles"}});
  ForeignData data;
  data.layout = "pdebench, velocity";
  data.points = {shape[2], shape[3]};
  if (has(datasets, "force"))
    data.notes.push_back(
        fmt::format("{}: 'force' is left out: it does not vary with time", file.string()));
  take_coordinates(file, datasets, "", "-coordinate", "t", shape[1], options, data);
  read_by(file, chosen(file, std::move(fields), options.fields), options, data);
  return data;
}

// The name of the group in "0007/data".
std::optional<std::string> group_of(const std::string& dataset) {
  const std::size_t slash = dataset.find('/');
  if (slash == std::string::npos || slash == 0 || dataset.substr(slash) != "/data") return {};
  const std::string name = dataset.substr(0, slash);
  return name.find_first_not_of("0123456789") == std::string::npos ? std::optional(name)
                                                                   : std::nullopt;
}

ForeignData open_groups(const fs::path& file, const Names& datasets, const Names& groups,
                        const ImportOptions& options) {
  const std::string first = groups[0] + "/";
  if (!options.fields.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} has no named fields to choose from", file.string()));
  if (!has(datasets, first + "grid/x"))
    fail(file, fmt::format("has '{}data' but no '{}grid/x'", first, first));
  const bool plane = has(datasets, first + "grid/y");
  const std::string axes = plane ? "txy" : "tx";
  const std::vector<std::size_t> shape = shape_of(
      file, first + "data", axes.size(), axes.size() + 1, plane ? "T x X x Y x C" : "T x X x C");
  Field field{first + "data", shape.size() > axes.size() ? axes + "c" : axes, {}};
  field.channels = unnamed_channels(size_of('c', field.axes, shape));
  ForeignData data;
  data.layout = "pdebench, a group for each trajectory";
  data.points.assign(shape.begin() + 1, shape.begin() + static_cast<int>(axes.size()));
  take_coordinates(file, datasets, first + "grid/", "", first + "grid/t", shape[0], options, data);
  data.trajectories = groups.size();
  data.channels = field.channels;
  data.times = strided(shape[0], options.time_stride);
  const Target target{data.times, options.time_stride, data.channels.size(), data.points};
  // Each is looked for by its name: so many in one child are still read in the time it has.
  constexpr std::size_t kMostGroups = 256;
  data.block = std::min(block_of(target.values() * options.time_stride, 1), kMostGroups);
  data.read = [file, groups, axes = field.axes, shape, target](std::size_t begin,
                                                               std::size_t count) {
    const std::size_t values = target.values();
    std::vector<double> states(count * values);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = groups[begin + i] + "/data";
      const Array<double> array = read_array(file, name);
      if (array.shape != shape)
        fail(file, fmt::format("'{}' has shape {}, but '{}/data' has {}", name,
                               shape_text(array.shape), groups[0], shape_text(shape)));
      gather(array, axes, 0, 1, target, 0, std::span(states).subspan(i * values, values));
    }
    return states;
  };
  return data;
}

}  // namespace

ForeignData open_pdebench(const fs::path& file, const ImportOptions& options) {
  const Names datasets = list_datasets(file);
  Names groups;
  for (const std::string& name : datasets)
    if (const auto group = group_of(name)) groups.push_back(*group);
  const bool gas = has(datasets, "density") || has(datasets, "Vx") || has(datasets, "pressure");
  ForeignData data;
  if (!groups.empty())
    data = open_groups(file, datasets, groups, options);
  else if (has(datasets, "tensor"))
    data = open_tensor(file, datasets, options);
  else if (has(datasets, "velocity"))
    data = open_flow(file, datasets, options);
  else if (gas)
    data = open_gas(file, datasets, options);
  else
    fail(file, fmt::format(
                   "has none of the known layouts (t0_fields of The Well; tensor, density, "
                   "velocity or 0000/data of PDEBench; trajectory or states); it has: {}",
                   datasets.empty() ? "no dataset" : fmt::format("{}", fmt::join(datasets, ", "))));
  if (options.dt > 0) data.dt = options.dt;
  return data;
}

}  // namespace stap::foreign
