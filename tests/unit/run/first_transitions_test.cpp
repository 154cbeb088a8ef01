// Transitions that were there before a run: trained on from round 0, and never paid for.
#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "stap/run/loop.h"
#include "support/fake_study.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::fake_problem;
using test::fake_study;
using test::lasting_bytes;
using test::Runs;
using test::TemporaryFolder;
using test::willing_solver;

constexpr std::size_t kFirst = 6;  // transitions: two trajectories of three steps

std::shared_ptr<const Problem> with_first(const Study& study, const std::string& hash = "first") {
  auto problem = std::make_shared<Problem>(*fake_problem(study, willing_solver(study)));
  TransitionSet& first = problem->first;
  first.grid = study.grid;
  const Rng rng(8);
  for (std::size_t i = 0; i < kFirst; ++i) {
    first.origins.push_back({0, study.options.pool + i / 3, i % 3});
    for (std::size_t v = 0; v < study.grid.values(); ++v) {
      first.inputs.push_back(rng.split("inputs", i).normal(v));
      first.outputs.push_back(rng.split("outputs", i).normal(v));
    }
  }
  problem->identity.first_sha256 = hash;
  return problem;
}

LoopEnd drive(const Study& study, const std::string& folder,
              const std::shared_ptr<const Problem>& problem, const StopAsked& stop = {}) {
  Observer quiet;
  Runs runs;
  runs.push_back(open_run(study, folder, problem, quiet));
  return run_loop(runs, 1, quiet, stop);
}

TEST(First, TransitionsComeBeforeWhatIsBoughtAndCostNothing) {
  const TemporaryFolder folder;
  const Study study = fake_study();
  const auto problem = with_first(study);

  drive(study, folder.path("run"), problem);

  const RunFolder run(folder.path("run"));
  const TransitionSet set = run.read_transitions();
  // 2 initial trajectories of 4 steps, 2 rounds of 7.
  ASSERT_EQ(set.count(), kFirst + 8 + 14);
  EXPECT_TRUE(std::equal(problem->first.origins.begin(), problem->first.origins.end(),
                         set.origins.begin()));
  EXPECT_TRUE(std::equal(problem->first.outputs.begin(), problem->first.outputs.end(),
                         set.outputs.begin()));
  EXPECT_LT(set.origins[kFirst].candidate, study.options.pool);
  const std::vector<Ledger> ledgers = run.read_ledgers();
  ASSERT_EQ(ledgers.size(), 3u);
  EXPECT_EQ(ledgers[0].bought, 8u);
  EXPECT_EQ(ledgers[1].bought, 7u);
  // Metrics count what was bought, so that tables compare what was paid.
  const std::vector<JsonLine> metrics = run.read_metrics();
  EXPECT_EQ(metrics[0].value.find("transitions")->integer<int>(), 8);
  EXPECT_EQ(metrics[0].value.find("first")->integer<int>(), 6);
}

TEST(First, TransitionsAreTrainedOn) {
  const TemporaryFolder folder;
  const Study study = fake_study({"rounds=0"});

  drive(study, folder.path("with"), with_first(study));
  drive(study, folder.path("without"), fake_problem(study, willing_solver(study)));

  const auto weights = [&](const std::string& name) {
    return test::content(RunFolder(folder.path(name)).committee_file(0));
  };
  EXPECT_NE(weights("with"), weights("without"));
}

TEST(First, TheyMayStandInForInitialTrajectories) {
  const TemporaryFolder folder;
  const Study study = fake_study({"rounds=1"});
  Study none = study;
  none.options.initial = 0;
  none.effective.find("study")->set("initial", 0);

  EXPECT_EQ(drive(none, folder.path("run"), with_first(none)), LoopEnd::finished);

  const RunFolder run(folder.path("run"));
  EXPECT_EQ(run.read_transitions().count(), kFirst + 7);
  EXPECT_EQ(run.read_ledgers()[0].budget, 0u);
  // Without them there would be nothing to begin with.
  test::expect_error(ErrorKind::config, "no transitions", [&] {
    drive(none, folder.path("other"), fake_problem(none, willing_solver(none)));
  });
}

// Broken by: adding them again when a run is continued, or losing them with a purchase that is
// walked again.
TEST(First, AContinuedRunIsTheSame) {
  const TemporaryFolder folder;
  const Study study = fake_study();
  drive(study, folder.path("whole"), with_first(study));

  for (std::size_t calls : {1u, 3u, 6u, 20u, 45u}) {
    const std::string name = folder.path("stopped" + std::to_string(calls));
    auto left = std::make_shared<std::size_t>(calls);
    drive(study, name, with_first(study), [left] { return *left == 0 || --*left == 0; });
    drive(study, name, with_first(study));

    EXPECT_EQ(lasting_bytes(name), lasting_bytes(folder.path("whole"))) << calls;
  }
  // Killed between training set and ledger: as if the journal ended before it.
  const std::string torn = folder.path("torn");
  drive(fake_study({"rounds=0"}), torn, with_first(study));
  const std::string journal = test::content(torn + "/journal.jsonl");
  const std::size_t ledger = journal.find("\"ledger\"");
  ASSERT_NE(ledger, std::string::npos);
  std::filesystem::resize_file(torn + "/journal.jsonl", journal.rfind('\n', ledger) + 1);
  for (const char* file : {"metrics.jsonl", "losses.jsonl", "extracts.h5"})
    std::filesystem::remove(torn + "/" + std::string(file));
  std::filesystem::remove_all(torn + "/rounds/00");
  drive(fake_study({"rounds=0"}), torn, with_first(study));
  EXPECT_EQ(RunFolder(torn).read_transitions().count(), kFirst + 8);
}

TEST(First, OthersAreRefusedWhenARunIsContinued) {
  const TemporaryFolder folder;
  const Study study = fake_study({"rounds=0"});
  drive(study, folder.path("run"), with_first(study));

  test::expect_error(ErrorKind::data, "first_sha256",
                     [&] { drive(study, folder.path("run"), with_first(study, "others")); });
}

}  // namespace
}  // namespace stap
