// Pool and test set of a study whose networks take several states at once.
#include <gtest/gtest.h>

#include <algorithm>

#include "stap/data/store.h"
#include "stap/ic/sines.h"
#include "stap/market/generate.h"
#include "stap/market/problem.h"
#include "stap/study/presets.h"
#include "support/data_making.h"
#include "support/environment.h"
#include "support/fake_solver.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

constexpr double kSingleDt = 0.05;

// Hands queries on and keeps their times.
class Listening final : public BatchSolver {
 public:
  Listening()
      : BatchSolver("listening", test::small_burgers(kSingleDt)->grid(), kSingleDt),
        inner_(test::small_burgers(kSingleDt)) {}
  mutable std::vector<double> times;  // one a call
  std::unique_ptr<Solver> with_step(double dt) const override { return inner_->with_step(dt); }

 private:
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    times.push_back(queries[0]->time);
    for (std::size_t i = 0; i < queries.size(); ++i)
      inner_->solve({queries[i], 1}, {answers[i], 1});
  }
  std::shared_ptr<const Solver> inner_;
};

class ClusterData : public ::testing::Test {
 protected:
  Study study(std::size_t cluster, const std::string& warm_up) const {
    return make_study(load_config(
        folder_.file("study.yaml",
                     "pde: {name: burgers, points: 16, dt: 0.05}\n"
                     "initial: {name: sines, warm_up: " +
                         warm_up +
                         "}\nnetwork: {modes: [4]}\nmethod: random\n"
                         "study: {steps: 6, pool: 5, test: 3, initial: 2, budget: 12, cluster: " +
                         std::to_string(cluster) + "}\n")));
  }

  test::TemporaryFolder folder_;
  test::ScopedVariable cache_{"STAP_CACHE", folder_.path("cache")};
  Observer silent_;
};

// Against the parts: a draw, a warm-up that ends 2 dt early, then single steps.
TEST_F(ClusterData, AnInitialConditionIsTheLastStatesOfItsWarmUp) {
  const auto sampler = make_sines({.warm_up = 0.22}, test::small_burgers(kSingleDt)->grid());
  const auto warm_up = test::small_burgers(0.22 - 2 * kSingleDt),
             solver = test::small_burgers(kSingleDt);
  const auto trajectory = [&](const char* stream, std::size_t id, std::size_t states) {
    std::vector<double> state(16), all;
    sampler->draw(Rng(0).split(stream), id, state);
    state = test::advanced(*warm_up, state);
    for (std::size_t s = 0; s < states; ++s) {
      all.insert(all.end(), state.begin(), state.end());
      state = test::advanced(*solver, state);
    }
    return all;
  };

  const Problem problem = make_problem(study(3, "0.22"), solver, silent_);

  const States<double>&pool = problem.pool.states, &test = problem.test->states;
  EXPECT_EQ(pool.grid().channels, 3u);
  EXPECT_TRUE(std::ranges::equal(pool.row(4), trajectory("pool", 4, 3)));
  EXPECT_EQ(problem.test->times, 9u);
  EXPECT_EQ(test.grid().channels, 1u);
  ASSERT_EQ(test.count(), 27u);
  EXPECT_TRUE(
      std::ranges::equal(test.values().subspan(2 * 9 * 16, 9 * 16), trajectory("test", 2, 9)));
  EXPECT_EQ(problem.identity.cluster, 3u);
  EXPECT_EQ(problem.identity.grid.channels, 1u);
  EXPECT_EQ(problem.solver->grid().channels, 3u);
}

// Time 0 is u^0, the last state of the initial cluster: a forcing stands still before it.
TEST_F(ClusterData, WarmUpStepsAreAtNegativeTimes) {
  const auto solver = std::make_shared<Listening>();
  DataRequest request = data_request(study(3, "0.22"));
  request.pool = 0;
  const auto sampler = make_sines({.warm_up = 0.22}, solver->grid());

  generate(request, *sampler, solver, folder_.path("d"), silent_, {});

  const std::vector<double> expected{-2, -1, 0, 1, 2, 3, 4, 5};
  ASSERT_EQ(solver->times.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_DOUBLE_EQ(solver->times[i], expected[i] * kSingleDt) << i;
}

TEST_F(ClusterData, TheWarmUpMayBeJustLongEnough) {
  const Problem problem = make_problem(study(3, "0.1"), test::small_burgers(kSingleDt), silent_);

  std::vector<double> drawn(16);
  make_sines({.warm_up = 0.1}, test::small_burgers(kSingleDt)->grid())
      ->draw(Rng(0).split("pool"), 0, drawn);
  EXPECT_TRUE(std::ranges::equal(problem.pool.states.row(0).first(16), drawn));
}

TEST_F(ClusterData, IsReadAgainAndGeneratedAlike) {
  const Study of = study(2, "0.22");
  const auto sampler = make_sines({.warm_up = 0.22}, of.grid);
  const Problem made = make_problem(of, test::small_burgers(kSingleDt), silent_);

  test::Recorder record;
  const Problem read = make_problem(of, test::small_burgers(kSingleDt), record);
  const Generated generated = generate(data_request(of), *sampler, test::small_burgers(kSingleDt),
                                       folder_.path("g"), silent_, {});

  EXPECT_TRUE(record.events.empty());
  EXPECT_TRUE(std::ranges::equal(read.pool.states.values(), made.pool.states.values()));
  EXPECT_EQ(read.pool.states.grid(), made.pool.states.grid());
  EXPECT_EQ(read.test->times, 8u);
  EXPECT_EQ(generated.pool_sha256, made.pool.sha256);
  EXPECT_EQ(generated.test_sha256, made.test->sha256);
  EXPECT_EQ(read_array(folder_.path("g/pool.h5"), "states").shape,
            (std::vector<std::size_t>{5, 2, 16}));
  EXPECT_EQ(read_array(folder_.path("g/test.h5"), "trajectory").shape,
            (std::vector<std::size_t>{3, 8, 1, 16}));
  EXPECT_EQ(read_state_info(folder_.path("g/pool.h5")).grid, of.grid);
}

}  // namespace
}  // namespace stap
