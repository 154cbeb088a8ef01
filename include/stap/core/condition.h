#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stap/core/parameters.h"

namespace stap {

/// What the steps of rows depend on beside their states, for surrogates; not owned. Rows carry a
/// whole step number, so that a time is never accumulated.
struct ConditionsView {
  std::span<const std::uint32_t> steps{};  ///< that lead to each row's state; empty: 0 for all
  std::span<const double> parameters{};    ///< that vary, [rows, count], in physical units
  std::size_t count = 0;                   ///< parameters of a row

  std::uint32_t step(std::size_t row) const { return steps.empty() ? 0 : steps[row]; }
  std::span<const double> parameters_of(std::size_t row) const {
    return parameters.subspan(row * count, count);
  }
  ConditionsView part(std::size_t first, std::size_t n) const {
    return {steps.empty() ? steps : steps.subspan(first, n),
            parameters.subspan(first * count, n * count), count};
  }
};

/// Those of rows with these parameters.
inline ConditionsView conditions_of(const RowParameters& rows,
                                    std::span<const std::uint32_t> steps = {}) {
  return {steps, rows.values, rows.names.size()};
}

/// Conditions that own their memory, row by row.
struct Conditions {
  std::vector<std::uint32_t> steps{};
  std::vector<double> parameters{};
  std::size_t count = 0;

  void add(std::size_t step, std::span<const double> of_row) {
    steps.push_back(static_cast<std::uint32_t>(step));
    parameters.insert(parameters.end(), of_row.begin(), of_row.end());
    count = of_row.size();
  }
  ConditionsView view() const { return {steps, parameters, count}; }
};

/// What surrogates are told of a row's condition: a number each.
struct ConditionInputs {
  bool time = false;        ///< step / horizon
  std::size_t horizon = 0;  ///< steps that this runs from 0 to 1 over
  /// Each from -1 at the least value of its range to 1 at the greatest, in the logarithm where it
  /// is drawn so; 0 where there is one value only.
  std::vector<ParameterDraw> parameters{};

  std::size_t channels() const { return (time ? 1 : 0) + parameters.size(); }
  /// Writes as many, the time first, then parameters by their names, so that no other order of them
  /// makes another surrogate. What lies beyond horizon or range is beyond 1. `of_row` is in the
  /// order of `parameters`.
  void tell(std::uint32_t step, std::span<const double> of_row, double* told) const;
};

}  // namespace stap
