#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "data/import_layout.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap::foreign {

namespace fs = std::filesystem;

namespace {

// As states and trajectories are everywhere here, unless told otherwise.
std::string usual_axes(const fs::path& file, std::span<const std::size_t> shape, bool times) {
  const std::string before = times ? "btc" : "bc";
  if (shape.size() != before.size() + 1 && shape.size() != before.size() + 2)
    throw Error(ErrorKind::data,
                fmt::format("{} has shape {}, expected {} x C x X or {} x C x X x Y; say what its "
                            "axes are by --layout, for example {}",
                            file.string(), shape_text(shape), times ? "B x T" : "B",
                            times ? "B x T" : "B", times ? "btx" : "bx"));
  return before + (shape.size() == before.size() + 1 ? "x" : "xy");
}

void check_axes(const fs::path& file, const std::string& axes, std::span<const std::size_t> shape) {
  const bool known = std::ranges::all_of(axes, [&](char axis) {
    return std::string_view("btcxy").find(axis) != std::string_view::npos &&
           std::ranges::count(axes, axis) == 1;
  });
  if (!known || axes.find('x') == std::string::npos)
    throw Error(ErrorKind::config,
                fmt::format("--layout is '{}', expected letters of b (trajectories), t, c "
                            "(channels), x and y, each at most once, and x",
                            axes));
  if (axes.size() != shape.size())
    throw Error(ErrorKind::config,
                fmt::format("--layout is '{}', but {} has shape {}: one letter an axis", axes,
                            file.string(), shape_text(shape)));
}

}  // namespace

ForeignData open_npy(const fs::path& file, const ImportOptions& options, bool times) {
  if (!options.fields.empty())
    throw Error(ErrorKind::config,
                fmt::format("--field is for files of named fields, {} has none", file.string()));
  const auto array = std::make_shared<const Array<double>>(read_npy(file));
  const std::string axes =
      options.layout.empty() ? usual_axes(file, array->shape, times) : options.layout;
  check_axes(file, axes, array->shape);
  const auto is = [&](char axis) { return size_of(axis, axes, array->shape); };
  ForeignData data;
  data.layout = "npy " + axes;
  data.points = {is('x')};
  if (axes.find('y') != std::string::npos) data.points.push_back(is('y'));
  const std::size_t channels = is('c');
  data.channels = unnamed_channels(channels);
  data.trajectories = is('b');
  data.times = strided(is('t'), options.time_stride);
  if (array->values.empty()) fail(file, fmt::format("has shape {}", shape_text(array->shape)));
  const Target target{data.times, options.time_stride, channels, data.points};
  data.read = [array, axes, target](std::size_t first, std::size_t count) {
    std::vector<double> states(count * target.values());
    gather(*array, axes, first, count, target, 0, states);
    return states;
  };
  return data;
}

}  // namespace stap::foreign
