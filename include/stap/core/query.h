#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stap {

/// "Advance this state by so many learned steps."
struct Query {
  std::uint64_t id = 0;
  std::vector<double> state{};   ///< [C, X...] of the solver's grid
  double time = 0.0;             ///< of the input state; 0 at u^0, negative during a warm-up
  std::vector<double> params{};  ///< of those that vary, as Solver::parameters() names them
  std::size_t steps = 1;         ///< consecutive ones, each from where the one before it ended
  std::size_t steps_after = 0;   ///< steps that will follow; without them these are of no use
};

/// Failure is data: a row that cannot be advanced says so and leaves the others alone.
struct Answer {
  enum class Status { ok, refused, failed };
  /// ok: all steps were made; else of the first that was not: refused before it was tried, or
  /// failed.
  Status status = Status::failed;
  std::string reason{};  ///< empty when ok
  /// [made, C, X...]: after steps 1 .. made; made == steps when ok, and only then.
  std::vector<double> states{};
  double seconds = 0.0;  ///< time the query took (its share, where it was computed with others)
  int attempts = 0;      ///< calls of the solver
};

std::string_view to_string(Answer::Status status);

}  // namespace stap
