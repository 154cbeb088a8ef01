#pragma once

// Stored trajectories against a solver: one learned step from every stored state, compared with the
// next stored one.

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "stap/pde/burgers.h"
#include "support/golden.h"

namespace stap::test {

/// What of a state is compared.
using Part = std::function<std::vector<double>(std::span<const double> state)>;

/// The largest relative L2 error of all learned steps of a trajectory [B, T, C, X...]; infinite if
/// the solver refuses or fails. `part`: of the states that are compared, if not all.
inline double worst_step_error(const Solver& solver, const Array<double>& trajectory,
                               const Part& part = {}) {
  const std::size_t rows = trajectory.shape.at(0), times = trajectory.shape.at(1);
  const std::size_t size = solver.grid().values();
  if (times < 2 || trajectory.values.size() != rows * times * size)
    throw std::runtime_error("a trajectory of shape " + shape_text(trajectory.shape) +
                             " does not fit the grid " + solver.grid().shape_text());
  const auto state = [&](std::size_t row, std::size_t time) {
    return std::span(trajectory.values).subspan((row * times + time) * size, size);
  };
  std::vector<Query> queries;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t time = 0; time + 1 < times; ++time)
      queries.push_back({.id = queries.size(),
                         .state = {state(row, time).begin(), state(row, time).end()},
                         .time = static_cast<double>(time) * solver.dt()});
  std::vector<Answer> answers(queries.size());
  solver.solve(queries, answers);

  double worst = 0.0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    if (answers[q].status != Answer::Status::ok) return std::numeric_limits<double>::infinity();
    const auto stored = state(q / (times - 1), q % (times - 1) + 1);
    std::vector<double> expected(stored.begin(), stored.end()), got = answers[q].states;
    if (part) {
      expected = part(expected);
      got = part(got);
    }
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      difference += std::pow(got[i] - expected[i], 2);
      norm += expected[i] * expected[i];
    }
    const double error = std::sqrt(difference / norm);
    if (!(error <= worst)) worst = error;  // a NaN is the worst of all
  }
  return worst;
}

/// A Burgers file: `trajectory` [B, T, 1, X] and the attributes dt, domain_length (1), viscosity
/// (0.01). Returns the error of worst_step_error().
inline double burgers_file_error(const std::filesystem::path& file) {
  const Array<double> trajectory = read_array(file, "trajectory");
  BurgersOptions options;
  options.points = trajectory.shape.back();
  options.length = stated_or(file, "domain_length", 1.0);
  options.viscosity = stated_or(file, "viscosity", 0.01);
  options.dt = stated(file, "dt");
  return worst_step_error(*make_burgers(options), trajectory);
}
inline double burgers_file_tolerance(const std::filesystem::path& file) {
  return stated_or(file, "tolerance", 1e-3);
}

}  // namespace stap::test
