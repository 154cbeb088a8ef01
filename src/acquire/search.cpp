#include "acquire/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stap {
namespace {

// Candidates searched at a time, as far as memory allows: more fill no batch better.
constexpr std::size_t kPlacesMost = 256;
// The first ones: this share of a good batch, that it is not too small while nobody knows what a
// pattern costs.
constexpr std::size_t kFirstShare = 4;
// And some beyond what is likely, where they cost little: one that turns out to be needed at the
// very end is searched alone.
constexpr std::size_t kSpareShare = 64;

double per_step(double utility, const Pattern& pattern) {
  return utility / static_cast<double>(pattern.cost());
}

// One candidate: on its way, or finished.
struct Searching {
  std::size_t place;
  Rng rng;
  Found now{};  // from all ones on, once it is rolled out
  std::size_t proposed = 0;
  Pattern proposal{};
  bool finished = false;
};

class Search {
 public:
  Search(Utility& utility, std::span<const std::size_t> ids, std::size_t budget,
         const StapOptions& options, const Rng& rng)
      : utility_(utility), ids_(ids), budget_(budget), options_(options), rng_(rng) {
    for (std::size_t place = utility.places(); place-- > 0;) free_.push_back(place);
    first_ = std::max(likely_needed(), utility.committee().rows_at_once() / kFirstShare);
    enter(first_);
  }

  std::vector<Found> run() {
    // Candidates wait for each other neither at proposals nor at steps: every call of the committee
    // has a row of each that is on its way.
    while (!under_way_.empty()) {
      std::vector<std::size_t> places;
      for (const std::size_t k : under_way_) places.push_back(all_[k].place);
      utility_.step(places);
      leave();
      enter(likely_needed());
    }
    std::vector<Found> found;
    for (Searching& s : all_) found.push_back(std::move(s.now));
    return found;
  }

 private:
  // Of the first ids, no more than these can be needed: every candidate costs at least one step.
  std::size_t needed_at_most() const {
    std::size_t spent = 0, count = 0;
    while (count < all_.size() && spent < budget_) {
      const Searching& s = all_[count++];
      spent += s.finished ? s.now.pattern.cost() : 1;
    }
    const std::size_t others = spent < budget_ ? budget_ - spent : 0;
    return count + std::min(others, ids_.size() - count);
  }

  // How many more are likely to be needed: those that are far along tell what a pattern costs, at
  // first it is all steps.
  std::size_t likely_needed() const {
    std::size_t far = 0, cost = 0;
    for (const Searching& s : all_)
      if (s.finished || (s.proposed > 0 && 2 * s.proposed >= options_.proposals)) {
        ++far;
        cost += s.now.pattern.cost();
      }
    const double mean = 2 * far < first_ ? static_cast<double>(utility_.steps())
                                         : static_cast<double>(cost) / static_cast<double>(far);
    const double covered =
        static_cast<double>(cost) + mean * static_cast<double>(all_.size() - far);
    const double more = (static_cast<double>(budget_) - covered) / mean +
                        static_cast<double>(utility_.committee().rows_at_once() / kSpareShare);
    return static_cast<std::size_t>(
        std::clamp(std::ceil(more), 0.0, static_cast<double>(ids_.size())));
  }

  void enter(std::size_t more) {
    const std::size_t count = std::min(needed_at_most(), all_.size() + more);
    while (all_.size() < count && !free_.empty()) {
      const std::size_t id = ids_[all_.size()];
      under_way_.push_back(all_.size());
      all_.push_back({free_.back(), rng_.split("candidate", id)});
      utility_.enter(free_.back(), id);
      free_.pop_back();
    }
  }

  // Lets those go that are finished or that turn out not to be needed.
  void leave() {
    for (const std::size_t k : under_way_) all_[k].finished = !goes_on(all_[k]);
    const std::size_t most = needed_at_most();
    std::vector<std::size_t> still;
    for (const std::size_t k : under_way_) {
      if (k < most && !all_[k].finished)
        still.push_back(k);
      else
        free_.push_back(all_[k].place);
    }
    under_way_ = std::move(still);
    if (all_.size() > most)
      all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(most), all_.end());
  }

  // After a step: whether another one must be made.
  bool goes_on(Searching& s) {
    if (!utility_.rolled_out(s.place)) return true;
    if (s.now.pattern.steps() == 0) {
      const Pattern ones(utility_.steps(), true);
      utility_.begin(s.place, ones);
      s.now = {ones, per_step(utility_.value(s.place), ones)};
      return propose(s);
    }
    return !settled(s) || propose(s);
  }

  // Whether nothing of the proposal is left to be found out: it cannot reach the value that stands
  // (nor can one that is not finite), or all of it is known.
  bool settled(Searching& s) {
    if (!(per_step(utility_.bound(s.place), s.proposal) >= s.now.value)) return true;
    if (!utility_.complete(s.place)) return false;
    const double value = per_step(utility_.value(s.place), s.proposal);
    if (value >= s.now.value) s.now = {s.proposal, value};
    return true;
  }

  // Goes on to the next proposal that must be rolled out; false when there is none.
  bool propose(Searching& s) {
    if (!std::isfinite(s.now.value)) return false;
    while (s.proposed < options_.proposals) {
      s.proposal = s.now.pattern.flipped(options_.epsilon, s.rng.split("proposal", s.proposed++));
      // To propose what stands changes nothing.
      if (s.proposal.cost() == 0 || s.proposal == s.now.pattern) continue;
      utility_.begin(s.place, s.proposal);
      if (!settled(s)) return true;
    }
    return false;
  }

  Utility& utility_;
  std::span<const std::size_t> ids_;
  std::size_t budget_;
  StapOptions options_;
  Rng rng_;
  std::size_t first_ = 1;               // candidates that enter at once
  std::vector<Searching> all_;          // of the first ids
  std::vector<std::size_t> under_way_;  // which of them
  std::vector<std::size_t> free_;       // places, the next one last
};

}  // namespace

std::vector<Found> search(Utility& utility, std::span<const std::size_t> ids, std::size_t budget,
                          const StapOptions& options, const Rng& rng) {
  return Search(utility, ids, budget, options, rng).run();
}

std::vector<Pattern> searched_patterns(Committee& committee, const Candidates& candidates,
                                       std::span<const std::size_t> ids, std::size_t budget,
                                       std::vector<ModelPair> pairs, const StapOptions& options,
                                       const Rng& rng) {
  const std::size_t places =
      std::min({ids.size(), budget, kPlacesMost,
                Utility::fitting(kValuesAtATime, committee, candidates.steps, pairs)});
  Utility utility(committee, candidates, places, std::move(pairs));
  std::vector<Pattern> patterns;
  for (Found& found : search(utility, ids, budget, options, rng))
    patterns.push_back(std::move(found.pattern));
  return patterns;
}

}  // namespace stap
