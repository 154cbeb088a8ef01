// What open_run refuses: problems that are not the study's, and folders that cannot be continued.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "stap/core/error.h"
#include "support/fake_study.h"
#include "support/refusals.h"
#include "support/sealing.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::drive_fake;
using test::expect_error;
using test::fake_problem;
using test::fake_study;
using test::FarSolver;
using test::Fate;
using test::TemporaryFolder;
using test::willing_solver;

// Opens a run on the fakes' problem, changed.
void open_changed(const Study& study, const std::string& folder,
                  const std::function<void(Problem&)>& change) {
  Observer quiet;
  auto problem = std::make_shared<Problem>(*fake_problem(study, willing_solver(study)));
  change(*problem);
  open_run(study, folder, problem, quiet);
}

TEST(OpenRun, RefusesAProblemThatIsNotTheStudys) {
  const TemporaryFolder temporary;
  const Study study = fake_study();
  const auto refuses = [&](const std::string& part, const std::function<void(Problem&)>& change) {
    expect_error(ErrorKind::config, part,
                 [&] { open_changed(study, temporary.path("run"), change); });
    EXPECT_FALSE(fs::exists(temporary.path("run"))) << part;
  };
  const Grid finer = make_grid(1, {16}, {1.0}), longer = make_grid(1, {8}, {2.0});

  refuses("states of 1 x 16", [&](Problem& p) { p.identity.grid = finer; });
  refuses("other lengths", [&](Problem& p) { p.identity.grid = longer; });
  refuses("steps of 0.5", [&](Problem& p) { p.identity.dt = 0.5; });
  refuses("5 steps", [&](Problem& p) { p.identity.steps = 5; });
  refuses("clusters of 2", [&](Problem& p) { p.identity.cluster = 2; });
  refuses("far makes steps of 0.5",
          [&](Problem& p) { p.solver = std::make_shared<FarSolver>(study.grid, 0.5); });
  refuses("on states of 1 x 16",
          [&](Problem& p) { p.solver = std::make_shared<FarSolver>(finer, study.dt); });
  refuses("pool has 13 states", [&](Problem& p) { p.pool.states = {study.grid, 13}; });
  refuses("states of 1 x 16", [&](Problem& p) { p.pool.states = {finer, 14}; });
  refuses("hashes", [&](Problem& p) { p.identity.pool_sha256.clear(); });
  refuses("hashes", [&](Problem& p) { p.test.reset(); });
  refuses("0 test trajectories", [&](Problem& p) {
    p.test.reset();
    p.identity.test_sha256.clear();
  });
  refuses("have 6 states", [&](Problem& p) {
    *p.test = {States<double>(study.grid, 18), 6, "test"};
  });
}

// Where the study takes all of a file, the file says how many there are.
TEST(OpenRun, APoolOfAllIsAsLargeAsTheProblems) {
  const TemporaryFolder temporary;
  Observer quiet;
  const std::string file = temporary.file("pool.h5", "its content was read into the problem");
  const Study study = fake_study({"initial={name: file, path: " + file + "}", "pool=0", "test=0"});
  ASSERT_EQ(study.options.pool, 0u);
  Study sized = study;
  sized.options.pool = 6;
  const auto problem = fake_problem(sized, willing_solver(study));

  test::Runs runs;
  runs.push_back(open_run(study, temporary.path("run"), problem, quiet));
  ASSERT_EQ(run_loop(runs, 1, quiet), LoopEnd::finished);

  EXPECT_EQ(runs[0].study.options.pool, 6u);
  EXPECT_EQ(runs[0].used.size(), 6u);
  EXPECT_EQ(RunFolder(temporary.path("run")).read_metrics().size(), 3u);
  Study small = study;
  small.options.initial = 6;
  expect_error(ErrorKind::config, "the pool has 6",
               [&] { open_run(small, temporary.path("other"), problem, quiet); });
}

TEST(OpenRun, RefusesARunOfAnEarlierVersionAndTouchesNothing) {
  const TemporaryFolder temporary;
  Observer quiet;
  const Study study = fake_study({"rounds=0"});
  const std::string folder = temporary.path("run");
  ASSERT_EQ(drive_fake(study, folder, willing_solver(study)), LoopEnd::finished);
  test::change_sealed(folder + "/config.yaml", "run/3", "run/2");
  const std::string before = test::lasting_bytes(folder);
  const auto problem = fake_problem(study, willing_solver(study));

  expect_error(ErrorKind::data, "run/2", [&] { open_run(study, folder, problem, quiet); });

  EXPECT_EQ(test::lasting_bytes(folder), before);
}

TEST(OpenRun, RefusesAFolderOfAnotherProblem) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"rounds=0"});
  ASSERT_EQ(drive_fake(study, temporary.path("run"), willing_solver(study)), LoopEnd::finished);

  expect_error(ErrorKind::data, "pool_sha256", [&] {
    open_changed(study, temporary.path("run"),
                 [](Problem& p) { p.identity.pool_sha256 = "another"; });
  });
}

// Broken by: a ledger that is written a second time, which no later process could read.
TEST(OpenRun, RefusesAFolderWhoseFilesDoNotBelongTogether) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"rounds=1"});
  const auto solver = willing_solver(study);
  const std::string folder = temporary.path("run");
  ASSERT_EQ(drive_fake(study, folder, solver), LoopEnd::finished);
  const RunFolder run(folder);
  const TransitionSet all = run.read_transitions();
  const auto refuses = [&](const std::string& part) {
    expect_error(ErrorKind::data, part, [&] { drive_fake(study, folder, solver); });
  };

  fs::rename(run.transitions_file(), temporary.path("aside"));
  refuses("has 0 acquisitions, but the journal the ledgers of 2");
  TransitionSet less = all;
  drop_last_acquisition(less);
  run.write_transitions(less);
  refuses("has 1 acquisitions, but the journal the ledgers of 2");
  TransitionSet more = all;
  more.acquisitions += 2;
  run.write_transitions(more);
  refuses("has 4 acquisitions");
  run.write_transitions(all);
  std::vector<std::string> lines;
  for (const JsonLine& line : run.read_metrics()) lines.push_back(line.text);
  lines.push_back(R"({"run":")" + run.run() + R"(","round":2})");
  run.write_metrics(lines);
  refuses("has 3 lines");
  lines.pop_back();
  run.write_metrics(lines);

  // Networks that were trained on something else, or whose steps do not fit their name.
  const Model model = *run.read_networks(1);
  const auto with = [&](const std::function<void(Model&)>& change) {
    Model changed = model;
    change(changed);
    run.write_committee(1, changed);
  };
  with([](Model& m) { m.origin.data.back() ^= 1; });
  refuses("another training set");
  with([](Model& m) { m.members[1].steps -= 1; });
  refuses("different numbers of steps");
  with([](Model& m) {
    for (MemberState& member : m.members) member.steps *= 2;
  });
  refuses("expected whole epochs");
  with([](Model& m) {
    for (MemberState& member : m.members) member.steps = 0;
  });
  refuses("under the name of finished ones");
  with([](Model& m) {
    for (MemberState& member : m.members) member.steps = -1;
  });
  refuses("of -1 steps");
}

// The networks of a finished run may be trained again, but nothing is bought beyond its plan.
TEST(OpenRun, TrainsLostNetworksAgainAndBuysNothing) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"rounds=1"});
  const auto solver = willing_solver(study);
  const std::string folder = temporary.path("run");
  ASSERT_EQ(drive_fake(study, folder, solver), LoopEnd::finished);
  const RunFolder run(folder);
  const fs::path weights = run.newest_committee().path;
  const std::string before = test::content(weights), journal = test::content(run.journal_file());
  fs::remove(weights);

  ASSERT_EQ(drive_fake(study, folder, solver), LoopEnd::finished);

  EXPECT_EQ(test::content(weights), before);
  EXPECT_EQ(test::content(run.journal_file()), journal);
}

}  // namespace
}  // namespace stap
