#include "stap/nn/fno.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nn/bodies.h"
#include "nn/families.h"
#include "stap/core/error.h"

namespace stap {
namespace {

// `grid` is the body's.
void check_modes(const FnoOptions& options, const Grid& grid) {
  if (options.modes.size() != grid.axes())
    throw Error(
        ErrorKind::config,
        fmt::format("network.modes [{}] has {} entries, but the grid {} has {} axes: give one "
                    "number of modes per axis",
                    fmt::join(options.modes, ", "), options.modes.size(), grid.shape_text(),
                    grid.axes()));
  for (std::size_t axis = 0; axis < grid.axes(); ++axis) {
    const std::size_t modes = options.modes[axis], points = grid.points[axis];
    if (modes < 2 || modes % 2 != 0)
      throw Error(
          ErrorKind::config,
          fmt::format("network.modes[{}] is {}, expected an even number, at least 2", axis, modes));
    if (modes > points)
      throw Error(ErrorKind::config,
                  fmt::format("network.modes[{}] is {}, but that axis has {} points: at most {} "
                              "modes exist",
                              axis, modes, points, points / 2 * 2));
  }
}

config::AnyOptions fitted(const NetworkSpec& spec) {
  FnoOptions options = spec.family.options.as(fno_fields());
  const Grid grid = spec.body_grid();
  if (options.modes.empty())
    for (std::size_t points : grid.points)
      options.modes.push_back(std::min<std::size_t>(grid.axes() == 1 ? 32 : 16, points / 2 * 2));
  check_modes(options, grid);
  for (const auto& [name, value] :
       {std::pair("width", options.width), std::pair("lifting", options.lifting),
        std::pair("projection", options.projection), std::pair("layers", options.layers)})
    if (value == 0)
      throw Error(ErrorKind::config, fmt::format("network.{} is 0, expected at least 1", name));
  return any_options(fno_fields(), options);
}

}  // namespace

std::vector<std::size_t> FnoOptions::kept() const {
  std::vector<std::size_t> kept = modes;
  if (!kept.empty()) kept.back() = kept.back() / 2 + 1;
  return kept;
}

std::size_t FnoOptions::kept_total() const {
  std::size_t total = 1;
  for (std::size_t k : kept()) total *= k;
  return total;
}

const config::Fields<FnoOptions>& fno_fields() {
  using config::between;
  static const config::Fields<FnoOptions> fields{
      {"modes", &FnoOptions::modes,
       "kept Fourier modes per axis, counting both signs; none: 32, or 16 x 16",
       between(2, 65536).multiple_of(2).length(0, 2)},
      {"width", &FnoOptions::width, "channels of the hidden layers", between(1, 4096)},
      {"lifting", &FnoOptions::lifting, "hidden channels of the pointwise network in front",
       between(1, 65536)},
      {"projection", &FnoOptions::projection, "hidden channels of the pointwise network at the end",
       between(1, 65536)},
      {"layers", &FnoOptions::layers, "number of Fourier layers", between(1, 256)},
  };
  return fields;
}

config::Choice<FamilyRow> fno(const FnoOptions& options) {
  return {family_table().find("fno"), any_options(fno_fields(), options)};
}

std::optional<FnoOptions> fno_options(const config::Choice<FamilyRow>& family) {
  if (family && family.row->fields != &fno_fields()) return std::nullopt;
  return family.options.as(fno_fields());
}

std::vector<TensorPlan> fno_tensors(const NetworkSpec& spec) {
  using Draw = TensorPlan::Draw;
  const FnoOptions o = spec.family.options.as(fno_fields());
  const std::size_t axes = spec.grid.axes();
  auto pointwise = [&](std::size_t out, std::size_t in) {
    std::vector<std::size_t> s{out, in};
    s.resize(2 + axes, 1);
    return s;
  };
  std::vector<TensorPlan> tensors;
  auto layer = [&](const std::string& name, std::size_t out, std::size_t in, bool bias) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(in));
    tensors.push_back({name + ".weight", pointwise(out, in), Draw::uniform, bound});
    if (bias) tensors.push_back({name + ".bias", {out}, Draw::uniform, bound});
  };
  layer("lifting.fcs.0", o.lifting, spec.in_channels(), true);
  layer("lifting.fcs.1", o.width, o.lifting, true);
  // Spectral layers map width to width: in + out = 2 width. A complex weight of deviation
  // sqrt(2/(in+out)) has real and imaginary parts of sqrt(1/(in+out)) each.
  const double in_and_out = 2.0 * static_cast<double>(o.width);
  for (std::size_t l = 0; l < o.layers; ++l) {
    std::vector<std::size_t> s{o.width, o.width};
    for (std::size_t k : o.kept()) s.push_back(k);
    s.push_back(2);
    tensors.push_back({fmt::format("fno_blocks.convs.weight.{}.tensor", l), s, Draw::normal,
                       std::sqrt(1.0 / in_and_out)});
  }
  std::vector<std::size_t> bias{o.layers, o.width};
  bias.resize(2 + axes, 1);
  tensors.push_back({"fno_blocks.convs.bias", bias, Draw::normal, std::sqrt(2.0 / in_and_out)});
  for (std::size_t l = 0; l < o.layers; ++l)
    layer(fmt::format("fno_blocks.fno_skips.{}", l), o.width, o.width, false);
  // At first no layer is shifted.
  if (spec.shifts() > 0)
    tensors.push_back(
        {"fno_blocks.shifts", {o.layers, o.width, spec.shifts()}, Draw::uniform, 0.0});
  layer("projection.fcs.0", o.projection, o.width, true);
  layer("projection.fcs.1", spec.out_channels(), o.projection, true);
  return tensors;
}

FamilyRow fno_row() {
  return {{"fno", "a Fourier neural operator", &fno_fields()},
          &fno_tensors,
          &cpu::make_fno,
          cuda_fno(),
          &fitted,
          true,
          false,
          nullptr};
}

}  // namespace stap
