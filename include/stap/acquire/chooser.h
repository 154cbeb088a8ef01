#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stap/acquire/pool.h"
#include "stap/config/registry.h"
#include "stap/core/make_context.h"
#include "stap/core/pattern.h"
#include "stap/core/rng.h"

namespace stap {

/// Which steps of an initial condition to buy. A pattern depends on its candidate alone (draws are
/// keyed by id), never on the others of the call.
class StepChooser {
 public:
  virtual ~StepChooser() = default;
  /// As in the table, for messages.
  virtual std::string_view name() const = 0;
  /// Non-empty patterns of the first ids: as many as it takes to cost `budget` steps (as
  /// Candidates::cost says), of all if that is not reached. `rng` is the round's stream.
  virtual std::vector<Pattern> choose(Committee& committee, const Candidates& candidates,
                                      std::span<const std::size_t> ids, std::size_t budget,
                                      const Rng& rng) const = 0;
  /// As of a selector.
  virtual int members_needed() const { return 1; }
  /// The longest trajectory, in steps, that the method can take.
  virtual std::size_t steps_most() const { return std::numeric_limits<std::size_t>::max(); }
};

struct ChooserRow : config::Entry {
  std::function<std::unique_ptr<StepChooser>(const config::AnyOptions&, const MakeContext&)> make{};
};
/// full, first, uniform-one, stap, stap-one, stap-mf, exact, bernoulli, initial-bernoulli, every,
/// and what was added.
const config::Registry<ChooserRow>& chooser_table();
/// As config::Registry::add says, and when.
void add_chooser(ChooserRow row);

}  // namespace stap
