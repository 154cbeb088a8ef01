#include "stap/core/solver_queue.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "support/fake_solver.h"

namespace stap {
namespace {

using test::FakeSolver;
using Fate = FakeSolver::Fate;

FakeSolver solver_that_fails_for(std::size_t candidate) {
  return FakeSolver(make_grid(1, {2}, {1.0}), 0.5, [candidate](std::size_t c, std::size_t) {
    return c == candidate ? Fate::failed : Fate::ok;
  });
}

TEST(BatchQueue, SolvesWhatIsOpenAsOneBatchInOrder) {
  const FakeSolver solver = solver_that_fails_for(2);
  const auto queue = make_batch_queue(solver);
  queue->submit(7, {1.0, 0.4}, 0.5);
  queue->submit(3, {2.0, 0.4}, 0.5);
  EXPECT_EQ(queue->open(), 2u);
  EXPECT_FALSE(queue->ready());

  const Reply first = queue->next();
  EXPECT_TRUE(queue->ready());
  const Reply second = queue->next();

  EXPECT_EQ(first.id, 7u);
  EXPECT_EQ(first.answer.state, (std::vector<double>{1.0, 0.75 * 0.4 + 0.5 + 1.0 / 3.0}));
  EXPECT_EQ(second.id, 3u);
  EXPECT_EQ(second.answer.status, Answer::Status::failed);
  EXPECT_EQ(solver.largest_batch, 2u);
  EXPECT_EQ(queue->open(), 0u);
  EXPECT_FALSE(queue->ready());
}

TEST(BatchQueue, WhatComesLaterWaitsForTheNextBatch) {
  const FakeSolver solver = solver_that_fails_for(9);
  const auto queue = make_batch_queue(solver);
  for (std::uint64_t id = 0; id < 3; ++id) queue->submit(id, {1.0, 0.0}, 0.0);
  std::vector<std::uint64_t> replies;
  replies.push_back(queue->next().id);
  queue->submit(10, {1.0, 0.0}, 0.0);
  queue->submit(0, {1.0, 0.0}, 0.0);  // answered already, so the id is free again

  while (queue->open() > 0) replies.push_back(queue->next().id);

  EXPECT_EQ(replies, (std::vector<std::uint64_t>{0, 1, 2, 10, 0}));
  EXPECT_EQ(solver.largest_batch, 3u);
}

TEST(BatchQueue, AnOpenIdOrAnEmptyQueueIsABug) {
  const FakeSolver solver = solver_that_fails_for(9);
  const auto queue = make_batch_queue(solver);
  queue->submit(1, {1.0, 0.0}, 0.0);

  EXPECT_THROW(queue->submit(1, {1.0, 0.0}, 0.0), Error);
  queue->next();
  EXPECT_THROW(queue->next(), Error);
}

}  // namespace
}  // namespace stap
