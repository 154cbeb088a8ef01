// Runs whose solver is a person: they ask, wait, and go on with what they are told.
#include "stap/run/by_hand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "run/correspondence.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"
#include "stap/run/loop.h"
#include "support/fake_study.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::content;
using test::expect_error;
using test::fake_next;
using test::fake_problem;
using test::fake_study;
using test::lasting_bytes;
using test::TemporaryFolder;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Called like the fakes, so that files say the same.
std::shared_ptr<const Solver> person(const Study& study, std::size_t steps_at_once = 1000) {
  return make_by_hand_solver({.name = "far",
                              .grid = study.grid,
                              .channels = {"u"},
                              .dt = study.dt,
                              .guard_min = {},
                              .guard_max = {},
                              .parameters = {}},
                             {steps_at_once});
}

LoopEnd drive(const Study& study, const std::string& folder, ByHand& by_hand,
              std::size_t steps_at_once = 1000) {
  Observer quiet;
  test::Runs runs;
  runs.push_back(open_run(study, folder, fake_problem(study, person(study, steps_at_once)), quiet));
  return run_loop(runs, 1, quiet, {}, &by_hand);
}

// What the fakes would say.
ToldAnswer answer_to(const Question& question, double dt) {
  ToldAnswer told{.id = question.id,
                  .shape = {question.query.steps, 1, question.query.state.size()},
                  .where = "row " + std::to_string(question.id)};
  std::vector<double> state = question.query.state;
  for (std::size_t i = 0; i < question.query.steps; ++i) {
    state = fake_next(state, question.query.time + static_cast<double>(i) * dt);
    told.states.insert(told.states.end(), state.begin(), state.end());
  }
  return told;
}

std::vector<Question> asked(const Study& study, const std::string& folder) {
  ByHand by_hand;
  EXPECT_EQ(drive(study, folder, by_hand), LoopEnd::waiting);
  return by_hand.open;
}

// Broken by: an answer that is taken for another question, one that depends on how many are told at
// a time, a step that is asked again.
TEST(ByHand, ItEndsAsWithAnyOtherSolver) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"trust_quantile=0.9"});
  ASSERT_EQ(test::drive_fake(study, temporary.path("far"), test::willing_solver(study)),
            LoopEnd::finished);
  const std::string expected = lasting_bytes(temporary.path("far"));

  for (const auto& [steps_at_once, most] : {std::pair(1u, 100u), {2u, 3u}, {1000u, 1u}}) {
    const std::string folder = temporary.path(std::to_string(steps_at_once));
    const Rng rng(steps_at_once);
    std::set<std::uint64_t> ids;
    ByHand by_hand;
    std::size_t exchanges = 0;
    while (drive(study, folder, by_hand, steps_at_once) == LoopEnd::waiting) {
      ASSERT_LT(++exchanges, 200u);
      ASSERT_FALSE(by_hand.open.empty());
      // Some of them, in any order.
      std::vector<std::uint32_t> order;
      shuffle(rng.split("order", exchanges), by_hand.open.size(), order);
      order.resize(std::min<std::size_t>(most, order.size()));
      for (const std::uint32_t i : order) {
        const Question& question = by_hand.open[i];
        EXPECT_LE(question.query.steps, steps_at_once);
        EXPECT_LT(question.id, std::uint64_t{1} << 53);
        EXPECT_TRUE(ids.insert(question.id).second) << "asked twice";
        by_hand.told.push_back(answer_to(question, study.dt));
      }
    }

    EXPECT_EQ(by_hand.known, 0u);
    EXPECT_EQ(by_hand.recorded, ids.size());
    EXPECT_TRUE(lasting_bytes(folder) == expected) << steps_at_once;
  }
}

TEST(ByHand, WhatWaitsIsTheSameUntilItIsAnswered) {
  const TemporaryFolder temporary;
  const Study study = fake_study(), other = fake_study({"seed=1"});
  const auto first = asked(study, temporary.path("0")), again = asked(study, temporary.path("0"));
  const auto elsewhere = asked(other, temporary.path("1"));

  ASSERT_EQ(first.size(), 2u);  // the initial trajectories
  EXPECT_EQ(first[0].query.steps, 4u);
  EXPECT_EQ(first[0].acquisition, 0u);
  EXPECT_EQ(first[0].query.state[0], static_cast<double>(first[0].candidate));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(first[i].id, again.at(i).id);
    for (const Question& question : elsewhere) EXPECT_NE(question.id, first[i].id);
  }
  EXPECT_NE(first[0].id, first[1].id);
}

TEST(ByHand, ToldAgainItIsIgnored) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study();
  const auto questions = asked(study, folder);
  ByHand by_hand{.told = {answer_to(questions[0], study.dt)}};
  ASSERT_EQ(drive(study, folder, by_hand), LoopEnd::waiting);
  EXPECT_EQ(by_hand.recorded, 1u);
  ASSERT_EQ(by_hand.open.size(), 1u);
  const std::string journal = content(folder + "/journal.jsonl");

  // The same with padding, and as a whole with what is new.
  ToldAnswer padded = answer_to(questions[0], study.dt);
  padded.shape[0] += 2;
  padded.states.resize(padded.states.size() + 16, kNan);
  ByHand again{.told = {padded}};
  ASSERT_EQ(drive(study, folder, again), LoopEnd::waiting);
  EXPECT_EQ(again.known, 1u);
  EXPECT_EQ(again.recorded, 0u);
  EXPECT_EQ(content(folder + "/journal.jsonl"), journal);

  ByHand both{.told = {answer_to(questions[0], study.dt), answer_to(questions[1], study.dt)}};
  ASSERT_EQ(drive(study, folder, both), LoopEnd::waiting);
  EXPECT_EQ(both.known, 1u);
  EXPECT_EQ(both.recorded, 1u);
  EXPECT_EQ(both.open.at(0).acquisition, 1u);  // it has trained, and chosen
}

// Whatever is wrong with one of them, none is recorded.
TEST(ByHand, WhatDoesNotFitRecordsNothing) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study();
  const auto questions = asked(study, folder);
  ByHand first{.told = {answer_to(questions[0], study.dt)}};
  ASSERT_EQ(drive(study, folder, first), LoopEnd::waiting);
  const std::string journal = content(folder + "/journal.jsonl");
  const auto refused = [&](const std::string& part, const std::function<void(ByHand&)>& change) {
    ByHand by_hand{.told = {answer_to(questions[1], study.dt)}};
    change(by_hand);
    expect_error(ErrorKind::data, part, [&] { drive(study, folder, by_hand); });
    EXPECT_EQ(content(folder + "/journal.jsonl"), journal) << part;
  };

  refused("no such question", [&](ByHand& b) {
    b.told.push_back(answer_to(questions[0], study.dt));
    b.told.back().id ^= 1;
  });
  refused("answered before, and differently", [&](ByHand& b) {
    b.told.push_back(answer_to(questions[0], study.dt));
    b.told.back().states[17] += 1e-12;
  });
  refused("answered before, and differently", [&](ByHand& b) {
    b.told.push_back({.id = questions[0].id, .failed = true, .where = "row"});
  });
  refused("states of 4 x 8, expected 1 x 8 or [steps] x 1 x 8", [](ByHand& b) {
    b.told[0].shape = {4, 8};
  });
  refused("3 states, but 4 steps were asked for", [](ByHand& b) {
    b.told[0].shape[0] = 3;
    b.told[0].states.resize(24);
  });
  refused("5 states, but 4 steps were asked for", [](ByHand& b) {
    b.told[0].shape[0] = 5;
    b.told[0].states.resize(40, 1.0);
  });
  refused("value 3 of state 1 is nan; a row that failed says so",
          [](ByHand& b) { b.told[0].states[11] = kNan; });
  refused("value 7 of state 3 is inf",
          [](ByHand& b) { b.told[0].states[31] = std::numeric_limits<double>::infinity(); });
  refused("this id is there twice", [](ByHand& b) { b.told.push_back(b.told[0]); });
}

TEST(ByHand, ARowMaySayThatItFailed) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study();
  const auto questions = asked(study, folder);
  ToldAnswer failed{.id = questions[0].id, .failed = true, .reason = "the mesh", .where = "row"};
  ByHand by_hand{.told = {failed, answer_to(questions[1], study.dt)}};

  ASSERT_EQ(drive(study, folder, by_hand), LoopEnd::waiting);

  const Ledger ledger = RunFolder(folder).read_ledgers().at(0);
  EXPECT_EQ(ledger.failed, 1u);
  EXPECT_EQ(ledger.bought, 4u);
  EXPECT_NE(ledger.reasons.at(0).find("failed: the mesh"), std::string::npos);
  ByHand again{.told = {failed}};
  EXPECT_EQ(drive(study, folder, again), LoopEnd::waiting);
  EXPECT_EQ(again.known, 1u);
}

TEST(ByHand, ToldWhenAllIsOverItIsKnownOrWrong) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study({"rounds=0"});
  const auto questions = asked(study, folder);
  ByHand by_hand;
  for (const Question& question : questions) by_hand.told.push_back(answer_to(question, study.dt));
  ASSERT_EQ(drive(study, folder, by_hand), LoopEnd::finished);

  ByHand late{.told = {answer_to(questions[0], study.dt)}};
  EXPECT_EQ(drive(study, folder, late), LoopEnd::finished);
  EXPECT_EQ(late.known, 1u);
  late.told = {answer_to(questions[0], study.dt)};
  late.told[0].id += 1;
  expect_error(ErrorKind::data, "no such question", [&] { drive(study, folder, late); });
}

// Runs of a sweep wait together.
TEST(ByHand, QuestionsSayWhoseTheyAre) {
  const TemporaryFolder temporary;
  Observer quiet;
  const Study first = fake_study(), second = fake_study({"seed=1"});
  const auto problem = fake_problem(first, person(first));
  ByHand by_hand;
  for (std::size_t exchange = 0;; ++exchange) {
    ASSERT_LT(exchange, 20u);
    test::Runs runs;
    runs.push_back(open_run(first, temporary.path("0"), problem, quiet));
    runs.push_back(open_run(second, temporary.path("1"), problem, quiet));
    if (run_loop(runs, 1, quiet, {}, &by_hand) == LoopEnd::finished) break;
    std::map<std::size_t, std::size_t> by_run;
    for (const Question& question : by_hand.open) {
      ++by_run[question.run];
      by_hand.told.push_back(answer_to(question, first.dt));
    }
    if (exchange == 0) {
      EXPECT_EQ(by_run, (std::map<std::size_t, std::size_t>{{0, 2}, {1, 2}}));
    }
  }

  for (const auto& [study, name] : {std::pair(first, "0"), std::pair(second, "1")}) {
    const std::string alone = temporary.path(std::string("alone") + name);
    ASSERT_EQ(test::drive_fake(study, alone, test::willing_solver(study)), LoopEnd::finished);
    EXPECT_TRUE(lasting_bytes(alone) == lasting_bytes(temporary.path(name))) << name;
  }
}

// A later version knows an option more, so that the configuration is another one. Breaks if ids
// hold what the program knows and not what the run's folder says.
TEST(ByHandIds, AreThoseOfTheFolder) {
  const TemporaryFolder temporary;
  const Study study = fake_study();
  Observer quiet;
  const auto opened = [&](const char* name) {
    return open_run(study, temporary.path(name), fake_problem(study, person(study)), quiet);
  };
  stap::Run run = opened("run"), other = opened("other");
  const std::uint64_t before = run_key(run);

  run.study.effective.find("network")->set("unheard_of", 1);

  EXPECT_EQ(run_key(run), before);
  EXPECT_EQ(run_key(other), before);  // of the same configuration and pool
  Study more = fake_study({"seed=1"});
  const stap::Run third =
      open_run(more, temporary.path("third"), fake_problem(more, person(more)), quiet);
  EXPECT_NE(run_key(third), before);
}

}  // namespace
}  // namespace stap
