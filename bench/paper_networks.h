// The five paper-size networks and the useful work in them, for the benchmarks of both engines; and
// what a dilated network has to do on the same grids.
//
// Useful work, whatever is actually run: 2 per multiply-add of the pointwise layers, 8 per complex
// multiply-add of the kept modes, 2.5 N log2 N per real transform. A backward pass does the
// pointwise and spectral products twice more (the gradient of the network's input is not needed)
// and as many transforms as the forward pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "stap/nn/dilated.h"
#include "stap/nn/fno.h"

namespace stap::bench {

struct Problem {
  std::string name;
  std::size_t channels;
  std::vector<std::size_t> points, modes;
};

inline const std::vector<Problem>& paper_networks() {
  static const std::vector<Problem> problems = {{"burgers", 1, {256}, {32}},
                                                {"kdv", 1, {256}, {256}},
                                                {"ks", 1, {256}, {128}},
                                                {"ins", 1, {32, 32}, {16, 16}},
                                                {"cns", 4, {32, 32}, {32, 32}}};
  return problems;
}

// The bare network, so that a peer need not know of our scaling.
inline NetworkSpec shape_of(const Problem& problem) {
  FnoOptions options;
  options.modes = problem.modes;
  return make_network(
      make_grid(problem.channels, problem.points, std::vector<double>(problem.points.size(), 1.0)),
      {.target = NetworkOptions::Target::state, .family = fno(options)});
}

// Without what surrounds it, too; of the default size.
inline NetworkSpec dilated_on(const Problem& problem) {
  return make_network(
      make_grid(problem.channels, problem.points, std::vector<double>(problem.points.size(), 1.0)),
      {.target = NetworkOptions::Target::state, .family = dilated()});
}

struct Work {
  double forward, train;  // useful FLOP per state
};

inline Work useful_work(const NetworkSpec& shape) {
  if (!fno_options(shape.family)) {  // dilated: every weight but the biases meets every point
    double weights = 0.0;
    for (const TensorPlan& t : dilated_tensors(shape)) {
      double size = t.shape.size() > 1 ? 1.0 : 0.0;
      for (const std::size_t n : t.shape) size *= double(n);
      weights += size;
    }
    const DilatedOptions o = shape.family.options.as(dilated_fields());
    const double per_weight = 2.0 * double(shape.grid.points_total());
    const double first = per_weight * std::pow(double(o.taps), double(shape.grid.axes())) *
                         double(shape.in_channels() * o.width);
    return {per_weight * weights, 3.0 * per_weight * weights - first};
  }
  const FnoOptions o = *fno_options(shape.family);
  const double points = double(shape.grid.points_total());
  const double first = 2.0 * points * double(shape.in_channels() * o.lifting);
  const double dense =
      first + 2.0 * points *
                  double(o.lifting * o.width + o.layers * o.width * o.width +
                         o.width * o.projection + o.projection * shape.out_channels());
  const double spectral = 8.0 * double(o.layers * o.kept_total() * o.width * o.width);
  const double transforms = 2.0 * double(o.layers * o.width) * 2.5 * points * std::log2(points);
  return {dense + spectral + transforms, 3.0 * dense - first + 3.0 * spectral + 2.0 * transforms};
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace stap::bench
