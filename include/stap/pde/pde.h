#pragma once

#include <memory>
#include <span>

#include "stap/config/family.h"
#include "stap/core/solver.h"

namespace stap {

/// A built-in equation. A warm-up solver is the same entry with `dt` set to the warm-up time.
struct PdeRow : config::Entry {
  /// Throws Error(config) with every problem of the options. `threads`: 0 = all.
  std::unique_ptr<Solver> (*make)(const config::Value& options, int threads) = nullptr;
};

/// One row per equation.
std::span<const PdeRow> pde_table();

}  // namespace stap
