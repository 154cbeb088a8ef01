#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "stap/acquire/pool.h"

namespace stap {

/// Puts the states of these ids into rows 0, 1, ..., in one transfer.
inline void put_candidates(Committee& committee, RowsId rows, const Candidates& candidates,
                           std::span<const std::size_t> ids) {
  States<float> states(committee.grid(), ids.size());
  for (std::size_t r = 0; r < ids.size(); ++r) {
    const auto from = candidates.states.row(ids[r]);
    std::copy(from.begin(), from.end(), states.row(r).begin());
  }
  committee.put(rows, 0, states.view());
}

}  // namespace stap
