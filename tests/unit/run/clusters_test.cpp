#include "run/clusters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "run/make_data.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/data/transitions.h"
#include "stap/ic/sines.h"
#include "stap/pde/burgers.h"
#include "stap/run/generate.h"
#include "support/choosing.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::ScopedVariable;
using test::TemporaryFolder;

constexpr double kDt = 0.05, kWarmUp = 0.22;

DataRequest clustered_request(std::size_t cluster) {
  DataRequest request;
  request.pde = test::pde("{name: burgers, points: 16, dt: 0.05}");
  request.initial = test::initial("{name: sines, warm_up: 0.22}");
  request.pool = 5;
  request.test = 3;
  request.steps = 6;
  request.cluster = cluster;
  return request;
}

std::unique_ptr<Solver> burgers(double dt) {
  BurgersOptions options;
  options.points = 16;
  options.dt = dt;
  return make_burgers(options, 1);
}

// Hands queries on and keeps their times.
class Listening final : public BatchSolver {
 public:
  Listening() : BatchSolver("listening", burgers(kDt)->grid(), kDt), inner_(burgers(kDt)) {}
  mutable std::vector<double> times;  // one a call
  std::unique_ptr<Solver> with_step(double dt) const override { return burgers(dt); }

 private:
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    times.push_back(queries[0]->time);
    for (std::size_t i = 0; i < queries.size(); ++i)
      inner_->solve({queries[i], 1}, {answers[i], 1});
  }
  std::unique_ptr<Solver> inner_;
};

std::vector<double> advanced(const Solver& by, std::span<const double> state) {
  const Query query{.state = {state.begin(), state.end()}};
  Answer answer;
  by.solve({&query, 1}, {&answer, 1});
  return answer.states;
}

std::string complaint(const std::function<void()>& act, ErrorKind kind = ErrorKind::config) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}
testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

class ClusterData : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  ScopedVariable cache_{"STAP_CACHE", folder_.path("cache")};
  Observer silent_;
};

// Against the parts: a draw, a warm-up that ends 2 dt early, then single steps.
TEST_F(ClusterData, AnInitialConditionIsTheLastStatesOfItsWarmUp) {
  const auto sampler = make_sines({.warm_up = kWarmUp}, burgers(kDt)->grid());
  const auto warm_up = burgers(kWarmUp - 2 * kDt), solver = burgers(kDt);
  const auto trajectory = [&](const char* stream, std::size_t id, std::size_t states) {
    std::vector<double> state(16), all;
    sampler->draw(Rng(0).split(stream), id, state);
    state = advanced(*warm_up, state);
    for (std::size_t s = 0; s < states; ++s) {
      all.insert(all.end(), state.begin(), state.end());
      state = advanced(*solver, state);
    }
    return all;
  };

  const StudyData data = make_study_data(clustered_request(3), *solver, 1, silent_);

  EXPECT_EQ(data.pool.grid().channels, 3u);
  EXPECT_TRUE(std::ranges::equal(data.pool.row(4), trajectory("pool", 4, 3)));
  EXPECT_EQ(data.test_times, 9u);
  EXPECT_EQ(data.test.grid().channels, 1u);
  ASSERT_EQ(data.test.count(), 27u);
  EXPECT_TRUE(
      std::ranges::equal(data.test.values().subspan(2 * 9 * 16, 9 * 16), trajectory("test", 2, 9)));
}

// Time 0 is u^0, the last state of the initial cluster: a forcing stands still before it.
TEST_F(ClusterData, WarmUpStepsAreAtNegativeTimes) {
  const Listening solver;
  const DataRequest request = clustered_request(3);
  const DataMaker maker(request, solver, 1);

  maker.test(0, 1);

  const std::vector<double> expected{-2, -1, 0, 1, 2, 3, 4, 5};
  ASSERT_EQ(solver.times.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_DOUBLE_EQ(solver.times[i], expected[i] * kDt) << i;
}

TEST_F(ClusterData, WarmUpMayBeJustLongEnough) {
  DataRequest request = clustered_request(3);
  request.initial = test::initial("{name: sines, warm_up: 0.1}");
  const auto solver = burgers(kDt);
  const StudyData data = make_study_data(request, *solver, 1, silent_);
  std::vector<double> drawn(16);
  make_sines({.warm_up = 0.1}, solver->grid())->draw(Rng(0).split("pool"), 0, drawn);
  EXPECT_TRUE(std::ranges::equal(data.pool.row(0).first(16), drawn));
}

TEST_F(ClusterData, IsReadAgainAndGeneratedAlike) {
  const auto solver = burgers(kDt);
  const StudyData made = make_study_data(clustered_request(2), *solver, 1, silent_);

  const StudyData read = make_study_data(clustered_request(2), *solver, 1, silent_);
  const Generated generated =
      generate(clustered_request(2), *solver, folder_.path("g"), 1, silent_, [] { return false; });

  EXPECT_EQ(read.pool_sha256, made.pool_sha256);
  EXPECT_TRUE(std::ranges::equal(read.pool.values(), made.pool.values()));
  EXPECT_EQ(read.pool.grid(), made.pool.grid());
  EXPECT_EQ(read.test_times, 8u);
  EXPECT_EQ(generated.pool_sha256, made.pool_sha256);
  EXPECT_EQ(generated.test_sha256, made.test_sha256);
  EXPECT_EQ(read_array(folder_.path("g/pool.h5"), "states").shape,
            (std::vector<std::size_t>{5, 2, 16}));
  EXPECT_EQ(read_array(folder_.path("g/test.h5"), "trajectory").shape,
            (std::vector<std::size_t>{3, 8, 1, 16}));
}

// Keys of single steps are those of builds that knew nothing else.
TEST_F(ClusterData, TheClusterIsInTheKeyUnlessItIsOne) {
  const auto document = [](std::size_t cluster) {
    const DataRequest request = clustered_request(cluster);
    return request_document(request);
  };

  EXPECT_EQ(document(1).find("cluster"), nullptr);
  EXPECT_NE(document(2).find("cluster"), nullptr);
  EXPECT_NE(study_key(clustered_request(1)), study_key(clustered_request(2)));
  EXPECT_NE(study_key(clustered_request(3)), study_key(clustered_request(2)));
}

TEST_F(ClusterData, BadRequestsAreConfigErrors) {
  const auto solver = burgers(kDt);
  const auto message = [&](std::size_t cluster) {
    return complaint([&] { make_study_data(clustered_request(cluster), *solver, 1, silent_); });
  };

  EXPECT_TRUE(says(message(4), "steps is 6, but networks make 4 steps at once"));
  EXPECT_TRUE(says(message(4), "choose 4 or 8"));
  EXPECT_TRUE(says(message(0), "cluster is 0"));
  EXPECT_TRUE(says(message(6), "the first cluster begins 0.25 before"));
}

TEST_F(ClusterData, TransitionsRememberTheirCluster) {
  const Grid grid = make_grid(2, {2}, {1.0});
  TransitionSet set;
  set.grid = grid;
  set.cluster = 2;
  set.acquisitions = 1;
  set.origins = {{0, 3, 1}};
  set.inputs = {1, 2, 3, 4};
  set.outputs = {5, 6, 7, 8};
  write_transitions(folder_.path("t.h5"), set);

  const TransitionSet back = read_transitions(folder_.path("t.h5"), grid, 2);

  EXPECT_EQ(back.cluster, 2u);
  EXPECT_EQ(back.outputs, set.outputs);
  EXPECT_TRUE(
      says(complaint([&] { read_transitions(folder_.path("t.h5"), grid); }, ErrorKind::data),
           "clusters of 2 states, expected 1"));
}

TEST(ClusterLedger, CountsSolverSteps) {
  const Ledger ledger = in_solver_steps({.budget = 9,
                                         .bought = 5,
                                         .refused = 1,
                                         .failed = 1,
                                         .charged_failures = 1,
                                         .unspent = 3,
                                         .reasons = {"a", "b"}},
                                        4);

  EXPECT_EQ(ledger.budget, 36u);
  EXPECT_EQ(ledger.bought, 20u);
  EXPECT_EQ(ledger.refused, 1u);  // queries
  EXPECT_EQ(ledger.failed, 1u);
  EXPECT_EQ(ledger.charged_failures, 4u);
  EXPECT_EQ(ledger.unspent, 12u);
  EXPECT_EQ(ledger.bought + ledger.charged_failures + ledger.unspent, ledger.budget);
}

}  // namespace
}  // namespace stap
