#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "stap/acquire/pool.h"
#include "stap/core/resident_rows.h"

namespace stap {

/// Puts the states of these ids into rows 0, 1, ..., in one transfer.
inline void put_candidates(Committee& committee, RowsId rows, const Candidates& candidates,
                           std::span<const std::size_t> ids) {
  States<float> states(committee.grid(), ids.size());
  Conditions conditions;
  for (std::size_t r = 0; r < ids.size(); ++r) {
    const auto from = candidates.states.row(ids[r]);
    std::copy(from.begin(), from.end(), states.row(r).begin());
    conditions.add(candidates.conditions.step(ids[r]), candidates.conditions.parameters_of(ids[r]));
  }
  committee.put(rows, 0, states.view(), conditions.view());
}

/// score(ids, scores) for one block of the ids after the other; scores start at 0.
template <class Score>
std::vector<double> in_blocks(std::span<const std::size_t> ids, std::size_t block,
                              const Score& score) {
  block = std::max<std::size_t>(block, 1);
  std::vector<double> scores(ids.size(), 0.0);
  for (std::size_t first = 0; first < ids.size(); first += block) {
    const std::size_t n = std::min(block, ids.size() - first);
    score(ids.subspan(first, n), std::span(scores).subspan(first, n));
  }
  return scores;
}

/// Some candidates on their way, every member by itself: row c * M + m is candidate c of member m.
struct MemberRollouts {
  MemberRollouts(Committee& committee, const Candidates& candidates,
                 std::span<const std::size_t> ids)
      : initial(committee, ids.size()),
        rows(committee, ids.size() * static_cast<std::size_t>(committee.members())),
        steps(candidates.steps) {
    put_candidates(committee, initial, candidates, ids);
    const auto members = static_cast<std::size_t>(committee.members());
    for (std::size_t r = 0; r < ids.size() * members; ++r) {
      own.push_back(r);
      parent.push_back(r / members);
      member.push_back(static_cast<int>(r % members));
    }
  }

  /// What advance() and sketch() read for step `step`; they write to `rows` at `own`.
  struct Step {
    RowsId from;
    std::span<const std::size_t> i;
  };
  Step step(std::size_t step) const { return step == 0 ? Step{initial, parent} : Step{rows, own}; }

  ResidentRows initial, rows;
  std::size_t steps;
  std::vector<std::size_t> own, parent;
  std::vector<int> member;
};

}  // namespace stap
