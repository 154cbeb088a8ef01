// What the units of the data do to a whole run, and what runs do that began before they were asked.
#include <gtest/gtest.h>

#include <filesystem>

#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "support/fake_study.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::drive_fake;
using test::fake_study;
using test::TemporaryFolder;
using test::willing_solver;

// Two channels that act on each other, in units of their own.
class CoupledChannels final : public BatchSolver {
 public:
  CoupledChannels(Grid grid, double dt, std::vector<double> unit)
      : BatchSolver("coupled", std::move(grid), dt), unit_(std::move(unit)) {}

  std::vector<std::string> channels() const override { return {"a", "b"}; }

 private:
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const std::size_t points = grid().points_total();
    for (std::size_t i = 0; i < queries.size(); ++i) {
      std::vector<double> next(grid().values());
      for (std::size_t p = 0; p < points; ++p) {
        const double a = queries[i]->state[p] / unit_[0];
        const double b = queries[i]->state[points + p] / unit_[1];
        next[p] = (0.9 * a + 0.2 * b * b) * unit_[0];
        next[points + p] = (0.7 * b - 0.3 * a) * unit_[1];
      }
      answers[i]->states = std::move(next);
      answers[i]->status = Answer::Status::ok;
    }
  }

  std::vector<double> unit_;
};

class UnitsOfARun : public testing::Test {
 protected:
  // Trained in stages, with warm starts, a trust band and what else looks at states.
  Study study(const std::vector<std::string>& more) const {
    std::vector<std::string> settings{
        "pde={name: external, channels: [a, b], points: [8], dt: 0.25}",
        "initial={name: file, path: " + file_ + "}",
        "network.time_input=true",
        "pool=30",
        "test=0",
        "study.initial=5",
        "budget=13",
        "validation=0.3",
        "stages=2",
        "trust_quantile=0.8",
        "on_unstable=refill",
        "keep_committees=all",
        "train.noise=0.05"};
    settings.insert(settings.end(), more.begin(), more.end());
    config::Value document = fake_study().given;
    document.erase("pde");
    document.erase("initial");
    for (const std::string& setting : settings) apply_setting(document, setting);
    return make_study(std::move(document), Purpose::train);
  }

  RunFolder run(const Study& study, const std::string& name, const std::vector<double>& unit) {
    const StudyOptions& o = study.options;
    const std::size_t points = study.grid.points_total();
    Problem problem{.solver = std::make_shared<CoupledChannels>(study.grid, study.dt, unit),
                    .pool = {States<double>(study.grid, o.pool), "pool"},
                    .test = {},
                    .identity = {}};
    for (std::size_t v = 0; v < problem.pool.states.values().size(); ++v)
      problem.pool.states.values()[v] = (0.5 + Rng(1).normal(v)) * unit[v / points % 2];
    problem.identity = {.name = "coupled",
                        .channels = {"a", "b"},
                        .grid = study.grid,
                        .dt = study.dt,
                        .steps = o.steps,
                        .cluster = 1,
                        .pool_sha256 = "pool",
                        .test_sha256 = "",
                        .test_trajectories = 0,
                        .pool_file = {},
                        .test_file = {},
                        .data_key = {}};
    Observer quiet;
    test::Runs runs;
    runs.push_back(open_run(study, temporary_.path(name),
                            std::make_shared<const Problem>(std::move(problem)), quiet));
    EXPECT_EQ(run_loop(runs, 1, quiet), LoopEnd::finished);
    return RunFolder(temporary_.path(name));
  }

  TemporaryFolder temporary_;
  std::string file_ = temporary_.file("pool.h5", "its content was read into the problem");
};

// Mutation: selection, the trust band or what is held back measured in the unit of the data, in
// which the second channel is nothing beside the first, or the first beside the second.
TEST_F(UnitsOfARun, PowersOfTwoChangeNothingButThemselves) {
  for (const std::string method : {"sbal+stap(proposals=6)", "qbc", "lcmd", "sbal+stap-one"}) {
    SCOPED_TRACE(method);
    const Study same = study({"method=" + method});
    const RunFolder usual = run(same, method + "usual", {1.0, 1.0});
    for (const std::vector<double>& unit :
         {std::vector{0x1p-40, 1.0}, std::vector{0x1p30, 0x1p-20}}) {
      const RunFolder other = run(same, method + std::to_string(unit[0]), unit);
      for (std::size_t round = 0; round <= same.options.rounds; ++round) {
        const Model a = *usual.read_networks(round), b = *other.read_networks(round);
        EXPECT_EQ(a.origin.held_back, b.origin.held_back);
        for (std::size_t m = 0; m < a.members.size(); ++m) {
          EXPECT_EQ(a.members[m].weights, b.members[m].weights);
          for (std::size_t c = 0; c < 2; ++c)
            EXPECT_EQ(double(b.members[m].scaling.deviation[c]),
                      double(a.members[m].scaling.deviation[c]) * unit[c]);
        }
        if (round == same.options.rounds) break;
        for (std::size_t pass = 1; pass <= usual.passes(round); ++pass)
          EXPECT_EQ(usual.read_plan(round, pass, 30, 4), other.read_plan(round, pass, 30, 4));
      }
      for (std::size_t i = 0; i < usual.read_losses().size(); ++i)
        EXPECT_EQ(usual.read_losses()[i].loss, other.read_losses()[i].loss);
    }
  }
}

// Physical units are another study: the largest channel decides.
TEST_F(UnitsOfARun, PhysicalOnesCount) {
  const Study physical = study({"train.loss=physical", "study.distances=physical"});
  const RunFolder usual = run(physical, "usual", {1.0, 1.0});
  const RunFolder other = run(physical, "other", {0x1p-20, 1.0});

  EXPECT_NE(usual.read_networks(0)->members[0].weights, other.read_networks(0)->members[0].weights);
}

TEST_F(UnitsOfARun, AreAskedAboutBeforeAnythingIsPaid) {
  const Study any = study({});

  test::expect_error(ErrorKind::data, "of the pool, channel b has values of up to", [&] {
    run(any, "small", {1.0, 1e-35});
  });
  test::expect_error(ErrorKind::data, "of the pool, channel a has values of up to", [&] {
    run(any, "large", {1e35, 1.0});
  });
}

// As a version that did not know the keys left it: its run stays what it was, also for more rounds.
TEST(OlderRuns, CountInPhysicalUnits) {
  const TemporaryFolder temporary;
  const std::vector<std::string> physical{"train.loss=physical", "study.distances=physical",
                                          "keep_committees=all"};
  const std::string expected = temporary.path("expected"), folder = temporary.path("older");
  const Study known = fake_study(physical);
  ASSERT_EQ(drive_fake(known, expected, willing_solver(known)), LoopEnd::finished);
  Study older = known;
  older.options.rounds = 1;
  older.effective.find("study")->set("rounds", 1);
  older.effective.find("train")->erase("loss");
  older.effective.find("train")->erase("channel_weights");
  older.effective.find("study")->erase("distances");
  ASSERT_EQ(drive_fake(older, folder, willing_solver(older)), LoopEnd::finished);
  const std::string id = RunFolder(folder).run();
  const config::Value written = RunFolder(folder).read_config();
  ASSERT_EQ(config::find_path(written, "train.loss"), nullptr);

  // Whoever says it is refused; whoever does not goes on.
  const Study scaled = fake_study({"keep_committees=all", "train.loss=scaled"});
  test::expect_error(ErrorKind::config, "train.loss: \"scaled\" in this command, \"physical\" in ",
                     [&] { drive_fake(scaled, folder, willing_solver(scaled)); });
  const Study silent = fake_study({"keep_committees=all"});
  ASSERT_EQ(drive_fake(silent, folder, willing_solver(silent)), LoopEnd::finished);

  EXPECT_EQ(RunFolder(folder).run(), id);
  for (std::size_t round = 0; round <= known.options.rounds; ++round)
    EXPECT_EQ(RunFolder(folder).read_networks(round)->members,
              RunFolder(expected).read_networks(round)->members);
  EXPECT_EQ(
      *config::find_path(with_older_meaning(RunFolder(folder).read_config()), "train.loss")->text(),
      "physical");
}

}  // namespace
}  // namespace stap
