#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "stap/acquire/pool.h"
#include "stap/config/registry.h"
#include "stap/core/make_context.h"
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
};

struct SelectorRow : config::Entry {
  /// Throws Error(config) where the context does not offer what the method needs.
  std::function<std::unique_ptr<Selector>(const config::AnyOptions&, const MakeContext&)> make{};
};
/// random, qbc, sbal, lcmd, core-set, and what was added.
const config::Registry<SelectorRow>& selector_table();
/// As config::Registry::add says, and when; a planner of the same name is refused too.
void add_selector(SelectorRow row);

}  // namespace stap
