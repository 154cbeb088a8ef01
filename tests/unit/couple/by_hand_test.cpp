#include "stap/couple/by_hand.h"

#include <gtest/gtest.h>

#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/solver_queue.h"
#include "support/refusals.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;
using Status = Answer::Status;

const Outline kOutline{.name = "colleague",
                       .grid = make_grid(1, {2}, {1.0}),
                       .channels = {"h"},
                       .dt = 0.5,
                       .guard_min = {},
                       .guard_max = {10.0},
                       .parameters = {}};

TEST(ByHandQueue, WaitsForSomebodyAndNeverAnswersByItself) {
  const auto solver = make_by_hand_solver(kOutline);
  const auto queue = solver->open();
  queue->submit({.id = 4, .state = {1, 2}, .time = 1.5, .steps = 3});
  queue->submit({.id = 9, .state = {11, 2}});  // the guard's

  EXPECT_EQ(solver->channels(), std::vector<std::string>{"h"});
  EXPECT_EQ(queue->next(Clock::now())->answer.status, Status::refused);
  EXPECT_FALSE(queue->next(Clock::now() + std::chrono::hours(1)));
  EXPECT_TRUE(queue->running().empty());
  ASSERT_EQ(queue->people()->questions().size(), 1u);
  const Query& question = *queue->people()->questions()[0];
  EXPECT_EQ(question.id, 4u);
  EXPECT_EQ(question.state, (std::vector<double>{1, 2}));
  EXPECT_EQ(question.time, 1.5);
  EXPECT_EQ(question.steps, 3u);
}

TEST(ByHandQueue, AnAnswerIsCheckedLikeAnyOther) {
  const auto solver = make_by_hand_solver(kOutline);
  const auto queue = solver->open();
  queue->submit({.id = 1, .state = {1, 2}, .steps = 2});
  queue->submit({.id = 2, .state = {1, 2}, .steps = 3});
  EXPECT_FALSE(queue->people()->answer({7, {}}));

  EXPECT_TRUE(
      queue->people()->answer({2, {Status::ok, "", {1, 2, 12, 2, 3, 4}}}));  // the guard ends it
  EXPECT_TRUE(queue->people()->answer({1, {Status::ok, "", {1, 2, 3, 4}}}));
  EXPECT_FALSE(queue->people()->answer({1, {Status::ok, "", {1, 2, 3, 4}}}));

  EXPECT_TRUE(queue->people()->questions().empty());
  const auto first = queue->next(Clock::now()), second = queue->next(Clock::now());
  EXPECT_EQ(first->answer.status, Status::refused);
  EXPECT_EQ(first->answer.states, (std::vector<double>{1, 2, 12, 2}));
  EXPECT_EQ(second->answer.status, Status::ok);
  EXPECT_EQ(queue->open(), 0u);
}

TEST(ByHandSolver, CannotBeWaitedFor) {
  const auto solver = make_by_hand_solver(kOutline);
  const Query query{.state = {1, 2}};
  Answer answer;

  test::expect_error(ErrorKind::config, "by hand", [&] {
    solver->solve({&query, 1}, {&answer, 1});
  });
}

TEST(ByHandQueue, GivesBackWhatNobodyWantsAnyMore) {
  const auto solver = make_by_hand_solver(kOutline);
  const auto queue = solver->open();
  queue->submit({.id = 1, .state = {1, 2}});
  queue->submit({.id = 2, .state = {1, 2}});
  queue->people()->answer({2, {Status::ok, "", {1, 2}}});

  EXPECT_TRUE(queue->give_back(1));
  EXPECT_TRUE(queue->give_back(2));
  EXPECT_FALSE(queue->give_back(2));

  EXPECT_EQ(queue->open(), 0u);
  EXPECT_TRUE(queue->people()->questions().empty());
}

// Clusters ask for single states, in one question.
TEST(ByHandQueue, IsAskedAboutSingleStates) {
  const auto solver = make_clustered_solver(make_by_hand_solver(kOutline), 2);
  const auto queue = solver->open();
  queue->submit({.id = 5, .state = {1, 2, 3, 4}, .steps = 2});

  ASSERT_EQ(queue->people()->questions().size(), 1u);
  EXPECT_EQ(queue->people()->questions()[0]->state, (std::vector<double>{3, 4}));
  EXPECT_EQ(queue->people()->questions()[0]->steps, 4u);
  EXPECT_TRUE(queue->people()->answer({5, {Status::ok, "", {1, 1, 2, 2, 3, 3, 4, 4}}}));
  const auto reply = queue->next(Clock::now());
  EXPECT_EQ(reply->answer.status, Status::ok);
  EXPECT_EQ(reply->answer.states, (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}));
}

}  // namespace
}  // namespace stap
