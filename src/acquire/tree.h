#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "acquire/search.h"

namespace stap {

/// Of all 2^L - 1 patterns the one of largest a(u0,S)/(|S| + warm-up), for every candidate of the
/// utility; of equals the one with the fewest steps, then the first as text. `start` holds a
/// pattern of each with its value: the better it is, the fewer prefixes must be rolled out; the
/// result does not depend on it. A candidate whose start is not finite keeps it. Values are those
/// of the utility, bit for bit. `rows_at_once` states are advanced in a call at most (or those of
/// two prefixes).
std::vector<Found> best_of_all(Committee& committee, const Candidates& candidates,
                               std::span<const std::size_t> ids, const Utility& utility,
                               std::vector<Found> start, std::size_t rows_at_once);

}  // namespace stap
