#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "acquire/utility.h"
#include "stap/acquire/methods.h"
#include "stap/core/rng.h"

namespace stap {

/// A pattern and its utility per step bought.
struct Found {
  Pattern pattern;
  double value = 0.0;
};

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// Looks for the pattern of largest a(u0,S)/|S| of candidates, from all ones on: each of the
/// proposals flips every bit with probability epsilon and is accepted if its value is not smaller.
/// Empty ones and ones whose value is NaN are rejected; a candidate whose rollouts are not finite
/// keeps all ones. Draws are keyed by (candidate id, proposal) below `rng`, so candidates do not
/// depend on each other.
///
/// Finds the patterns of the first ids that cost `budget` together, of all if that is not reached.
/// Candidates enter the utility's places in their order, as places become free, and not before it
/// is likely that they are needed; ids[k] is in place k if there are enough places.
std::vector<Found> search(Utility& utility, std::span<const std::size_t> ids, std::size_t budget,
                          const StapOptions& options, const Rng& rng);

/// StepChooser::choose() by search().
std::vector<Pattern> searched_patterns(Committee& committee, const Candidates& candidates,
                                       std::span<const std::size_t> ids, std::size_t budget,
                                       std::vector<ModelPair> pairs, const StapOptions& options,
                                       const Rng& rng);

}  // namespace stap
