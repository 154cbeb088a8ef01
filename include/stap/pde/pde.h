#pragma once

#include <functional>
#include <memory>

#include "stap/config/registry.h"
#include "stap/core/make_context.h"
#include "stap/core/outline.h"
#include "stap/core/solver.h"

namespace stap {

/// An equation and its solver. Built-in ones offer with_step(): the same row with another `dt`.
struct PdeRow : config::Entry {
  /// Throws Error(config) for options that do not fit each other.
  std::function<std::unique_ptr<Solver>(const config::AnyOptions&, const MakeContext&)> make{};
  /// Instead of `make`, of a problem whose solver is not ours: what it is. Throws as make does.
  std::function<Outline(const config::AnyOptions&)> outline{};
  /// How its parameters that vary are drawn, in the order of Solver::parameters(); empty: none do.
  std::function<std::vector<ParameterDraw>(const config::AnyOptions&)> varied{};
};

/// burgers, kdv, ks, ins, cns, fhn, external, and what was added.
const config::Registry<PdeRow>& pde_table();
std::vector<ParameterDraw> varied_parameters(const config::Choice<PdeRow>& pde);
/// As config::Registry::add says, and when.
void add_pde(PdeRow row);

}  // namespace stap
