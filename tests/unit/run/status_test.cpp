// status.json: how a run is doing, for who looks from outside.
#include <gtest/gtest.h>

#include "run/news.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"
#include "stap/run/sweep.h"
#include "stap/study/presets.h"
#include "support/environment.h"
#include "support/fake_study.h"

namespace stap {
namespace {

using test::drive_fake;
using test::fake_study;
using test::TemporaryFolder;

config::Value status_in(const std::string& folder) {
  return read_json(RunFolder(folder).status_file());
}
std::string text_of(const config::Value& status, const char* key) {
  return field<std::string>(status, key, "status.json");
}
std::size_t number_of(const config::Value& status, const char* key) {
  return field<std::uint64_t>(status, key, "status.json");
}

TEST(Status, SaysThatItIsDone) {
  const TemporaryFolder temporary;
  const Study study = fake_study();

  ASSERT_EQ(drive_fake(study, temporary.path("run"), test::willing_solver(study)),
            LoopEnd::finished);

  const config::Value status = status_in(temporary.path("run"));
  EXPECT_EQ(text_of(status, "format"), "status/1");
  EXPECT_EQ(text_of(status, "phase"), "done");
  EXPECT_EQ(text_of(status, "error"), "");
  EXPECT_EQ(number_of(status, "round"), 2u);
  EXPECT_EQ(number_of(status, "rounds"), 2u);
  EXPECT_EQ(number_of(status, "process"), static_cast<std::size_t>(getpid()));
}

TEST(Status, SaysWhatRunsWhileStepsAreBought) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study({"study.initial=3"});
  const auto solver = test::willing_solver(study, {.polls = 1, .slots = 2, .running = 2.5});
  std::optional<config::Value> seen;
  solver->watch = [&](const std::vector<Query>&) {
    if (!seen && std::filesystem::exists(RunFolder(folder).status_file())) seen = status_in(folder);
  };

  drive_fake(study, folder, solver, [&] { return seen.has_value(); });

  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(text_of(*seen, "phase"), "initial");
  EXPECT_EQ(number_of(*seen, "budget"), 12u);
  EXPECT_EQ(number_of(*seen, "left"), 12u);
  EXPECT_EQ(number_of(*seen, "open"), 3u);
  const config::Value::List& running = *seen->find("running")->list();
  ASSERT_EQ(running.size(), 2u);
  EXPECT_EQ(text_of(running[0], "where"), "slot of the fake");
  EXPECT_EQ(field<double>(running[0], "seconds", "status.json"), 2.5);
  EXPECT_EQ(number_of(running[0], "step"), 0u);
}

// Broken by: a status that stays while the data of other runs of the sweep are made.
TEST(Status, SaysThatDataAreMadeUntilTheyAre) {
  const TemporaryFolder temporary;
  const test::ScopedVariable cache("STAP_CACHE", "off");
  std::vector<SweepRun> runs;
  for (const char* seed : {"data_seed=0", "data_seed=1"}) {
    runs.push_back({seed, load_config("demo")});
    for (const char* setting : {seed, "pool=20", "study.test=1"})
      apply_setting(runs.back().document, setting);
  }
  const auto status = [&](std::size_t r) {
    return RunFolder(temporary.path(runs[r].name)).read_status();
  };
  bool first = false, second = false;
  Observer nobody;

  const LoopEnd end = drive(runs, temporary.path(""), 1, nobody, [&] {
    first = first || (status(0) && status(0)->phase == "data");
    return second = status(1).has_value();
  });

  EXPECT_EQ(end, LoopEnd::stopped);
  EXPECT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(status(1)->phase, "data");
  EXPECT_FALSE(status(0).has_value());
}

// Broken by: epochs of a stage in the place of those of the round, stages that are counted from 0.
TEST(Status, SaysHowFarTrainingIs) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study(
      {"study.initial=5", "pool=30", "seed=1", "validation=0.4", "stages=3", "rounds=0"});
  // The first epoch of a process is told of at once. The one before has made four epochs and one of
  // the second stage, of both members.
  struct Epochs : Observer {
    void epoch_done(const EpochDone&) override { ++count; }
    int count = 0;
  };
  for (const int most : {10, 1}) {
    Epochs epochs;
    test::Runs runs;
    runs.push_back(
        open_run(study, folder, test::fake_problem(study, test::willing_solver(study)), epochs));
    std::optional<RunStatus> seen;
    ASSERT_EQ(run_loop(runs, 1, epochs,
                       [&] {
                         if (epochs.count > 0) seen = runs[0].folder.read_status();
                         return epochs.count >= most;
                       }),
              LoopEnd::stopped);
    ASSERT_TRUE(seen.has_value());
    if (most == 10) continue;
    EXPECT_EQ(seen->epochs, 2u * (4u + 8u));
    EXPECT_EQ(seen->epochs_done, 2u * (4u + 1u) + 1u);
    EXPECT_EQ(seen->since_done, 2u * (4u + 1u));
    EXPECT_EQ(phase_text(*seen), "training, round 0 of 0, stage 2 of at most 3");
  }
}

// Broken by: news of runs under way alone, so that who is done early looks dead.
TEST(Status, ARunThatIsTrainedWaitsForThoseBesideIt) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"rounds=3"});
  const auto problem = test::fake_problem(study, test::willing_solver(study));
  Observer quiet;
  test::Runs runs;
  Group group{{}, study.options.members, 1};
  for (const char* name : {"early", "late"})
    runs.push_back(open_run(study, temporary.path(name), problem, quiet));
  for (stap::Run& run : runs) {
    run.phase = stap::Run::Phase::train;
    group.runs.push_back(&run);
  }
  Account account(runs, quiet);
  TrainingNews news(group, {}, account);
  runs[0].phase = stap::Run::Phase::evaluate;
  EpochDone epoch;
  epoch.member = group.first_member(1);
  news.epoch_done(epoch);  // the first is told of at once

  EXPECT_EQ(phase_text(*runs[0].folder.read_status()),
            "trained, waiting for the runs beside it, round 0 of 3");
  EXPECT_EQ(phase_text(*runs[1].folder.read_status()), "training, round 0 of 3");
}

TEST(Status, SaysHowFarItCameAndWhyItEnded) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study({"study.initial=3"});
  const auto solver = std::make_shared<test::FarSolver>(
      study.grid, study.dt,
      [](std::span<const double>, double time) {
        return time > 0.3 ? test::Fate::failed : test::Fate::ok;
      },
      test::Manners{.policy = {.abort = true}});

  EXPECT_THROW(drive_fake(study, folder, solver), Error);

  const config::Value failed = status_in(folder);
  EXPECT_EQ(text_of(failed, "phase"), "failed");
  EXPECT_NE(text_of(failed, "error").find("told to fail"), std::string::npos);
  EXPECT_EQ(number_of(failed, "failed"), 3u);
  EXPECT_EQ(number_of(failed, "spent"), 9u);  // two steps of each, and the failures

  // The failures were revoked, so what is left is more.
  const auto willing = test::willing_solver(study, {.polls = 1});
  ASSERT_EQ(drive_fake(study, folder, willing, [&] { return willing->computed >= 1; }),
            LoopEnd::stopped);
  const config::Value stopped = status_in(folder);
  EXPECT_EQ(text_of(stopped, "phase"), "stopped");
  EXPECT_EQ(number_of(stopped, "failed"), 0u);
  EXPECT_EQ(number_of(stopped, "spent"), 7u);
  EXPECT_EQ(number_of(stopped, "left"), 5u);
}

TEST(Status, SaysThatItWaitsForPeople) {
  const TemporaryFolder temporary;
  const Study study = fake_study();
  const std::shared_ptr<const Solver> person = make_by_hand_solver({.name = "far",
                                                                    .grid = study.grid,
                                                                    .channels = {"u"},
                                                                    .dt = study.dt,
                                                                    .guard_min = {},
                                                                    .guard_max = {},
                                                                    .parameters = {}});

  ASSERT_EQ(drive_fake(study, temporary.path("run"), person), LoopEnd::waiting);

  const config::Value status = status_in(temporary.path("run"));
  EXPECT_EQ(text_of(status, "phase"), "waiting");
  EXPECT_EQ(number_of(status, "open"), 2u);
}

}  // namespace
}  // namespace stap
