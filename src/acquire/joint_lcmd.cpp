#include <algorithm>

#include "acquire/candidate_rows.h"
#include "acquire/features.h"
#include "acquire/transitions.h"

namespace stap {
namespace {

// Sketched last hidden activations of every member in one step from the state that the mean model
// has reached, [transition][kSketchSize]. One map for all steps, so that they can be compared.
std::vector<double> transition_features(Committee& committee, const Candidates& candidates,
                                        std::span<const Transition> transitions) {
  const auto members = static_cast<std::size_t>(committee.members());
  const std::size_t steps = candidates.steps, block = 8 * committee.rows_at_once();
  std::vector<double> features(transitions.size() * kSketchSize, 0.0);
  for (std::size_t first = 0; first < transitions.size(); first += block) {
    const auto some = transitions.subspan(first, std::min(block, transitions.size() - first));
    std::vector<std::size_t> ids;
    for (const Transition& t : some) ids.push_back(t.id);
    const ResidentRows rows(committee, some.size()), results(committee, some.size() * members);
    put_candidates(committee, rows, candidates, ids);
    // The mean model walks to the step of each.
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<std::size_t> walking;
      for (std::size_t k = 0; k < some.size(); ++k)
        if (some[k].step > step) walking.push_back(k);
      if (walking.empty()) break;
      const std::vector<int> mean(walking.size(), kMean);
      const std::vector<double> time(walking.size(), input_time(step, steps));
      committee.advance(rows, walking, mean, time, rows, walking);
    }
    std::vector<std::size_t> from, to;
    std::vector<int> member;
    std::vector<double> time;
    for (std::size_t r = 0; r < some.size() * members; ++r) {
      from.push_back(r / members);
      to.push_back(r);
      member.push_back(static_cast<int>(r % members));
      time.push_back(input_time(some[r / members].step, steps));
    }
    std::vector<double> own(some.size() * members * kSketchSize, 0.0);
    committee.sketch(rows, from, member, time, 0, SketchKind::sparse, results, to, own);
    for (std::size_t r = 0; r < some.size() * members; ++r)
      for (std::size_t k = 0; k < kSketchSize; ++k)
        features[(first + r / members) * kSketchSize + k] += own[r * kSketchSize + k];
  }
  return features;
}

// Drawn ones put in the order of LCMD. What was bought before is known by its candidates alone:
// their first steps are centres.
TransitionOrder spread_out(Committee& committee, const Candidates& candidates,
                           TransitionOrder drawn, std::size_t preselect) {
  const std::size_t count = std::min(preselect, drawn.transitions.size());
  std::vector<char> open(candidates.states.count, 0);
  for (const std::size_t id : candidates.open) open[id] = 1;
  std::vector<Transition> used;
  for (std::size_t id = 0; id < open.size(); ++id)
    if (!open[id]) used.push_back({id, 0});
  std::vector<Transition> first(drawn.transitions.begin(),
                                drawn.transitions.begin() + static_cast<std::ptrdiff_t>(count));
  std::sort(first.begin(), first.end(),
            [](const Transition& a, const Transition& b) { return a.id < b.id; });
  std::vector<std::size_t> places(count);
  for (std::size_t k = 0; k < count; ++k) places[k] = k;
  const FeatureSpace space =
      make_feature_space(places, transition_features(committee, candidates, first),
                         transition_features(committee, candidates, used));
  TransitionOrder order;
  order.not_finite = drawn.not_finite + space.not_finite;
  for (const std::size_t place : take_greedily(space, count, farthest_of_heaviest).ids)
    order.transitions.push_back(first[place]);
  order.transitions.insert(order.transitions.end(),
                           drawn.transitions.begin() + static_cast<std::ptrdiff_t>(count),
                           drawn.transitions.end());
  return order;
}

}  // namespace

const config::Fields<JointLcmdOptions>& joint_lcmd_fields() {
  static const config::Fields<JointLcmdOptions> fields{
      {"preselect", &JointLcmdOptions::preselect,
       "transitions drawn in proportion to the spread, which are then taken in LCMD's order",
       config::between(1, 1e6)},
      {"exponent", &JointLcmdOptions::exponent, "of that spread, as of joint", config::at_least(0)},
  };
  return fields;
}

std::unique_ptr<Planner> make_joint_lcmd(const JointLcmdOptions& options) {
  config::read(joint_lcmd_fields(), config::to_value(joint_lcmd_fields(), options), "joint-lcmd");
  return make_transition_planner(
      "joint-lcmd", 2,
      [options](Committee& committee, const Candidates& candidates, std::size_t at_most,
                const Rng& round) {
        // Which ones are drawn must not depend on how many are asked for.
        const JointOptions draw{JointOptions::Score::spread, options.exponent};
        TransitionOrder order = spread_out(
            committee, candidates,
            draw_transitions(committee, candidates, at_most + options.preselect, draw, round),
            options.preselect);
        order.transitions.resize(std::min(at_most, order.transitions.size()));
        return order;
      });
}

}  // namespace stap
