#include <algorithm>

#include <fmt/format.h>

#include "data/import_layout.h"

namespace stap::foreign {

namespace fs = std::filesystem;

// Files of ours: `trajectory`, or `states` as trajectories of one time.
ForeignData open_own(const fs::path& file, const ImportOptions& options) {
  const std::vector<std::string> datasets = list_datasets(file);
  const bool trajectory = std::ranges::find(datasets, "trajectory") != datasets.end();
  const std::string name = trajectory ? "trajectory" : "states";
  const std::string before = trajectory ? "btc" : "bc";
  const std::vector<std::size_t> shape = read_shape(file, name);
  if (shape.size() != before.size() + 1 && shape.size() != before.size() + 2)
    fail(file, fmt::format("'{}' has shape {}, expected {} x C x X...", name, shape_text(shape),
                           trajectory ? "B x T" : "B"));
  Field field{name, before + (shape.size() == before.size() + 1 ? "x" : "xy"), {}};
  field.channels = unnamed_channels(size_of('c', field.axes, shape));
  ForeignData data;
  data.layout = "stap";
  data.points.assign(shape.begin() + static_cast<std::ptrdiff_t>(before.size()), shape.end());
  if (has_attribute(file, "/", "lengths")) {
    const StateInfo info = read_state_info(file);
    data.name = info.equation;
    data.dt = info.dt;
    data.lengths = info.grid.lengths;
  }
  if (options.dt > 0) data.dt = options.dt;
  read_by(file, chosen(file, {field}, options.fields), options, data);
  return data;
}

}  // namespace stap::foreign
