// Small networks and random data for tests of the engines.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "stap/core/rng.h"
#include "stap/nn/engine.h"
#include "stap/nn/fno.h"

namespace stap::test {

/// Steps that the time input of small networks runs over.
inline constexpr std::size_t kHorizon = 1000;

inline NetworkSpec small_shape(std::vector<std::size_t> points, std::vector<std::size_t> modes,
                               std::size_t channels = 1, std::size_t width = 5,
                               std::size_t hidden = 7, bool time_input = false,
                               NetworkOptions::Target target = NetworkOptions::Target::delta) {
  NetworkOptions options{.target = target, .time_input = time_input};
  options.family = fno({std::move(modes), width, hidden, hidden + 1});
  std::vector<double> lengths(points.size(), 1.0);
  return make_network(make_grid(channels, std::move(points), std::move(lengths)), options, {},
                      kHorizon);
}

inline NetworkSpec with_positions(NetworkSpec shape) {
  shape.inputs.position = true;
  return shape;
}

/// A uniform, a logarithmic, a listed one, and so on.
inline NetworkSpec with_parameters(NetworkSpec shape, std::size_t count) {
  using Kind = ParameterDraw::Kind;
  for (std::size_t p = 0; p < count; ++p) {
    const std::string name = "p" + std::to_string(p);
    if (p % 3 == 0) shape.parameters.push_back({name, Kind::uniform, {-2.0, 3.0}});
    if (p % 3 == 1) shape.parameters.push_back({name, Kind::log, {1e-3, 1e-1}});
    if (p % 3 == 2) shape.parameters.push_back({name, Kind::list, {4.0, 1.0, 2.0}});
  }
  return shape;
}

inline NetworkSpec with_shifts(NetworkSpec shape) {
  shape.inputs.shifts = true;
  return shape;
}

/// Layers are shifted as they are once something was learned; fresh ones are not.
inline MemberState shifted(MemberState member) {
  for (Tensor& tensor : member.weights)
    if (tensor.name.ends_with("shifts"))
      for (std::size_t i = 0; i < tensor.values.size(); ++i)
        tensor.values[i] = static_cast<float>(0.5 * Rng(77).normal(i));
  return member;
}

/// The same network between walls, which are padded as these options say.
inline NetworkSpec with_padding(const NetworkSpec& shape, const std::vector<std::string>& walls,
                                std::vector<double> share, std::vector<std::string> kind = {},
                                SharedFixedFields fixed = {}) {
  NetworkSpec made = make_network(with_walls(shape.grid, walls),
                                  {.target = shape.target,
                                   .time_input = shape.inputs.time,
                                   .position_input = shape.inputs.position,
                                   .padding = {std::move(share), std::move(kind)},
                                   .family = shape.family},
                                  {}, shape.horizon, shape.parameters, std::move(fixed));
  made.inputs = shape.inputs;
  return made;
}
/// A hole of a third of the points, or a few of them.
inline SharedFixedFields with_hole(const Grid& grid, std::size_t static_channels = 0) {
  FixedFields fields;
  for (std::size_t p = 0; p < grid.points_total(); ++p) fields.mask.push_back(p % 3 != 1);
  for (std::size_t v = 0; v < static_channels * grid.points_total(); ++v)
    fields.channels.push_back(static_cast<float>(Rng(77).normal(v)));
  return make_fixed_fields(grid, std::move(fields));
}

/// Normal values: smooth data would hide errors in high modes.
inline States<float> random_states(const Grid& grid, std::size_t count, const Rng& rng) {
  States<float> states(grid, count);
  for (std::size_t i = 0; i < states.values().size(); ++i)
    states.values()[i] = static_cast<float>(rng.normal(i));
  return states;
}

inline Scaling some_scaling(std::size_t channels) {
  Scaling s = unit_scaling(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    s.mean[c] = 0.1f * static_cast<float>(c + 1);
    s.deviation[c] = 1.3f - 0.2f * static_cast<float>(c % 6);
  }
  return s;
}

/// Random transitions that own their memory.
struct Transitions {
  Transitions(const NetworkSpec& shape, std::size_t count, const Rng& rng)
      : inputs(random_states(shape.grid, count, rng.split("in"))),
        targets(random_states(shape.grid, count, rng.split("out"))) {
    for (std::size_t i = 0; i < count; ++i) {
      const double part = rng.split("time").uniform(i);
      conditions.add(static_cast<std::size_t>(part * static_cast<double>(kHorizon)),
                     draw_parameters(shape.parameters, rng, i));
    }
    told = told_rows(shape, conditions.view(), count);
  }
  TransitionsView view() const { return {inputs.view(), targets.view(), told}; }
  std::span<const float> told_row(std::size_t r) const {
    const std::size_t each = told.size() / inputs.count();
    return std::span(told).subspan(r * each, each);
  }

  States<float> inputs, targets;
  Conditions conditions;
  std::vector<float> told;
};

inline double relative_l2(const std::vector<double>& a, const std::vector<double>& b) {
  double error = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(error / norm);
}

}  // namespace stap::test
