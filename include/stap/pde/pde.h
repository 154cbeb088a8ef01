#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "stap/config/family.h"
#include "stap/core/right_hand_side.h"
#include "stap/core/solver.h"

namespace stap {

/// A built-in equation. Its solver offers with_step(): the same entry with another `dt`.
struct PdeRow : config::Entry {
  /// Throws Error(config) with every problem of the options. `threads`: 0 = all.
  std::unique_ptr<Solver> (*make)(const config::Value& options, int threads) = nullptr;
  /// The same of the equation behind the solver, du/dt = F(u, t); null where it is not offered.
  std::unique_ptr<RightHandSide> (*make_rhs)(const config::Value& options, int threads) = nullptr;
};

/// One row per equation.
std::span<const PdeRow> pde_table();

/// What `method` needs of the equation. Throws Error(config), naming the entries that offer it,
/// where `row` does not.
std::unique_ptr<RightHandSide> make_rhs(const PdeRow& row, const config::Value& options,
                                        int threads, std::string_view method);

}  // namespace stap
