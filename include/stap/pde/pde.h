#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "stap/config/registry.h"
#include "stap/core/make_context.h"
#include "stap/core/outline.h"
#include "stap/core/solver.h"

namespace stap {

/// An equation and its solver. Built-in ones offer with_step(): the same row with another `dt`.
struct PdeRow : config::Entry {
  /// Throws Error(config) for options that do not fit each other.
  std::function<std::unique_ptr<Solver>(const config::AnyOptions&, const MakeContext&)> make{};
  /// The same of the equation behind the solver, du/dt = F(u, t); empty where it is not offered.
  std::function<std::unique_ptr<RightHandSide>(const config::AnyOptions&, const MakeContext&)>
      make_rhs{};
  /// Instead of `make`, of a problem whose solver is not ours: what it is. Throws as make does.
  std::function<Outline(const config::AnyOptions&)> outline{};
};

/// burgers, kdv, ks, ins, cns, external, and what was added.
const config::Registry<PdeRow>& pde_table();
/// As config::Registry::add says, and when.
void add_pde(PdeRow row);

/// What `method` needs of the equation. Throws Error(config), naming the rows that offer it, where
/// this one does not.
std::unique_ptr<RightHandSide> make_rhs(const config::Choice<PdeRow>& pde,
                                        const MakeContext& context, std::string_view method);

}  // namespace stap
