#include "stap/acquire/planner.h"

#include <gtest/gtest.h>

#include "stap/acquire/methods.h"
#include "stap/core/error.h"
#include "support/acquiring.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::error_text;
using test::World;

// What a joint method may do wrong.
using Fault = std::function<void(Plan& plan)>;

// Chooses candidates and steps together: the last open one first, `steps` at the end of each.
class Backwards final : public Planner {
 public:
  explicit Backwards(std::size_t steps, Fault fault = {}) : steps_(steps), fault_(fault) {}

  std::string name() const override { return "backwards"; }
  int members_needed() const override { return 2; }
  std::size_t steps_most() const override { return 9; }

 private:
  class Walk final : public RoundPlans {
   public:
    Walk(const Backwards& planner, const Candidates& candidates)
        : RoundPlans("backwards", candidates), planner_(planner) {}

   private:
    Plan make_plan(std::size_t budget, SelectionSeconds&) override {
      Plan plan;
      plan.unspent = budget;
      const std::span<const std::size_t> open = candidates().open;
      for (auto id = open.rbegin(); id != open.rend() && plan.unspent > 0; ++id) {
        if (taken(*id)) continue;
        const std::size_t bought = std::min(planner_.steps_, plan.unspent);
        const std::string ones(bought, '1'), zeros(candidates().steps - bought, '0');
        plan.purchases.push_back({*id, Pattern::parse(zeros + ones)});
        plan.unspent -= bought;
      }
      if (planner_.fault_) planner_.fault_(plan);
      return plan;
    }
    const Backwards& planner_;
  };
  std::unique_ptr<RoundPlans> start(Committee&, const Candidates& candidates,
                                    const Rng&) const override {
    return std::make_unique<Walk>(*this, candidates);
  }

  std::size_t steps_;
  Fault fault_;
};

struct BackwardsOptions {
  std::size_t steps = 2;
};
const config::Fields<BackwardsOptions>& backwards_fields() {
  static const config::Fields<BackwardsOptions> fields{
      {"steps", &BackwardsOptions::steps, "bought of each", config::between(1, 1000)}};
  return fields;
}

TEST(Planner, AJointMethodCanBeAddedAndSpends) {
  if (planner_table().find("unit-backwards") == nullptr)
    add_planner({{"unit-backwards", "the last candidates first", &backwards_fields()},
                 [](const config::AnyOptions& options, const MakeContext&) {
                   return std::make_unique<Backwards>(options.as(backwards_fields()).steps);
                 }});
  World world = test::linear_world(1, 2, 4, 5);
  const auto choice =
      planner_table().choose(config::parse_yaml("{name: unit-backwards, steps: 3}", "test"));

  const auto planner = choice.row->make(choice.options, {});
  const Plan plan = test::spend(5, *planner, *world.committee, world.candidates(), Rng(1));

  EXPECT_EQ(plan.purchases,
            (std::vector<Purchase>{{4, Pattern::parse("0111")}, {3, Pattern::parse("0011")}}));
}

TEST(Planner, AnswersForItsTwoParts) {
  const auto planner = make_two_part_planner(make_lcmd(), make_exact());

  EXPECT_EQ(planner->name(), "lcmd+exact");
  EXPECT_EQ(planner->members_needed(), 2);
  EXPECT_EQ(planner->steps_most(), 16u);
  EXPECT_EQ(make_two_part_planner(make_random(), make_full())->name(), "random");
  EXPECT_EQ(make_two_part_planner(make_random(), make_full())->members_needed(), 1);
}

TEST(Planner, RefusesACommitteeAndTrajectoriesThatItCannotTake) {
  World alone = test::linear_world(1, 1, 4, 3), long_ones = test::linear_world(1, 2, 10, 3);
  const Backwards planner(2);

  EXPECT_NE(error_text(ErrorKind::config,
                       [&] { planner.begin(*alone.committee, alone.candidates(), Rng(1)); })
                .find("backwards needs a committee of at least 2 members"),
            std::string::npos);
  EXPECT_NE(error_text(ErrorKind::config,
                       [&] { planner.begin(*long_ones.committee, long_ones.candidates(), Rng(1)); })
                .find("backwards takes trajectories of at most 9 steps"),
            std::string::npos);
}

TEST(RoundPlans, GoesOnBehindItsPlansAndThoseOfAnEarlierProcess) {
  World world = test::linear_world(1, 2, 4, 6);
  const Backwards planner(2);
  const Candidates candidates = world.candidates();
  const auto whole = planner.begin(*world.committee, candidates, Rng(1));
  const Plan first = whole->next(4), second = whole->next(4);
  const auto later = planner.begin(*world.committee, candidates, Rng(1));

  later->pass_over(first);

  EXPECT_EQ(later->next(4), second);
  EXPECT_EQ(second.purchases[0].candidate, 3u);
}

// Each of these would be bought twice, or not at all, or for another sum.
TEST(RoundPlans, AMethodThatBreaksItsPromiseIsNamed) {
  World world = test::linear_world(1, 2, 4, 6);
  world.open = {0, 2, 3, 5};
  const auto broken = [&](const Fault& fault) {
    const Backwards planner(2, fault);
    return error_text(ErrorKind::internal, [&] {
      test::spend(4, planner, *world.committee, world.candidates(), Rng(1));
    });
  };

  EXPECT_EQ(broken([](Plan& plan) { plan.purchases[1].candidate = 5; }),
            "backwards chose candidate 5, which it chose before");
  EXPECT_EQ(broken([](Plan& plan) { plan.purchases[1].candidate = 4; }),
            "backwards chose candidate 4, which is not open");
  EXPECT_EQ(broken([](Plan& plan) { plan.purchases[1].candidate = 6; }),
            "backwards chose candidate 6, which is not in the pool");
  EXPECT_EQ(broken([](Plan& plan) { plan.purchases[0].pattern = Pattern(4, false); }),
            "backwards chose no step of candidate 5");
  EXPECT_EQ(broken([](Plan& plan) { plan.purchases[0].pattern = Pattern(3, true); }),
            "backwards chose 111 steps of candidate 5, expected a pattern of 4");
  EXPECT_EQ(broken([](Plan& plan) { plan.unspent = 1; }),
            "backwards planned 4 solver steps and left 1, of a budget of 4");
}

TEST(RoundPlans, MeasuresTheTwoQuestionsOfItsLastPlan) {
  World world = test::linear_world(5, 2, 4, 12);
  const Candidates candidates = world.candidates();
  const auto stap = make_two_part_planner(make_sbal({}), make_stap({}));
  const auto full = make_two_part_planner(make_sbal({}), make_full());
  const auto searching = stap->begin(*world.committee, candidates, Rng(1));
  const auto whole = full->begin(*world.committee, candidates, Rng(1));
  const Backwards both(2);
  const auto joint = both.begin(*world.committee, candidates, Rng(1));

  searching->next(9);
  whole->next(9);  // three candidates at most of an order of nine
  const SelectionSeconds first = whole->seconds();
  whole->next(1);
  joint->next(3);

  EXPECT_GT(searching->seconds().choose, 0.0);
  EXPECT_GT(first.score, 0.0);
  EXPECT_EQ(whole->seconds().score, 0.0) << "the order was known";
  EXPECT_GT(joint->seconds().score, 0.0) << "both at once count as scoring";
  EXPECT_EQ(joint->seconds().choose, 0.0);
}

TEST(MethodTables, ANameMeansOneMethod) {
  const auto no_planner = [](const config::AnyOptions&, const MakeContext&) {
    return std::unique_ptr<Planner>();
  };

  EXPECT_NE(error_text(ErrorKind::config,
                       [&] {
                         add_planner({{"sbal", "x", &no_fields()}, no_planner});
                       })
                .find("there is a selector of that name"),
            std::string::npos);
  EXPECT_NE(error_text(ErrorKind::config,
                       [&] {
                         add_chooser({{"full", "x", &no_fields()}, {}});
                       })
                .find("a name that is taken"),
            std::string::npos);
  EXPECT_NE(error_text(ErrorKind::config,
                       [&] {
                         add_selector({{"a+b", "x", &no_fields()}, {}});
                       })
                .find("expected letters, digits"),
            std::string::npos);
}

}  // namespace
}  // namespace stap
