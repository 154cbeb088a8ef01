// What a study will ask of a user's own solver: counted by hand here.
#include "stap/study/spending.h"
#include "stap/study/kept_of_solver.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "stap/config/files.h"
#include "stap/journal/answer_log.h"
#include "stap/market/problem.h"
#include "stap/study/data_request.h"
#include "stap/study/presets.h"
#include "support/contains.h"
#include "support/own_study.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

class SpendingTest : public ::testing::Test {
 protected:
  SpendingTest() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~SpendingTest() override { unsetenv("STAP_CACHE"); }

  ExpectedSpending only(const std::vector<Study>& studies) const {
    const auto all = expected_spending(studies);
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }
  /// Three answers of 1, 2 and 9 s, and a failure, in a run's journal.
  fs::path journal() const {
    AnswerLog log(folder_.path("journal.jsonl"), folder_.path("answers.bin"));
    std::size_t step = 0;
    for (const double seconds : {2.0, 9.0, 1.0})
      log.append(0, {.candidate = 0,
                     .step = step++,
                     .status = Answer::Status::ok,
                     .state = {1.0},
                     .seconds = seconds,
                     .attempts = 1});
    log.append(0, {.candidate = 1,
                   .step = 0,
                   .status = Answer::Status::failed,
                   .reason = "no",
                   .seconds = 77.0});
    log.commit();
    return folder_.path("journal.jsonl");
  }

  TemporaryFolder folder_;
};

using Parts = std::vector<std::pair<std::string, std::size_t>>;
Parts steps_of(const ExpectedSpending& spending) {
  Parts parts;
  for (const SpendingPart& part : spending.parts) parts.emplace_back(part.name, part.steps);
  return parts;
}
Parts calls_of(const ExpectedSpending& spending) {
  Parts parts;
  for (const SpendingPart& part : spending.parts) parts.emplace_back(part.name, part.calls_most);
  return parts;
}

TEST_F(SpendingTest, CountsTestSetInitialTrajectoriesAndRounds) {
  const ExpectedSpending spending = only({own_study()});

  EXPECT_EQ(spending.problem, "mine");
  EXPECT_EQ(spending.slots, 2u);
  EXPECT_EQ(spending.runs, 1u);
  EXPECT_EQ(steps_of(spending),
            (Parts{{"test set", 4 * 5}, {"initial trajectories", 3 * 5}, {"rounds", 2 * 7}}));
  EXPECT_EQ(spending.steps(), 49u);
  EXPECT_EQ(spending.calls_most(), 49u);
}

TEST_F(SpendingTest, AWarmUpIsForEveryStateThatIsDrawn) {
  const ExpectedSpending spending = only({own_study({"initial.warm_up=1.5"})});

  // 34 states, 6 steps of 0.25 each.
  EXPECT_EQ(steps_of(spending).front(), (Parts::value_type{"warm-up", 34 * 6}));
}

// A cluster of 2 needs one more state; the warm-up ends a step earlier.
TEST_F(SpendingTest, ClustersBeginEarlier) {
  const ExpectedSpending spending =
      only({own_study({"initial.warm_up=1.5", "study.cluster=2", "study.steps=6", "budget=8"})});

  EXPECT_EQ(steps_of(spending), (Parts{{"warm-up", 34 * (5 + 1)},
                                       {"test set", 4 * 6},
                                       {"initial trajectories", 3 * 6},
                                       {"rounds", 2 * 8}}));
}

TEST_F(SpendingTest, SeveralStepsAreFewerCalls) {
  const ExpectedSpending spending = only({own_study(
      {R"(solver.argv=[/bin/cp, "{input}", "{output}", "{steps}"])", "solver.steps_at_once=3"})});

  // 5 steps are 2 calls; which steps a round buys nobody knows yet.
  EXPECT_EQ(calls_of(spending),
            (Parts{{"test set", 4 * 2}, {"initial trajectories", 3 * 2}, {"rounds", 2 * 7}}));
  EXPECT_TRUE(
      contains(spending_text(spending, std::nullopt), "49 steps to be made, in at most 28"));
}

TEST_F(SpendingTest, RunsOfASweepShareTheirDataAndNothingElse) {
  const ExpectedSpending spending =
      only({own_study({"seed=0"}), own_study({"seed=1", "budget=10"})});

  EXPECT_EQ(spending.runs, 2u);
  EXPECT_EQ(steps_of(spending), (Parts{{"test set", 4 * 5},
                                       {"initial trajectories", 2 * 3 * 5},
                                       {"rounds", 2 * 7 + 2 * 10}}));
  EXPECT_TRUE(contains(spending_text(spending, std::nullopt), "by 2 runs"));
}

TEST_F(SpendingTest, OtherDataAreMadeOnceMoreAndOtherProblemsApart) {
  const std::vector<Study> seeds{own_study({"data_seed=0"}), own_study({"data_seed=1"})};
  const std::vector<Study> problems{own_study(), own_study({"pde.label=other"})};

  EXPECT_EQ(steps_of(only(seeds)).front(), (Parts::value_type{"test set", 2 * 4 * 5}));
  const auto apart = expected_spending(problems);
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_EQ(apart[1].problem, "other");
  EXPECT_EQ(apart[1].first, 1u);
  EXPECT_EQ(apart[1].steps(), 49u);
}

TEST_F(SpendingTest, BuiltInEquationsCostNothingHere) {
  config::Value document = load_config("demo");

  EXPECT_TRUE(expected_spending(std::vector{make_study(std::move(document))}).empty());
}

TEST_F(SpendingTest, DataInTheCacheAreNotBoughtAgain) {
  const Study study = own_study();
  Observer nobody;
  make_problem(study, 1, nobody);

  const ExpectedSpending spending = only({study});

  EXPECT_EQ(steps_of(spending), (Parts{{"initial trajectories", 3 * 5}, {"rounds", 2 * 7}}));
  EXPECT_EQ(spending.cached_steps, 4u * 5u);
  EXPECT_TRUE(contains(spending_text(spending, std::nullopt), "20 steps are in the cache"));
}

TEST_F(SpendingTest, SecondsComeFromAnswersOrFromACheck) {
  const Study study = own_study();
  EXPECT_FALSE(known_step_seconds(study).has_value());
  EXPECT_TRUE(contains(spending_text(only({study}), std::nullopt), "stap solver check CONFIG"));

  keep_step_seconds(study, {0.5, 9, "solver check"});
  const auto kept = known_step_seconds(study);
  const auto bought = known_step_seconds(study, std::vector{journal()});

  ASSERT_TRUE(kept && bought);
  EXPECT_EQ(kept->seconds, 0.5);
  EXPECT_EQ(kept->answers, 9u);
  EXPECT_EQ(kept->source, "solver check");
  EXPECT_EQ(bought->seconds, 2.0);  // the median; failures do not count
  EXPECT_EQ(bought->answers, 3u);
  EXPECT_FALSE(known_step_seconds(own_study({"pde.dt=0.5"})).has_value());
  EXPECT_TRUE(known_step_seconds(own_study({"solver.slots=1"})).has_value());
  EXPECT_FALSE(known_step_seconds(own_study({"solver.argv=[/bin/mv, '{input}', '{output}']"})));
  // 49 steps of 0.5 s in 2 slots.
  EXPECT_TRUE(contains(spending_text(only({study}), kept), "about 12.2 s: 0.5 s a step"));
}

TEST_F(SpendingTest, TrainingIsCountedWhereItWasMeasured) {
  const Study study = own_study();
  EXPECT_TRUE(
      contains(training_text(only({study})), "is not measured: 'stap solver check CONFIG'"));

  keep_training_seconds(study, 0.25);

  // Rounds 0, 1 and 2 have 15, 22 and 29 steps to train on.
  EXPECT_EQ(only({study}).training_seconds, 66 * 0.25);
  EXPECT_TRUE(contains(training_text(only({study})), "about 16.5 s of training"));
  EXPECT_EQ(only({study, own_study({"seed=1"})}).training_seconds, 2 * 66 * 0.25);
  EXPECT_EQ(only({own_study({"study.validation=0.1", "study.stages=3"})}).training_seconds,
            7 * 66 * 0.25);
  for (const char* other : {"network.width=5", "train.epochs=7", "members=3"})
    EXPECT_FALSE(only({study, own_study({other})}).training_seconds) << other;
  // Broken by: one file for all networks of a problem, and by what a check advises or the command
  // line says of the same device counting as another training.
  keep_training_seconds(own_study({"network.width=5"}), 9.0);
  for (const char* alike : {"train.symmetries=[\"u -> -u\"]", "train.noise=0.01", "precision=fp32"})
    EXPECT_EQ(only({own_study({alike})}).training_seconds, 66 * 0.25) << alike;
}

TEST_F(SpendingTest, WhatAJournalHasIsNotBoughtAgain) {
  const std::vector<Study> studies{own_study()};

  const auto spending = expected_spending(studies, std::vector{journal()});

  ASSERT_EQ(spending.size(), 1u);
  EXPECT_EQ(spending[0].answered_steps, 4u);
  // 45 steps of 2 s in 2 slots.
  EXPECT_TRUE(contains(spending_text(spending[0], StepSeconds{2.0, 3, "answers"}), "about 45 s"));
}

TEST_F(SpendingTest, DamagedFiguresAreNotKnown) {
  const Study study = own_study();
  keep_step_seconds(study, {0.5, 9, "solver check"});
  for (const auto& entry : fs::directory_iterator(folder_.path("cache/step-seconds")))
    for (const char* text : {"", "{", "[]", R"({"format": "step-seconds/2"})",
                             R"({"format": "step-seconds/1", "seconds": -1, "answers": 1,
                                 "source": "x"})"}) {
      write_text(entry.path(), text);
      EXPECT_FALSE(known_step_seconds(study).has_value()) << text;
    }
}

TEST_F(SpendingTest, JsonSaysTheSame) {
  const config::Value value = to_value(only({own_study()}), StepSeconds{0.5, 9, "solver check"});

  EXPECT_EQ(value.find("steps")->integer<int>(), 49);
  EXPECT_EQ(value.find("parts")->list()->size(), 3u);
  EXPECT_EQ(value.find("seconds_a_step")->real(), 0.5);
  EXPECT_EQ(value.find("seconds")->real(), 49 * 0.5 / 2);
}

}  // namespace
}  // namespace stap::test
