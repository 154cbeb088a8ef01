#include <algorithm>
#include <numeric>

#include "acquire/candidate_rows.h"
#include "stap/acquire/pool.h"
#include "stap/core/resident_rows.h"

namespace stap {
namespace {

// Scores of a few candidates.
void score_block(Committee& committee, const Candidates& candidates,
                 std::span<const std::size_t> ids, std::span<double> scores) {
  const MemberRollouts rollouts(committee, candidates, ids);
  std::vector<double> spread(ids.size());
  for (std::size_t step = 0; step < candidates.steps; ++step) {
    const MemberRollouts::Step s = rollouts.step(step);
    committee.advance(s.from, s.i, rollouts.member, rollouts.rows, rollouts.own);
    committee.spread(rollouts.rows, rollouts.own, spread);
    for (std::size_t c = 0; c < ids.size(); ++c) scores[c] += spread[c];
  }
}

}  // namespace

std::vector<double> spread_scores(Committee& committee, const Candidates& candidates,
                                  std::span<const std::size_t> ids, std::size_t block) {
  if (block == 0) block = 16 * committee.rows_at_once();
  return in_blocks(ids, block, [&](std::span<const std::size_t> some, std::span<double> scores) {
    score_block(committee, candidates, some, scores);
  });
}

}  // namespace stap
