#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stap/core/grid.h"

namespace stap {

/// "Advance this state by one learned step."
struct Query {
  std::uint64_t id = 0;
  std::span<const double> state;   ///< [C, X...] of the solver's grid
  double time = 0.0;               ///< of the input state; 0 at u^0, negative during a warm-up
  std::span<const double> params;  ///< of parametric problems; empty otherwise
};

/// Failure is data: a row that cannot be advanced says so and leaves the others alone.
struct Answer {
  enum class Status { ok, refused, failed };
  Status status = Status::failed;
  std::string reason;         ///< empty when ok
  std::vector<double> state;  ///< [C, X...] one learned step later; empty unless ok
  double seconds = 0.0;       ///< time the row took (its share of its block)
  int attempts = 0;           ///< 0 when refused: the solver was not called
};

std::string_view to_string(Answer::Status status);

/// Something expensive that advances states by `dt`, in double precision. Rows are independent: an
/// answer never depends, not by a bit, on the other queries of the call or on the threads.
class Solver {
 public:
  virtual ~Solver() = default;
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  const std::string& name() const { return name_; }
  const Grid& grid() const { return grid_; }
  /// Length of one learned step, in the problem's time unit.
  double dt() const { return dt_; }

  /// Answers query i in answers[i]. A state with a value that is not finite is refused here, then
  /// guard() is asked; what passes is computed. Throws Error(data) if a state is not of the grid's
  /// size, and Error(internal) if the spans differ in length.
  void solve(std::span<const Query> queries, std::span<Answer> answers) const;

 protected:
  Solver(std::string name, Grid grid, double dt);

 private:
  /// Why this (finite) state must not be computed; empty if it may.
  virtual std::string guard(const Query& query) const = 0;
  /// Fills the answers of queries that passed the guard; their states have the right size.
  virtual void compute(std::span<const Query* const> queries,
                       std::span<Answer* const> answers) const = 0;

  std::string name_;
  Grid grid_;
  double dt_;
};

}  // namespace stap
