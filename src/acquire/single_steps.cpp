#include "acquire/single_steps.h"

#include <algorithm>
#include <cmath>

#include "acquire/candidate_rows.h"
#include "acquire/utility.h"

namespace stap {
namespace {

// Good batches that a call is filled with, as far as there are steps to roll out. Most must be seen
// nearly to their end, so little is made in vain, and calls are fewer.
constexpr std::size_t kBatches = 4;

// Some candidates, rolled out by every member, and for each of their steps the rollouts of every
// ordered pair that differ from b's in that step alone. Only the last state of these is kept.
class SingleSteps {
 public:
  SingleSteps(Committee& committee, const Candidates& candidates, std::span<const std::size_t> ids,
              StapOneOptions::Search search)
      : committee_(committee),
        ids_(ids),
        quick_(search == StapOneOptions::Search::quick),
        steps_(candidates.steps),
        members_(static_cast<std::size_t>(committee.members())),
        pairs_(ordered_pairs(committee.members())),
        rows_(committee, ids.size() * rows_each(steps_, members_, pairs_.size())),
        distances_(ids.size() * steps_ * pairs_.size()),
        rest_(ids.size() * (steps_ + 1), 0.0),
        reductions_(ids.size() * steps_ * pairs_.size(), 0.0),
        carried_(ids.size() * steps_, 1.0),
        open_(ids.size()),
        best_(ids.size()) {
    put_candidates(committee, rows_, candidates, ids);
  }

  // The states that a candidate needs: its own, those of the members' rollouts, the mixed ones.
  static std::size_t rows_each(std::size_t steps, std::size_t members, std::size_t pairs) {
    return 1 + members * steps + pairs * steps;
  }

  std::vector<BestStep> find() {
    roll_out();
    for (std::size_t c = 0; c < ids_.size(); ++c)
      if (std::isfinite(rest(c, 0)))
        for (std::size_t step = 0; step < steps_; ++step)
          open_[c].push_back({c, step, step, bound({c, step, step})});
    if (quick_) begin_all();
    for (std::vector<OneStep*> chosen = most_promising(); !chosen.empty();
         chosen = most_promising())
      advance(chosen);
    return std::move(best_);
  }

 private:
  // Step `step` of a candidate, rolled out to the input of step `next`.
  struct OneStep {
    std::size_t candidate, step, next;
    double bound = 0.0;  // no less than its utility; in a quick search what that is likely to be
    // At the last known time, as parts of the distance between the members: what the step has taken
    // off it, and how far it has moved b's rollout.
    double gained = 0.0, moved = 0.0;
  };

  // The first mixed state of every step, which tells what each has of the members' difference.
  void begin_all() {
    std::vector<OneStep*> all;
    for (std::vector<OneStep>& steps : open_)
      for (OneStep& t : steps) all.push_back(&t);
    if (all.empty()) return;
    advance(all);
    for (OneStep* t : all)
      if (const double before = 1.0 - aligned(*t); std::isfinite(before))
        carried(t->candidate, t->step) = std::clamp(before, 0.0, 1.0);
    for (OneStep* t : all)
      if (t->next < steps_) t->bound = bound(*t);
  }

  void roll_out() {
    for (std::size_t step = 0; step < steps_; ++step) {
      std::vector<std::size_t> from, to, x, y;
      std::vector<int> member;
      for (std::size_t c = 0; c < ids_.size(); ++c) {
        for (std::size_t m = 0; m < members_; ++m) {
          from.push_back(input_row(c, m, step));
          to.push_back(rollout_row(c, m, step));
          member.push_back(static_cast<int>(m));
        }
        for (const ModelPair& pair : pairs_) {
          x.push_back(rollout_row(c, static_cast<std::size_t>(pair.a), step));
          y.push_back(rollout_row(c, static_cast<std::size_t>(pair.b), step));
        }
      }
      committee_.advance(rows_, from, member, rows_, to);
      std::vector<double> distances(x.size());
      committee_.distance2(rows_, x, rows_, y, distances);
      for (std::size_t k = 0; k < x.size(); ++k)
        distances_[k * steps_ + step] = distances[k];  // [candidate][pair][step]
    }
    for (std::size_t c = 0; c < ids_.size(); ++c)
      for (std::size_t step = steps_; step-- > 0;) {
        rest(c, step) = rest(c, step + 1);
        for (std::size_t p = 0; p < pairs_.size(); ++p) rest(c, step) += distance(c, p, step);
      }
  }

  // Drops the steps that cannot be the best; of those left the most promising ones of every
  // candidate, more than one where they would not fill a batch.
  std::vector<OneStep*> most_promising() {
    std::size_t candidates = 0;
    for (std::size_t c = 0; c < ids_.size(); ++c) {
      std::erase_if(open_[c], [&](const OneStep& t) { return !(t.bound >= best_[c].utility); });
      candidates += open_[c].empty() ? 0 : 1;
    }
    std::vector<OneStep*> chosen;
    if (candidates == 0) return chosen;
    // In a quick search one, since what is rolled out decides about what is found.
    const std::size_t each =
        quick_
            ? 1
            : std::clamp<std::size_t>(
                  kBatches * committee_.rows_at_once() / (candidates * pairs_.size()), 1, steps_);
    for (std::vector<OneStep>& trials : open_) {
      const std::size_t count = std::min(each, trials.size());
      std::partial_sort(trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(count),
                        trials.end(), [](const OneStep& a, const OneStep& b) {
                          return a.bound != b.bound ? a.bound > b.bound : a.step < b.step;
                        });
      for (std::size_t k = 0; k < count; ++k) chosen.push_back(&trials[k]);
    }
    return chosen;
  }

  void advance(std::span<OneStep* const> trials) {
    std::vector<std::size_t> from, to, target;
    std::vector<int> model;
    for (const OneStep* t : trials)
      for (std::size_t p = 0; p < pairs_.size(); ++p) {
        const bool bought = t->next == t->step;
        const std::size_t own = mixed_row(t->candidate, t->step, p);
        from.push_back(
            bought ? input_row(t->candidate, static_cast<std::size_t>(pairs_[p].b), t->step) : own);
        to.push_back(own);
        target.push_back(rollout_row(t->candidate, static_cast<std::size_t>(pairs_[p].a), t->next));
        model.push_back(bought ? pairs_[p].a : pairs_[p].b);
      }
    committee_.advance(rows_, from, model, rows_, to);
    std::vector<double> distances(to.size());
    committee_.distance2(rows_, target, rows_, to, distances);
    if (quick_) look_at_shares(trials, to, distances);
    auto mixed = distances.begin();
    for (OneStep* t : trials) {
      for (std::size_t p = 0; p < pairs_.size(); ++p)
        reduction(*t, p) += distance(t->candidate, p, t->next) - *mixed++;
      ++t->next;
      t->bound = bound(*t);
      if (t->next == steps_) finish(*t);
    }
  }

  // `to`: the rows that were made, [step][pair]; `left`: their distances to a's rollout.
  void look_at_shares(std::span<OneStep* const> trials, std::span<const std::size_t> to,
                      std::span<const double> left) {
    std::vector<std::size_t> from;
    for (const OneStep* t : trials)
      for (const ModelPair& pair : pairs_)
        from.push_back(rollout_row(t->candidate, static_cast<std::size_t>(pair.b), t->next));
    std::vector<double> moved(to.size());
    committee_.distance2(rows_, from, rows_, to, moved);
    for (std::size_t k = 0; k < trials.size(); ++k) {
      const double own = of_pairs(trials[k]->candidate, trials[k]->next);
      trials[k]->gained = trials[k]->moved = 0.0;
      if (own == 0.0) continue;  // members agree: there is nothing to have a part of
      double sums[2] = {0.0, 0.0};
      for (std::size_t p = 0; p < pairs_.size(); ++p) {
        sums[0] += left[k * pairs_.size() + p];
        sums[1] += moved[k * pairs_.size() + p];
      }
      trials[k]->gained = 1.0 - sums[0] / own;
      trials[k]->moved = sums[1] / own;
    }
  }

  void finish(OneStep& t) {
    BestStep& best = best_[t.candidate];
    const double own = utility(t);
    if (own > best.utility || (own == best.utility && t.step >= best.step)) best = {t.step, own};
    t.bound = std::numeric_limits<double>::quiet_NaN();  // it goes with those that cannot win
  }

  // Steps before the bought one give 0, those not rolled out yet no more than b's own distance.
  double bound(const OneStep& t) const {
    // Sums of the same terms in another order differ by far less than this.
    constexpr double rounding = 1e-9;
    double known = 0.0, size = 2 * rest(t.candidate, 0);
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      known += reduction(t, p);
      size += std::abs(reduction(t, p));
    }
    double most = known + rest(t.candidate, t.next) + rounding * size;
    if (quick_ && t.next > t.step) most = std::min(known + likely(t), most);
    return most / static_cast<double>(pairs_.size());
  }
  // The part of the members' difference that the step has made: what it moves, along that.
  static double aligned(const OneStep& t) { return (t.gained + t.moved) / 2; }
  // What the steps that are not rolled out yet are likely to give.
  double likely(const OneStep& t) const {
    double part = 1.0, sum = 0.0;
    for (std::size_t k = t.next; k < steps_; ++k) {
      part *= carried(t.candidate, k);
      sum += of_pairs(t.candidate, k) * part * (2 * aligned(t) - t.moved * part);
    }
    return sum;
  }
  double utility(const OneStep& t) const {
    double total = 0.0;
    for (std::size_t p = 0; p < pairs_.size(); ++p) total += reduction(t, p);
    return total / static_cast<double>(pairs_.size());
  }

  // Rows: all initial states, then of every candidate the members' rollouts and the mixed ones.
  std::size_t rollout_row(std::size_t c, std::size_t member, std::size_t step) const {
    const std::size_t each = rows_each(steps_, members_, pairs_.size()) - 1;
    return ids_.size() + c * each + member * steps_ + step;
  }
  std::size_t input_row(std::size_t c, std::size_t member, std::size_t step) const {
    return step == 0 ? c : rollout_row(c, member, step - 1);
  }
  std::size_t mixed_row(std::size_t c, std::size_t step, std::size_t pair) const {
    return rollout_row(c, members_, 0) + pair * steps_ + step;
  }
  // |u_a - u_b|^2.
  double distance(std::size_t c, std::size_t pair, std::size_t step) const {
    return distances_[(c * pairs_.size() + pair) * steps_ + step];
  }
  double of_pairs(std::size_t c, std::size_t step) const {
    double sum = 0.0;
    for (std::size_t p = 0; p < pairs_.size(); ++p) sum += distance(c, p, step);
    return sum;
  }
  // The part of the members' difference after a step that was there before it.
  double& carried(std::size_t c, std::size_t step) { return carried_[c * steps_ + step]; }
  double carried(std::size_t c, std::size_t step) const { return carried_[c * steps_ + step]; }
  // Sums of distances over pairs and the steps from `step` on.
  double& rest(std::size_t c, std::size_t step) { return rest_[c * (steps_ + 1) + step]; }
  double rest(std::size_t c, std::size_t step) const { return rest_[c * (steps_ + 1) + step]; }
  double& reduction(const OneStep& t, std::size_t pair) {
    return reductions_[(t.candidate * steps_ + t.step) * pairs_.size() + pair];
  }
  double reduction(const OneStep& t, std::size_t pair) const {
    return reductions_[(t.candidate * steps_ + t.step) * pairs_.size() + pair];
  }

  Committee& committee_;
  std::span<const std::size_t> ids_;
  bool quick_;
  std::size_t steps_, members_;
  std::vector<ModelPair> pairs_;
  ResidentRows rows_;
  std::vector<double> distances_, rest_, reductions_, carried_;
  std::vector<std::vector<OneStep>> open_;
  std::vector<BestStep> best_;
};

}  // namespace

std::vector<BestStep> best_single_steps(Committee& committee, const Candidates& candidates,
                                        std::span<const std::size_t> ids,
                                        StapOneOptions::Search search) {
  const auto members = static_cast<std::size_t>(committee.members());
  const std::size_t each =
      committee.grid().values() *
      SingleSteps::rows_each(candidates.steps, members, members * (members - 1));
  const std::size_t block = std::max<std::size_t>(1, kValuesAtATime / each);
  std::vector<BestStep> best;
  for (std::size_t first = 0; first < ids.size(); first += block) {
    const auto some = ids.subspan(first, std::min(block, ids.size() - first));
    const auto found = SingleSteps(committee, candidates, some, search).find();
    best.insert(best.end(), found.begin(), found.end());
  }
  return best;
}

}  // namespace stap
