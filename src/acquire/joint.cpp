#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "acquire/candidate_rows.h"
#include "acquire/ranking.h"
#include "acquire/single_steps.h"
#include "acquire/transitions.h"

namespace stap {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
// Candidates whose steps are compared together at least: fewer fill no batch.
constexpr std::size_t kTogether = 64;

// Values of every step of every id, [id][L], in blocks; `of_block` fills those of one.
template <class OfBlock>
std::vector<double> by_step(Committee& committee, std::size_t steps,
                            std::span<const std::size_t> ids, const OfBlock& of_block) {
  const std::size_t block = 16 * committee.rows_at_once();
  std::vector<double> values(ids.size() * steps);
  for (std::size_t first = 0; first < ids.size(); first += block) {
    const std::size_t n = std::min(block, ids.size() - first);
    of_block(ids.subspan(first, n), std::span(values).subspan(first * steps, n * steps));
  }
  return values;
}

// No less than a(u0,{i}) of every step i, [id][L]: the mean over ordered pairs of |u_a - u_b|^2,
// which is 2M/(M-1) times the spread, summed over the steps from i on.
std::vector<double> utility_bounds(Committee& committee, const Candidates& candidates,
                                   std::span<const std::size_t> ids) {
  // The spread is rounded otherwise than the distances that it stands for.
  constexpr double rounding = 1e-6;
  const double members = committee.members(), factor = 2 * members / (members - 1) * (1 + rounding);
  const std::size_t steps = candidates.steps;
  return by_step(
      committee, steps, ids, [&](std::span<const std::size_t> some, std::span<double> bounds) {
        const MemberRollouts rollouts(committee, candidates, some);
        std::vector<double> spread(some.size());
        for (std::size_t step = 0; step < steps; ++step) {
          const MemberRollouts::Step s = rollouts.step(step);
          committee.advance(s.from, s.i, rollouts.member, s.time, rollouts.rows, rollouts.own);
          committee.spread(rollouts.rows, rollouts.own, spread);
          for (std::size_t c = 0; c < some.size(); ++c)
            bounds[c * steps + step] = factor * spread[c];
        }
        for (std::size_t c = 0; c < some.size(); ++c)
          for (std::size_t step = steps - 1; step-- > 0;)
            bounds[c * steps + step] += bounds[c * steps + step + 1];
      });
}

// The largest of log weight + Gumbel noise falls on a transition with probability proportional to
// its weight; the order by falling values is a draw without replacement (as of sbal).
class Keys {
 public:
  Keys(const JointOptions& options, const Rng& round)
      : exponent_(options.exponent), noise_(selection_noise(round)) {}

  double operator()(std::size_t id, std::size_t step, double score) const {
    if (std::isnan(score)) return score;
    return score > 0.0 ? exponent_ * std::log(score) + noise_.split("candidate", id).gumbel(step)
                       : kNever;
  }
  // Of a candidate with these scores; of equals the last step.
  BestStep best(std::size_t id, std::span<const double> scores) const {
    BestStep best;
    for (std::size_t step = 0; step < scores.size(); ++step)
      if (const double key = (*this)(id, step, scores[step]); key >= best.key) best = {step, key};
    return best;
  }

 private:
  double exponent_;
  Rng noise_;
};

struct Keyed {
  Transition transition;
  double key = kNever;
};
bool before(const Keyed& a, const Keyed& b) {
  return a.key != b.key ? a.key > b.key : a.transition.id < b.transition.id;
}

// The candidates all of whose scores are finite, with the best of their keys.
std::vector<Keyed> keyed(std::span<const std::size_t> ids, std::span<const double> scores,
                         std::size_t steps, const Keys& keys) {
  std::vector<Keyed> all;
  for (std::size_t c = 0; c < ids.size(); ++c) {
    const auto own = scores.subspan(c * steps, steps);
    if (!std::all_of(own.begin(), own.end(), [](double s) { return std::isfinite(s); })) continue;
    const BestStep best = keys.best(ids[c], own);
    all.push_back({{ids[c], best.step}, best.key});
  }
  std::sort(all.begin(), all.end(), before);
  return all;
}

// The keys of the utilities themselves, of candidates that come by falling bounds: when as many as
// are asked for are known to be at least as good as the next bound, the others need not be known.
std::vector<Keyed> by_utility(Committee& committee, const Candidates& candidates,
                              std::span<const Keyed> bounds, std::size_t at_most,
                              const Keys& keys) {
  std::vector<Keyed> best;
  const std::size_t together = std::max(at_most, kTogether);
  for (std::size_t next = 0; next < bounds.size() && at_most > 0;) {
    const double least = best.size() < at_most ? kNever : best[at_most - 1].key;
    std::vector<std::size_t> ids;
    for (; next < bounds.size() && ids.size() < together && bounds[next].key >= least; ++next)
      ids.push_back(bounds[next].transition.id);
    if (ids.empty()) break;
    const std::vector<BestStep> found = best_single_steps(committee, candidates, ids, keys, least);
    for (std::size_t c = 0; c < ids.size(); ++c)
      best.push_back({{ids[c], found[c].step}, found[c].key});
    std::sort(best.begin(), best.end(), before);
    best.resize(std::min(best.size(), at_most));
  }
  return best;
}

}  // namespace

std::vector<double> spread_along_mean(Committee& committee, const Candidates& candidates,
                                      std::span<const std::size_t> ids) {
  const std::size_t steps = candidates.steps;
  const auto of_block = [&](std::span<const std::size_t> some, std::span<double> scores) {
    // The mean model goes to and fro between two blocks; the members step from where it stands.
    const MemberRollouts members(committee, candidates, some);
    const ResidentRows other(committee, some.size());
    const std::vector<int> mean(some.size(), kMean);
    std::vector<std::size_t> own(some.size());
    for (std::size_t c = 0; c < own.size(); ++c) own[c] = c;
    std::vector<double> spread(some.size());
    for (std::size_t step = 0; step < steps; ++step) {
      const bool even = step % 2 == 0;
      const RowsId at = even ? members.initial : other, to = even ? other : members.initial;
      const MemberRollouts::Step s = members.step(step);
      committee.advance(at, members.parent, members.member, s.time, members.rows, members.own);
      committee.spread(members.rows, members.own, spread);
      for (std::size_t c = 0; c < some.size(); ++c) scores[c * steps + step] = spread[c];
      if (step + 1 == steps) break;
      const std::vector<double> time(some.size(), input_time(step, steps));
      committee.advance(at, own, mean, time, to, own);
    }
  };
  return by_step(committee, steps, ids, of_block);
}

TransitionOrder draw_transitions(Committee& committee, const Candidates& candidates,
                                 std::size_t at_most, const JointOptions& options,
                                 const Rng& round) {
  const bool by_spread = options.score == JointOptions::Score::spread;
  const std::vector<double> scores = by_spread
                                         ? spread_along_mean(committee, candidates, candidates.open)
                                         : utility_bounds(committee, candidates, candidates.open);
  const Keys keys(options, round);
  std::vector<Keyed> drawn = keyed(candidates.open, scores, candidates.steps, keys);
  TransitionOrder order;
  order.not_finite = candidates.open.size() - drawn.size();
  if (!by_spread) drawn = by_utility(committee, candidates, drawn, at_most, keys);
  for (std::size_t k = 0; k < std::min(at_most, drawn.size()); ++k)
    order.transitions.push_back(drawn[k].transition);
  return order;
}

const config::Fields<JointOptions>& joint_fields() {
  static const config::Fields<JointOptions> fields{
      {"score", &JointOptions::score,
       "what a step is drawn by: STAP's utility of that step alone (utility), or how far the "
       "members are apart after one step from the mean model's state there (spread)",
       config::choices<JointOptions::Score>(
           {{"utility", JointOptions::Score::utility}, {"spread", JointOptions::Score::spread}})},
      {"exponent", &JointOptions::exponent,
       "m: a step of score s is drawn with probability proportional to s^m", config::at_least(0)},
  };
  return fields;
}

std::unique_ptr<Planner> make_joint(const JointOptions& options) {
  config::read(joint_fields(), config::to_value(joint_fields(), options), "joint");
  return make_transition_planner("joint", 2,
                                 [options](Committee& committee, const Candidates& candidates,
                                           std::size_t at_most, const Rng& round) {
                                   return draw_transitions(committee, candidates, at_most, options,
                                                           round);
                                 });
}

}  // namespace stap
