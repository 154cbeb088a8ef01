#include "acquire/search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>

namespace stap {
namespace {

double per_step(double utility, const Pattern& pattern) {
  return utility / static_cast<double>(pattern.cost());
}

// One candidate on its way.
struct Searching {
  Rng rng;
  double value;  // of the pattern it stands at
  std::size_t proposed = 0;
  std::unordered_map<std::string, double> known;

  // Values only rise, so a pattern that was below once stays below.
  bool hopeless(const Pattern& pattern) const {
    const auto found = known.find(pattern.text());
    return found != known.end() && !(found->second >= value);
  }
};

}  // namespace

std::vector<Found> search(Utility& utility, std::span<const std::size_t> ids, std::size_t proposals,
                          double epsilon, const Rng& rng) {
  std::vector<Searching> searching;
  for (std::size_t c = 0; c < utility.candidates(); ++c)
    searching.push_back({rng.split("candidate", ids[c]),
                         per_step(utility.standing_value(c), utility.standing(c)),
                         0,
                         {}});

  // The next proposal of a candidate that must be evaluated; none when it has made all of its own.
  const auto next_trial = [&](std::size_t c) -> std::optional<Trial> {
    Searching& s = searching[c];
    if (!std::isfinite(s.value)) return {};
    while (s.proposed < proposals) {
      const Pattern& now = utility.standing(c);
      Pattern proposal = now.flipped(epsilon, s.rng.split("proposal", s.proposed++));
      // To propose what stands changes nothing.
      if (proposal.cost() == 0 || proposal == now || s.hopeless(proposal)) continue;
      Trial trial{c, std::move(proposal)};
      if (per_step(utility.bound(trial), trial.pattern) < s.value) continue;
      return trial;
    }
    return {};
  };

  // Candidates do not wait for each other's count of proposals, so every evaluation has a trial of
  // each that is still on its way: fewer and larger calls.
  for (;;) {
    std::vector<Trial> trials;
    for (std::size_t c = 0; c < searching.size(); ++c)
      if (std::optional<Trial> trial = next_trial(c)) trials.push_back(*std::move(trial));
    if (trials.empty()) break;
    const std::vector<double> utilities = utility.evaluate(trials);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      Searching& s = searching[trials[i].candidate];
      const double value = per_step(utilities[i], trials[i].pattern);
      s.known[trials[i].pattern.text()] = value;
      if (!(value >= s.value)) continue;
      utility.accept(trials[i].candidate);
      s.value = value;
    }
  }

  std::vector<Found> found;
  for (std::size_t c = 0; c < searching.size(); ++c)
    found.push_back({utility.standing(c), searching[c].value});
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
