#include "core/shared_queue.h"

#include <gtest/gtest.h>

#include <map>

#include "support/fake_solver.h"

namespace stap {
namespace {

using test::FakeSolver;

const Grid kGrid = make_grid(1, {3}, {1.0});

Query query(std::uint64_t id, double name, double time = 0.0, std::size_t steps = 1) {
  return {.id = id, .state = {name, 1.0, 2.0}, .time = time, .steps = steps};
}

std::map<std::uint64_t, Answer> all_replies(SolverQueue& queue) {
  std::map<std::uint64_t, Answer> answers;
  while (queue.open() > 0)
    if (auto reply = queue.next(SolverQueue::Clock::now()))
      answers.emplace(reply->id, std::move(reply->answer));
  return answers;
}

TEST(SharedQueue, EqualQuestionsArePutOnce) {
  const FakeSolver solver(kGrid, 0.5);
  const auto queue = make_shared_queue(solver.open());
  for (std::uint64_t id : {7, 8, 9}) queue->submit(query(id, 4.0));

  EXPECT_EQ(queue->open(), 3u);
  const auto answers = all_replies(*queue);

  EXPECT_EQ(solver.computed, 1u);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers.at(7).status, Answer::Status::ok);
  EXPECT_EQ(answers.at(7).states, answers.at(8).states);
  EXPECT_EQ(answers.at(7).states, answers.at(9).states);
}

// Mutation that breaks it: leaving the time, the steps or a value out of the key.
TEST(SharedQueue, WhatDiffersInAnythingIsNotShared) {
  const FakeSolver solver(kGrid, 0.5);
  const auto queue = make_shared_queue(solver.open());
  queue->submit(query(0, 4.0));
  queue->submit(query(1, 5.0));
  queue->submit(query(2, 4.0, 0.5));
  queue->submit(query(3, 4.0, 0.0, 2));

  const auto answers = all_replies(*queue);

  EXPECT_EQ(solver.computed, 5u);  // one of two steps
  EXPECT_EQ(answers.at(3).states.size(), 6u);
  EXPECT_NE(answers.at(0).states, answers.at(2).states);
}

// Mutation that breaks it: leaving the parameters out of the key.
TEST(SharedQueue, RowsThatDifferInAParameterAreNotShared) {
  FakeSolver solver(kGrid, 0.5);
  solver.varied = {"nu"};
  const auto queue = make_shared_queue(solver.open());
  for (const double nu : {1.0, 2.0, 1.0}) {
    Query one = query(queue->open(), 4.0);
    one.params = {nu};
    queue->submit(std::move(one));
  }

  EXPECT_EQ(all_replies(*queue).size(), 3u);

  EXPECT_EQ(solver.computed, 2u);
}

TEST(SharedQueue, WhatWasAnsweredIsAskedAgain) {
  const FakeSolver solver(kGrid, 0.5);
  const auto queue = make_shared_queue(solver.open());
  queue->submit(query(0, 4.0));
  all_replies(*queue);
  queue->submit(query(1, 4.0));

  EXPECT_EQ(all_replies(*queue).count(1), 1u);
  EXPECT_EQ(solver.computed, 2u);
}

// Mutation that breaks it: giving the question back although another still waits for its answer.
TEST(SharedQueue, GivesBackAQuestionWithTheLastWhoAsks) {
  const FakeSolver solver(kGrid, 0.5);
  const auto queue = make_shared_queue(solver.open());
  queue->submit(query(0, 4.0));
  queue->submit(query(1, 4.0));

  EXPECT_TRUE(queue->give_back(0));
  EXPECT_FALSE(queue->give_back(0));
  EXPECT_EQ(all_replies(*queue).count(1), 1u);

  queue->submit(query(2, 4.0));
  EXPECT_TRUE(queue->give_back(2));
  EXPECT_EQ(queue->open(), 0u);
  EXPECT_EQ(solver.computed, 1u);
}

}  // namespace
}  // namespace stap
