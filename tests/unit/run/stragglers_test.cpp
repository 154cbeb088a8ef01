// Queries that take much longer than the others are given back at the end of a pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "run/phases.h"
#include "stap/run/loop.h"
#include "support/fake_study.h"

namespace stap {
namespace {

using test::drive_fake;
using test::fake_study;
using test::FarSolver;
using test::lasting_bytes;
using test::TemporaryFolder;

const std::vector<std::string> kManyQueries{"pool=40",  "study.initial=12", "budget=24",
                                            "rounds=1", "method=sbal",      "on_unstable=refill"};

// Its answers take half a second each; what runs says how long it has.
std::shared_ptr<FarSolver> slow_solver(const Study& study, double running, double share = 0.05) {
  return test::willing_solver(study,
                              {.slots = 64, .running = running, .policy = {.stragglers = share}});
}

// The second step of the first `n` initial trajectories never ends.
std::function<bool(const Query&)> first_hang(const Study& study, std::size_t n) {
  std::vector<double> names;
  const Plan plan = initial_plan(study.options);
  for (std::size_t i = 0; i < n; ++i)
    names.push_back(static_cast<double>(plan.purchases[i].candidate));
  return [names, dt = study.dt](const Query& query) {
    return query.time == dt && std::ranges::count(names, query.state[0]) > 0;
  };
}

// Gives up, at once, when the solver has been asked in vain for a while.
StopAsked after_looks(std::size_t looks) {
  const auto left = std::make_shared<std::size_t>(looks);
  const auto over = [left] { return *left == 0 || --*left == 0; };
  return {over, over};
}

TEST(Stragglers, TheSlowestAreGivenBackAndCostNothing) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kManyQueries);
  const auto solver = slow_solver(study, 4.0);
  solver->hangs = first_hang(study, 2);

  ASSERT_EQ(drive_fake(study, temporary.path("run"), solver), LoopEnd::finished);

  EXPECT_EQ(solver->returned.size(), 2u);
  const Ledger ledger = RunFolder(temporary.path("run")).read_ledgers().at(0);
  EXPECT_EQ(ledger.budget, 48u);
  EXPECT_EQ(ledger.bought, 10u * 4u + 2u);
  EXPECT_EQ(ledger.refused, 2u);
  EXPECT_EQ(ledger.failed, 0u);
  EXPECT_EQ(ledger.unspent, 6u);
  EXPECT_NE(ledger.reasons.at(0).find("step 2: refused: given back as a straggler after 4 s"),
            std::string::npos)
      << ledger.reasons[0];
}

TEST(Stragglers, WhatIsNotMuchSlowerIsWaitedFor) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kManyQueries);
  const auto solver = slow_solver(study, 1.5);  // 3 times half a second, and no more
  solver->hangs = first_hang(study, 1);

  EXPECT_EQ(drive_fake(study, temporary.path("run"), solver, after_looks(200)), LoopEnd::stopped);

  EXPECT_TRUE(solver->returned.empty());
  EXPECT_EQ(solver->computed, 45u);
}

TEST(Stragglers, AreFew) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kManyQueries);
  for (const double share : {0.05, 0.0}) {
    const auto solver = slow_solver(study, 1e6, share);
    solver->hangs = first_hang(study, 3);  // of 9 x 4 + 3 x 2 queries

    EXPECT_EQ(drive_fake(study, temporary.path(std::to_string(share)), solver, after_looks(200)),
              LoopEnd::stopped);

    EXPECT_TRUE(solver->returned.empty());
  }
}

TEST(Stragglers, NobodyIsOneWhileOthersWaitForASlot) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kManyQueries);
  const auto solver =
      test::willing_solver(study, {.slots = 1, .running = 1e6, .policy = {.stragglers = 0.4}});
  const auto hangs = first_hang(study, 2);  // the second one waits behind the first
  solver->hangs = hangs;

  EXPECT_EQ(drive_fake(study, temporary.path("run"), solver, after_looks(200)), LoopEnd::stopped);

  EXPECT_TRUE(solver->returned.empty());
}

// Broken by: a query that is given back before that is on disk, or is asked again later.
TEST(Stragglers, ALaterProcessDoesTheSame) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kManyQueries);
  const auto slow = slow_solver(study, 4.0), whole = slow_solver(study, 4.0);
  slow->hangs = whole->hangs = first_hang(study, 1);
  ASSERT_EQ(drive_fake(study, temporary.path("whole"), whole), LoopEnd::finished);
  const auto given_back = [&] { return !slow->returned.empty(); };
  ASSERT_EQ(drive_fake(study, temporary.path("cut"), slow, {given_back, given_back}),
            LoopEnd::stopped);

  // This one would answer it.
  ASSERT_EQ(drive_fake(study, temporary.path("cut"), slow_solver(study, 0.0)), LoopEnd::finished);

  EXPECT_TRUE(lasting_bytes(temporary.path("cut")) == lasting_bytes(temporary.path("whole")));
  EXPECT_EQ(RunFolder(temporary.path("cut")).read_ledgers(),
            RunFolder(temporary.path("whole")).read_ledgers());
}

TEST(Stragglers, TheirStepsAreSpentOnOthers) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kManyQueries);
  ASSERT_EQ(drive_fake(study, temporary.path("quick"), slow_solver(study, 0.0)), LoopEnd::finished);
  std::size_t chosen = 0;
  for (const Provenance& origin : RunFolder(temporary.path("quick")).read_transitions().origins)
    if (origin.acquisition == 1) chosen = origin.candidate;
  const auto solver = slow_solver(study, 4.0, 0.2);
  solver->hangs = [&](const Query& query) { return query.state[0] == static_cast<double>(chosen); };

  ASSERT_EQ(drive_fake(study, temporary.path("run"), solver), LoopEnd::finished);

  const Ledger ledger = RunFolder(temporary.path("run")).read_ledgers().at(1);
  EXPECT_EQ(solver->returned.size(), 1u);
  EXPECT_EQ(ledger.refused, 1u);
  EXPECT_EQ(ledger.bought, 24u);
  EXPECT_EQ(ledger.passes, 2u);
}

}  // namespace
}  // namespace stap
