#include "acquire/search.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace stap {
namespace {

// Candidates searched at a time, as far as memory allows: more fill no batch better.
constexpr std::size_t kPlacesMost = 256;
// Shares of a good batch. Candidates at first: not too few while nobody knows what a pattern costs.
constexpr std::size_t kFirstShare = 4;
// And later beyond what is likely, where they cost little: one that turns out to be needed at the
// very end is searched alone.
constexpr std::size_t kSpareShare = 64;
// Proposals of a searcher's candidates together. More would be more that are made in vain.
constexpr std::size_t kFillShare = 4;
// Committees asked at the same time, where a call leaves parts of the machine idle. With more, each
// has fewer candidates to fill its batches (docs/lab/performance.md).
constexpr std::size_t kSearchersMost = 2;

// A proposal that cannot be answered yet, or not before those it came after.
struct Proposal {
  std::size_t index;
  Trial trial;
  std::optional<double> value;  // once it is known, and no less than that of what stands
};

// A candidate on its way.
struct UnderWay {
  std::size_t candidate;  // which of the ids
  std::size_t place;
  Rng rng;
  Found now{};  // from all ones on, once it is rolled out
  std::size_t proposed = 0;
  // All made from what stands, as if none of them would be accepted: few are. When one is, those
  // after it are made anew.
  std::vector<Proposal> proposals{};
};

// Searches for the candidates of one utility.
class Searcher {
 public:
  Searcher(Utility& utility, std::span<const std::size_t> ids, Admission& admission,
           const StapOptions& options, const Rng& rng)
      : utility_(utility), ids_(ids), admission_(admission), options_(options), rng_(rng) {
    for (std::size_t place = utility.places(); place-- > 0;) free_.push_back(place);
  }

  void enter(std::size_t most) {
    const auto [from, count] = admission_.let_in(std::min(most, free_.size()));
    for (std::size_t c = from; c < from + count; ++c) {
      under_way_.push_back({c, free_.back(), rng_.split("candidate", ids_[c])});
      utility_.enter(free_.back(), ids_[c]);
      free_.pop_back();
    }
  }

  // Candidates wait for each other neither at proposals nor at steps: every call of the committee
  // has a row of each that is on its way.
  void run() {
    while (!under_way_.empty()) {
      std::vector<std::size_t> entering;
      std::vector<Trial*> trials;
      for (UnderWay& s : under_way_) {
        if (!utility_.rolled_out(s.place)) entering.push_back(s.place);
        for (Proposal& p : s.proposals)
          if (!p.value) trials.push_back(&p.trial);
      }
      utility_.step(entering, trials);
      leave();
      enter(free_.size());
    }
  }

 private:
  // Lets those go that are finished or that turn out not to be needed.
  void leave() {
    at_once_ = std::clamp<std::size_t>(
        utility_.committee().rows_at_once() / kFillShare / under_way_.size(), 1, kTrialsMost);
    const std::size_t needed = admission_.needed_at_most();
    std::vector<UnderWay> still;
    for (UnderWay& s : under_way_) {
      const bool on = goes_on(s);
      if (on && 2 * s.proposed >= options_.proposals)
        admission_.far_along(s.candidate, s.now.pattern.cost());
      if (on && s.candidate < needed) {
        still.push_back(std::move(s));
        continue;
      }
      free_.push_back(s.place);
      if (!on) admission_.finished(s.candidate, std::move(s.now));
    }
    under_way_ = std::move(still);
  }

  // After a step: whether another one must be made.
  bool goes_on(UnderWay& s) {
    if (!utility_.rolled_out(s.place)) return true;
    if (s.now.pattern.steps() == 0) {
      const Pattern ones(utility_.steps(), true);
      s.now = {ones, utility_.per_step(utility_.value(utility_.begin(s.place, ones)), ones.cost())};
    }
    answer(s);
    return propose(s);
  }

  // Whether the proposal is rejected: it cannot reach the value that stands, nor can one that is
  // not finite. Finds its value if all of it is known.
  bool rejected(Proposal& p, const Found& now) const {
    if (!(utility_.per_step(utility_.bound(p.trial), p.trial.pattern.cost()) >= now.value))
      return true;
    if (!utility_.complete(p.trial)) return false;
    const double value = utility_.per_step(utility_.value(p.trial), p.trial.pattern.cost());
    if (value >= now.value) p.value = value;
    return !p.value;
  }

  // After a step: which proposals are answered by it.
  void answer(UnderWay& s) {
    std::vector<Proposal> open;
    for (Proposal& p : s.proposals) {
      if (!p.value && rejected(p, s.now)) continue;
      open.push_back(std::move(p));
      if (!open.back().value) continue;
      // If it is accepted, those after it start from it.
      s.proposed = open.back().index + 1;
      break;
    }
    s.proposals = std::move(open);
    accept_first(s);
  }

  void accept_first(UnderWay& s) {
    if (s.proposals.empty() || !s.proposals.front().value) return;
    s.now = {s.proposals.front().trial.pattern, *s.proposals.front().value};
    s.proposals.clear();
  }

  // Goes on to the next proposals that must be rolled out; false when there are none.
  bool propose(UnderWay& s) {
    if (!std::isfinite(s.now.value)) return false;
    while (s.proposed < options_.proposals && s.proposals.size() < at_once_) {
      if (!s.proposals.empty() && s.proposals.back().value) break;
      const std::size_t index = s.proposed++;
      const Pattern pattern =
          s.now.pattern.flipped(options_.epsilon, s.rng.split("proposal", index));
      // To propose what stands changes nothing.
      if (pattern.cost() == 0 || pattern == s.now.pattern) continue;
      Proposal p{index, utility_.begin(s.place, pattern), {}};
      if (rejected(p, s.now)) continue;
      s.proposals.push_back(std::move(p));
      accept_first(s);
    }
    return !s.proposals.empty();
  }

  Utility& utility_;
  std::span<const std::size_t> ids_;
  Admission& admission_;
  StapOptions options_;
  Rng rng_;
  std::size_t at_once_ = 1;  // proposals of a candidate
  std::vector<UnderWay> under_way_;
  std::vector<std::size_t> free_;  // places, the next one last
};

// run() of all searchers at the same time; throws what the first of them threw.
void run_together(std::span<Searcher> searchers) {
  std::vector<std::exception_ptr> errors(searchers.size());
  const auto run = [&](std::size_t s) {
    try {
      searchers[s].run();
    } catch (...) {
      errors[s] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  try {
    while (1 + threads.size() < searchers.size()) threads.emplace_back(run, 1 + threads.size());
  } catch (const std::system_error&) {  // no more threads: this one does the rest
  }
  const std::size_t begun = 1 + threads.size();
  run(0);
  for (std::size_t s = begun; s < searchers.size(); ++s) run(s);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace

std::vector<Found> search(std::span<Utility* const> utilities, std::span<const std::size_t> ids,
                          std::size_t budget, const StapOptions& options, const Rng& rng) {
  const std::size_t batch = utilities[0]->committee().rows_at_once();
  Admission admission(ids.size(), budget, utilities[0]->steps(), utilities[0]->warm_up(),
                      batch / kFirstShare, batch / kSpareShare);
  std::vector<Searcher> searchers;
  for (Utility* utility : utilities) searchers.emplace_back(*utility, ids, admission, options, rng);
  const std::size_t share = (admission.first() + searchers.size() - 1) / searchers.size();
  for (Searcher& searcher : searchers) searcher.enter(share);
  run_together(searchers);
  return admission.found();
}

std::vector<Pattern> searched_patterns(Committee& committee, const Candidates& candidates,
                                       std::span<const std::size_t> ids, std::size_t budget,
                                       const std::vector<ModelPair>& pairs,
                                       const StapOptions& options, const Rng& rng) {
  std::size_t places =
      std::min({ids.size(), budget, kPlacesMost,
                Utility::fitting(kValuesAtATime, committee, candidates.steps, pairs)});
  std::vector<std::unique_ptr<Committee>> others;
  while (1 + others.size() < std::min(kSearchersMost, places)) {
    std::unique_ptr<Committee> other = committee.another();
    if (!other) break;
    others.push_back(std::move(other));
  }
  const std::size_t searchers = 1 + others.size();
  places = (places + searchers - 1) / searchers;
  std::vector<std::unique_ptr<Utility>> utilities;
  std::vector<Utility*> all;
  for (std::size_t s = 0; s < searchers; ++s) {
    utilities.push_back(std::make_unique<Utility>(s == 0 ? committee : *others[s - 1], candidates,
                                                  places, pairs, kValuesAtATime / searchers));
    all.push_back(utilities.back().get());
  }
  std::vector<Pattern> patterns;
  for (Found& found : search(all, ids, budget, options, rng))
    patterns.push_back(std::move(found.pattern));
  return patterns;
}

}  // namespace stap
