#include "acquire/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stap {
namespace {

double per_step(double utility, const Pattern& pattern) {
  return utility / static_cast<double>(pattern.cost());
}

// One candidate on its way.
struct Searching {
  Rng rng;
  Found now;
  std::size_t proposed = 0;
  Pattern proposal;
};

}  // namespace

std::vector<Found> search(Utility& utility, std::span<const std::size_t> ids, std::size_t proposals,
                          double epsilon, const Rng& rng) {
  std::vector<Searching> searching;
  for (std::size_t c = 0; c < utility.candidates(); ++c) {
    const Pattern ones(utility.steps(), true);
    utility.begin(c, ones);
    const double value = per_step(utility.value(c), ones);
    searching.push_back({rng.split("candidate", ids[c]), {ones, value}, 0, {}});
  }

  // Whether nothing of the candidate's proposal is left to be found out: it cannot reach the value
  // that stands (nor can one that is not finite), or all of it is known.
  const auto settled = [&](std::size_t c) {
    Searching& s = searching[c];
    if (!(per_step(utility.bound(c), s.proposal) >= s.now.value)) return true;
    if (!utility.complete(c)) return false;
    const double value = per_step(utility.value(c), s.proposal);
    if (value >= s.now.value) s.now = {s.proposal, value};
    return true;
  };
  // Goes on to the next proposal that must be rolled out; false when there is none.
  const auto propose = [&](std::size_t c) {
    Searching& s = searching[c];
    if (!std::isfinite(s.now.value)) return false;
    while (s.proposed < proposals) {
      s.proposal = s.now.pattern.flipped(epsilon, s.rng.split("proposal", s.proposed++));
      // To propose what stands changes nothing.
      if (s.proposal.cost() == 0 || s.proposal == s.now.pattern) continue;
      utility.begin(c, s.proposal);
      if (!settled(c)) return true;
    }
    return false;
  };

  // Candidates wait for each other neither at proposals nor at steps: every call of the committee
  // has a row of each that is still on its way.
  std::vector<std::size_t> under_way;
  for (std::size_t c = 0; c < searching.size(); ++c)
    if (propose(c)) under_way.push_back(c);
  while (!under_way.empty()) {
    utility.step(under_way);
    std::vector<std::size_t> still;
    for (const std::size_t c : under_way)
      if (!settled(c) || propose(c)) still.push_back(c);
    under_way = std::move(still);
  }

  std::vector<Found> found;
  for (Searching& s : searching) found.push_back(std::move(s.now));
  return found;
}

std::vector<Pattern> searched_patterns(Committee& committee, const Candidates& candidates,
                                       std::span<const std::size_t> ids,
                                       const std::vector<ModelPair>& pairs,
                                       const StapOptions& options, const Rng& rng) {
  const std::size_t most = Utility::fitting(kValuesAtATime, committee, candidates.steps, pairs);
  std::vector<Pattern> patterns;
  for (std::size_t first = 0; first < ids.size(); first += most) {
    const auto group = ids.subspan(first, std::min(most, ids.size() - first));
    Utility utility(committee, candidates, group, pairs);
    for (Found& found : search(utility, group, options.proposals, options.epsilon, rng))
      patterns.push_back(std::move(found.pattern));
  }
  return patterns;
}

}  // namespace stap
