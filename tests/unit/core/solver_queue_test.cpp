// What a queue promises, whatever the solver: that of a solver of this process, and the checks that
// stand around every queue.
#include "stap/core/solver_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stap/core/error.h"
#include "support/fake_solver.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::FakeSolver;
using test::FarSolver;
using test::Fate;
using test::wait_for_reply;
using Status = Answer::Status;

const Grid kGrid = make_grid(1, {2}, {1.0});
constexpr double kDt = 0.5;

test::Decide one_is(std::size_t candidate, std::size_t step, Fate fate) {
  return
      [=](std::size_t c, std::size_t s) { return c == candidate && s == step ? fate : Fate::ok; };
}

// --- in process ---------------------------------------------------------------------------------

TEST(BatchQueue, SolvesWhatIsOpenAsOneBatchInOrder) {
  const FakeSolver solver(kGrid, kDt, one_is(2, 1, Fate::failed));
  const auto queue = solver.open();
  queue->submit({.id = 7, .state = {1.0, 0.4}, .time = 0.5});
  queue->submit({.id = 3, .state = {2.0, 0.4}, .time = 0.5});
  EXPECT_EQ(queue->open(), 2u);
  EXPECT_FALSE(queue->ready());

  const Reply first = wait_for_reply(*queue);
  EXPECT_TRUE(queue->ready());
  const Reply second = wait_for_reply(*queue);

  EXPECT_EQ(first.id, 7u);
  EXPECT_EQ(first.answer.states, (std::vector<double>{1.0, 0.75 * 0.4 + 0.5 + 1.0 / 3.0}));
  EXPECT_EQ(second.id, 3u);
  EXPECT_EQ(second.answer.status, Status::failed);
  EXPECT_EQ(solver.largest_batch, 2u);
  EXPECT_EQ(queue->open(), 0u);
  EXPECT_FALSE(queue->ready());
}

TEST(BatchQueue, WhatComesLaterWaitsForTheNextBatch) {
  const FakeSolver solver(kGrid, kDt);
  const auto queue = solver.open();
  for (std::uint64_t id = 0; id < 3; ++id) queue->submit({.id = id, .state = {1.0, 0.0}});
  std::vector<std::uint64_t> replies;
  replies.push_back(wait_for_reply(*queue).id);
  queue->submit({.id = 10, .state = {1.0, 0.0}});
  queue->submit({.id = 0, .state = {1.0, 0.0}});  // answered already, so the id is free again

  while (queue->open() > 0) replies.push_back(wait_for_reply(*queue).id);

  EXPECT_EQ(replies, (std::vector<std::uint64_t>{0, 1, 2, 10, 0}));
  EXPECT_EQ(solver.largest_batch, 3u);
}

// Whoever waits can go away after a block, the first of which has 32 rows.
TEST(BatchQueue, WorksInBlocks) {
  const FakeSolver solver(kGrid, kDt);
  const auto queue = solver.open();
  for (std::uint64_t id = 0; id < 100; ++id) queue->submit({.id = id, .state = {1.0, 0.0}});

  wait_for_reply(*queue);
  EXPECT_EQ(solver.computed, 32u);
  EXPECT_EQ(queue->open(), 99u);
}

// Steps of one query come one behind the other, those of several are solved together.
TEST(BatchQueue, QueriesOfSeveralStepsAdvanceTogether) {
  const FakeSolver solver(kGrid, kDt);
  const auto queue = solver.open();
  for (std::uint64_t id = 0; id < 5; ++id)
    queue->submit({.id = id, .state = {1.0, 0.0}, .steps = 3});

  while (queue->open() > 0) wait_for_reply(*queue);

  EXPECT_EQ(solver.computed, 15u);
  EXPECT_EQ(solver.largest_batch, 5u);
}

TEST(BatchQueue, HeldItBeginsNothingMore) {
  const FakeSolver solver(kGrid, kDt);
  const auto queue = solver.open();
  for (std::uint64_t id = 0; id < 40; ++id) queue->submit({.id = id, .state = {1.0, 0.0}});
  wait_for_reply(*queue);

  queue->close({.hold = true});

  EXPECT_TRUE(queue->running().empty());
  std::size_t replies = 1;
  while (queue->next(SolverQueue::Clock::now())) ++replies;
  EXPECT_EQ(replies, 32u);  // the block that was solved; the rest is open and stays so
  EXPECT_EQ(solver.computed, 32u);
  EXPECT_EQ(queue->open(), 8u);
}

TEST(BatchQueue, GivesBackWhatIsOpenAndNothingElse) {
  const FakeSolver solver(kGrid, kDt);
  const auto queue = solver.open();
  for (std::uint64_t id = 0; id < 40; ++id) queue->submit({.id = id, .state = {1.0, 0.0}});
  wait_for_reply(*queue);

  EXPECT_FALSE(queue->give_back(0));  // answered
  EXPECT_TRUE(queue->give_back(1));   // solved, not taken
  EXPECT_TRUE(queue->give_back(39));  // waits
  EXPECT_FALSE(queue->give_back(39));

  EXPECT_EQ(queue->open(), 37u);
  while (queue->open() > 0) {
    const Reply reply = wait_for_reply(*queue);
    EXPECT_TRUE(reply.id != 1 && reply.id != 39);
  }
  EXPECT_EQ(solver.computed, 39u);
}

// --- checks: what goes in
// -------------------------------------------------------------------------

TEST(CheckedQueue, WhatIsRefusedNeverReachesTheSolver) {
  const FarSolver solver(kGrid, kDt, one_is(1, 0, Fate::refused), {.polls = 3});
  const auto queue = solver.open();
  queue->submit({.id = 0, .state = {0.0, 0.1}});
  queue->submit({.id = 1, .state = {1.0, 0.1}, .steps = 4});
  queue->submit({.id = 2, .state = {2.0, std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(queue->open(), 3u);
  EXPECT_TRUE(queue->ready());

  const Reply guarded = wait_for_reply(*queue), broken = wait_for_reply(*queue);

  EXPECT_EQ(guarded.id, 1u);
  EXPECT_EQ(guarded.answer.status, Status::refused);
  EXPECT_EQ(guarded.answer.reason, "told to refuse");
  EXPECT_EQ(guarded.answer.attempts, 0);
  EXPECT_EQ(broken.id, 2u);
  EXPECT_EQ(broken.answer.status, Status::refused);
  EXPECT_EQ(broken.answer.reason, "input value 1 is nan");
  EXPECT_FALSE(queue->ready());
  EXPECT_EQ(queue->open(), 1u);
  EXPECT_EQ(solver.calls, (std::vector<std::size_t>{1}));
}

TEST(CheckedQueue, MisuseIsABug) {
  const FakeSolver solver(kGrid, kDt, one_is(2, 0, Fate::refused));
  const auto queue = solver.open();
  EXPECT_EQ(test::error_kind([&] { queue->next(SolverQueue::Clock::now()); }), ErrorKind::internal);
  queue->submit({.id = 1, .state = {1.0, 0.0}});
  queue->submit({.id = 2, .state = {2.0, 0.0}});  // refused, and open until the reply is taken

  EXPECT_EQ(test::error_kind([&] {
              queue->submit({.id = 1, .state = {1.0, 0.0}});
            }),
            ErrorKind::internal);
  EXPECT_EQ(test::error_kind([&] {
              queue->submit({.id = 2, .state = {1.0, 0.0}});
            }),
            ErrorKind::internal);
  EXPECT_EQ(test::error_kind([&] {
              queue->submit({.id = 3, .state = {1.0, 0.0}, .steps = 0});
            }),
            ErrorKind::internal);
  EXPECT_EQ(test::error_kind([&] { queue->submit({.id = 3, .state = {1.0}}); }), ErrorKind::data);
  EXPECT_EQ(queue->open(), 2u);
}

// --- checks: several steps -----------------------------------------------------------------------

// The states after 1 .. steps steps, by the problem's definition.
std::vector<double> states_of(std::vector<double> state, double time, std::size_t steps) {
  std::vector<double> all;
  for (std::size_t i = 0; i < steps; ++i) {
    state = test::fake_next(state, time + static_cast<double>(i) * kDt);
    all.insert(all.end(), state.begin(), state.end());
  }
  return all;
}

TEST(CheckedQueue, CutsWhatIsTooLongAndJoinsTheAnswers) {
  for (const std::size_t at_once : {1u, 2u, 3u, 5u, 9u}) {
    const FarSolver solver(kGrid, kDt, test::always_ok, {.steps_at_once = at_once});
    const std::size_t calls = (5 + at_once - 1) / at_once;

    const Answer answer = test::ask(solver, {.state = {3.0, 0.1}, .time = 1.5, .steps = 5});

    EXPECT_EQ(answer.status, Status::ok);
    EXPECT_EQ(answer.reason, "");
    EXPECT_EQ(answer.states, states_of({3.0, 0.1}, 1.5, 5)) << at_once;
    EXPECT_EQ(answer.seconds, 2.5);
    EXPECT_EQ(answer.attempts, static_cast<int>(calls));
    EXPECT_EQ(solver.calls.size(), calls);
    for (const std::size_t steps : solver.calls) EXPECT_LE(steps, at_once);
  }
}

// Parameters and ids go with every part.
class Echo final : public BatchSolver {
 public:
  Echo() : BatchSolver("echo", kGrid, kDt) {}
  std::vector<std::string> parameters() const override { return {"nu"}; }

 private:
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      answers[i]->status = Status::ok;
      answers[i]->states = {queries[i]->params.at(0) * queries[i]->time,
                            static_cast<double>(queries[i]->id)};
    }
  }
};
TEST(CheckedQueue, EveryPartHasTheParametersAndItsTime) {
  const Echo solver;
  const auto queue = solver.open();
  queue->submit({.id = 6, .state = {0, 0}, .time = 1.0, .params = {10.0}, .steps = 3});

  const Reply reply = wait_for_reply(*queue);

  EXPECT_EQ(reply.answer.states, (std::vector<double>{10, 6, 15, 6, 20, 6}));
}

TEST(CheckedQueue, AQueryMustHaveTheParametersThatVary) {
  const Echo echo;
  const FarSolver none(kGrid, kDt, test::always_ok, {});

  test::expect_error(ErrorKind::data, "has 0 values of parameters, expected 1 (nu)", [&] {
    echo.open()->submit({.state = {0, 0}});
  });
  test::expect_error(ErrorKind::data, "has 1 values of parameters, expected 0", [&] {
    none.open()->submit({.state = {0, 0}, .params = {1.0}});
  });
  EXPECT_EQ(echo.refusal({.state = {0, 0}, .params = {std::nan("")}}), "parameter nu is nan");
}

TEST(CheckedQueue, APartKnowsHowManyStepsFollow) {
  FarSolver solver(kGrid, kDt, test::always_ok, {.steps_at_once = 2});
  std::vector<std::size_t> behind;
  solver.watch = [&](const std::vector<Query>& open) { behind.push_back(open.at(0).steps_after); };
  const auto queue = solver.open();
  queue->submit({.id = 6, .state = {0, 0}, .steps = 5});

  wait_for_reply(*queue);

  EXPECT_EQ(behind, (std::vector<std::size_t>{3, 1, 0}));
}

// Candidate 1 meets its fate at step 3, the second of three; what stands before it is kept, however
// many steps are one call.
TEST(CheckedQueue, AFailureAndARefusalKeepTheStatesBeforeThem) {
  const struct {
    Fate fate;
    const char* reason;
  } cases[] = {{Fate::refused, "told to refuse"},
               {Fate::failed, "told to fail"},
               {Fate::not_finite, "answer value 1 is nan"},
               {Fate::wrong_size, "the answer has 1 values, expected 2"}};
  for (const auto& [fate, reason] : cases)
    for (const std::size_t at_once : {1u, 2u, 3u}) {
      const FarSolver solver(kGrid, kDt, one_is(1, 3, fate), {.steps_at_once = at_once});

      const Answer answer = test::ask(solver, {.state = {1.0, 0.1}, .time = 2 * kDt, .steps = 3});

      EXPECT_EQ(answer.status, fate == Fate::refused ? Status::refused : Status::failed) << reason;
      EXPECT_EQ(answer.reason, reason) << at_once;
      EXPECT_EQ(answer.states, states_of({1.0, 0.1}, 2 * kDt, 1)) << reason;
    }
}

// A guard that is asked between two steps saves the call.
TEST(CheckedQueue, WhatIsRefusedLaterIsNotAskedFor) {
  const FakeSolver solver(kGrid, kDt, one_is(1, 2, Fate::refused));

  const Answer answer = test::ask(solver, {.state = {1.0, 0.1}, .steps = 4});

  EXPECT_EQ(answer.status, Status::refused);
  EXPECT_EQ(answer.reason, "told to refuse");
  EXPECT_EQ(answer.attempts, 2);
  EXPECT_EQ(solver.computed, 2u);
}

// A part of an answer is none: next() would wait for the rest.
TEST(CheckedQueue, IsNotReadyWhileAQueryIsAskedInParts) {
  const FarSolver solver(kGrid, kDt, test::always_ok, {.steps_at_once = 2});
  const auto queue = solver.open();
  queue->submit({.id = 1, .state = {1.0, 0.1}, .steps = 3});

  EXPECT_FALSE(queue->ready());
  EXPECT_TRUE(queue->give_back(1));
  queue->submit({.id = 1, .state = {1.0, 0.1}, .steps = 2});
  EXPECT_TRUE(queue->ready());
}

TEST(CheckedQueue, ComesBackWithoutAReplyUntilThereIsOne) {
  const FarSolver solver(kGrid, kDt, test::always_ok, {.steps_at_once = 2, .polls = 2});
  const auto queue = solver.open();
  queue->submit({.id = 1, .state = {1.0, 0.1}, .steps = 3});
  const auto now = SolverQueue::Clock::now();

  std::size_t polls = 0;
  while (polls < 100 && !queue->next(now)) ++polls;

  EXPECT_EQ(polls, 5u);  // two before each part, and once when the first is in and time is over
  EXPECT_EQ(queue->open(), 0u);
}

// Gives answers from a list, whatever it is asked.
class Scripted final : public Solver {
 public:
  Scripted(std::size_t steps_at_once, std::vector<Reply> replies)
      : Solver("scripted", kGrid, kDt, steps_at_once), replies_(std::move(replies)) {}

 private:
  class Queue final : public SolverQueue {
   public:
    explicit Queue(std::vector<Reply> replies) : replies_(std::move(replies)) {}
    void submit(Query) override { ++open_; }
    std::size_t open() const override { return open_; }
    std::optional<Reply> next(Clock::time_point) override {
      --open_;
      Reply reply = replies_.at(0);
      replies_.erase(replies_.begin());
      return reply;
    }

   private:
    std::vector<Reply> replies_;
    std::size_t open_ = 0;
  };
  std::unique_ptr<SolverQueue> open_queue() const override {
    return std::make_unique<Queue>(replies_);
  }

  std::vector<Reply> replies_;
};

// --- checks: one query of many -------------------------------------------------------------------

TEST(CheckedQueue, GivesBackOneQueryWhereverItIs) {
  const FarSolver solver(kGrid, kDt, one_is(5, 0, Fate::refused), {.steps_at_once = 2});
  const auto queue = solver.open();
  for (std::uint64_t id : {1u, 2u, 5u})
    queue->submit({.id = id, .state = {static_cast<double>(id), 0.0}, .steps = 3});

  EXPECT_TRUE(queue->give_back(5));  // refused, and not taken yet
  EXPECT_TRUE(queue->give_back(1));  // asked in parts
  EXPECT_FALSE(queue->give_back(7));

  EXPECT_EQ(solver.returned, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(queue->open(), 1u);
  const Reply reply = wait_for_reply(*queue);
  EXPECT_EQ(reply.id, 2u);
  EXPECT_EQ(reply.answer.states, states_of({2.0, 0.0}, 0.0, 3));
  queue->submit({.id = 1, .state = {3.0, 0.0}, .steps = 2});  // its id is free, and nothing of it
  EXPECT_TRUE(queue->ready());                                // is in the way
  EXPECT_EQ(wait_for_reply(*queue).answer.states, states_of({3.0, 0.0}, 0.0, 2));
}

// A queue that cannot give back keeps what it has.
TEST(CheckedQueue, WhatCannotBeGivenBackStaysOpen) {
  const Scripted solver(1, {{1, {Status::ok, "", {1, 2}}}});
  const auto queue = solver.open();
  queue->submit({.id = 1, .state = {0, 0}});

  EXPECT_FALSE(queue->give_back(1));

  EXPECT_EQ(queue->open(), 1u);
  EXPECT_EQ(wait_for_reply(*queue).id, 1u);
}

// Broken by: a second part that is begun although the queue is held.
TEST(CheckedQueue, HeldItEndsWhatRunsAndKeepsTheRestOpen) {
  const FarSolver solver(kGrid, kDt, test::always_ok,
                         {.steps_at_once = 2, .slots = 2, .running = 4.0});
  const auto queue = solver.open();
  queue->submit({.id = 1, .state = {1.0, 0.1}, .steps = 3});  // in parts
  queue->submit({.id = 2, .state = {2.0, 0.1}, .steps = 2});
  queue->submit({.id = 3, .state = {3.0, 0.1}, .steps = 2});  // has no slot

  queue->close({.hold = true});

  EXPECT_EQ(queue->running().size(), 2u);
  std::vector<std::uint64_t> replies;
  for (int i = 0; i < 5; ++i)
    if (auto reply = queue->next(SolverQueue::Clock::now())) replies.push_back(reply->id);
  EXPECT_EQ(replies, (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(solver.computed, 4u);  // the first part of 1, and 2
  EXPECT_EQ(queue->open(), 2u);
  EXPECT_TRUE(queue->running().empty());
}

TEST(CheckedQueue, AQueryInPartsRunsSinceItsFirst) {
  const FarSolver solver(kGrid, kDt, test::always_ok,
                         {.steps_at_once = 2, .polls = 1, .slots = 1, .running = 4.0});
  const auto queue = solver.open();
  queue->submit({.id = 6, .state = {1.0, 0.1}, .steps = 3});
  ASSERT_EQ(queue->running().size(), 1u);
  EXPECT_EQ(queue->running()[0].seconds, 4.0);

  EXPECT_FALSE(queue->next(SolverQueue::Clock::now()));
  EXPECT_FALSE(queue->next(SolverQueue::Clock::now()));  // the first part, of two half seconds

  ASSERT_EQ(queue->running().size(), 1u);
  EXPECT_EQ(queue->running()[0].id, 6u);
  EXPECT_EQ(queue->running()[0].seconds, 5.0);
  EXPECT_EQ(queue->running()[0].where, "slot of the fake");
}

// --- checks: what comes out ----------------------------------------------------------------------

TEST(CheckedQueue, NothingBrokenComesOutWhateverTheSolverSays) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const struct {
    const char* what;
    Answer said, expected;  // to a query of two steps of two values
  } cases[] = {
      {"sound", {Status::ok, "", {1, 2, 3, 4}}, {Status::ok, "", {1, 2, 3, 4}}},
      {"ok with a reason", {Status::ok, "why?", {1, 2, 3, 4}}, {Status::ok, "", {1, 2, 3, 4}}},
      {"nothing", {Status::ok, "", {}}, {Status::failed, "the answer has 0 values, expected 2"}},
      {"one step only",
       {Status::ok, "", {1, 2}},
       {Status::failed, "the answer has 0 values, expected 2", {1, 2}}},
      {"cut within a state",
       {Status::ok, "", {1, 2, 3}},
       {Status::failed, "the answer has 1 values, expected 2", {1, 2}}},
      {"too long",
       {Status::ok, "", {1, 2, 3, 4, 5}},
       {Status::failed, "the answer has 3 values, expected 2", {1, 2}}},
      {"too long by far",
       {Status::ok, "", {1, 2, 3, 4, 5, 6, 7, 8}},
       {Status::failed, "the answer has 6 values, expected 2", {1, 2}}},
      {"not finite at first",
       {Status::ok, "", {1, inf, 3, 4}},
       {Status::failed, "answer value 1 is inf"}},
      {"not finite later",
       {Status::ok, "", {1, 2, nan, 4}},
       {Status::failed, "answer value 0 is nan", {1, 2}}},
      {"short, and not finite before that",
       {Status::ok, "", {nan, 2, 3}},
       {Status::failed, "answer value 0 is nan"}},
      {"failed", {Status::failed, "so it is", {}}, {Status::failed, "so it is"}},
      {"failed later", {Status::failed, "so it is", {1, 2}}, {Status::failed, "so it is", {1, 2}}},
      {"failed within a state",
       {Status::failed, "so it is", {1, 2, 3}},
       {Status::failed, "so it is", {1, 2}}},
      {"failed, with what is not finite",
       {Status::failed, "so it is", {nan, 2, 3}},
       {Status::failed, "so it is"}},
      {"failed, though all is there",
       {Status::failed, "so it is", {1, 2, 3, 4}},
       {Status::failed, "so it is", {1, 2}}},
      {"failed, but not why", {Status::failed, "", {}}, {Status::failed, "no reason was given"}},
      {"refused by the solver itself",
       {Status::refused, "busy", {1, 2}},
       {Status::refused, "busy", {1, 2}}},
  };
  for (const auto& [what, said, expected] : cases) {
    const Scripted solver(2, {{0, said}});

    const Answer answer = test::ask(solver, {.state = {0, 0}, .steps = 2});

    EXPECT_EQ(answer.status, expected.status) << what;
    EXPECT_EQ(answer.reason, expected.reason) << what;
    EXPECT_EQ(answer.states, expected.states) << what;
  }
}

TEST(CheckedQueue, ALaterPartThatTheSolverRefusesKeepsTheOnesBefore) {
  const Scripted solver(1, {{0, {Status::ok, "", {1, 2}}}, {0, {Status::refused, "busy", {}}}});

  const Answer answer = test::ask(solver, {.state = {0, 0}, .steps = 3});

  EXPECT_EQ(answer.status, Status::refused);
  EXPECT_EQ(answer.reason, "busy");
  EXPECT_EQ(answer.states, (std::vector<double>{1, 2}));
}

TEST(CheckedQueue, AReplyToNobodyIsABug) {
  const Scripted solver(1, {{7, {Status::ok, "", {1, 2}}}});
  const auto queue = solver.open();
  queue->submit({.id = 1, .state = {0, 0}});

  EXPECT_EQ(test::error_kind([&] { queue->next(SolverQueue::Clock::now()); }), ErrorKind::internal);
}

// Answers come out as they come in, whoever was asked first, and belong to who asked.
TEST(CheckedQueue, RepliesInAnyOrderBelongToTheirQueries) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const FarSolver solver(kGrid, kDt, test::always_ok, {.steps_at_once = 2, .shuffle = Rng(seed)});
    const auto queue = solver.open();
    for (std::uint64_t id = 0; id < 9; ++id)
      queue->submit({.id = id, .state = {static_cast<double>(id), 0.1}, .steps = 1 + id % 4});

    std::vector<std::uint64_t> order;
    while (queue->open() > 0) {
      const Reply reply = wait_for_reply(*queue);
      order.push_back(reply.id);
      EXPECT_EQ(reply.answer.states,
                states_of({static_cast<double>(reply.id), 0.1}, 0.0, 1 + reply.id % 4));
    }

    EXPECT_EQ(order.size(), 9u);
    EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));  // it did shuffle
  }
}

}  // namespace
}  // namespace stap
