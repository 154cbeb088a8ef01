#include "study/fixed_files.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/pde/external.h"

namespace stap {
namespace {

// An array of the grid's points, or of channels of them.
std::vector<double> read_field(const char* key, const std::filesystem::path& path, const Grid& grid,
                               bool channels) {
  const Array<double> array = read_npy(path);
  std::vector<std::size_t> points = array.shape;
  if (channels && points.size() == grid.axes() + 1) points.erase(points.begin());
  if (points != grid.points)
    throw Error(ErrorKind::data,
                fmt::format("pde.{}: {} has shape [{}], expected {}[{}] as the grid", key,
                            path.string(), fmt::join(array.shape, ", "),
                            channels ? "channels of " : "", fmt::join(grid.points, ", ")));
  return array.values;
}

}  // namespace

SharedFixedFields read_fixed_fields(const Study& study, const Grid& grid) {
  if (study.pde.row->fields != &external_fields()) return nullptr;
  const ExternalOptions options = study.pde.options.as(external_fields());
  FixedFields fields;
  if (!options.mask.empty())
    for (const double value : read_field("mask", options.mask, grid, false)) {
      if (value != 0.0 && value != 1.0)
        throw Error(ErrorKind::data, fmt::format("pde.mask: {} holds {}, expected 0 and 1 only",
                                                 options.mask.string(), value));
      fields.mask.push_back(value == 1.0);
    }
  if (!fields.mask.empty() && std::ranges::count(fields.mask, 1) == 0)
    throw Error(ErrorKind::config, fmt::format("pde.mask: {} is 0 everywhere, so that there is no "
                                               "state: expected 1 where there is one",
                                               options.mask.string()));
  if (!options.fixed.empty())
    for (const double value : read_field("fixed", options.fixed, grid, true)) {
      fields.channels.push_back(static_cast<float>(value));
      if (!std::isfinite(fields.channels.back()))
        throw Error(ErrorKind::data,
                    fmt::format("pde.fixed: {} holds {}, expected finite numbers of single "
                                "precision",
                                options.fixed.string(), value));
    }
  return make_fixed_fields(grid, std::move(fields));
}

std::string broken_by(const Symmetry& symmetry, const Grid& grid, const FixedFields& fields) {
  Grid one = grid;
  one.channels = 1;
  const StateMap map = make_state_map({symmetry.axes, {{}}, false, {}}, one);
  const auto kept = [&](const auto* values) {
    for (std::size_t p = 0; p < map.from.size(); ++p)
      if (values[map.from[p]] != values[p]) return false;
    return true;
  };
  if (!fields.mask.empty() && !kept(fields.mask.data())) return "the mask";
  for (std::size_t c = 0; c < fields.count(grid); ++c)
    if (!kept(fields.channels.data() + c * grid.points_total()))
      return fmt::format("channel {} of the fixed fields", c);
  return {};
}

}  // namespace stap
