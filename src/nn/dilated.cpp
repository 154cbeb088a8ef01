#include "stap/nn/dilated.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "nn/bodies.h"
#include "nn/families.h"
#include "stap/core/error.h"

namespace stap {
namespace {

// Two taps of a convolution must never be one point.
void check_reach(const DilatedOptions& options, const Grid& grid) {
  const std::size_t points = std::ranges::min(grid.points);
  const auto refuse = [&](const std::string& what) {
    throw Error(
        ErrorKind::config,
        fmt::format("{}, but an axis of the grid {} has {} points: expected fewer to either "
                    "side than that; give smaller dilations or fewer taps",
                    what, grid.shape_text(), points));
  };
  if (options.reach(1) >= points)
    refuse(fmt::format("network.taps is {}, which reaches {} points to either side", options.taps,
                       options.reach(1)));
  for (std::size_t i = 0; i < options.dilations.size(); ++i)
    if (const std::size_t reach = options.reach(options.dilations[i]); reach >= points)
      refuse(
          fmt::format("network.dilations[{}] is {}, which with {} taps reaches {} points to "
                      "either side",
                      i, options.dilations[i], options.taps, reach));
}

config::AnyOptions fitted_dilated(const NetworkSpec& spec) {
  const DilatedOptions options = spec.family.options.as(dilated_fields());
  if (options.taps % 2 == 0)
    throw Error(ErrorKind::config,
                fmt::format("network.taps is {}, expected an odd number: a point and as many to "
                            "either side",
                            options.taps));
  if (options.width == 0 || options.blocks == 0 || options.dilations.empty() ||
      std::ranges::min(options.dilations) == 0)
    throw Error(ErrorKind::config,
                fmt::format("a dilated network of width {}, {} blocks and {} dilations, expected "
                            "at least 1 of each, and no dilation of 0",
                            options.width, options.blocks, options.dilations.size()));
  check_reach(options, spec.body_grid());
  return any_options(dilated_fields(), options);
}

}  // namespace

const config::Fields<DilatedOptions>& dilated_fields() {
  using config::between;
  static const config::Fields<DilatedOptions> fields{
      {"width", &DilatedOptions::width, "channels of the hidden layers", between(1, 4096)},
      {"blocks", &DilatedOptions::blocks, "number of residual blocks", between(1, 256)},
      {"dilations", &DilatedOptions::dilations,
       "how many points the taps of each convolution of a block are apart",
       between(1, 65536).length(1, 64)},
      {"taps", &DilatedOptions::taps,
       "points that a convolution looks at along each axis, an odd number", between(1, 15)},
  };
  return fields;
}

config::Choice<FamilyRow> dilated(const DilatedOptions& options) {
  return {family_table().find("dilated"), any_options(dilated_fields(), options)};
}

std::vector<TensorPlan> dilated_tensors(const NetworkSpec& spec) {
  using Draw = TensorPlan::Draw;
  const DilatedOptions o = spec.family.options.as(dilated_fields());
  std::vector<TensorPlan> tensors;
  const auto convolution = [&](const std::string& name, std::size_t out, std::size_t in) {
    std::vector<std::size_t> shape{out, in};
    double terms = static_cast<double>(in);
    for (std::size_t axis = 0; axis < spec.grid.axes(); ++axis) {
      shape.push_back(o.taps);
      terms *= static_cast<double>(o.taps);
    }
    const double bound = 1.0 / std::sqrt(terms);
    tensors.push_back({name + ".weight", shape, Draw::uniform, bound});
    tensors.push_back({name + ".bias", {out}, Draw::uniform, bound});
    // At first nothing is shifted.
    if (spec.shifts() > 0)
      tensors.push_back({name + ".shifts", {out, spec.shifts()}, Draw::uniform, 0.0});
  };
  convolution("lifting", o.width, spec.in_channels());
  for (std::size_t b = 0; b < o.blocks; ++b)
    for (std::size_t d = 0; d < o.dilations.size(); ++d)
      convolution(fmt::format("blocks.{}.{}", b, d), o.width, o.width);
  convolution("projection", spec.out_channels(), o.width);
  return tensors;
}

FamilyRow dilated_row() {
  return {{"dilated", "a residual network of dilated convolutions", &dilated_fields()},
          &dilated_tensors,
          &cpu::make_dilated,
          cuda_dilated(),
          &fitted_dilated,
          true,
          true,
          nullptr};
}

}  // namespace stap
