// Methods that buy single steps, against slow twins: stap-one, joint, joint-lcmd.
#include "acquire/single_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "acquire/ranking.h"
#include "acquire/transitions.h"
#include "reference/lcmd.h"
#include "stap/acquire/methods.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::World;
using Ids = std::vector<std::size_t>;
using Transitions = std::vector<Transition>;

double utility_itself(std::size_t, std::size_t, double utility) {
  return utility;
}

Transitions transitions_of(const Plan& plan) {
  Transitions all;
  for (const Purchase& p : plan.purchases) {
    EXPECT_EQ(p.pattern.cost(), 1u);
    all.push_back({p.candidate, p.pattern.end() - 1});
  }
  return all;
}

// Step and value, bit for bit, however many rows are advanced at once. Breaks if a step starts from
// a's state, a pair's target is b, the bound leaves out later steps, a tie goes to the earlier
// step, or a mixed rollout overwrites another's.
TEST(StapOneProperty, IsTheBestSingleStepOfTheTwin) {
  for (World& world : test::some_worlds(5)) {
    auto* fake = dynamic_cast<FakeCommittee*>(world.committee.get());
    for (const std::size_t at_once : {1, 40, 4000}) {
      if (fake != nullptr) fake->at_once = at_once;

      const auto best =
          best_single_steps(*world.committee, world.candidates(), world.open, utility_itself);

      for (const std::size_t id : world.open) {
        const auto expected = reference::best_single(world.models(), world.steps, world.state(id));
        EXPECT_EQ(best[id].key, expected.value);
        EXPECT_EQ(best[id].step + 1, expected.pattern.end());
      }
    }
  }
}

// Steps, utilities and states advanced, whoever else is asked about. Breaks if a step goes on that
// is not the most promising one, the part that later steps add is left out of the estimate, the
// distances to b are those to a, or how many rows are advanced at once decides.
TEST(StapOneProperty, QuicklyItIsTheTwinsStep) {
  std::size_t other = 0, all = 0;
  std::vector<World> worlds = test::some_worlds(8);
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    worlds.push_back(test::linear_world(seed, 2 + seed % 2, 9, 7));
  for (World& world : worlds) {
    auto* fake = dynamic_cast<FakeCommittee*>(world.committee.get());
    for (const std::size_t at_once : {1, 4000}) {
      if (fake != nullptr) fake->at_once = at_once, fake->advanced = 0;

      const auto found = likely_best_steps(*world.committee, world.candidates(), world.open);

      const std::size_t advanced = fake != nullptr ? fake->advanced : 0;
      const auto models = world.models();
      const std::size_t pairs = models.size() * (models.size() - 1);
      std::size_t states = 0;
      for (const std::size_t id : world.open) {
        const auto twin = reference::likely_best(models, world.steps, world.state(id));
        EXPECT_EQ(found[id].step, twin.step) << id;
        EXPECT_EQ(found[id].key, twin.value) << id;
        states += models.size() * world.steps + pairs * twin.looked_at;
        const auto best = reference::best_single(models, world.steps, world.state(id));
        EXPECT_LE(found[id].key, best.value);
        other += found[id].step + 1 != best.pattern.end() ? 1 : 0;
        ++all;
      }
      if (fake != nullptr) {
        EXPECT_EQ(advanced, states);
      }
    }
  }
  EXPECT_GT(other, 0u);  // or these worlds would not tell it from the exact search
  EXPECT_LT(other, all / 2);
}

// Breaks if states that are not finite get into estimates of others, or nothing is found.
TEST(StapOneProperty, QuicklyStatesThatAreNotFiniteHarmNobody) {
  World world = test::linear_world(3, 2, 6, 3);
  const auto whole = likely_best_steps(*world.committee, world.candidates(), world.open);
  world.pool.row(1)[0] = std::numeric_limits<float>::quiet_NaN();

  const auto found = likely_best_steps(*world.committee, world.candidates(), world.open);

  EXPECT_EQ(found[0].step, whole[0].step);
  EXPECT_EQ(found[2].step, whole[2].step);
  EXPECT_EQ(found[1].step, 0u);
  EXPECT_EQ(found[1].key, -std::numeric_limits<double>::infinity());
}

// Breaks if ties go another way than exact's, or values are not those of patterns.
TEST(StapOneProperty, IsWhatExactFindsWhereThatIsASingleStep) {
  std::size_t single = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    World world = test::linear_world(seed, 2 + seed % 3, 1 + seed % 8, 4);
    if (seed == 11) {  // members that agree: all values are 0
      const auto member = test::linear_member(5, Rng(1));
      world.committee = std::make_unique<FakeCommittee>(
          world.pool.grid(), std::vector<FakeCommittee::Member>{member, member});
    }
    const auto one = test::patterns_of(*make_stap_one(), *world.committee, world.candidates(),
                                       world.open, Rng(1));
    const auto exact =
        test::patterns_of(*make_exact(), *world.committee, world.candidates(), world.open, Rng(1));

    for (std::size_t k = 0; k < exact.size(); ++k)
      if (exact[k].cost() == 1) {
        EXPECT_EQ(one[k], exact[k]);
        ++single;
      }
  }
  EXPECT_GT(single, 20u);
}

// One step cures all: what is left is given up at once. Breaks if nothing is given up, or a
// candidate that cannot reach `least` is rolled out.
TEST(StapOneCost, StepsThatCannotWinAreNotRolledOut) {
  // Members differ in the first step alone, by a shift that stays.
  constexpr std::size_t steps = 9;
  World world = test::linear_world(1, 2, steps, 1);
  for (float& value : world.pool.row(0)) value = 1.0f;  // sums are exact
  const auto member = [](float shift) {
    return [shift](const std::vector<float>& u, double time) {
      std::vector<float> next = u;
      if (time == 0.0)
        for (float& v : next) v += shift;
      return next;
    };
  };
  world.committee = std::make_unique<FakeCommittee>(
      world.pool.grid(), std::vector<FakeCommittee::Member>{member(1.0f), member(-1.0f)});
  auto& committee = dynamic_cast<FakeCommittee&>(*world.committee);
  committee.at_once = 0;  // one step at a time

  const auto best = best_single_steps(committee, world.candidates(), world.open, utility_itself);
  const std::size_t taken = committee.advanced;
  committee.advanced = 0;
  best_single_steps(committee, world.candidates(), world.open, utility_itself, 2 * best[0].key);

  EXPECT_EQ(best[0].step, 0u);
  EXPECT_EQ(best[0].key, 4.0 * 5 * steps);
  EXPECT_EQ(taken, 2 * steps + 2 * steps) << "the rollouts and one step's";
  EXPECT_EQ(committee.advanced, 2 * steps) << "the rollouts";
}

// Frequencies of 3000 candidates over 5 steps at five standard errors (streams are fixed). Breaks
// if the draw is not keyed by candidate or favours a step.
TEST(UniformOne, DrawsEveryStepEquallyOften) {
  const World world = test::linear_world(1, 1, 5, 1);
  Ids ids(3000);
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  std::vector<std::size_t> seen(5, 0);

  for (const Pattern& p :
       test::patterns_of(*make_uniform_one(), *world.committee, world.candidates(), ids, Rng(3))) {
    ASSERT_EQ(p.cost(), 1u);
    ++seen[p.end() - 1];
  }

  for (const std::size_t n : seen) EXPECT_NEAR(double(n), 600.0, 5 * std::sqrt(3000 * 0.2 * 0.8));
}

// Both scores, every budget. Breaks if utilities of candidates that could still win are left out
// (the bound without its factor, or of the wrong step), noise is keyed by position, a candidate is
// taken twice, or the members are not compared along the mean rollout.
TEST(JointProperty, IsTheTwinsDrawForEveryBudget) {
  const Ids closed = {1, 5};
  std::vector<World> worlds = test::some_worlds(9);
  // More than are looked at together, so that most are left out.
  for (const std::size_t members : {2, 3})
    worlds.push_back(test::linear_world(members, members, 4, 140, 3));
  for (World& world : worlds) {
    std::erase_if(world.open,
                  [&](std::size_t id) { return std::count(closed.begin(), closed.end(), id) > 0; });
    const auto models = world.models();
    std::map<std::size_t, std::vector<double>> spread, utility;
    for (const std::size_t id : world.open) {
      spread[id] =
          reference::spread_along_mean(world.model(kMean), models, world.steps, world.state(id));
      for (std::size_t i = 0; i < world.steps; ++i)
        utility[id].push_back(reference::utility(
            models,
            Pattern::parse(std::string(i, '0') + "1" + std::string(world.steps - i - 1, '0')),
            world.state(id)));
    }
    for (const double exponent : {1.0, 0.5})
      for (const auto score : {JointOptions::Score::utility, JointOptions::Score::spread}) {
        const Rng rng(static_cast<std::uint64_t>(10 * exponent));
        auto& scores = score == JointOptions::Score::utility ? utility : spread;
        const auto expected = reference::draw_transitions(
            world.open, world.steps, exponent, selection_noise(rng),
            [&](std::size_t id, std::size_t step) { return scores[id][step]; });
        ASSERT_GT(expected.size(), 3u);
        const auto planner = make_joint({score, exponent});
        for (std::size_t budget = 1; budget <= expected.size(); budget += 1 + 3 * (budget / 8)) {
          const Transitions drawn = transitions_of(
              test::spend(budget, *planner, *world.committee, world.candidates(), rng));

          ASSERT_EQ(drawn.size(), budget);
          for (std::size_t k = 0; k < budget; ++k) {
            EXPECT_EQ(drawn[k].id, expected[k].id);
            EXPECT_EQ(drawn[k].step, expected[k].step);
          }
        }
      }
  }
}

// The shares of (candidate, step) that come first, three weights each of two candidates, against
// weight / sum at five standard errors. Breaks if noise is shared by the steps of a candidate.
TEST(JointFrequencies, TransitionsAreDrawnInProportionToTheirScores) {
  // Two members on one value, u -> u +- (1 + 3 t) u0-ish: spreads are known from the state alone.
  World world = test::linear_world(1, 2, 3, 2, 1);
  world.pool.row(0)[0] = 1.0f;
  world.pool.row(1)[0] = 2.0f;
  const auto member = [](float sign) {
    return [sign](const std::vector<float>& u, double time) {
      return std::vector<float>{u[0] + sign * u[0] * static_cast<float>(1.0 + 3.0 * time)};
    };
  };
  world.committee = std::make_unique<FakeCommittee>(
      world.pool.grid(), std::vector<FakeCommittee::Member>{member(1.0f), member(-1.0f)});
  const std::vector<double> weights = {1, 4, 9, 4, 16, 36};  // (u (1 + 3 t))^2, t = 0, 1/3, 2/3
  constexpr std::size_t draws = 6000;
  std::vector<std::size_t> seen(6, 0);

  for (std::size_t k = 0; k < draws; ++k) {
    const Transition first =
        draw_transitions(*world.committee, world.candidates(), 1,
                         {JointOptions::Score::spread, 1.0}, Rng(5).split("round", k))
            .transitions.at(0);
    ++seen[first.id * 3 + first.step];
  }

  for (std::size_t k = 0; k < 6; ++k) {
    const double p = weights[k] / 70, n = double(draws);
    EXPECT_NEAR(double(seen[k]), n * p, 5 * std::sqrt(n * p * (1 - p))) << k;
  }
}

// The last hidden activations of one step from the mean model's state, member by member.
reference::Point features_of(const World& world, const Transition& t) {
  Committee& committee = *world.committee;
  reference::Point sum(kSketchSize, 0.0);
  reference::State state = world.state(t.id);
  const auto mean = world.model(kMean);
  for (std::size_t step = 0; step < t.step; ++step)
    state = mean(state, input_time(step, world.steps));
  const std::size_t zero[] = {0};
  const double time = input_time(t.step, world.steps);
  for (int member = 0; member < committee.members(); ++member) {
    const RowsId row = committee.rows(1);
    committee.put(row, 0, {state.data(), 1, state.size()});
    committee.sketch(row, zero, {&member, 1}, {&time, 1}, 0, SketchKind::sparse, row, zero, sum);
    committee.release(row);
  }
  return sum;
}

// Breaks if the features are those of another step, the map differs from step to step, closed
// candidates are no centres, or what is drawn depends on the budget.
TEST(JointLcmdProperty, IsTheTextbooksOrderOfWhatIsDrawn) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    World world = test::network_world(seed, 2, 4, 13);
    const Ids closed = {2, 7};
    std::erase_if(world.open, [&](std::size_t id) { return id == 2 || id == 7; });
    const Transitions drawn = draw_transitions(*world.committee, world.candidates(), 11,
                                               {JointOptions::Score::spread, 1.0}, Rng(seed))
                                  .transitions;
    Transitions first(drawn.begin(), drawn.begin() + 8);
    std::sort(first.begin(), first.end(),
              [](const Transition& a, const Transition& b) { return a.id < b.id; });
    std::vector<reference::Point> points, centres;
    for (const Transition& t : first) points.push_back(features_of(world, t));
    for (const std::size_t id : closed) centres.push_back(features_of(world, {id, 0}));
    Transitions expected;
    for (const std::size_t k : reference::take_by_distance(points, centres, true))
      expected.push_back(first[k]);
    expected.insert(expected.end(), drawn.begin() + 8, drawn.end());
    const auto planner = make_joint_lcmd({.preselect = 8});

    for (const std::size_t budget : {1, 5, 8, 10, 11}) {
      const Plan plan =
          test::spend(budget, *planner, *world.committee, world.candidates(), Rng(seed));

      EXPECT_EQ(transitions_of(plan),
                Transitions(expected.begin(), expected.begin() + static_cast<long>(budget)));
    }
  }
}

// Every planner of the table: what is left of the budget when candidates run out, those that are
// not finite, and rows. Breaks if a plan begins anew instead of behind the one before, another
// process would go on otherwise, NaN passes a comparison, or the listing of the pool matters.
TEST(PlannerProperty, EveryPlannerSpendsFiniteCandidatesOnceAndGoesOn) {
  for (const PlannerRow& row : planner_table()) {
    if (row.name != "joint" && row.name != "joint-lcmd") continue;  // what other tests have added
    World world = test::linear_world(4, 2, 5, 12);
    world.pool.row(3)[1] = std::numeric_limits<float>::quiet_NaN();
    const auto planner = row.make({}, {});
    const Candidates candidates = world.candidates();
    const Plan whole = test::spend(40, *planner, *world.committee, candidates, Rng(6));
    const auto spending = planner->begin(*world.committee, candidates, Rng(6));
    const Plan first = spending->next(4), second = spending->next(5);
    const auto later = planner->begin(*world.committee, candidates, Rng(6));
    later->pass_over(first);
    std::reverse(world.open.begin(), world.open.end());

    EXPECT_EQ(whole.purchases.size(), 11u) << row.name;
    EXPECT_EQ(whole.unspent, 29u) << row.name;
    EXPECT_EQ(whole.not_finite, 1u) << row.name;
    EXPECT_EQ(later->next(5), second) << row.name;
    for (std::size_t k = 0; k < 9; ++k)
      EXPECT_EQ(whole.purchases[k], k < 4 ? first.purchases[k] : second.purchases[k - 4]);
    EXPECT_EQ(test::spend(4, *planner, *world.committee, world.candidates(), Rng(6)), first)
        << row.name;
    EXPECT_EQ(world.committee->blocks_in_use(), 0u) << row.name;

    world.warm_up = 3;  // charged: 4 steps each, and 3 pay for nobody's first
    const Plan charged = test::spend(11, *planner, *world.committee, world.candidates(), Rng(6));
    EXPECT_EQ(charged.cost(), 8u) << row.name;
    EXPECT_EQ(charged.unspent, 3u) << row.name;
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(charged.purchases.at(k), whole.purchases[k]);
  }
}

}  // namespace
}  // namespace stap
