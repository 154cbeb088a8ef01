// Rounds in passes, free failures and the trust band under random trouble.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "stap/acquire/methods.h"
#include "stap/acquire/passes.h"
#include "stap/acquire/trust.h"
#include "support/acquiring.h"
#include "support/trading.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::FakeSolver;

constexpr std::size_t kValues = 3, kSteps = 5, kPool = 30, kBudget = 23;
constexpr double kDt = 0.2;
const Grid kGrid = make_grid(1, {kValues}, {1.0});
constexpr auto kDrop = OnUnstable::drop, kRefill = OnUnstable::refill;

struct Method {
  std::unique_ptr<Selector> selector;
  std::unique_ptr<StepChooser> chooser;
};
std::vector<Method> some_methods() {
  std::vector<Method> methods;
  methods.push_back({make_random(), make_bernoulli({0.5})});
  methods.push_back({make_sbal({}), make_stap({10, 0.2})});
  methods.push_back({make_lcmd(), make_full()});
  return methods;
}

// A pool, a committee, a solver with random trouble, and one round of purchases.
struct Round {
  explicit Round(std::uint64_t seed, double trouble)
      : pool(test::named_pool(kGrid, kPool, Rng(seed))),
        committee(kGrid, test::naming_members(2, kValues, Rng(seed)), kSteps),
        solver(kGrid, kDt, test::random_fate(Rng(seed).split("fate"), trouble)),
        rng(seed) {
    convert(pool.values(), floats.values());
    for (std::size_t id = 0; id < kPool; ++id)
      if (id % 5 != 4) open.push_back(id);  // some were used before
  }
  Candidates candidates() const { return {floats.view(), open, kSteps}; }

  // Plans that are there already are taken as they are: the round was cut off.
  Delivery bought(const Method& method, OnUnstable on_unstable, const BuyRules& rules = {},
                  const test::BuyHooks& hooks = {}) {
    const auto planner = test::two_parts(*method.selector, *method.chooser);
    const auto round_plans = planner->begin(committee, candidates(), rng);
    return test::buy_in_passes(
        kBudget, on_unstable,
        [&](std::size_t pass, std::size_t budget) {
          if (pass <= plans.size())
            round_plans->pass_over(plans[pass - 1]);
          else
            plans.push_back(round_plans->next(budget));
          return plans[pass - 1];
        },
        [&](const Plan& plan, std::size_t budget) {
          return test::buy(plan, budget, pool.view(), solver, committee, hooks, rules);
        });
  }

  States<double> pool;
  States<float> floats{kGrid, kPool};
  std::vector<std::size_t> open;
  FakeCommittee committee;
  FakeSolver solver;
  Rng rng;
  std::vector<Plan> plans;
};

using Step = std::pair<std::size_t, std::size_t>;  // candidate, step

std::vector<Step> steps_of(const std::vector<Bought>& bought) {
  std::vector<Step> steps;
  for (const Bought& b : bought) steps.emplace_back(b.candidate, b.step);
  return steps;
}

void expect_equal(const Delivery& got, const Delivery& want) {
  EXPECT_EQ(got.ledger, want.ledger);
  ASSERT_EQ(steps_of(got.bought), steps_of(want.bought));
  for (std::size_t k = 0; k < got.bought.size(); ++k) {
    EXPECT_EQ(got.bought[k].input, want.bought[k].input);
    EXPECT_EQ(got.bought[k].output, want.bought[k].output);
  }
}

template <class Check>
void for_all_rounds(const Check& check) {
  for (const Method& method : some_methods())
    for (const double trouble : {0.05, 0.3, 0.8})
      for (std::uint64_t seed = 0; seed < 8; ++seed) check(method, seed, trouble);
}

// Breaks if a pass forgets the steps behind a failed query, a refusal is charged, a free failure is
// charged or a charged one freed, or the rest of one pass is not handed to the next.
TEST(UnstableProperty, TheBudgetIsAccountedForToTheStep) {
  std::size_t exhausted = 0, refilled = 0;
  for_all_rounds([&](const Method& method, std::uint64_t seed, double trouble) {
    for (const OnUnstable on_unstable : {kDrop, kRefill})
      for (const bool charge : {true, false}) {
        Round round(seed, trouble);

        const Delivery delivery = round.bought(method, on_unstable, {.charge_failed = charge});

        const Ledger& l = delivery.ledger;
        EXPECT_EQ(l.budget, kBudget);
        EXPECT_EQ(l.bought, delivery.bought.size());
        EXPECT_EQ(l.bought + l.charged_failures + l.unspent, kBudget);
        EXPECT_EQ(l.charged_failures, charge ? l.failed : 0);
        EXPECT_EQ(round.solver.computed, l.bought + l.failed);  // refused ones never got there
        EXPECT_EQ(l.passes, round.plans.size());
        if (on_unstable == kDrop) {
          EXPECT_EQ(l.passes, 1u);
        } else {
          EXPECT_TRUE(l.unspent == 0 || l.pool_exhausted);
        }
        exhausted += l.pool_exhausted ? 1 : 0;
        refilled += l.passes > 1 ? 1 : 0;
      }
  });
  EXPECT_GT(exhausted, 10u);  // both did happen
  EXPECT_GT(refilled, 10u);
}

// Breaks if a further pass orders by other noise, begins anew, or takes a chosen candidate again.
TEST(UnstableProperty, FurtherPassesGoOnAlongTheSameOrder) {
  for_all_rounds([&](const Method& method, std::uint64_t seed, double trouble) {
    Round round(seed, trouble);
    const auto order =
        method.selector->order(round.committee, round.candidates(), kPool, round.rng).ids;

    round.bought(method, kRefill, {.charge_failed = false});

    std::size_t next = 0;
    for (const Plan& plan : round.plans)
      for (std::size_t k = 0; k < plan.purchases.size(); ++k) {
        const auto& [candidate, pattern] = plan.purchases[k];
        ASSERT_LT(next, order.size());
        EXPECT_EQ(candidate, order[next++]);
        const Pattern whole = test::patterns_of(*method.chooser, round.committee,
                                                round.candidates(), {&candidate, 1}, round.rng)[0];
        const bool may_be_cut = k + 1 == plan.purchases.size();
        EXPECT_EQ(pattern, may_be_cut ? whole.first(pattern.cost()) : whole);
      }
    if (round.plans.back().unspent > 0) {
      EXPECT_EQ(next, order.size());
    }
  });
}

// What is left of an order, once its start is used, comes in the same order: a selector asked about
// the rest only (by another process, say) agrees. Breaks if noise is keyed by position, if a
// selector remembers, or if LCMD forgets that used candidates are centres.
TEST(UnstableProperty, TheOrderOfTheRestIsTheRestOfTheOrder) {
  for (const SelectorRow& row : selector_table()) {
    const auto selector = row.make({}, {});
    for (const std::size_t taken : {1, 4, 11}) {
      Round round(3, 0.0);
      const auto whole = selector->order(round.committee, round.candidates(), kPool, round.rng).ids;
      for (std::size_t k = 0; k < taken; ++k) std::erase(round.open, whole[k]);

      const auto rest = selector->order(round.committee, round.candidates(), kPool, round.rng).ids;

      EXPECT_EQ(rest, std::vector(whole.begin() + static_cast<long>(taken), whole.end()))
          << row.name;
    }
  }
}

// Breaks if refill touches a round without trouble.
TEST(UnstableProperty, RefillWithoutTroubleIsDrop) {
  for (const Method& method : some_methods())
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Round drop(seed, 0.0), refill(seed, 0.0);

      const Delivery want = drop.bought(method, kDrop), got = refill.bought(method, kRefill);

      expect_equal(got, want);
      EXPECT_EQ(refill.plans, drop.plans);
      EXPECT_EQ(got.ledger.bought, kBudget);
    }
}

// Breaks if the first pass plans for more than the budget, or results are sorted across passes.
TEST(UnstableProperty, RefillOnlyAddsToDrop) {
  for_all_rounds([&](const Method& method, std::uint64_t seed, double trouble) {
    Round drop(seed, trouble), refill(seed, trouble);

    const auto less = steps_of(drop.bought(method, kDrop).bought);
    const auto more = steps_of(refill.bought(method, kRefill).bought);

    ASSERT_LE(less.size(), more.size());
    EXPECT_TRUE(std::equal(less.begin(), less.end(), more.begin()));
    const std::set<Step> once(more.begin(), more.end());
    EXPECT_EQ(once.size(), more.size());
  });
}

// A limit that some of the committee's states pass.
double some_limit(Round& round, double quantile = 1.0) {
  return trust_limit(one_step_spreads(round.committee, std::as_const(round.floats).view(), {}),
                     quantile);
}

// Cut off after any answer and any plan that was written by then, the round ends the same. Breaks
// if a later pass depends on anything but plans and answers, or an answer is asked for twice.
TEST(UnstableProperty, ARoundCutOffAnywhereEndsTheSame) {
  const Method method{make_sbal({}), make_bernoulli({0.4})};
  std::size_t passes = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Round whole(seed, 0.3);
    const BuyRules rules{.charge_failed = seed % 2 == 0, .trust_limit = some_limit(whole)};
    std::vector<AnswerRecord> journal;
    std::vector<std::size_t> plans_by_then;  // when each answer came
    test::BuyHooks recording;
    recording.record = [&](const AnswerRecord& record) {
      journal.push_back(record);
      plans_by_then.push_back(whole.plans.size());
    };
    const Delivery want = whole.bought(method, kRefill, rules, recording);
    passes += want.ledger.passes;

    for (std::size_t kept = 1; kept <= journal.size(); kept += 2) {
      Round again(seed, 0.3);
      again.plans.assign(whole.plans.begin(),
                         whole.plans.begin() + static_cast<long>(plans_by_then[kept - 1]));
      std::size_t fresh = 0;
      test::BuyHooks hooks;
      hooks.recorded = test::recorded_in(journal, kept);
      hooks.record = [&](const AnswerRecord&) { ++fresh; };

      expect_equal(again.bought(method, kRefill, rules, hooks), want);

      EXPECT_EQ(again.plans, whole.plans);
      EXPECT_EQ(fresh, journal.size() - kept);
    }
  }
  EXPECT_GT(passes, 20u);
}

// The members' spread after one step, straight from its definition.
double spread_at(const FakeCommittee& committee, const std::vector<double>& state, double time) {
  const std::vector<float> input(state.begin(), state.end());
  const auto a = committee.apply(0, input, time), b = committee.apply(1, input, time);
  double sum = 0.0;
  for (std::size_t v = 0; v < kValues; ++v) {
    const double half = (double{a[v]} - double{b[v]}) / 2;
    sum += half * half;  // both members are this far from their mean, and (1/2)(x + x) = x
  }
  return sum;
}

// The band at the largest spread of some inputs, or at their median, against each walk by itself.
// Breaks if the state of a bought step is judged, the spread is taken at another state or time,
// what is below the limit is refused, a refusal changes another trajectory, or one before it.
TEST(UnstableProperty, TheBandRefusesWhatIsAboveTheLimitAndNothingElse) {
  const Method method{make_random(), make_bernoulli({0.4})};
  std::size_t refused = 0, trusted = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Round free(seed, 0.1), banded(seed, 0.1);
    const double limit = some_limit(banded, seed % 2 == 0 ? 1.0 : 0.5);

    const Delivery all = free.bought(method, kDrop);
    const Delivery some = banded.bought(method, kDrop, {.trust_limit = limit});

    // Of what was bought without a band: each trajectory's steps up to the first one that must go.
    std::vector<Step> want;
    std::set<std::size_t> ended;
    std::map<std::size_t, const Pattern*> pattern;
    for (const Purchase& p : free.plans[0].purchases) pattern[p.candidate] = &p.pattern;
    for (const Bought& b : all.bought) {
      const bool synthetic = b.step > 0 && !(*pattern[b.candidate])[b.step - 1];
      const double time = static_cast<double>(b.step) / static_cast<double>(kSteps);
      const bool too_far = synthetic && spread_at(free.committee, b.input, time) > limit;
      if (too_far) ended.insert(b.candidate);
      trusted += synthetic && !too_far ? 1 : 0;
      if (ended.count(b.candidate) == 0) want.emplace_back(b.candidate, b.step);
    }
    EXPECT_EQ(steps_of(some.bought), want);
    EXPECT_EQ(banded.plans, free.plans);
    // A query that the guard would have refused, or that would have failed, may be caught as well.
    EXPECT_GE(some.ledger.refused_by_trust, ended.size());
    EXPECT_EQ(banded.solver.computed, some.ledger.bought + some.ledger.failed);
    refused += some.ledger.refused_by_trust;
  }
  EXPECT_GT(refused, 20u);  // both did happen
  EXPECT_GT(trusted, 20u);
}

// Breaks if the share is counted from the wrong end, or one off.
TEST(UnstableProperty, TheLimitIsPassedByTheRestOnly) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Rng rng(seed);
    std::vector<double> spreads(1 + rng.below(0, 40));
    for (std::size_t k = 0; k < spreads.size(); ++k)
      spreads[k] = static_cast<double>(rng.split("spread").below(k, 30));  // some are equal
    const double quantile = 1.0 - rng.split("quantile").uniform(0);

    const double limit = trust_limit(spreads, quantile);

    const auto share = [&](const auto& holds) {
      return static_cast<double>(std::count_if(spreads.begin(), spreads.end(), holds));
    };
    const double asked = quantile * static_cast<double>(spreads.size());
    EXPECT_EQ(std::count(spreads.begin(), spreads.end(), limit) > 0, true);
    EXPECT_GE(share([&](double s) { return s <= limit; }), asked);
    EXPECT_LT(share([&](double s) { return s < limit; }), asked);
  }
}

}  // namespace
}  // namespace stap
