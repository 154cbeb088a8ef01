#include "stap/core/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/shared_queue.h"
#include "stap/core/error.h"
#include "stap/pde/burgers.h"
#include "support/fake_solver.h"

namespace stap {
namespace {

using test::always_ok;
using test::ask;
using test::FakeSolver;
using test::FarSolver;
using test::Fate;

const Grid kGrid = make_grid(1, {2}, {1.0});
constexpr double kDt = 0.25;  // sums of times are exact

std::shared_ptr<FakeSolver> fake(test::Decide fate) {
  return std::make_shared<FakeSolver>(kGrid, kDt, std::move(fate));
}

TEST(Cluster, GridHasTheStatesAsChannels) {
  const Grid grid = make_grid(4, {3, 5}, {1.0, 2.0});

  EXPECT_EQ(cluster_grid(grid, 2), make_grid(8, {3, 5}, {1.0, 2.0}));
  EXPECT_EQ(frame_grid(cluster_grid(grid, 3), 3), grid);
  EXPECT_THROW(cluster_grid(grid, 0), Error);
  EXPECT_THROW(frame_grid(grid, 3), Error);
  EXPECT_THROW(frame_grid(grid, 0), Error);
}

TEST(Cluster, NearestMultiplesForMessages) {
  EXPECT_EQ(multiples_beside(13, 8), "8 or 16");
  EXPECT_EQ(multiples_beside(5, 8), "8");
}

// By hand: candidate 7 stands in value 0, value 1 becomes 0.75 u + time + 1/3 at times
// 1, 1.25, 1.5. The first frame (9, 9) is history and must not matter.
TEST(ClusteredSolver, MakesSingleStepsFromTheLastStateAtTheirOwnTimes) {
  const auto single = fake(always_ok);
  const auto solver = make_clustered_solver(single, 3);
  const std::vector<double> cluster{7, 9, 7, 9, 7, 0.1};

  const Answer answer = ask(*solver, {.state = cluster, .time = 1.0});

  const double a = 0.75 * 0.1 + 1.0 + 1.0 / 3.0, b = 0.75 * a + 1.25 + 1.0 / 3.0,
               c = 0.75 * b + 1.5 + 1.0 / 3.0;
  EXPECT_EQ(solver->grid(), make_grid(3, {2}, {1.0}));
  EXPECT_EQ(solver->dt(), 0.75);
  EXPECT_EQ(answer.status, Answer::Status::ok);
  EXPECT_EQ(answer.states, (std::vector<double>{7, a, 7, b, 7, c}));
  EXPECT_EQ(answer.seconds, 1.5);  // three times the fake's half
  EXPECT_EQ(answer.attempts, 3);
  EXPECT_EQ(single->computed, 3u);
}

// A real solver, several rows: bit for bit what single calls give, one row at a time.
TEST(ClusteredSolver, EqualsSingleStepsBitForBitAndRowsStandAlone) {
  BurgersOptions options;
  options.points = 16;
  const std::shared_ptr<const Solver> single = make_burgers(options, 1);
  const auto solver = make_clustered_solver(single, 2);
  constexpr std::size_t kRows = 11;  // more than the lanes of a register
  std::vector<std::vector<double>> clusters(kRows, std::vector<double>(32));
  std::vector<Query> queries;
  for (std::size_t b = 0; b < kRows; ++b) {
    for (std::size_t i = 0; i < 32; ++i) clusters[b][i] = 0.3 * Rng(b).normal(i);
    queries.push_back({.id = b, .state = clusters[b]});
  }
  std::vector<Answer> answers(kRows);

  solver->solve(queries, answers);

  for (std::size_t b = 0; b < kRows; ++b) {
    const Answer first = ask(*single, {.state = {clusters[b].begin() + 16, clusters[b].end()}});
    const Answer second = ask(*single, {.state = first.states});
    std::vector<double> expected = first.states;
    expected.insert(expected.end(), second.states.begin(), second.states.end());
    EXPECT_EQ(answers[b].states, expected) << b;
    EXPECT_EQ(ask(*solver, {.state = clusters[b]}).states, expected) << b;
  }
}

TEST(ClusteredSolver, QueriesOfACallAdvanceTogether) {
  const auto single = fake(always_ok);
  const auto solver = make_clustered_solver(single, 2);
  const std::vector<Query> queries(5, Query{.state = {1, 1, 1, 1}});
  std::vector<Answer> answers(5);

  solver->solve(queries, answers);

  EXPECT_EQ(single->largest_batch, 5u);
  EXPECT_EQ(single->computed, 10u);
}

// Candidates 0 .. 5 meet every end; their neighbours are as they would be alone.
TEST(ClusteredSolver, SaysHowAQueryEnds) {
  const auto single = fake([](std::size_t candidate, std::size_t step) {
    if (candidate == 1 && step == 4) return Fate::refused;
    if (candidate == 2 && step == 5) return Fate::refused;
    if (candidate == 3 && step == 4) return Fate::failed;
    if (candidate == 4 && step == 5) return Fate::wrong_size;
    if (candidate == 5 && step == 4) return Fate::not_finite;
    return Fate::ok;
  });
  const auto solver = make_clustered_solver(single, 3);
  std::vector<std::vector<double>> clusters;
  std::vector<Query> queries;
  for (std::size_t c = 0; c < 7; ++c) clusters.push_back({0, 0, 0, 0, static_cast<double>(c), 0.5});
  for (std::size_t c = 0; c < 7; ++c)
    queries.push_back({.id = c, .state = clusters[c], .time = 4 * kDt});
  std::vector<Answer> answers(7);

  solver->solve(queries, answers);

  const auto expect = [&](std::size_t c, Answer::Status status, const char* reason, int attempts) {
    EXPECT_EQ(answers[c].status, status) << c;
    EXPECT_NE(answers[c].reason.find(reason), std::string::npos) << answers[c].reason;
    EXPECT_EQ(answers[c].attempts, attempts) << c;
    EXPECT_TRUE(answers[c].states.empty() || status == Answer::Status::ok) << c;
  };
  expect(0, Answer::Status::ok, "", 3);
  expect(1, Answer::Status::refused, "told to refuse", 0);
  expect(2, Answer::Status::failed, "step 2 of 3 was refused: told to refuse", 1);
  expect(3, Answer::Status::failed, "step 1 of 3 failed: told to fail", 1);
  expect(4, Answer::Status::failed, "step 2 of 3 failed: the answer has 1 values", 2);
  expect(5, Answer::Status::failed, "step 1 of 3 failed: answer value 1 is nan", 1);
  expect(6, Answer::Status::ok, "", 3);
  EXPECT_EQ(answers[6].states, ask(*solver, {.state = clusters[6], .time = 4 * kDt}).states);
}

// A cluster goes into the training set as a whole, so all of it must be finite.
TEST(ClusteredSolver, RefusesHistoryThatIsNotFinite) {
  const auto single = fake(always_ok);
  const auto solver = make_clustered_solver(single, 2);

  const Answer answer = ask(*solver, {.state = {0, std::numeric_limits<double>::infinity(), 0, 1}});

  EXPECT_EQ(answer.status, Answer::Status::refused);
  EXPECT_EQ(single->computed, 0u);
}

TEST(ClusteredSolver, SaysBeforehandWhatTheSingleSolverRefuses) {
  const auto single = fake([](std::size_t candidate, std::size_t step) {
    return candidate == 4 && step == 2 ? Fate::refused : Fate::ok;
  });
  const auto solver = make_clustered_solver(single, 2);

  EXPECT_EQ(solver->refusal({.state = {4, 0, 4, 0}, .time = 2 * kDt}), "told to refuse");
  EXPECT_EQ(solver->refusal({.state = {4, 0, 3, 0}, .time = 2 * kDt}), "");
  EXPECT_EQ(solver->refusal({.state = {4, 0, 4, 0}, .time = kDt}), "");
}

// Trouble of every kind at every place, over a queue that shuffles and takes any number of steps a
// call: two clusters asked for at once are two that are asked for one behind the other, up to what
// fails. Broken by: a frame counted from the query's begin, a half cluster that is kept, a reply
// that is given to another query.
TEST(ClusteredSolver, WorksOverAnyQueue) {
  constexpr std::size_t kSize = 3, kRows = 12;
  const auto fate = [](std::size_t candidate, std::size_t step) {
    constexpr Fate kinds[] = {Fate::ok, Fate::refused, Fate::failed, Fate::not_finite};
    return step == 4 + candidate % 6 ? kinds[candidate % 4] : Fate::ok;
  };
  const auto plain = make_clustered_solver(fake(fate), kSize);
  std::size_t ok = 0, partly = 0;
  for (const std::size_t at_once : {1u, 2u, 3u, 5u, 6u, 20u})
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      const auto far = std::make_shared<FarSolver>(
          kGrid, kDt, fate,
          test::Manners{.steps_at_once = at_once, .shuffle = Rng(seed), .polls = seed});
      const auto solver = make_clustered_solver(far, kSize);
      EXPECT_EQ(solver->steps_at_once(), std::max<std::size_t>(1, at_once / kSize));
      const auto queue = solver->open();
      const auto query = [](std::uint64_t id, std::size_t steps) {
        const double name = static_cast<double>(id);
        return Query{.id = id, .state = {9, 9, 9, 9, name, 0.5}, .time = 4 * kDt, .steps = steps};
      };
      for (std::uint64_t id = 0; id < kRows; ++id) queue->submit(query(id, 2));

      while (queue->open() > 0) {
        const Reply reply = test::wait_for_reply(*queue);

        const Answer first = ask(*plain, query(reply.id, 1));
        std::vector<double> expected = first.states;
        Answer::Status status = first.status;
        if (first.status == Answer::Status::ok) {
          const Answer second = ask(*plain, {.state = first.states, .time = 7 * kDt});
          expected.insert(expected.end(), second.states.begin(), second.states.end());
          status = second.status;
          EXPECT_EQ(reply.answer.reason, second.reason);
        } else {
          EXPECT_EQ(reply.answer.reason, first.reason);
        }
        EXPECT_EQ(reply.answer.status, status) << reply.id;
        EXPECT_EQ(reply.answer.states, expected) << reply.id;
        ok += status == Answer::Status::ok ? 1 : 0;
        partly += status != Answer::Status::ok && !expected.empty() ? 1 : 0;
      }
      queue->submit(query(2, 2));
      EXPECT_TRUE(queue->give_back(2));
      EXPECT_EQ(queue->open(), 0u);
      EXPECT_EQ(far->returned, std::vector<std::uint64_t>{2});
    }
  EXPECT_GT(ok, 0u);
  EXPECT_GT(partly, 0u);
}

// Through all queues that stand around the solver's own.
TEST(Cluster, WhatATimeLimitNeedsReachesTheSolver) {
  const auto single = std::make_shared<test::FarSolver>(make_grid(1, {2}, {1.0}), 0.5);
  const auto clustered = make_clustered_solver(single, 3);
  const auto queue = make_shared_queue(clustered->open());
  bool late = false;
  single->too_late = [&] { return late; };
  const auto end = SolverQueue::Clock::now() + std::chrono::hours(1);

  queue->close({.by = end, .usual = 6.0});
  queue->submit({.id = 1, .state = std::vector<double>(6)});

  EXPECT_EQ(single->expected, 2.0);
  EXPECT_EQ(single->end, end);
  EXPECT_FALSE(queue->over());
  late = true;
  EXPECT_TRUE(queue->over());
}

}  // namespace
}  // namespace stap
