#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "acquire/admission.h"
#include "acquire/utility.h"
#include "stap/acquire/methods.h"
#include "stap/core/rng.h"

namespace stap {

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// Looks for the pattern of largest a(u0,S)/(|S| + warm-up) of candidates, from all ones on: each
/// of the proposals flips every bit with probability epsilon and is accepted if its value is not
/// smaller. Empty ones and ones whose value is NaN are rejected; a candidate whose rollouts are not
/// finite keeps all ones. Draws are keyed by (candidate id, proposal) below `rng`, so candidates do
/// not depend on each other.
///
/// Finds the patterns of the first ids that cost `budget` together, of all if that is not reached.
/// Candidates enter the utilities' places in their order, as places become free, and not before it
/// is likely that they are needed; with one utility that has places for all, ids[k] is in place k.
/// Every utility is worked on by a thread of its own.
std::vector<Found> search(std::span<Utility* const> utilities, std::span<const std::size_t> ids,
                          std::size_t budget, const StapOptions& options, const Rng& rng);

/// StepChooser::choose() by search().
std::vector<Pattern> searched_patterns(Committee& committee, const Candidates& candidates,
                                       std::span<const std::size_t> ids, std::size_t budget,
                                       const std::vector<ModelPair>& pairs,
                                       const StapOptions& options, const Rng& rng);

}  // namespace stap
