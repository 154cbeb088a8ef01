#pragma once

// Flows for the tests of the incompressible solver: fields [x, y] with values at x_i = i dx.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "stap/core/rng.h"
#include "stap/pde/ins.h"

namespace stap::test {

using Field = std::vector<double>;

/// f(x, y) at the points of the grid of the options.
template <class Function>
Field at_points(const InsOptions& options, Function f) {
  Field field;
  for (std::size_t i = 0; i < options.points[0]; ++i)
    for (std::size_t j = 0; j < options.points[1]; ++j)
      field.push_back(
          f(static_cast<double>(i) * options.lengths[0] / static_cast<double>(options.points[0]),
            static_cast<double>(j) * options.lengths[1] / static_cast<double>(options.points[1])));
  return field;
}

/// A few large eddies, max|w| about `size`.
inline Field eddies(const InsOptions& options, std::uint64_t seed, double size = 2.0) {
  const Rng rng(seed);
  return at_points(options, [&](double x, double y) {
    double w = 0;
    std::uint64_t draw = 0;
    for (int kx = -3; kx <= 3; ++kx)
      for (int ky = 0; ky <= 3; ++ky) {
        const double amplitude = rng.normal(draw++), phase = rng.uniform(draw++);
        if (kx == 0 && ky == 0) continue;
        w += size * 0.3 * amplitude / (kx * kx + ky * ky) *
             std::sin(2 * std::numbers::pi *
                      (kx * x / options.lengths[0] + ky * y / options.lengths[1] + phase));
      }
    return w;
  });
}

/// The same with noise at every point, so that every mode of the grid is there.
inline Field rough(const InsOptions& options, std::uint64_t seed, double noise = 0.5) {
  Field field = eddies(options, seed);
  const Rng rng = Rng(seed).split("noise");
  for (std::size_t i = 0; i < field.size(); ++i) field[i] += noise * rng.normal(i);
  return field;
}

/// Answers of one call; all rows start at `time`.
inline std::vector<Answer> solve_fields(const Solver& solver, const std::vector<Field>& fields,
                                        double time = 0.0) {
  std::vector<Query> queries(fields.size());
  std::vector<Answer> answers(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i)
    queries[i] = {.id = i, .state = fields[i], .time = time};
  solver.solve(queries, answers);
  return answers;
}

/// One learned step of one field; throws if it is not ok.
inline Field solve_field(const Solver& solver, const Field& field, double time = 0.0) {
  Answer answer = solve_fields(solver, {field}, time)[0];
  if (answer.status != Answer::Status::ok) throw std::runtime_error(answer.reason);
  return answer.states;
}

inline double largest(const Field& field) {
  double result = 0;
  for (double value : field) result = std::max(result, std::abs(value));
  return result;
}
inline double largest_difference(const Field& a, const Field& b) {
  double result = a.size() == b.size() ? 0.0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!(std::abs(a[i] - b[i]) <= result)) result = std::abs(a[i] - b[i]);
  return result;
}

}  // namespace stap::test
