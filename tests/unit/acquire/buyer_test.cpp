// Buying by hand, without a queue: what is asked, what must be recorded, what comes of replies.
#include "stap/acquire/buyer.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "stap/core/hash64.h"
#include "support/fake_committee.h"
#include "support/fake_solver.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::error_text;
using test::FakeCommittee;
using test::FarSolver;
using test::Fate;
using Status = Answer::Status;

const Grid kGrid = make_grid(1, {2}, {1.0});
constexpr double kDt = 0.5;

std::uint64_t hash_of(const std::vector<double>& state) {
  return hash64(std::as_bytes(std::span(state)));
}

// Candidates 0 .. 3 are {c, 0.1}; the mean model adds 1 to value 1.
struct Shop {
  explicit Shop(std::size_t steps_at_once = 1, test::Decide fate = test::always_ok)
      : solver(kGrid, kDt, std::move(fate), {.steps_at_once = steps_at_once}) {
    for (std::size_t c = 0; c < pool.count(); ++c) {
      pool.row(c)[0] = static_cast<double>(c);
      pool.row(c)[1] = 0.1;
    }
  }
  std::unique_ptr<Buyer> buyer(const std::vector<Purchase>& purchases, std::size_t budget,
                               Recorded recorded = {}) {
    return std::make_unique<Buyer>(Plan{purchases, 0, 0}, budget, std::as_const(pool).view(),
                                   solver, committee, BuyRules{}, std::move(recorded));
  }
  std::vector<AnswerRecord> records(const Buyer& buyer, const Query& query) const {
    return records_of(test::ask(solver, query), buyer.first_of(query.id), hash_of(query.state), 2);
  }
  void answer(Buyer& buyer, const Query& query) const {
    buyer.take(query.id, records(buyer, query));
  }

  States<double> pool{kGrid, 4};
  FarSolver solver;
  FakeCommittee committee{kGrid, {[](const std::vector<float>& u, double) {
                            return std::vector<float>{u[0], u[1] + 1.0f};
                          }}};
};

TEST(Buyer, AsksAllItCanAndIsDoneWhenNothingIsLeft) {
  Shop shop;
  const auto buyer = shop.buyer({{2, Pattern::parse("101")}, {1, Pattern::parse("0010")}}, 3);
  EXPECT_FALSE(buyer->done());

  const std::vector<Query> first = buyer->ask();
  EXPECT_TRUE(buyer->ask().empty());  // nothing has moved
  ASSERT_EQ(first.size(), 2u);
  shop.answer(*buyer, first[1]);
  EXPECT_TRUE(buyer->ask().empty());
  EXPECT_FALSE(buyer->done());
  shop.answer(*buyer, first[0]);
  const std::vector<Query> second = buyer->ask();
  ASSERT_EQ(second.size(), 1u);
  shop.answer(*buyer, second[0]);

  EXPECT_EQ(first[0].id, 0u);
  EXPECT_EQ(first[0].state, (std::vector<double>{2.0, 0.1}));
  EXPECT_EQ(first[0].time, 0.0);
  EXPECT_EQ(first[0].steps, 1u);
  EXPECT_EQ(first[1].id, 1u);
  EXPECT_EQ(first[1].state[1], static_cast<double>(0.1f + 1.0f + 1.0f));
  EXPECT_EQ(first[1].time, 1.0);
  EXPECT_EQ(second[0].id, 0u);
  EXPECT_EQ(second[0].time, 1.0);
  EXPECT_TRUE(buyer->done());
  const Delivery delivery = buyer->deliver();
  ASSERT_EQ(delivery.bought.size(), 3u);  // in the order of the plan, not of the replies
  EXPECT_EQ(delivery.bought[0].candidate, 2u);
  EXPECT_EQ(delivery.bought[2].candidate, 1u);
}

// Mutation that breaks it: parameters of the purchase's position, or a hash without them.
TEST(Buyer, AsksWithTheParametersOfItsCandidates) {
  Shop shop(9);
  const RowParameters parameters{{"nu", "k"}, {0, 1, 10, 11, 20, 21, 30, 31}};
  std::vector<AnswerRecord> journal;
  const auto buy_it = [&](const RowParameters& own, Recorded recorded) {
    return Buyer(Plan{{{2, Pattern::parse("11")}, {1, Pattern::parse("10")}}, 0, 0}, 3,
                 std::as_const(shop.pool).view(), shop.solver, shop.committee, BuyRules{},
                 std::move(recorded), own);
  };
  Buyer buyer = buy_it(parameters, {});

  const std::vector<Query> asked = buyer.ask();

  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].params, (std::vector<double>{20, 21}));
  EXPECT_EQ(asked[1].params, (std::vector<double>{10, 11}));
  const Answer answer{.status = Status::ok, .reason = {}, .states = {2, 7, 2, 8}};
  journal = records_of(answer, buyer.first_of(0), stap::hash_of(asked[0].state, asked[0].params), 2,
                       asked[0].params);
  EXPECT_EQ(journal[1].input_hash, stap::hash_of(std::vector<double>{2, 7}, asked[0].params));
  const auto recorded = [&](std::size_t candidate,
                            std::size_t step) -> std::optional<AnswerRecord> {
    if (candidate != 2) return std::nullopt;
    return journal.at(step);
  };
  EXPECT_EQ(buy_it(parameters, recorded).ask().size(), 1u);
  test::expect_error(ErrorKind::data, "is one to another input", [&] {
    buy_it({{"nu", "k"}, std::vector<double>(8, 1.0)}, recorded).ask();
  });
}

// "111011" in calls of at most two steps.
TEST(Buyer, AsksForRunsOfOnesAsFarAsTheSolverTakesThem) {
  Shop shop(2);
  const auto buyer = shop.buyer({{0, Pattern::parse("1110110")}}, 5);

  std::vector<std::pair<double, std::size_t>> asked;  // time, steps
  while (!buyer->done())
    for (const Query& query : buyer->ask()) {
      asked.emplace_back(query.time, query.steps);
      shop.answer(*buyer, query);
    }

  EXPECT_EQ(asked, (std::vector<std::pair<double, std::size_t>>{{0.0, 2}, {1.0, 1}, {2.0, 2}}));
  EXPECT_EQ(buyer->deliver().ledger.bought, 5u);
}

TEST(Buyer, RecordsEveryStepOfACallWithItsInput) {
  Shop shop(3);
  const auto buyer = shop.buyer({{3, Pattern::parse("111")}}, 3);
  const Query query = buyer->ask().at(0);

  const std::vector<AnswerRecord> records = shop.records(*buyer, query);

  ASSERT_EQ(records.size(), 3u);
  std::vector<double> state{3.0, 0.1};
  for (std::size_t step = 0; step < 3; ++step) {
    const AnswerRecord& record = records[step];
    EXPECT_EQ(record.candidate, 3u);
    EXPECT_EQ(record.step, step);
    EXPECT_EQ(record.status, Status::ok);
    EXPECT_EQ(record.input_hash, hash_of(state));
    state = test::fake_next(state, static_cast<double>(step) * kDt);
    EXPECT_EQ(record.state, state);
    EXPECT_EQ(record.seconds, 0.5);  // a third of the call's 1.5
    EXPECT_EQ(record.attempts, 1);
  }
  EXPECT_FALSE(buyer->done());  // records are no replies
}

// The third of four steps meets its fate within one call.
TEST(Buyer, AFailureKeepsTheStepsBeforeItAndARefusalCostsNothing) {
  for (const Fate fate : {Fate::failed, Fate::refused, Fate::not_finite}) {
    Shop shop(9, [fate](std::size_t, std::size_t step) { return step == 2 ? fate : Fate::ok; });
    const auto buyer = shop.buyer({{1, Pattern::parse("1111")}}, 4);
    const Query query = buyer->ask().at(0);

    const std::vector<AnswerRecord> records = shop.records(*buyer, query);
    buyer->take(query.id, records);

    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[1].status, Status::ok);
    EXPECT_EQ(records[2].step, 2u);
    EXPECT_EQ(records[2].input_hash, hash_of(records[1].state));
    EXPECT_TRUE(records[2].state.empty());
    EXPECT_TRUE(buyer->done());
    const Delivery delivery = buyer->deliver();
    EXPECT_EQ(delivery.bought.size(), 2u);
    const bool refused = fate == Fate::refused;
    EXPECT_EQ(records[2].status, refused ? Status::refused : Status::failed);
    EXPECT_EQ(records[2].attempts, refused ? 0 : 1);
    EXPECT_EQ(records[2].seconds > 0.0, !refused);
    EXPECT_EQ(delivery.ledger.refused, refused ? 1u : 0u);
    EXPECT_EQ(delivery.ledger.charged_failures, refused ? 0u : 1u);
    EXPECT_EQ(delivery.ledger.unspent, refused ? 2u : 1u);
    const char* reason = refused                ? "refused: told to refuse"
                         : fate == Fate::failed ? "failed: told to fail"
                                                : "failed: answer value 1 is nan";
    EXPECT_EQ(delivery.ledger.reasons,
              (std::vector<std::string>{std::string("candidate 1, step 3: ") + reason}));
  }
}

TEST(Buyer, UsesWhatIsRecordedAndAsksForTheRest) {
  Shop shop(4);
  const std::vector<double> u0{2.0, 0.1}, u1{2.0, 7.0};
  const auto buyer =
      shop.buyer({{2, Pattern::parse("1110")}}, 3,
                 [&](std::size_t candidate, std::size_t step) -> std::optional<AnswerRecord> {
                   if (step > 0) return std::nullopt;
                   return AnswerRecord{candidate, step, Status::ok, "", u1, 0.25, 1, hash_of(u0)};
                 });

  const std::vector<Query> queries = buyer->ask();

  ASSERT_EQ(queries.size(), 1u);
  EXPECT_EQ(queries[0].state, u1);
  EXPECT_EQ(queries[0].time, kDt);
  EXPECT_EQ(queries[0].steps, 2u);
  shop.answer(*buyer, queries[0]);
  const Delivery delivery = buyer->deliver();
  EXPECT_EQ(delivery.bought.at(0).output, u1);
  EXPECT_EQ(delivery.bought[0].seconds, 0.25);
}

TEST(Buyer, WhatIsAllRecordedIsNeverAsked) {
  Shop shop;
  const auto buyer =
      shop.buyer({{2, Pattern::parse("011")}}, 2, [](std::size_t candidate, std::size_t step) {
        AnswerRecord record{candidate, step, Status::ok, "", {2.0, 7.0}};
        if (step == 2) record = {candidate, step, Status::failed, "so it was"};
        return record;
      });

  EXPECT_TRUE(buyer->ask().empty());

  EXPECT_TRUE(buyer->done());
  EXPECT_EQ(buyer->deliver().ledger.reasons,
            (std::vector<std::string>{"candidate 2, step 3: failed: so it was"}));
  EXPECT_EQ(shop.solver.computed, 0u);
}

// An answer to another state must not become a transition.
TEST(Buyer, RefusesRecordsOfAnotherInput) {
  Shop shop;
  AnswerRecord record{1, 0, Status::ok, "", {1.0, 7.0}, 0.0, 1, hash_of({1.0, 0.2})};
  const auto with_record = [&] {
    return shop.buyer({{1, Pattern::parse("1")}}, 1,
                      [&](std::size_t, std::size_t) { return record; });
  };

  const std::string other = error_text(ErrorKind::data, [&] { with_record()->ask(); });
  EXPECT_NE(other.find("candidate 1, step 1 is one to another input"), std::string::npos) << other;
  record.input_hash = 0;  // not known: taken as it is
  EXPECT_TRUE(with_record()->ask().empty());
  record.state.pop_back();
  const std::string size = error_text(ErrorKind::data, [&] { with_record()->ask(); });
  EXPECT_NE(size.find("has 1 values, expected 2"), std::string::npos) << size;
}

TEST(Buyer, MisuseIsABug) {
  Shop shop;
  const auto buyer = shop.buyer({{1, Pattern::parse("11")}}, 2);
  const auto record = [](Status status, std::vector<double> state, std::size_t step = 0) {
    return AnswerRecord{1, step, status, "", std::move(state)};
  };
  const std::vector<AnswerRecord> ok{record(Status::ok, {1, 2})};
  EXPECT_THROW(buyer->take(0, ok), Error);  // nothing was asked yet
  const std::vector<Query> queries = buyer->ask();

  EXPECT_THROW(buyer->deliver(), Error);
  EXPECT_THROW(buyer->take(1, ok), Error);
  EXPECT_THROW(buyer->take(0, {record(Status::ok, {1, 2, 3})}), Error);
  EXPECT_THROW(buyer->take(0, {}), Error);
  EXPECT_THROW(buyer->take(0, {record(Status::ok, {1, 2}, 1)}), Error);
  EXPECT_THROW(buyer->take(0, {ok[0], record(Status::failed, {}, 1)}), Error);
  buyer->take(0, ok);
  EXPECT_THROW(buyer->take(0, ok), Error);  // a second time
  EXPECT_THROW(shop.buyer({{9, Pattern::parse("1")}}, 1), Error);
  EXPECT_THROW(shop.buyer({{1, Pattern::parse("11")}}, 1), Error);
}

// Two purchases over one queue: ids are made the driver's own, replies come in any order.
TEST(Buyer, SeveralShareOneQueue) {
  const Plan plans[] = {{{{0, Pattern::parse("1101")}, {3, Pattern::parse("011")}}, 0, 0},
                        {{{1, Pattern::parse("111")}, {2, Pattern::parse("1")}}, 0, 0}};
  std::vector<Delivery> expected;
  for (const Plan& plan : plans) {
    Shop shop;
    const auto buyer = shop.buyer(plan.purchases, plan.cost());
    while (!buyer->done())
      for (const Query& query : buyer->ask()) shop.answer(*buyer, query);
    expected.push_back(buyer->deliver());
  }
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Shop shop;
    const FarSolver solver(kGrid, kDt, test::always_ok, {.shuffle = Rng(seed)});
    const auto queue = solver.open();
    std::vector<std::unique_ptr<Buyer>> buyers;
    for (const Plan& plan : plans) buyers.push_back(shop.buyer(plan.purchases, plan.cost()));

    while (!buyers[0]->done() || !buyers[1]->done()) {
      for (std::size_t b = 0; b < 2; ++b)
        for (Query& query : buyers[b]->ask()) {
          query.id = 2 * query.id + b;
          queue->submit(std::move(query));
        }
      const Reply reply = test::wait_for_reply(*queue);
      Buyer& buyer = *buyers[reply.id % 2];
      const std::uint64_t own = reply.id / 2;
      buyer.take(own, records_of(reply.answer, buyer.first_of(own), 0, 2));
    }

    for (std::size_t b = 0; b < 2; ++b) {
      const Delivery delivery = buyers[b]->deliver();
      EXPECT_EQ(delivery.ledger, expected[b].ledger);
      ASSERT_EQ(delivery.bought.size(), expected[b].bought.size());
      for (std::size_t k = 0; k < delivery.bought.size(); ++k)
        EXPECT_EQ(delivery.bought[k].output, expected[b].bought[k].output);
    }
  }
}

}  // namespace
}  // namespace stap
