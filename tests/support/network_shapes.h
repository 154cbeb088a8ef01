// Networks of both families with all that may surround them, and one step of them by the slow twin.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/dilated.h"
#include "support/networks.h"

namespace stap::test {

struct NamedShape {
  std::string name;
  NetworkSpec shape;
};

inline NetworkSpec conserving(NetworkSpec shape) {
  shape.conserved = {0};
  return shape;
}

inline NetworkSpec dilated_shape(std::vector<std::size_t> points, std::size_t channels,
                                 std::size_t width, std::vector<std::size_t> dilations,
                                 bool time_input = false,
                                 NetworkOptions::Target target = NetworkOptions::Target::delta) {
  const std::vector<double> lengths(points.size(), 1.0);
  return make_network(
      make_grid(channels, std::move(points), lengths),
      {.target = target,
       .time_input = time_input,
       .family = dilated({.width = width, .blocks = 2, .dilations = std::move(dilations)})},
      {}, kHorizon);
}

inline NetworkSpec with_fixed(NetworkSpec shape, SharedFixedFields fixed) {
  shape.fixed = std::move(fixed);
  return shape;
}

// Grids, modes and channels of the five problems, narrower, in both families; then what is odd.
inline std::vector<NamedShape> shapes() {
  constexpr auto state = NetworkOptions::Target::state;
  const NetworkSpec line = small_shape({14}, {6}, 2, 5, 7),
                    plane = with_positions(small_shape({9, 7}, {8, 6}, 2, 18, 8, true)),
                    taps = with_positions(dilated_shape({9, 7}, 2, 5, {2, 1}));
  FixedFields forcing;
  forcing.channels = {0.5f, -1.0f, 0.0f, 2.0f, 1.0f, 0.25f, -3.0f, 1.5f, 0.5f, 1.0f};
  return {{"burgers", small_shape({256}, {32}, 1, 12, 17)},
          {"kdv", small_shape({256}, {256}, 1, 5, 17)},
          {"ks", small_shape({256}, {128}, 1, 17, 16)},
          {"ins", small_shape({32, 32}, {16, 16}, 1, 6, 9, true)},
          {"cns", small_shape({32, 32}, {32, 32}, 4, 3, 18, false, state)},
          {"burgers, dilated", dilated_shape({256}, 1, 12, {1, 2, 4, 8, 4, 2, 1})},
          {"kdv, dilated", dilated_shape({256}, 1, 17, {1, 8, 1})},
          {"ks, dilated", dilated_shape({256}, 1, 16, {4, 2})},
          {"ins, dilated", dilated_shape({32, 32}, 1, 6, {1, 8}, true)},
          {"cns, dilated", dilated_shape({32, 32}, 4, 3, {2}, false, state)},
          {"one", small_shape({2}, {2}, 1, 1, 1)},
          {"odd", small_shape({49}, {10}, 2, 16, 33, true, state)},
          {"placed", with_positions(small_shape({50}, {12}, 3, 20, 31, true))},
          {"long", small_shape({3, 98}, {2, 4}, 2, 7, 5)},
          {"plane", conserving(plane)},
          {"kept", conserving(small_shape({25}, {6}, 2, 5, 7))},
          {"told", with_parameters(conserving(small_shape({25}, {6}, 2, 5, 7, true)), 3)},
          {"shifted", with_shifts(with_parameters(small_shape({9, 7}, {8, 6}, 2, 18, 8, true), 4))},
          {"told, dilated", with_parameters(dilated_shape({25}, 2, 5, {3, 1}, true), 3)},
          {"centres", conserving(with_padding(line, {"centres"}, {0.3}, {"even"}))},
          {"points", with_positions(with_padding(line, {"points"}, {0.4}, {"odd"}))},
          {"open", with_padding(with_shifts(with_parameters(line, 2)), {"centres"}, {0.25})},
          {"zeros, dilated", with_padding(taps, {"periodic", "points"}, {0.0, 0.5}, {"zero"})},
          {"room", with_padding(plane, {"centres", "points"}, {0.4, 0.3}, {"odd", "even"})},
          {"hole", conserving(with_padding(plane, {"points", "periodic"}, {0.5, 0.0}, {},
                                           with_hole(plane.grid, 2)))},
          {"hole, dilated", with_padding(conserving(taps), {"centres", "centres"}, {0.25}, {"even"},
                                         with_hole(taps.grid, 1))},
          {"ring with a hole", conserving(with_fixed(line, with_hole(line.grid)))},
          {"forced", with_fixed(small_shape({10}, {4}, 1, 5, 7),
                                make_fixed_fields(small_shape({10}, {4}).grid, forcing))}};
}

inline MemberState member_of(const NetworkSpec& shape, std::uint64_t seed) {
  return shifted(fresh_member(shape, some_scaling(shape.grid.channels), Rng(seed)));
}

inline std::vector<double> doubles(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// The condition of step 300.
struct Condition {
  explicit Condition(const NetworkSpec& shape)
      : values(draw_parameters(shape.parameters, Rng(6), 0)), told(told_at(shape, values)) {}
  static std::vector<float> told_at(const NetworkSpec& shape, const std::vector<double>& values) {
    Conditions one;
    one.add(kNumber, values);
    return told_rows(shape, one.view(), 1);
  }
  static constexpr std::uint32_t kNumber = 300;
  std::vector<double> values;
  std::vector<float> told;
};

// One step of the twin, with its kept means.
inline std::vector<double> twin_step(const NetworkSpec& shape,
                                     const reference::DoubleParameters& weights,
                                     const Scaling& scaling, std::span<const float> state,
                                     std::span<const float> told) {
  const std::size_t points = shape.grid.points_total();
  std::vector<double> out = reference::make_twin(shape, weights, scaling)->advance(state, told);
  const auto open = [&](std::size_t v) { return !is_masked(shape.fixed.get(), v % points); };
  for (const std::size_t c : shape.conserved) {
    double shift = 0.0, counted = 0.0;
    for (std::size_t p = c * points; p < (c + 1) * points; ++p)
      if (open(p)) shift += double(state[p]) - out[p], ++counted;
    for (std::size_t p = c * points; p < (c + 1) * points; ++p)
      if (open(p)) out[p] += shift / counted;
  }
  return out;
}

}  // namespace stap::test
