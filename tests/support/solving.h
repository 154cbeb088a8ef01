#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "pde/lane_numbers.h"
#include "stap/core/error.h"
#include "stap/pde/burgers.h"
#include "stap/study/study.h"

namespace stap::test {

/// Answers of one call with these rows.
inline std::vector<Answer> solve_rows(const Solver& solver,
                                      const std::vector<std::vector<double>>& rows) {
  std::vector<Query> queries(rows.size());
  std::vector<Answer> answers(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) queries[i] = {.id = i, .state = rows[i]};
  solver.solve(queries, answers);
  return answers;
}

/// One learned step of one row; throws if it is not ok.
inline std::vector<double> solve_row(const Solver& solver, const std::vector<double>& row) {
  Answer answer = solve_rows(solver, {row})[0];
  if (answer.status != Answer::Status::ok) throw std::runtime_error(answer.reason);
  return answer.states;
}

/// An initial condition of a study, drawn and warmed up.
inline std::vector<double> initial_condition(const Study& study, const Solver& solver) {
  const auto sampler = make_sampler(study, study.grid);
  std::vector<double> drawn(study.grid.values());
  sampler->draw(Rng(3).split("pool"), 0, drawn);
  return solve_row(*solver.with_step(sampler->warm_up()), drawn);
}

/// The kind of error that a solver's make_...() throws for its default options after
/// change(options), as a number; 0 if it throws none.
template <class Options, class Change>
int kind_of_error(std::unique_ptr<Solver> (*make)(const Options&, int), Change change) {
  Options options;
  change(options);
  try {
    make(options, 1);
  } catch (const Error& error) {
    return static_cast<int>(error.kind());
  }
  return 0;
}

/// f at the cell centres of [0, length).
template <class Function>
std::vector<double> at_cells(std::size_t points, double length, Function f) {
  std::vector<double> values(points);
  for (std::size_t i = 0; i < points; ++i)
    values[i] = f((static_cast<double>(i) + 0.5) * length / static_cast<double>(points));
  return values;
}

/// The same number for all lanes of a kernel.
inline LaneNumber all_lanes(double value) {
  return LaneNumbers({}).next(value);
}

/// Expects that rows with parameters of their own have the bits of a solver with these values, and
/// of rows alone. `fixed(params)`: that solver.
template <class Fixed>
void expect_rows_of_their_own(const Solver& solver, const std::vector<Query>& queries,
                              Fixed fixed) {
  std::vector<Answer> together(queries.size());
  solver.solve(queries, together);
  for (std::size_t r = 0; r < queries.size(); ++r) {
    ASSERT_EQ(together[r].status, Answer::Status::ok) << together[r].reason;
    Query plain = queries[r];
    plain.params.clear();
    Answer alone, expected;
    solver.solve({&queries[r], 1}, {&alone, 1});
    fixed(queries[r].params)->solve({&plain, 1}, {&expected, 1});
    EXPECT_EQ(together[r].states, alone.states) << r;
    EXPECT_EQ(together[r].states, expected.states) << r;
  }
}

/// Options that state the diffusion D itself, as exact solutions do.
inline BurgersOptions burgers_options(std::size_t points, double length, double diffusion,
                                      double dt) {
  BurgersOptions options;
  options.points = points;
  options.length = length;
  options.viscosity = diffusion * std::numbers::pi;
  options.dt = dt;
  return options;
}

}  // namespace stap::test
