#include "stap/core/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "stap/core/error.h"
#include "stap/pde/burgers.h"
#include "support/fake_solver.h"

namespace stap {
namespace {

using test::FakeSolver;
using Fate = FakeSolver::Fate;

const Grid kGrid = make_grid(1, {2}, {1.0});
constexpr double kDt = 0.25;  // sums of times are exact

Fate always_ok(std::size_t, std::size_t) {
  return Fate::ok;
}

std::shared_ptr<FakeSolver> fake(FakeSolver::Decide fate) {
  return std::make_shared<FakeSolver>(kGrid, kDt, std::move(fate));
}

Answer ask(const Solver& solver, std::span<const double> state, double time) {
  const Query query{.id = 3, .state = state, .time = time, .params = {}};
  Answer answer;
  solver.solve({&query, 1}, {&answer, 1});
  return answer;
}

TEST(Cluster, GridHasTheStatesAsChannels) {
  const Grid grid = make_grid(4, {3, 5}, {1.0, 2.0});

  EXPECT_EQ(cluster_grid(grid, 2), make_grid(8, {3, 5}, {1.0, 2.0}));
  EXPECT_EQ(slot_grid(cluster_grid(grid, 3), 3), grid);
  EXPECT_THROW(cluster_grid(grid, 0), Error);
  EXPECT_THROW(slot_grid(grid, 3), Error);
  EXPECT_THROW(slot_grid(grid, 0), Error);
}

TEST(Cluster, NearestMultiplesForMessages) {
  EXPECT_EQ(multiples_beside(13, 8), "8 or 16");
  EXPECT_EQ(multiples_beside(5, 8), "8");
}

// By hand: candidate 7 stands in value 0, value 1 becomes 0.75 u + time + 1/3 at times
// 1, 1.25, 1.5. The first slot (9, 9) is history and must not matter.
TEST(ClusteredSolver, MakesSingleStepsFromTheLastStateAtTheirOwnTimes) {
  const auto single = fake(always_ok);
  const auto solver = make_clustered_solver(single, 3);
  const std::vector<double> cluster{7, 9, 7, 9, 7, 0.1};

  const Answer answer = ask(*solver, cluster, 1.0);

  const double a = 0.75 * 0.1 + 1.0 + 1.0 / 3.0, b = 0.75 * a + 1.25 + 1.0 / 3.0,
               c = 0.75 * b + 1.5 + 1.0 / 3.0;
  EXPECT_EQ(solver->grid(), make_grid(3, {2}, {1.0}));
  EXPECT_EQ(solver->dt(), 0.75);
  EXPECT_EQ(answer.status, Answer::Status::ok);
  EXPECT_EQ(answer.state, (std::vector<double>{7, a, 7, b, 7, c}));
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
    queries.push_back({.id = b, .state = clusters[b], .time = 0, .params = {}});
  }
  std::vector<Answer> answers(kRows);

  solver->solve(queries, answers);

  for (std::size_t b = 0; b < kRows; ++b) {
    const Answer first = ask(*single, std::span(clusters[b]).last(16), 0);
    const Answer second = ask(*single, first.state, 0);
    std::vector<double> expected = first.state;
    expected.insert(expected.end(), second.state.begin(), second.state.end());
    EXPECT_EQ(answers[b].state, expected) << b;
    EXPECT_EQ(ask(*solver, clusters[b], 0).state, expected) << b;
  }
}

TEST(ClusteredSolver, QueriesOfACallAdvanceTogether) {
  const auto single = fake(always_ok);
  const auto solver = make_clustered_solver(single, 2);
  const std::vector<double> cluster{1, 1, 1, 1};
  const std::vector<Query> queries(5, Query{.id = 0, .state = cluster, .time = 0, .params = {}});
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
    queries.push_back({.id = c, .state = clusters[c], .time = 4 * kDt, .params = {}});
  std::vector<Answer> answers(7);

  solver->solve(queries, answers);

  const auto expect = [&](std::size_t c, Answer::Status status, const char* reason, int attempts) {
    EXPECT_EQ(answers[c].status, status) << c;
    EXPECT_NE(answers[c].reason.find(reason), std::string::npos) << answers[c].reason;
    EXPECT_EQ(answers[c].attempts, attempts) << c;
    EXPECT_TRUE(answers[c].state.empty() || status == Answer::Status::ok) << c;
  };
  expect(0, Answer::Status::ok, "", 3);
  expect(1, Answer::Status::refused, "told to refuse", 0);
  expect(2, Answer::Status::failed, "step 2 of 3 was refused: told to refuse", 1);
  expect(3, Answer::Status::failed, "step 1 of 3 failed: told to fail", 1);
  expect(4, Answer::Status::failed, "step 2 of 3 failed: the answer has 1 values", 2);
  expect(5, Answer::Status::failed, "step 2 of 3 was refused: input value 1 is nan", 1);
  expect(6, Answer::Status::ok, "", 3);
  EXPECT_EQ(answers[6].state, ask(*solver, clusters[6], 4 * kDt).state);
}

// A cluster goes into the training set as a whole, so all of it must be finite.
TEST(ClusteredSolver, RefusesHistoryThatIsNotFinite) {
  const auto single = fake(always_ok);
  const auto solver = make_clustered_solver(single, 2);
  const std::vector<double> cluster{0, std::numeric_limits<double>::infinity(), 0, 1};

  const Answer answer = ask(*solver, cluster, 0);

  EXPECT_EQ(answer.status, Answer::Status::refused);
  EXPECT_EQ(single->computed, 0u);
}

}  // namespace
}  // namespace stap
