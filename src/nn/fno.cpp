#include "stap/nn/fno.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/parallel.h"
#include "core/sizes.h"
#include "stap/core/error.h"

namespace stap {
namespace {

enum class Init { fan_in_uniform, spectral_weight, spectral_bias };

struct TensorPlan {
  std::string name;
  std::vector<std::size_t> shape;
  Init init;
  std::size_t fan_in;
};

std::size_t size_of(const std::vector<std::size_t>& shape) {
  std::size_t size = 1;
  for (std::size_t n : shape) size *= n;
  return size;
}

// Names follow neuraloperator's state dictionary, so that models can be exchanged.
std::vector<TensorPlan> plan(const FnoShape& shape) {
  const FnoOptions& o = shape.options;
  const std::size_t axes = shape.grid.axes();
  auto pointwise = [&](std::size_t out, std::size_t in) {
    std::vector<std::size_t> s{out, in};
    s.resize(2 + axes, 1);
    return s;
  };
  std::vector<TensorPlan> tensors;
  auto layer = [&](const std::string& name, std::size_t out, std::size_t in, bool bias) {
    tensors.push_back({name + ".weight", pointwise(out, in), Init::fan_in_uniform, in});
    if (bias) tensors.push_back({name + ".bias", {out}, Init::fan_in_uniform, in});
  };
  layer("lifting.fcs.0", o.lifting, shape.in_channels(), true);
  layer("lifting.fcs.1", o.width, o.lifting, true);
  for (std::size_t l = 0; l < o.layers; ++l) {
    std::vector<std::size_t> s{o.width, o.width};
    for (std::size_t k : shape.kept()) s.push_back(k);
    s.push_back(2);
    tensors.push_back(
        {fmt::format("fno_blocks.convs.weight.{}.tensor", l), s, Init::spectral_weight, o.width});
  }
  std::vector<std::size_t> bias{o.layers, o.width};
  bias.resize(2 + axes, 1);
  tensors.push_back({"fno_blocks.convs.bias", bias, Init::spectral_bias, o.width});
  for (std::size_t l = 0; l < o.layers; ++l)
    layer(fmt::format("fno_blocks.fno_skips.{}", l), o.width, o.width, false);
  layer("projection.fcs.0", o.projection, o.width, true);
  layer("projection.fcs.1", shape.out_channels(), o.projection, true);
  return tensors;
}

// Beyond these no computer that we know of trains a network, and sizes in bytes could overflow.
void check_size(const FnoShape& shape) {
  constexpr std::size_t kMaxPoints = std::size_t{1} << 30, kMaxWeights = std::size_t{1} << 32;
  const FnoOptions& o = shape.options;
  if (shape.grid.points_total() > kMaxPoints)
    throw Error(ErrorKind::config,
                fmt::format("the grid {} has {} points, expected at most {} for "
                            "a network",
                            shape.grid.shape_text(), shape.grid.points_total(), kMaxPoints));
  std::size_t modes = 2;
  for (const std::size_t k : shape.kept()) modes = product_of({modes, k});
  const std::size_t weights =
      sum_of({product_of({o.layers, o.width, o.width, sum_of({modes, 1})}),
              product_of({o.lifting, sum_of({shape.in_channels(), o.width})}),
              product_of({o.projection, sum_of({shape.out_channels(), o.width})})});
  if (weights > kMaxWeights)
    throw Error(ErrorKind::config,
                fmt::format("the network has more than {} weights: choose smaller network.width, "
                            "modes or layers",
                            kMaxWeights));
}

}  // namespace

std::vector<std::size_t> FnoShape::kept() const {
  std::vector<std::size_t> kept = options.modes;
  if (!kept.empty()) kept.back() = kept.back() / 2 + 1;
  return kept;
}

std::size_t FnoShape::kept_total() const {
  std::size_t total = 1;
  for (std::size_t k : kept()) total *= k;
  return total;
}

namespace {

// The channels of these names, in every state of a cluster.
std::vector<std::size_t> channels_called(std::span<const std::string> names,
                                         std::span<const std::string> channels, std::size_t count) {
  std::vector<std::size_t> called;
  for (std::size_t c = 0; c < count; ++c)
    if (!channels.empty() && std::ranges::find(names, channels[c % channels.size()]) != names.end())
      called.push_back(c);
  for (const std::string& name : names)
    if (std::ranges::find(channels, name) == channels.end())
      throw Error(ErrorKind::config,
                  fmt::format("network.conserve: '{}' is no channel, expected some of [{}]", name,
                              fmt::join(channels, ", ")));
  return called;
}

}  // namespace

FnoShape make_shape(Grid grid, FnoOptions options, std::span<const std::string> channels) {
  if (options.modes.empty())
    for (std::size_t points : grid.points)
      options.modes.push_back(std::min<std::size_t>(grid.axes() == 1 ? 32 : 16, points / 2 * 2));
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
  auto positive = [](const char* name, std::size_t value) {
    if (value == 0)
      throw Error(ErrorKind::config, fmt::format("network.{} is 0, expected at least 1", name));
  };
  positive("width", options.width);
  positive("lifting", options.lifting);
  positive("projection", options.projection);
  positive("layers", options.layers);
  FnoShape shape{std::move(grid), std::move(options)};
  shape.conserved = channels_called(shape.options.conserve, channels, shape.grid.channels);
  shape.options.conserve.clear();
  check_size(shape);
  return shape;
}

std::vector<float> position_inputs(const FnoShape& shape) {
  std::vector<float> channels;
  if (!shape.options.position_input) return channels;
  const std::size_t points = shape.grid.points_total();
  std::size_t behind = points;  // points of the axes behind this one
  for (const std::size_t n : shape.grid.points) {
    behind /= n;
    for (const bool sine : {true, false})
      for (std::size_t p = 0; p < points; ++p) {
        const double angle =
            2.0 * std::numbers::pi * static_cast<double>(p / behind % n) / static_cast<double>(n);
        channels.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
      }
  }
  return channels;
}

Parameters parameter_shapes(const FnoShape& shape) {
  Parameters parameters;
  for (TensorPlan& t : plan(shape))
    parameters.push_back({std::move(t.name), std::move(t.shape), {}});
  return parameters;
}

Parameters zero_parameters(const FnoShape& shape) {
  Parameters parameters = parameter_shapes(shape);
  for (Tensor& t : parameters) t.values.resize(size_of(t.shape));
  return parameters;
}

Parameters initial_parameters(const FnoShape& shape, const Rng& rng) {
  Parameters parameters = zero_parameters(shape);
  const std::vector<TensorPlan> plans = plan(shape);
  for (std::size_t t = 0; t < parameters.size(); ++t) {
    const Rng stream = rng.split(parameters[t].name);
    const double fan = static_cast<double>(plans[t].fan_in);
    // Spectral layers map width to width: in + out = 2 width. A complex weight of deviation
    // sqrt(2/(in+out)) has real and imaginary parts of sqrt(1/(in+out)) each.
    const double bound = 1.0 / std::sqrt(fan);
    const double part = std::sqrt(1.0 / (2.0 * fan)), whole = std::sqrt(2.0 / (2.0 * fan));
    std::vector<float>& values = parameters[t].values;
    const auto draw = [&](std::size_t i) {
      switch (plans[t].init) {
        case Init::fan_in_uniform:
          return stream.uniform(i, -bound, bound);
        case Init::spectral_weight:
          return part * stream.normal(i);
        case Init::spectral_bias:
          return whole * stream.normal(i);
      }
      return 0.0;
    };
    // Tens of millions of draws for the largest networks: a device waits for them in every round.
    constexpr std::size_t kAtATime = 1 << 16;
    parallel_for(thread_count(0), (values.size() + kAtATime - 1) / kAtATime,
                 [&](std::size_t task, int) {
                   const std::size_t end = std::min(values.size(), (task + 1) * kAtATime);
                   for (std::size_t i = task * kAtATime; i < end; ++i)
                     values[i] = static_cast<float>(draw(i));
                 });
  }
  return parameters;
}

void check_parameters(const FnoShape& shape, const Parameters& parameters) {
  const std::vector<TensorPlan> plans = plan(shape);
  if (plans.size() != parameters.size())
    throw Error(ErrorKind::data, fmt::format("a network of this shape has {} tensors, found {}",
                                             plans.size(), parameters.size()));
  for (std::size_t t = 0; t < plans.size(); ++t) {
    const Tensor& found = parameters[t];
    const std::size_t size = size_of(plans[t].shape);
    if (found.name != plans[t].name || found.shape != plans[t].shape || found.values.size() != size)
      throw Error(ErrorKind::data,
                  fmt::format("expected tensor {} [{}], found {} [{}] with {} values",
                              plans[t].name, fmt::join(plans[t].shape, ", "), found.name,
                              fmt::join(found.shape, ", "), found.values.size()));
  }
}

Scaling unit_scaling(std::size_t channels) {
  return {std::vector<float>(channels, 0.0f), std::vector<float>(channels, 1.0f)};
}

}  // namespace stap
