// What a run does with a solver that fails: it stops before it is sunk, and goes on when the solver
// is mended as if nothing had been.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "stap/core/error.h"
#include "stap/run/loop.h"
#include "support/contains.h"
#include "support/fake_study.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::contains;
using test::drive_fake;
using test::fake_study;
using test::FarSolver;
using test::Fate;
using test::lasting_bytes;
using test::Manners;
using test::TemporaryFolder;

const std::vector<std::string> kLarge{
    "pool=60",  "study.initial=24",   "budget=30",
    "rounds=1", "on_unstable=refill", "method=sbal+stap(proposals=2)"};
constexpr FailurePolicy kBreaker{.breaker = true}, kAbort{.abort = true};

// Some states cannot be solved; from its n-th step on nothing can, until it is mended.
struct Breaking {
  explicit Breaking(const Study& study, std::size_t n, Manners manners, double trouble = 0.05)
      : breaks_at(std::make_shared<std::size_t>(n)) {
    const auto rightly = test::trouble_by_state(trouble);
    const auto so_far = std::make_shared<const std::size_t*>(nullptr);
    solver = std::make_shared<FarSolver>(
        study.grid, study.dt,
        [rightly, so_far, at = breaks_at](std::span<const double> state, double time) {
          const Fate fate = rightly(state, time);
          return fate != Fate::refused && **so_far > *at ? Fate::failed : fate;
        },
        std::move(manners));
    *so_far = &solver->computed;
  }
  void mend() const { *breaks_at = std::numeric_limits<std::size_t>::max(); }

  std::shared_ptr<std::size_t> breaks_at;
  std::shared_ptr<FarSolver> solver;
};

std::string error_of(const std::function<void()>& act) {
  return test::error_text(ErrorKind::solver, act);
}

std::map<std::string, std::size_t> statuses_in(const std::string& folder) {
  std::map<std::string, std::size_t> statuses;
  RunFolder(folder).read_answers([&](std::size_t, const AnswerRecord& answer) {
    ++statuses[std::string(to_string(answer.status))];
  });
  return statuses;
}

// Broken by: failures that stand although they tripped the breaker, plans of passes that were made
// because of them, an answer that is lost with the error, a good answer that is revoked.
TEST(Failures, MendedTheRunEndsAsIfNothingHadFailed) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kLarge);
  const Breaking whole(study, std::numeric_limits<std::size_t>::max() - 1, {.policy = kBreaker});
  ASSERT_EQ(drive_fake(study, temporary.path("whole"), whole.solver), LoopEnd::finished);
  const std::string expected = lasting_bytes(temporary.path("whole"));
  const auto ledgers = RunFolder(temporary.path("whole")).read_ledgers();
  ASSERT_GT(ledgers.at(0).failed + ledgers.at(1).failed, 0u);  // else only the breaking shows

  const std::vector<Manners> manners{{.policy = kBreaker},
                                     {.steps_at_once = 3, .shuffle = Rng(2), .policy = kBreaker},
                                     {.shuffle = Rng(3), .polls = 1, .policy = kBreaker}};
  for (const std::size_t moment : {0u, 15u, 95u})
    for (std::size_t m = 0; m < manners.size(); ++m) {
      const std::string folder = temporary.path(std::to_string(moment) + "-" + std::to_string(m));
      const Breaking solver(study, moment, manners[m]);
      const std::string text = error_of([&] { drive_fake(study, folder, solver.solver); });
      EXPECT_TRUE(contains(text, "told to fail")) << text;
      const std::size_t answered = statuses_in(folder)["ok"];

      solver.mend();
      ASSERT_EQ(drive_fake(study, folder, solver.solver), LoopEnd::finished) << folder;

      EXPECT_TRUE(lasting_bytes(folder) == expected) << folder;
      EXPECT_EQ(RunFolder(folder).read_ledgers(), ledgers) << folder;
      EXPECT_EQ(statuses_in(folder), statuses_in(temporary.path("whole"))) << folder;
      EXPECT_GE(answered, moment > 0 ? 1u : 0u);
    }
}

// Broken by: plans of further passes that stay, whose candidates then count as used.
TEST(Failures, PassesThatFailuresMadeAreForgottenWithThem) {
  const TemporaryFolder temporary;
  const auto study = [](const char* rounds) {
    return fake_study({rounds, "budget=8", "on_unstable=refill", "method=sbal"});
  };
  const std::string folder = temporary.path("run"), whole = temporary.path("whole");
  const Breaking solver(study("rounds=2"), std::numeric_limits<std::size_t>::max(),
                        {.polls = 1, .policy = kBreaker}, 0.0);
  ASSERT_EQ(drive_fake(study("rounds=2"), whole, solver.solver), LoopEnd::finished);
  ASSERT_EQ(drive_fake(study("rounds=0"), folder, solver.solver), LoopEnd::finished);
  *solver.breaks_at = 0;

  error_of([&] { drive_fake(study("rounds=2"), folder, solver.solver); });
  ASSERT_EQ(RunFolder(folder).passes(0), 2u);  // the two of the first pass had failed
  solver.mend();
  ASSERT_EQ(drive_fake(study("rounds=2"), folder, solver.solver), LoopEnd::finished);

  EXPECT_TRUE(lasting_bytes(folder) == lasting_bytes(whole));
}

TEST(Failures, TheFirstThreeStopTheRunAndDoNotCount) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study(kLarge);
  const Breaking solver(study, 0, {.polls = 1, .policy = kBreaker}, 0.0);

  const std::string text = error_of([&] { drive_fake(study, folder, solver.solver); });

  EXPECT_TRUE(contains(text, "the first 3 answers all failed")) << text;
  EXPECT_TRUE(contains(text, "initial trajectories, candidate ")) << text;
  EXPECT_TRUE(contains(text, "step 1: told to fail")) << text;
  EXPECT_TRUE(contains(text, "the same command again")) << text;
  EXPECT_TRUE(contains(text, "solver.breaker=false")) << text;
  EXPECT_TRUE(statuses_in(folder).empty());
  EXPECT_EQ(solver.solver->computed, 3u);
  error_of([&] { drive_fake(study, folder, solver.solver); });
  EXPECT_TRUE(statuses_in(folder).empty());
}

// Two rounds of six steps: all of the first and five of the second fail. Broken by: revoking what
// is in a closed ledger, or saying that it does not count.
TEST(Failures, ThoseOfClosedRoundsStandAndAreSaid) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study =
      fake_study({"pool=60", "study.initial=4", "budget=6", "rounds=2", "on_unstable=refill"});
  const std::size_t initial = 4 * study.options.steps;
  const Breaking solver(study, initial, {.polls = 1, .policy = kBreaker}, 0.0);

  const std::string text = error_of([&] { drive_fake(study, folder, solver.solver); });

  EXPECT_TRUE(contains(text, "these 5 failures do not count; 6 more were of earlier rounds"))
      << text;
  EXPECT_EQ(statuses_in(folder),
            (std::map<std::string, std::size_t>{{"ok", initial}, {"failed", 6}}));
  solver.mend();
  ASSERT_EQ(drive_fake(study, folder, solver.solver), LoopEnd::finished);
  const auto ledgers = RunFolder(folder).read_ledgers();
  EXPECT_EQ(ledgers.at(1).charged_failures, 6u);
  EXPECT_EQ(ledgers.at(2).failed, 0u);
  EXPECT_EQ(ledgers.at(2).bought, 6u);
}

TEST(Failures, WithoutABreakerTheyAreCharged) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kLarge);
  const Breaking solver(study, 96, {}, 0.0);

  ASSERT_EQ(drive_fake(study, temporary.path("run"), solver.solver), LoopEnd::finished);

  const auto ledgers = RunFolder(temporary.path("run")).read_ledgers();
  EXPECT_EQ(ledgers.at(0).failed, 0u);
  EXPECT_EQ(ledgers.at(1).charged_failures, 30u);
}

TEST(Failures, AbortNamesTheFirstAndForgetsIt) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run"), plain = temporary.path("plain");
  const Study study = fake_study(kLarge);
  const Breaking solver(study, 30, {.policy = kAbort}, 0.0);

  const std::string text = error_of([&] { drive_fake(study, folder, solver.solver); });

  EXPECT_TRUE(contains(text, "a query failed")) << text;
  EXPECT_TRUE(contains(text, "step 2: told to fail")) << text;
  EXPECT_TRUE(contains(text, "solver.on_failure=skip")) << text;
  EXPECT_EQ(statuses_in(folder), (std::map<std::string, std::size_t>{{"ok", 30}}));
  solver.mend();
  ASSERT_EQ(drive_fake(study, folder, solver.solver), LoopEnd::finished);
  ASSERT_EQ(drive_fake(study, plain, test::willing_solver(study)), LoopEnd::finished);
  EXPECT_EQ(statuses_in(folder), statuses_in(plain));
  EXPECT_EQ(RunFolder(folder).read_ledgers(), RunFolder(plain).read_ledgers());
}

// Refusals are no answers of the solver.
TEST(Failures, RefusalsTripNothing) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kLarge);
  const auto solver = std::make_shared<FarSolver>(
      study.grid, study.dt,
      [](std::span<const double>, double time) { return time > 0.6 ? Fate::refused : Fate::ok; },
      Manners{.policy = {.abort = true, .breaker = true}});

  EXPECT_EQ(drive_fake(study, temporary.path("run"), solver), LoopEnd::finished);
}

// Each run has a journal: failures of both count together, and each forgets its own.
TEST(Failures, OneSolverIsBrokenForAllItsRuns) {
  const TemporaryFolder temporary;
  Observer quiet;
  const Study first = fake_study(kLarge);
  std::vector<std::string> settings = kLarge;
  settings.push_back("seed=1");
  const Study second = fake_study(settings);
  const Breaking solver(first, 50, {.shuffle = Rng(4), .policy = kBreaker}, 0.0);
  const auto problem = test::fake_problem(first, solver.solver);
  const auto drive = [&] {
    test::Runs runs;
    runs.push_back(open_run(first, temporary.path("0"), problem, quiet));
    runs.push_back(open_run(second, temporary.path("1"), problem, quiet));
    return run_loop(runs, 1, quiet);
  };

  const std::string text = error_of([&] { drive(); });

  EXPECT_TRUE(contains(text, "11 of the last 20 answers failed")) << text;
  for (const char* name : {"0", "1"})
    EXPECT_EQ(statuses_in(temporary.path(name)).count("failed"), 0u) << name;
  solver.mend();
  ASSERT_EQ(drive(), LoopEnd::finished);
  for (const auto& [study, name] : {std::pair(first, "0"), std::pair(second, "1")}) {
    const std::string alone = temporary.path(std::string("alone") + name);
    ASSERT_EQ(drive_fake(study, alone, test::willing_solver(study)), LoopEnd::finished);
    EXPECT_TRUE(lasting_bytes(alone) == lasting_bytes(temporary.path(name))) << name;
  }
}

}  // namespace
}  // namespace stap
