#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stap {

/// What the steps of rows depend on beside their states, for surrogates; not owned. Rows carry a
/// whole step number, so that a time is never accumulated.
struct ConditionsView {
  std::span<const std::uint32_t> steps{};  ///< that lead to each row's state; empty: 0 for all

  std::uint32_t step(std::size_t row) const { return steps.empty() ? 0 : steps[row]; }
  ConditionsView part(std::size_t first, std::size_t n) const {
    return {steps.empty() ? steps : steps.subspan(first, n)};
  }
};

}  // namespace stap
