#include "stap/acquire/buy.h"

#include <gtest/gtest.h>

#include <map>

#include "stap/core/error.h"
#include "support/acquiring.h"
#include "support/trading.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::FakeSolver;
using test::ShufflingQueue;

constexpr std::size_t kValues = 3, kSteps = 6, kPool = 12;
constexpr double kDt = 0.2;
const Grid kGrid = make_grid(1, {kValues}, {1.0});

// A pool whose states no float holds, a random plan and random trouble.
struct Market {
  explicit Market(std::uint64_t seed, double trouble = 0.15)
      : pool(test::named_pool(kGrid, kPool, Rng(seed))),
        committee(kGrid, test::naming_members(2, kValues, Rng(1))),
        solver(kGrid, kDt, test::random_fate(Rng(seed).split("fate"), trouble)) {
    const Rng rng(seed);
    std::vector<std::uint32_t> order;
    shuffle(rng, kPool, order);
    for (std::size_t k = 0; k < 7; ++k) {
      const Pattern pattern = test::random_pattern(kSteps, rng.split("pattern", k));
      if (pattern.cost() > 0) plan.purchases.push_back({order[k], pattern});
    }
    plan.unspent = seed % 3;
    budget = plan.cost() + plan.unspent;
  }

  Delivery bought(SolverQueue& queue, const BuyHooks& hooks = {}) {
    return buy(plan, budget, pool.view(), kDt, queue, committee, hooks);
  }
  Delivery bought(const BuyHooks& hooks = {}) {
    const auto queue = make_batch_queue(solver);
    return bought(*queue, hooks);
  }

  States<double> pool;
  FakeCommittee committee;
  FakeSolver solver;
  Plan plan;
  std::size_t budget = 0;
};

// The same by nested loops, one trajectory after the other, straight from the spec.
Delivery expected(const Market& market) {
  Delivery result;
  result.ledger.budget = market.budget;
  std::size_t asked = 0;
  for (const auto& [candidate, pattern] : market.plan.purchases) {
    const auto u0 = market.pool.row(candidate);
    std::vector<double> state(u0.begin(), u0.end());
    for (std::size_t step = 0; step < pattern.end(); ++step) {
      if (!pattern[step]) {
        const std::vector<float> rounded(state.begin(), state.end());
        const auto next = market.committee.apply(
            kMean, rounded, static_cast<double>(step) / static_cast<double>(kSteps));
        state.assign(next.begin(), next.end());
        continue;
      }
      const Query query{0, state, static_cast<double>(step) * kDt, {}};
      Answer answer;
      market.solver.solve({&query, 1}, {&answer, 1});
      const bool good = answer.status == Answer::Status::ok && answer.state.size() == kValues &&
                        std::isfinite(answer.state[1]);
      if (answer.status == Answer::Status::refused) ++result.ledger.refused;
      if (!good) {
        if (answer.status != Answer::Status::refused) {
          ++result.ledger.failed;
          ++asked;
        }
        break;
      }
      ++asked;
      ++result.ledger.bought;
      result.bought.push_back({candidate, step, state, answer.state, 0.5});
      state = answer.state;
    }
  }
  result.ledger.unspent = market.budget - asked;
  return result;
}

void expect_equal(const std::vector<Bought>& got, const std::vector<Bought>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    EXPECT_EQ(got[k].candidate, want[k].candidate) << k;
    EXPECT_EQ(got[k].step, want[k].step) << k;
    EXPECT_EQ(got[k].input, want[k].input) << k;
    EXPECT_EQ(got[k].output, want[k].output) << k;
    EXPECT_EQ(got[k].seconds, want[k].seconds) << k;
  }
}
void expect_equal(const Ledger& got, const Ledger& want) {
  EXPECT_EQ(got.budget, want.budget);
  EXPECT_EQ(got.bought, want.bought);
  EXPECT_EQ(got.refused, want.refused);
  EXPECT_EQ(got.failed, want.failed);
  EXPECT_EQ(got.unspent, want.unspent);
}

// Breaks if a state is rounded between two bought steps, a time is one step off, the walk goes on
// after trouble, a refused query is charged, or results come in the order of the replies.
TEST(BuyProperty, DeliversWhatNestedLoopsDeliver) {
  std::size_t refused = 0, failed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Market market(seed), twin(seed);

    const Delivery delivery = market.bought();

    const Delivery want = expected(twin);
    expect_equal(delivery.bought, want.bought);
    expect_equal(delivery.ledger, want.ledger);
    EXPECT_EQ(delivery.ledger.reasons.size(), want.ledger.refused + want.ledger.failed);
    EXPECT_EQ(market.committee.blocks_in_use(), 0u);
    refused += want.ledger.refused;
    failed += want.ledger.failed;
  }
  EXPECT_GT(refused, 10u);  // the trouble did happen
  EXPECT_GT(failed, 10u);
}

// Breaks if a later step of a stopped trajectory, or what the plan left, is forgotten.
TEST(BuyProperty, TheLedgerAddsUp) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Market market(seed, 0.4);

    const Ledger ledger = market.bought().ledger;

    EXPECT_EQ(ledger.bought + ledger.failed + ledger.unspent, market.budget);
    EXPECT_GE(ledger.unspent, market.plan.unspent + ledger.refused);
    EXPECT_EQ(market.solver.computed, ledger.bought + ledger.failed);
  }
}

// Breaks if anything is kept by the order in which replies come.
TEST(BuyProperty, RepliesInAnyOrderGiveTheSame) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Market in_order(seed);
    const Delivery want = in_order.bought();
    for (std::uint64_t order = 0; order < 4; ++order) {
      Market market(seed);
      ShufflingQueue queue(market.solver, Rng(order));

      const Delivery delivery = market.bought(queue);

      expect_equal(delivery.bought, want.bought);
      expect_equal(delivery.ledger, want.ledger);
      EXPECT_EQ(delivery.ledger.reasons, want.ledger.reasons);
      EXPECT_EQ(queue.open(), 0u);
    }
  }
}

// However many answers were recorded before a stop, going on gives the same and asks only for the
// rest. Breaks if a recorded answer is asked for again, or recorded a second time.
TEST(BuyProperty, RecordedAnswersAreUsedInsteadOfTheSolver) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Market first(seed);
    std::vector<AnswerRecord> journal;
    BuyHooks recording;
    recording.record = [&](const AnswerRecord& record) { journal.push_back(record); };
    const Delivery want = first.bought(recording);
    ASSERT_EQ(journal.size(), want.ledger.bought + want.ledger.failed + want.ledger.refused);

    for (std::size_t kept = 0; kept <= journal.size(); kept += 3) {
      Market again(seed);
      std::map<std::pair<std::size_t, std::size_t>, Answer> known;
      for (std::size_t k = 0; k < kept; ++k)
        known[{journal[k].candidate, journal[k].step}] = journal[k].answer;
      std::size_t fresh = 0;
      BuyHooks hooks;
      hooks.recorded = [&](std::size_t candidate, std::size_t step) -> const Answer* {
        const auto found = known.find({candidate, step});
        return found == known.end() ? nullptr : &found->second;
      };
      hooks.record = [&](const AnswerRecord& record) {
        EXPECT_EQ(known.count({record.candidate, record.step}), 0u);
        ++fresh;
      };

      const Delivery delivery = again.bought(hooks);

      expect_equal(delivery.bought, want.bought);
      expect_equal(delivery.ledger, want.ledger);
      EXPECT_EQ(fresh, journal.size() - kept);
    }
  }
}

}  // namespace
}  // namespace stap
