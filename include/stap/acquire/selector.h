#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stap/acquire/pool.h"
#include "stap/config/family.h"
#include "stap/core/right_hand_side.h"
#include "stap/core/rng.h"

namespace stap {

/// Candidates in the order in which they should be bought.
struct Order {
  std::vector<std::size_t> ids;
  std::size_t not_finite = 0;  ///< candidates left out because a rollout was not finite
};

/// Which initial conditions, in what order. Prefix-stable: order(.., n) is the start of
/// order(.., n+1). Permuting `open` does not change the order: noise is keyed by id.
class Selector {
 public:
  virtual ~Selector() = default;
  /// As in the table, for messages.
  virtual std::string_view name() const = 0;
  /// At most `at_most` ids. `rng` is the round's stream.
  virtual Order order(Committee& committee, const Candidates& candidates, std::size_t at_most,
                      const Rng& rng) const = 0;
  /// Members the method needs at least (a committee of one has no spread).
  virtual int members_needed() const { return 1; }
  /// Whether it asks a committee for what only the CPU's has.
  virtual bool needs_cpu() const { return false; }
};

struct SelectorRow : config::Entry {
  /// `rhs`: of the equation, for a method that needs it; null for the others.
  std::unique_ptr<Selector> (*make)(const config::Value& options,
                                    std::unique_ptr<RightHandSide> rhs) = nullptr;
  bool needs_rhs = false;
};
/// random, qbc, sbal, lcmd, core-set, residual.
std::span<const SelectorRow> selector_table();

}  // namespace stap
