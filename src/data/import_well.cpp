#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/import_layout.h"
#include "stap/core/error.h"

namespace stap::foreign {

namespace fs = std::filesystem;

namespace {

// Names of a group's datasets, in the order that the file gives them.
std::vector<std::string> fields_of(const fs::path& file, const std::vector<std::string>& datasets,
                                   const std::string& group) {
  std::vector<std::string> there;
  for (const std::string& name : datasets)
    if (name.starts_with(group + "/")) there.push_back(name.substr(group.size() + 1));
  if (there.empty() || !has_attribute(file, group, "field_names")) return there;
  std::vector<std::string> named;
  for (const std::string& name : read_text_list(file, group, "field_names"))
    if (std::ranges::find(there, name) != there.end()) named.push_back(name);
  return named;
}

// "velocity" of a plane has velocity_x and velocity_y; of two indices stress_xx, stress_xy, ...
std::vector<std::string> component_names(const std::string& field,
                                         const std::vector<std::string>& axes, int order) {
  std::vector<std::string> ends{""};
  for (int i = 0; i < order; ++i) {
    std::vector<std::string> longer;
    for (const std::string& end : ends)
      for (const std::string& axis : axes) longer.push_back(end + axis);
    ends = std::move(longer);
  }
  std::vector<std::string> names;
  for (const std::string& end : ends) names.push_back(order == 0 ? field : field + "_" + end);
  return names;
}

void note_boundaries(const fs::path& file, const std::vector<std::string>& datasets,
                     ForeignData& data) {
  const std::string group = "boundary_conditions/", mask = "/mask";
  for (const std::string& name : datasets) {
    if (!name.starts_with(group) || !name.ends_with(mask)) continue;
    const std::string owner = name.substr(0, name.size() - mask.size());
    if (!has_attribute(file, owner, "bc_type")) continue;
    std::string kind = read_text_attribute(file, owner, "bc_type");
    std::ranges::transform(kind, kind.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (kind != "periodic")
      data.notes.push_back(
          fmt::format("{}: the boundary {} is '{}': say in pde.walls which axes have walls",
                      file.string(), owner.substr(group.size()), kind));
  }
}

}  // namespace

ForeignData open_well(const fs::path& file, const ImportOptions& options) {
  const std::vector<std::string> datasets = list_datasets(file);
  const std::vector<std::string> axes = read_text_list(file, "dimensions", "spatial_dims");
  if (axes.empty() || axes.size() > 2)
    fail(file, fmt::format("has {} spatial dimensions, expected 1 or 2", axes.size()));
  ForeignData data;
  data.layout = "the-well";
  if (has_attribute(file, "/", "dataset_name"))
    data.name = read_text_attribute(file, "/", "dataset_name");
  for (const std::string& axis : axes) {
    const std::vector<std::size_t> shape = read_shape(file, "dimensions/" + axis);
    data.points.push_back(shape.empty() ? 1 : shape.back());
  }
  std::vector<Field> fields;
  std::vector<std::string> left_out;
  std::size_t times = 0;
  for (int order = 0; order < 3; ++order) {
    const std::string group = fmt::format("t{}_fields", order);
    for (const std::string& name : fields_of(file, datasets, group)) {
      Field field{group + "/" + name, axes.size() == 1 ? "btx" : "btxy",
                  component_names(name, axes, order)};
      const std::vector<std::size_t> shape = read_shape(file, field.dataset);
      if (shape.size() > field.axes.size())
        field.axes.append(shape.size() - field.axes.size(), 'c');
      // What does not vary with all of them is a coefficient, not a state.
      const bool varies = shape.size() == field.axes.size() &&
                          std::equal(data.points.begin(), data.points.end(), shape.begin() + 2) &&
                          size_of('c', field.axes, shape) == field.channels.size();
      if (!varies) {
        left_out.push_back(name);
        continue;
      }
      times = shape[1];
      fields.push_back(std::move(field));
    }
  }
  if (fields.empty())
    fail(file, fmt::format("has no field that varies with trajectory, time and space; it has: {}",
                           fmt::join(datasets, ", ")));
  if (!left_out.empty() && options.fields.empty())
    data.notes.push_back(
        fmt::format("{}: left out, since they do not vary with trajectory, time "
                    "and space: {}",
                    file.string(), fmt::join(left_out, ", ")));
  note_boundaries(file, datasets, data);
  data.dt = options.dt > 0 ? options.dt : spacing(file, "dimensions/time", times);
  for (std::size_t a = 0; a < axes.size() && options.lengths.empty(); ++a)
    data.lengths.push_back(spacing(file, "dimensions/" + axes[a], data.points[a]) *
                           static_cast<double>(data.points[a]));
  read_by(file, chosen(file, std::move(fields), options.fields), options, data);
  if (std::ranges::find(datasets, "scalars/state_source") != datasets.end() &&
      read_shape(file, "scalars/state_source") ==
          std::vector<std::size_t>{data.trajectories, times}) {
    if (options.time_stride != 1)
      throw Error(ErrorKind::config,
                  fmt::format("{} says what made each of its states, of which some are missing: "
                              "leave --time-stride at 1",
                              file.string()));
    data.sources = [file](std::size_t first, std::size_t count) {
      return read_rows(file, "scalars/state_source", first, count).values;
    };
  }
  return data;
}

}  // namespace stap::foreign
