#include "stap/core/warm_up.h"

#include <gtest/gtest.h>

#include <limits>

#include "stap/core/error.h"
#include "support/fake_solver.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::ask;
using test::FarSolver;
using test::Fate;

const Grid kGrid = make_grid(1, {2}, {1.0});
constexpr double kDt = 0.25;

std::shared_ptr<const FarSolver> far(test::Manners manners = {},
                                     test::Decide decide = test::always_ok) {
  return std::make_shared<FarSolver>(kGrid, kDt, std::move(decide), std::move(manners));
}

// u -> u + dt, and offers any step up to 2.
class Clockwork final : public BatchSolver {
 public:
  explicit Clockwork(double dt) : BatchSolver("clockwork", kGrid, dt) {}
  std::unique_ptr<Solver> with_step(double dt) const override {
    if (dt > 2) throw Error(ErrorKind::config, "too long");
    return std::make_unique<Clockwork>(dt);
  }

 private:
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      answers[i]->status = Answer::Status::ok;
      for (const double value : queries[i]->state) answers[i]->states.push_back(value + dt());
    }
  }
};

template <class Act>
std::string complaint(Act act) {
  return test::config_complaint(act);
}

TEST(WarmUp, IsTheSolversOwnStepWhereItOffersOne) {
  const auto solver = make_warm_up_solver(std::make_shared<Clockwork>(0.5), 1.3);

  const Answer answer = ask(*solver, {.state = {1.0, 2.0}, .time = -1.3});

  EXPECT_EQ(solver->dt(), 1.3);
  EXPECT_EQ(answer.states, (std::vector<double>{1.0 + 1.3, 2.0 + 1.3}));
  EXPECT_EQ(answer.attempts, 1);
  EXPECT_EQ(complaint([] { make_warm_up_solver(std::make_shared<Clockwork>(0.5), 2.5); }),
            "too long");
}

// By hand: times -0.75, -0.5, -0.25 of a problem that depends on them.
TEST(WarmUp, IsAWholeNumberOfStepsElsewhere) {
  const auto solver = make_warm_up_solver(far(), 0.75);

  const Answer answer = ask(*solver, {.state = {7.0, 0.1}, .time = -0.75});

  std::vector<double> expected{7.0, 0.1};
  for (const double time : {-0.75, -0.5, -0.25}) expected = test::fake_next(expected, time);
  EXPECT_EQ(solver->dt(), 0.75);
  EXPECT_EQ(solver->grid(), kGrid);
  EXPECT_EQ(answer.status, Answer::Status::ok);
  EXPECT_EQ(answer.states, expected);
  EXPECT_EQ(answer.seconds, 1.5);
}

// Two warm-ups one behind the other, over queues of every kind. Broken by: a state in the middle of
// a warm-up that is kept, or a last one that is not.
TEST(WarmUp, WorksOverAnyQueue) {
  for (const std::size_t at_once : {1u, 2u, 3u, 7u})
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const auto solver = make_warm_up_solver(
          far({.steps_at_once = at_once, .shuffle = Rng(seed), .polls = seed}), 0.75);
      EXPECT_EQ(solver->steps_at_once(), std::max<std::size_t>(1, at_once / 3));
      const auto queue = solver->open();
      for (std::uint64_t id = 0; id < 6; ++id)
        queue->submit({.id = id, .state = {static_cast<double>(id), 0.1}, .steps = 2});

      while (queue->open() > 0) {
        const Reply reply = test::wait_for_reply(*queue);

        std::vector<double> state{static_cast<double>(reply.id), 0.1}, expected;
        for (std::size_t step = 0; step < 6; ++step) {
          state = test::fake_next(state, static_cast<double>(step) * kDt);
          if (step % 3 == 2) expected.insert(expected.end(), state.begin(), state.end());
        }
        EXPECT_EQ(reply.answer.states, expected);
      }
    }
}

TEST(WarmUp, SaysWhereItEnded) {
  const auto solver = [](Fate fate) {
    return make_warm_up_solver(
        far({}, [fate](std::size_t, std::size_t step) { return step == 2 ? fate : Fate::ok; }),
        1.0);
  };
  const auto end_of = [&](Fate fate, double time) {
    return ask(*solver(fate), {.state = {0.0, 0.1}, .time = time});
  };

  EXPECT_EQ(end_of(Fate::failed, 0.25).reason, "step 2 of 4 failed: told to fail");
  EXPECT_EQ(end_of(Fate::refused, 0.25).reason, "step 2 of 4 was refused: told to refuse");
  EXPECT_EQ(end_of(Fate::refused, 0.25).status, Answer::Status::failed);
  EXPECT_EQ(end_of(Fate::refused, 0.5).status, Answer::Status::refused);
  EXPECT_EQ(end_of(Fate::refused, 0.5).reason, "told to refuse");
  EXPECT_EQ(solver(Fate::refused)->refusal({.state = {0.0, 0.1}, .time = 0.5}), "told to refuse");
}

// Steps in groups go through another queue: one id, one query, one policy.
TEST(WarmUp, IsGivenBackHeldAndSeenAsTheQueryItIs) {
  const auto inner = std::make_shared<FarSolver>(
      kGrid, 0.25, test::always_ok,
      test::Manners{.slots = 1, .running = 4.0, .policy = {.breaker = true, .stragglers = 0.25}});
  const auto solver = make_warm_up_solver(inner, 1.0);
  const auto queue = solver->open();
  queue->submit({.id = 3, .state = {0.0, 0.1}});
  queue->submit({.id = 8, .state = {1.0, 0.1}});

  ASSERT_EQ(queue->running().size(), 1u);
  EXPECT_EQ(queue->running()[0].id, 3u);
  EXPECT_TRUE(queue->give_back(3));
  EXPECT_FALSE(queue->give_back(3));
  ASSERT_EQ(queue->running().size(), 1u);
  EXPECT_EQ(queue->running()[0].id, 8u);
  queue->close({.hold = true});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(queue->next(SolverQueue::Clock::now()));
  EXPECT_EQ(inner->computed, 1u);  // of four steps
  EXPECT_EQ(queue->open(), 1u);
  EXPECT_TRUE(solver->failure_policy().breaker);
  EXPECT_EQ(solver->failure_policy().stragglers, 0.25);
}

TEST(WarmUp, RefusesLengthsItCannotMake) {
  EXPECT_NE(complaint([] { make_warm_up_solver(far(), 0.6); }).find("2.4 steps of 0.25"),
            std::string::npos);
  EXPECT_NE(complaint([] { make_warm_up_solver(far(), 0.1); }), "");
  EXPECT_NE(complaint([] { make_warm_up_solver(far(), 0.0); }), "");
  EXPECT_NE(complaint([] { make_warm_up_solver(far(), -0.5); }), "");
  EXPECT_NE(complaint([] { make_warm_up_solver(far(), 1e300); }), "");
  EXPECT_NE(complaint([] { make_warm_up_solver(far(), std::numeric_limits<double>::quiet_NaN()); }),
            "");
  // Written in decimals: 3 x 0.1 is a little more than 0.3.
  const auto tenths = std::make_shared<FarSolver>(kGrid, 0.1);
  EXPECT_EQ(make_warm_up_solver(tenths, 0.3)->dt(), 0.3);
}

}  // namespace
}  // namespace stap
