#include <algorithm>
#include <numeric>

#include "acquire/candidate_rows.h"
#include "stap/acquire/pool.h"
#include "stap/core/resident_rows.h"

namespace stap {
namespace {

// Scores of a few candidates: row c * M + m is candidate c rolled out by member m.
void score_block(Committee& committee, const Candidates& candidates,
                 std::span<const std::size_t> ids, std::span<double> scores) {
  const auto members = static_cast<std::size_t>(committee.members());
  const std::size_t n = ids.size() * members;
  const ResidentRows initial(committee, ids.size()), rows(committee, n);
  put_candidates(committee, initial, candidates, ids);

  std::vector<std::size_t> own(n), from(n);
  std::vector<int> member(n);
  for (std::size_t r = 0; r < n; ++r) {
    own[r] = r;
    from[r] = r / members;
    member[r] = static_cast<int>(r % members);
  }
  std::vector<double> spread(ids.size());
  for (std::size_t step = 1; step <= candidates.steps; ++step) {
    const std::vector<double> time(n, input_time(step, candidates.steps));
    if (step == 1)
      committee.advance(initial, from, member, time, rows, own);
    else
      committee.advance(rows, own, member, time, rows, own);
    committee.spread(rows, own, spread);
    for (std::size_t c = 0; c < ids.size(); ++c) scores[c] += spread[c];
  }
}

}  // namespace

std::vector<double> spread_scores(Committee& committee, const Candidates& candidates,
                                  std::span<const std::size_t> ids, std::size_t block) {
  block = std::max<std::size_t>(block, 1);
  std::vector<double> scores(ids.size(), 0.0);
  for (std::size_t first = 0; first < ids.size(); first += block) {
    const std::size_t n = std::min(block, ids.size() - first);
    score_block(committee, candidates, ids.subspan(first, n), std::span(scores).subspan(first, n));
  }
  return scores;
}

}  // namespace stap
