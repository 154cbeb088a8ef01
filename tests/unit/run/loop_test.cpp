// The loop on a fake solver that fails, refuses, and answers late, out of order and several steps a
// call.
#include "stap/run/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "stap/core/error.h"
#include "support/data_making.h"
#include "support/fake_study.h"
#include "support/refusals.h"
#include "support/small_disk.h"

namespace stap {
namespace {

using test::drive_fake;
using test::fake_problem;
using test::fake_study;
using test::FarSolver;
using test::lasting_bytes;
using test::Manners;
using test::TemporaryFolder;
using test::trouble_by_state;

const std::vector<std::string> kTroubled{"on_unstable=refill", "trust_quantile=0.9"};

std::shared_ptr<FarSolver> troubled_solver(const Study& study, Manners manners = {}) {
  return std::make_shared<FarSolver>(study.grid, study.dt, trouble_by_state(0.15),
                                     std::move(manners));
}

// What was answered, and how often each answer was recorded.
std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::size_t> answers_in(
    const std::string& folder) {
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::size_t> answers;
  RunFolder(folder).read_answers([&](std::size_t acquisition, const AnswerRecord& answer) {
    ++answers[{acquisition, answer.candidate, answer.step}];
  });
  return answers;
}

// Says true from its n-th call on, for good.
struct StopAfter {
  explicit StopAfter(std::size_t calls) : left(std::make_shared<std::size_t>(calls)) {}
  bool operator()() const {
    if (*left > 0) --*left;
    return *left == 0;
  }
  std::shared_ptr<std::size_t> left;
};

// Broken by: transitions in the order of replies, a failure that ends the call but drops the states
// before it, an answer taken for another query's, a plan that sees how far other walks are.
TEST(Loop, TheOrderOfAnswersAndTheSizeOfCallsDoNotShow) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kTroubled);
  const auto plain = troubled_solver(study);
  ASSERT_EQ(drive_fake(study, temporary.path("plain"), plain), LoopEnd::finished);
  const std::string expected = lasting_bytes(temporary.path("plain"));
  const auto ledgers = RunFolder(temporary.path("plain")).read_ledgers();

  const std::vector<Manners> all{{.shuffle = Rng(1)},
                                 {.polls = 3},
                                 {.steps_at_once = 2},
                                 {.steps_at_once = 3, .shuffle = Rng(2), .polls = 1},
                                 {.steps_at_once = 9, .shuffle = Rng(3)}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string folder = temporary.path("manners" + std::to_string(i));
    const auto solver = troubled_solver(study, all[i]);
    ASSERT_EQ(drive_fake(study, folder, solver), LoopEnd::finished);

    EXPECT_TRUE(lasting_bytes(folder) == expected) << i;
    EXPECT_EQ(RunFolder(folder).read_ledgers(), ledgers) << i;
    EXPECT_EQ(answers_in(folder), answers_in(temporary.path("plain"))) << i;
    if (all[i].steps_at_once > 1) {
      EXPECT_LT(solver->calls.size(), plain->calls.size()) << i;
    }
  }
}

// The fakes add a third to what they are given, and more.
TEST(Loop, WarnsIfTheFirstStepsMoveAMeanThatIsStated) {
  const auto warned = [](const std::vector<std::string>& settings) {
    const TemporaryFolder temporary;
    const Study study = fake_study(settings);
    test::Recorder heard;
    test::Runs runs;
    runs.push_back(open_run(study, temporary.path("run"),
                            fake_problem(study, std::make_shared<FarSolver>(study.grid, study.dt,
                                                                            trouble_by_state(0.0))),
                            heard));
    run_loop(runs, 1, heard);
    return std::ranges::count_if(heard.warnings, [](const std::string& text) {
      return text.find("the solver moves the mean of u, by ") != std::string::npos;
    });
  };

  EXPECT_EQ(warned({"network.conserve=[u]"}), 1);
  EXPECT_EQ(warned({}), 0);
}

TEST(Loop, LedgersAddUpToWhatIsInTheFiles) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study(kTroubled);
  ASSERT_EQ(drive_fake(study, folder, troubled_solver(study)), LoopEnd::finished);

  const RunFolder run(folder);
  std::map<std::size_t, std::size_t> stored;
  const TransitionSet set = run.read_transitions();
  for (const Provenance& origin : set.origins) ++stored[origin.acquisition];
  std::map<std::pair<std::size_t, std::string>, std::size_t> answered;
  run.read_answers([&](std::size_t acquisition, const AnswerRecord& answer) {
    ++answered[{acquisition, std::string(to_string(answer.status))}];
  });
  const std::vector<Ledger> ledgers = run.read_ledgers();

  ASSERT_EQ(ledgers.size(), 3u);
  std::size_t refused = 0, failed = 0;
  for (std::size_t a = 0; a < ledgers.size(); ++a) {
    const Ledger& ledger = ledgers[a];
    EXPECT_EQ(ledger.budget, a == 0 ? 2u * 4u : 7u);
    EXPECT_EQ(ledger.bought + ledger.charged_failures + ledger.unspent, ledger.budget);
    EXPECT_EQ(ledger.bought, stored[a]);
    EXPECT_EQ(ledger.bought, (answered[{a, "ok"}]));
    EXPECT_EQ(ledger.failed, (answered[{a, "failed"}]));
    EXPECT_EQ(ledger.refused - ledger.refused_by_trust, (answered[{a, "refused"}]));
    refused += ledger.refused;
    failed += ledger.failed;
  }
  EXPECT_GT(refused, 0u);  // else this study shows nothing
  EXPECT_GT(failed, 0u);
  EXPECT_EQ(set.acquisitions, 3u);
}

// Broken by: a reply that was in hand when the stop came and is lost, a plan that is made anew, a
// round that is trained from its beginning with another order, a recorded answer that is asked for.
TEST(Loop, StoppedAnywhereItGoesOnExactly) {
  const TemporaryFolder temporary;
  const Study study = fake_study(kTroubled);
  const Manners manners{.steps_at_once = 2, .shuffle = Rng(4), .polls = 1};
  const auto whole = troubled_solver(study, manners);
  std::size_t calls = 0;
  ASSERT_EQ(drive_fake(study, temporary.path("whole"), whole, [&] { return ++calls == 0; }),
            LoopEnd::finished);
  const std::string expected = lasting_bytes(temporary.path("whole"));
  ASSERT_GT(calls, 100u);

  constexpr std::size_t kMoments = 16;
  for (std::size_t m = 0; m < kMoments; ++m) {
    const std::string folder = temporary.path("stopped" + std::to_string(m));
    const auto solver = troubled_solver(study, manners);
    const std::size_t moment = 1 + m * (calls - 1) / kMoments;
    ASSERT_EQ(drive_fake(study, folder, solver, StopAfter(moment)), LoopEnd::stopped) << moment;
    ASSERT_EQ(drive_fake(study, folder, solver), LoopEnd::finished) << moment;

    EXPECT_TRUE(lasting_bytes(folder) == expected) << "stopped at " << moment << " of " << calls;
    EXPECT_EQ(solver->computed, whole->computed) << moment;
    EXPECT_EQ(answers_in(folder), answers_in(temporary.path("whole"))) << moment;
  }
}

// With everything a training may have: steps that end in the middle of an epoch, averages, and
// rounds that start from the last. Broken by: a checkpoint without its average, a warm start that
// is taken from a half-trained network or made again after a stop.
TEST(Loop, StoppedManyTimesItGoesOnExactly) {
  const TemporaryFolder temporary;
  std::vector<std::string> settings = kTroubled;
  settings.insert(settings.end(), {"train.steps=11", "train.average=0.9", "warm_start=true"});
  const Study study = fake_study(settings);
  const auto whole = troubled_solver(study), often = troubled_solver(study);
  ASSERT_EQ(drive_fake(study, temporary.path("whole"), whole), LoopEnd::finished);

  std::size_t stops = 0;
  while (drive_fake(study, temporary.path("often"), often, StopAfter(20 + 5 * stops)) ==
         LoopEnd::stopped)
    ASSERT_LT(++stops, 200u);

  EXPECT_GT(stops, 5u);
  EXPECT_TRUE(lasting_bytes(temporary.path("often")) == lasting_bytes(temporary.path("whole")));
  EXPECT_EQ(often->computed, whole->computed);
}

// Replies that came together with an error of the queue are paid, too.
TEST(Loop, AnErrorOfTheQueueLosesNoAnswer) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = fake_study();
  const auto solver = test::willing_solver(study);
  std::size_t polls = 0;
  solver->watch = [&](const std::vector<Query>&) {
    if (++polls >= 2) throw Error(ErrorKind::solver, "the licence has run out");
  };

  test::expect_error(ErrorKind::solver, "licence", [&] { drive_fake(study, folder, solver); });

  EXPECT_EQ(solver->computed, 1u);
  EXPECT_EQ(answers_in(folder).size(), 1u);
}

// Broken by: asking after the purchase, or for less than is written.
TEST(Loop, AsksForRoomBeforeItBuys) {
  const Study study = fake_study();

  const int code = test::on_small_disk(48, [&](const std::string& disk) {
    const auto solver = test::willing_solver(study);
    test::expect_error(ErrorKind::storage, "kiB are free beside the reserve",
                       [&] { drive_fake(study, disk + "/run", solver); });
    EXPECT_EQ(solver->computed, 0u);
    return HasFailure() ? 1 : 0;
  });

  if (code == -1) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 0);
}

// Broken by: no reserve, a reserve that is given up too late, going on buying.
TEST(Loop, AFullDiskLosesNoAnswer) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"study.initial=8"});  // lines of several pages
  ASSERT_EQ(drive_fake(study, temporary.path("whole"), test::willing_solver(study)),
            LoopEnd::finished);
  const std::string expected = lasting_bytes(temporary.path("whole"));

  const int code = test::on_small_disk(512, [&](const std::string& disk) {
    const std::string folder = disk + "/run", filler = disk + "/filler";
    const auto solver = test::willing_solver(study, {.polls = 1});
    std::size_t polls = 0;
    solver->watch = [&](const std::vector<Query>&) {
      if (++polls == 2) test::fill_disk(filler);
    };
    test::expect_error(ErrorKind::storage, "the disk is full",
                       [&] { drive_fake(study, folder, solver); });
    EXPECT_GT(solver->computed, 0u);
    EXPECT_EQ(answers_in(folder).size(), solver->computed);

    std::filesystem::remove(filler);
    EXPECT_EQ(drive_fake(study, folder, solver), LoopEnd::finished);
    EXPECT_TRUE(lasting_bytes(folder) == expected);
    EXPECT_FALSE(std::filesystem::exists(folder + "/reserve"));
    return HasFailure() ? 1 : 0;
  });

  if (code == -1) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 0);
}

TEST(Loop, RunsBuyOverOneQueue) {
  const TemporaryFolder temporary;
  Observer quiet;
  const Study first = fake_study(), second = fake_study({"seed=1"});
  const auto solver = test::willing_solver(first, {.polls = 1});
  std::vector<std::set<double>> moments;  // names of the candidates that are open together
  solver->watch = [&](const std::vector<Query>& open) {
    moments.emplace_back();
    for (const Query& query : open) moments.back().insert(query.state[0]);
  };
  const auto problem = fake_problem(first, solver);
  test::Runs runs;
  runs.push_back(open_run(first, temporary.path("0"), problem, quiet));
  runs.push_back(open_run(second, temporary.path("1"), problem, quiet));

  ASSERT_EQ(run_loop(runs, 1, quiet), LoopEnd::finished);

  EXPECT_EQ(solver->opened, 1u);
  std::set<double> initial[2];
  for (int r : {0, 1})
    for (const Provenance& origin : runs[static_cast<std::size_t>(r)].transitions.origins)
      if (origin.acquisition == 0) initial[r].insert(static_cast<double>(origin.candidate));
  std::set<double> all = initial[0];
  all.insert(initial[1].begin(), initial[1].end());
  ASSERT_EQ(all.size(), 4u);  // else their queries could not be told apart
  EXPECT_GT(std::count(moments.begin(), moments.end(), all), 0);
  // And what each buys is what it would have bought alone.
  for (const auto& [study, name] : {std::pair(first, "0"), std::pair(second, "1")}) {
    const std::string alone = temporary.path(std::string("alone") + name);
    ASSERT_EQ(drive_fake(study, alone, test::willing_solver(study)), LoopEnd::finished);
    EXPECT_TRUE(lasting_bytes(alone) == lasting_bytes(temporary.path(name))) << name;
  }
}

// Broken by: round 0 taken from a run of the same configuration on other data.
TEST(Loop, RunsOnDifferentProblemsDoNotShareRoundZero) {
  const TemporaryFolder temporary;
  Observer quiet;
  const Study study = fake_study({"rounds=0"});
  const auto ok = [](std::span<const double>, double) { return test::Fate::ok; };
  const auto fails = [](std::span<const double>, double time) {
    return time > 0.6 ? test::Fate::failed : test::Fate::ok;
  };
  test::Runs runs;
  for (const char* name : {"ok", "fails"}) {
    const auto solver = std::make_shared<FarSolver>(
        study.grid, study.dt, *name == 'o' ? test::Judge(ok) : test::Judge(fails));
    runs.push_back(open_run(study, temporary.path(name), fake_problem(study, solver), quiet));
  }

  ASSERT_EQ(run_loop(runs, 1, quiet), LoopEnd::finished);

  EXPECT_NE(runs[0].transitions.count(), runs[1].transitions.count());
  EXPECT_NE(runs[0].members, runs[1].members);
}

// Networks that a kill between two files has left. Broken by: removing those of the round before
// only, and only right behind an evaluation.
TEST(Loop, OldNetworksGoAtTheLatestWhenTheRunIsOpenedAgain) {
  const TemporaryFolder temporary;
  const std::string path = temporary.path("run");
  const Study study = fake_study();
  const RunFolder folder(path);
  ASSERT_EQ(drive_fake(study, path, test::willing_solver(study)), LoopEnd::finished);
  const std::string expected = lasting_bytes(path), last = test::content(folder.committee_file(2));
  temporary.file("run/rounds/00/committee.safetensors", last);
  temporary.file("run/rounds/01/training.safetensors", last);
  temporary.file("run/rounds/01/committee.safetensors", last);
  temporary.file("run/rounds/02/training.safetensors", last);

  ASSERT_EQ(drive_fake(study, path, test::willing_solver(study)), LoopEnd::finished);

  EXPECT_TRUE(lasting_bytes(path) == expected);
}

TEST(Loop, RaisedRoundsGoOn) {
  const TemporaryFolder temporary;
  const Study two = fake_study(kTroubled);
  std::vector<std::string> settings = kTroubled;
  settings.push_back("rounds=3");
  const Study three = fake_study(settings);
  const auto solver = troubled_solver(two), whole = troubled_solver(two);
  ASSERT_EQ(drive_fake(two, temporary.path("raised"), solver), LoopEnd::finished);

  ASSERT_EQ(drive_fake(three, temporary.path("raised"), solver), LoopEnd::finished);
  ASSERT_EQ(drive_fake(three, temporary.path("whole"), whole), LoopEnd::finished);

  EXPECT_TRUE(lasting_bytes(temporary.path("raised")) == lasting_bytes(temporary.path("whole")));
  EXPECT_EQ(solver->computed, whole->computed);
  EXPECT_EQ(RunFolder(temporary.path("raised")).read_metrics().size(), 4u);
}

// Mutation: the configuration is replaced before the networks are looked at.
TEST(Loop, ARefusedRunIsNotRaised) {
  const TemporaryFolder temporary;
  const Study two = fake_study({"rounds=2"}), three = fake_study({"rounds=3"});
  const std::string path = temporary.path("run");
  ASSERT_EQ(drive_fake(two, path, test::willing_solver(two)), LoopEnd::finished);
  temporary.file("run/rounds/02/committee.safetensors", "damaged");
  const RunFolder folder(path);
  const std::string config = test::content(folder.config_file()),
                    journal = test::content(folder.journal_file());

  EXPECT_THROW(drive_fake(three, path, test::willing_solver(three)), Error);

  EXPECT_EQ(test::content(folder.config_file()), config);
  EXPECT_EQ(test::content(folder.journal_file()), journal);
}

}  // namespace
}  // namespace stap
