#pragma once

#include <cstddef>
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

/// Looks for the pattern of largest a(u0,S)/|S| for every candidate of the utility, from all ones
/// on: each of `proposals` proposals flips every bit with probability `epsilon` and is accepted if
/// its value is not smaller. Empty ones and ones whose value is NaN are rejected; a candidate whose
/// rollouts are not finite keeps all ones. Draws are keyed by (candidate id, proposal) below `rng`,
/// so candidates do not depend on each other.
std::vector<Found> search(Utility& utility, std::span<const std::size_t> ids, std::size_t proposals,
                          double epsilon, const Rng& rng);

/// The patterns that search() finds for these ids, in groups that fit into memory.
std::vector<Pattern> searched_patterns(Committee& committee, const Candidates& candidates,
                                       std::span<const std::size_t> ids,
                                       const std::vector<ModelPair>& pairs,
                                       const StapOptions& options, const Rng& rng);

}  // namespace stap
