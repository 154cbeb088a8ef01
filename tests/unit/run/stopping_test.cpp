// Being asked to stop while queries run outside this process.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "stap/run/loop.h"
#include "support/data_making.h"
#include "support/fake_study.h"

namespace stap {
namespace {

using test::fake_problem;
using test::fake_study;
using test::FarSolver;
using test::lasting_bytes;
using test::TemporaryFolder;

const std::vector<std::string> kSettings{"study.initial=6", "budget=9", "rounds=1"};

struct Told : Observer {
  void note(std::string_view text) override { notes.emplace_back(text); }
  std::vector<std::string> notes;
};

LoopEnd drive(const Study& study, const std::string& folder, std::shared_ptr<const Solver> solver,
              Observer& observer, const StopAsked& stop) {
  test::Runs runs;
  runs.push_back(open_run(study, folder, fake_problem(study, std::move(solver)), observer));
  return run_loop(runs, 1, observer, stop);
}

std::size_t answers_in(const std::string& folder) {
  std::size_t answers = 0;
  RunFolder(folder).read_answers([&](std::size_t, const AnswerRecord&) { ++answers; });
  return answers;
}

std::shared_ptr<FarSolver> slots_of(const Study& study, std::size_t slots) {
  return test::willing_solver(study, {.polls = 2, .slots = slots, .running = 0.1});
}

// Broken by: a query that is begun after the stop, an answer that is not waited for or not kept.
TEST(Stopping, WhatRunsIsWaitedForAndKept) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kSettings);
  const auto solver = slots_of(study, 3);
  Told told;

  const auto end =
      drive(study, temporary.path("run"), solver, told, [&] { return solver->computed >= 8; });

  EXPECT_EQ(end, LoopEnd::stopped);
  EXPECT_EQ(solver->computed, 8u + 3u);
  EXPECT_EQ(answers_in(temporary.path("run")), 8u + 3u);
  ASSERT_EQ(told.notes.size(), 1u);  // once
  EXPECT_NE(told.notes[0].find("no new query is started; 3 are running, and should end any moment"),
            std::string::npos)
      << told.notes[0];
}

TEST(Stopping, NowMeansNow) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kSettings);
  const auto solver = slots_of(study, 3);
  solver->hangs = [&](const Query&) { return solver->computed >= 8; };
  Told told;
  const auto asked = [&] { return solver->computed >= 8; };

  EXPECT_EQ(drive(study, temporary.path("term"), solver, told, {asked, asked}), LoopEnd::stopped);
  EXPECT_TRUE(told.notes.empty());
  EXPECT_EQ(answers_in(temporary.path("term")), 8u);

  // Asked again while it waits.
  const auto again = slots_of(study, 3);
  again->hangs = [&](const Query&) { return again->computed >= 8; };
  EXPECT_EQ(drive(study, temporary.path("twice"), again, told,
                  {[&] { return again->computed >= 8; }, [&] { return !told.notes.empty(); }}),
            LoopEnd::stopped);
  EXPECT_EQ(told.notes.size(), 1u);
  EXPECT_EQ(answers_in(temporary.path("twice")), 8u);
}

TEST(Stopping, ASolverOfThisProcessIsNotWaitedFor) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kSettings);
  const auto solver = test::willing_solver(study, {.polls = 2});
  Told told;

  drive(study, temporary.path("run"), solver, told, [&] { return solver->computed >= 8; });

  EXPECT_EQ(solver->computed, 8u);
  EXPECT_TRUE(told.notes.empty());
}

TEST(Stopping, StoppedOverAndOverItEndsTheSame) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kSettings);
  const auto whole = slots_of(study, 3), often = slots_of(study, 3);
  Observer quiet;
  ASSERT_EQ(drive(study, temporary.path("whole"), whole, quiet, {}), LoopEnd::finished);

  std::size_t stops = 0;
  for (std::size_t before = 0;
       drive(study, temporary.path("often"), often, quiet,
             [&] { return often->computed >= before + 5; }) == LoopEnd::stopped;
       before = often->computed)
    ASSERT_LT(++stops, 30u);

  EXPECT_GT(stops, 2u);
  EXPECT_TRUE(lasting_bytes(temporary.path("often")) == lasting_bytes(temporary.path("whole")));
  EXPECT_EQ(often->computed, whole->computed);
}

// --- a deadline
// -----------------------------------------------------------------------------------

// There is one when so many steps were computed.
StopAsked deadline_when(const std::function<bool()>& when) {
  return {[] { return false; },
          {},
          [when]() -> std::optional<StopAsked::Clock::time_point> {
            if (!when()) return std::nullopt;
            return StopAsked::Clock::now() + std::chrono::hours(1);
          }};
}

// Broken by: an end that the queue is not told, waiting for it although nothing comes, an answer
// that is lost or charged, a query that is asked again.
TEST(Stopping, StoppedInTimeOverAndOverItEndsTheSame) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kSettings);
  const auto whole = slots_of(study, 3), often = slots_of(study, 3);
  Told told;
  ASSERT_EQ(drive(study, temporary.path("whole"), whole, told, {}), LoopEnd::finished);

  std::size_t stops = 0, before = 0;
  often->too_late = [&] { return often->computed >= before + 6; };
  while (drive(study, temporary.path("often"), often, told,
               deadline_when([&] { return often->computed >= before + 3; })) == LoopEnd::stopped) {
    EXPECT_EQ(often->computed, before + 6);  // it went on until there was no time for more
    EXPECT_EQ(answers_in(temporary.path("often")), often->computed);
    before = often->computed;
    ASSERT_LT(++stops, 30u);
  }

  EXPECT_GT(stops, 2u);
  ASSERT_EQ(told.notes.size(), stops);
  EXPECT_NE(told.notes[0].find("no query that waits would be answered in time"), std::string::npos);
  EXPECT_TRUE(lasting_bytes(temporary.path("often")) == lasting_bytes(temporary.path("whole")));
  EXPECT_EQ(often->computed, whole->computed);
}

// An epoch takes longer than what is left, and the longest so far is what one takes.
TEST(Stopping, NoEpochIsBegunThatWouldEndTooLate) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"train.epochs=1000", "study.checkpoint_epochs=1000"});
  const auto solver = test::willing_solver(study);
  struct Slow : Observer {
    void epoch_done(const EpochDone& event) override {
      epochs = std::max(epochs, event.epoch + 1);
      if (epochs < 3 || slept) return;
      slept = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    int epochs = 0;
    bool slept = false;
  } slow;
  const StopAsked stop([] { return false; }, {},
                       [&]() -> std::optional<StopAsked::Clock::time_point> {
                         if (!slow.slept) return std::nullopt;
                         return StopAsked::Clock::now() + std::chrono::milliseconds(20);
                       });

  EXPECT_EQ(drive(study, temporary.path("run"), solver, slow, stop), LoopEnd::stopped);

  EXPECT_EQ(slow.epochs, 3);
  EXPECT_TRUE(std::filesystem::exists(RunFolder(temporary.path("run")).training_file(0)));
}

// --- parts
// ----------------------------------------------------------------------------------------

struct PartsEnd {
  LoopEnd end;
  std::vector<std::string> notes;
};
PartsEnd drive_part(const Study& study, const std::string& folder,
                    std::shared_ptr<const Solver> solver, Until until) {
  Told told;
  test::Runs runs;
  runs.push_back(open_run(study, folder, fake_problem(study, std::move(solver)), told,
                          until == Until::bought));
  const LoopEnd end = run_loop(runs, 1, told, {}, nullptr, until);
  return {end, told.notes};
}

// Broken by: a part that does the other's work, or not all of its own; plans or walks that differ.
TEST(Parts, BuyingAndTrainingInTurnEndsTheSame) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("parts");
  const Study study = fake_study();
  const auto whole = test::willing_solver(study), parts = test::willing_solver(study);
  ASSERT_EQ(test::drive_fake(study, temporary.path("whole"), whole), LoopEnd::finished);

  EXPECT_EQ(drive_part(study, folder, parts, Until::trained).notes,
            std::vector<std::string>{"nothing to train: the run must buy first"});
  for (std::size_t round = 0; round <= 2; ++round) {
    EXPECT_EQ(RunFolder(folder).read_metrics().size(), round);
    EXPECT_EQ(drive_part(study, folder, parts, Until::bought).end, LoopEnd::paused);
    EXPECT_EQ(RunFolder(folder).read_ledgers().size(), round + 1);
    EXPECT_EQ(RunFolder(folder).read_metrics().size(), round);
    EXPECT_EQ(drive_part(study, folder, parts, Until::bought).notes,
              std::vector<std::string>{"nothing to buy: the run must train first"});
    const std::size_t computed = parts->computed;
    EXPECT_EQ(drive_part(study, folder, parts, Until::trained).end,
              round == 2 ? LoopEnd::finished : LoopEnd::paused);
    EXPECT_EQ(parts->computed, computed);
    EXPECT_EQ(RunFolder(folder).passes(round), round == 2 ? 0u : 1u);
  }

  EXPECT_EQ(drive_part(study, folder, parts, Until::bought).end, LoopEnd::finished);
  EXPECT_TRUE(lasting_bytes(folder) == lasting_bytes(temporary.path("whole")));
  EXPECT_EQ(parts->computed, whole->computed);
}

// Networks are trained elsewhere than the mean model walks: known from then on, and no damage.
TEST(Parts, WhereItIsTrainedAndWalkedIsKeptApart) {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path("run"));
  const Study study = fake_study();
  const auto solver = test::willing_solver(study);
  ASSERT_EQ(drive_part(study, folder.path(), solver, Until::bought).end, LoopEnd::paused);
  EXPECT_EQ(folder.read_manifest().device, "");
  ASSERT_EQ(drive_part(study, folder.path(), solver, Until::trained).end, LoopEnd::paused);
  EXPECT_EQ(folder.read_manifest().device, "cpu");
  ASSERT_EQ(drive_part(study, folder.path(), solver, Until::bought).end, LoopEnd::paused);
  EXPECT_EQ(folder.read_manifest().walked_on, "");

  Manifest manifest = folder.read_manifest();
  manifest.device = "cuda: one that is not here";
  folder.write_manifest(manifest);
  Observer quiet;
  const auto problem = fake_problem(study, solver);
  EXPECT_TRUE(open_run(study, folder.path(), problem, quiet, true).other_device);
  EXPECT_EQ(folder.read_manifest().walked_on, "cpu");
  EXPECT_EQ(folder.read_manifest().device, "cuda: one that is not here");
}

}  // namespace
}  // namespace stap
