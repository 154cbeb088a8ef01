#include "acquire/search.h"

#include <cmath>
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
                         {}});

  for (std::size_t t = 0; t < proposals; ++t) {
    std::vector<Trial> trials;
    for (std::size_t c = 0; c < searching.size(); ++c) {
      if (!std::isfinite(searching[c].value)) continue;
      const Pattern& now = utility.standing(c);
      Pattern proposal = now.flipped(epsilon, searching[c].rng.split("proposal", t));
      // To propose what stands changes nothing.
      if (proposal.cost() == 0 || proposal == now || searching[c].hopeless(proposal)) continue;
      Trial trial{c, std::move(proposal)};
      if (per_step(utility.bound(trial), trial.pattern) < searching[c].value) continue;
      trials.push_back(std::move(trial));
    }
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

}  // namespace stap
