// Training in stages: how long each is, which networks are kept, and what a kill leaves of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <set>

#include "stap/eval/metrics.h"
#include "stap/nn/engine.h"
#include "support/contains.h"
#include "support/fake_study.h"
#include "support/refusals.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::drive_fake;
using test::fake_study;
using test::TemporaryFolder;
using test::willing_solver;

Study staged_study(const std::vector<std::string>& more) {
  std::vector<std::string> settings{"validation=0.4",     "study.initial=5", "pool=30",
                                    "budget=12",          "rounds=1",        "keep_committees=all",
                                    "train.loss=physical"};
  settings.insert(settings.end(), more.begin(), more.end());
  return fake_study(settings);
}

struct Rows {
  explicit Rows(const Grid& grid) : inputs(grid, 0), targets(grid, 0) {}
  States<float> inputs, targets;
};

// The transitions of a round that are held back, or those that are not, by the rule in the
// documentation: seed and id decide.
Rows rows_of(const TransitionSet& set, std::size_t round, std::uint64_t seed, bool held_back) {
  const Rng draws = Rng(seed).split("validation");
  std::vector<double> inputs, targets;
  const std::size_t values = set.grid.values();
  for (std::size_t i = 0; i < set.count(); ++i) {
    if (set.origins[i].acquisition > round) continue;
    if ((draws.uniform(set.origins[i].candidate) < 0.4) != held_back) continue;
    const auto from = static_cast<std::ptrdiff_t>(i * values), n = std::ptrdiff_t(values);
    inputs.insert(inputs.end(), set.inputs.begin() + from, set.inputs.begin() + from + n);
    targets.insert(targets.end(), set.outputs.begin() + from, set.outputs.begin() + from + n);
  }
  Rows rows(set.grid);
  rows.inputs = rows.targets = States<float>(set.grid, inputs.size() / values);
  convert(inputs, rows.inputs.values());
  convert(targets, rows.targets.values());
  return rows;
}

// A round by hand, as docs/lab/recipes.md has it.
struct ByHandRound {
  std::vector<std::vector<MemberState>> stages{};  // the networks after each
  std::vector<double> errors{};
  std::size_t kept = 0;
  enum class End { worse, little, last } end = End::last;
};
ByHandRound trained_by_hand(const Study& study, const TransitionSet& set, std::size_t round) {
  const std::uint64_t seed = study.options.seed;
  const Rows rows = rows_of(set, round, seed, false), held = rows_of(set, round, seed, true);
  const std::size_t n = held.inputs.count();
  States<float> pairs(set.grid, 2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    std::ranges::copy(held.inputs.row(i), pairs.row(2 * i).begin());
    std::ranges::copy(held.targets.row(i), pairs.row(2 * i + 1).begin());
  }
  const NetworkSpec shape = make_network(study.grid, study.network);
  const auto engine = make_cpu_engine(shape, 2, 1);
  const Scaling scaling = initial_scaling(
      set, 4,
      [&](std::size_t candidate) { return Rng(seed).split("validation").uniform(candidate) < 0.4; },
      study.train.loss);
  Observer quiet;
  ByHandRound result;
  for (std::size_t s = 0; s < study.options.stages; ++s) {
    std::vector<FitJob> jobs;
    for (int m = 0; m < 2; ++m) {
      const auto member = static_cast<std::uint64_t>(m);
      MemberState start;
      if (s == 0)
        start =
            fresh_member(shape, scaling, Rng(seed).split("weights", round).split("member", member));
      else
        start.scaling = scaling, start.weights = result.stages.back()[member].weights;
      engine->load(m, start);
      FitOptions options = study.train;
      for (std::size_t twice = 0; twice < s; ++twice) options.epochs *= 2, options.steps *= 2;
      Rng order = Rng(seed).split("order", round);
      if (s > 0) order = order.split("stage", s);
      jobs.push_back({m,
                      {std::as_const(rows.inputs).view(), std::as_const(rows.targets).view(), {}},
                      options,
                      order.split("member", member)});
    }
    engine->fit(jobs, quiet);
    result.stages.push_back({engine->save_trained(0), engine->save_trained(1)});
    const auto committee = engine->committee({0, 1});
    result.errors.push_back(evaluate(*committee, {std::as_const(pairs).view(), 2, 1}).rmse);
    if (s > 0 && result.errors[s] >= result.errors[s - 1]) {
      result.end = ByHandRound::End::worse;
      break;
    }
    result.kept = s;
    if (s > 0 && result.errors[s] > 0.95 * result.errors[s - 1]) {
      result.end = ByHandRound::End::little;
      break;
    }
  }
  return result;
}

// Broken by: rows of candidates that are held back in the training of a stage; moments, a step
// count, the order of rows or the length of the stage before; networks of a stage that was no
// better, or the error of one in the place of another's; a look at the test set.
TEST(Stages, EndWhereTheErrorOnWhatIsHeldBackDoesNotFallAndKeepTheBest) {
  const TemporaryFolder temporary;
  std::set<ByHandRound::End> ends;
  for (const char* rate : {"0.0003", "0.003", "0.03"})
    for (const char* length : {"train.epochs=6", "train.steps=11"}) {
      const std::string name = std::string(rate) + length;
      SCOPED_TRACE(name);
      const Study study =
          staged_study({"stages=4", "seed=1", std::string("train.learning_rate=") + rate, length,
                        name.starts_with("0.03") ? "study.test=0" : "study.test=3"});
      ASSERT_EQ(drive_fake(study, temporary.path(name), willing_solver(study)), LoopEnd::finished);
      const RunFolder folder(temporary.path(name));
      const TransitionSet set = folder.read_transitions();
      const std::vector<JsonLine> lines = folder.read_metrics();
      ASSERT_EQ(lines.size(), 2u);
      for (std::size_t round = 0; round < 2; ++round) {
        const ByHandRound expected = trained_by_hand(study, set, round);
        ends.insert(expected.end);
        const Model model = *folder.read_networks(round);
        EXPECT_EQ(model.members, expected.stages[expected.kept]);
        EXPECT_EQ(model.origin.stage, expected.kept);
        EXPECT_EQ(model.origin.held_back, expected.errors);
        const config::Value& line = lines[round].value;
        EXPECT_EQ(line.find("stages")->integer<std::size_t>(), expected.stages.size());
        EXPECT_EQ(line.find("kept_stage")->integer<std::size_t>(), expected.kept);
        std::vector<double> errors;
        for (const config::Value& error : *line.find("held_back")->list())
          errors.push_back(*error.real());
        EXPECT_EQ(errors, expected.errors);
      }
      EXPECT_FALSE(fs::exists(folder.stage_file(1)));
      // Those of stages that count for nothing happened, too.
      std::map<std::pair<std::size_t, int>, int> epochs;
      for (const Loss& loss : folder.read_losses())
        EXPECT_EQ(loss.epoch, (epochs[{loss.round, loss.member}]++));
    }
  EXPECT_EQ(ends.size(), 3u) << "these studies do not show every way to end";
}

// Capped at the stage that it keeps, a round ends with the same networks; where nothing is held
// back there is one stage, and the bytes of the networks are those of a study without stages.
TEST(Stages, AreWorthTheirCapAndNeedSomethingThatIsHeldBack) {
  const TemporaryFolder temporary;
  const auto first_round = [&](const std::vector<std::string>& more) {
    const std::string folder = temporary.path(more.back());
    std::vector<std::string> settings{"rounds=0", "seed=1", "train.learning_rate=0.03"};
    settings.insert(settings.end(), more.begin(), more.end());
    const Study study = staged_study(settings);
    EXPECT_EQ(drive_fake(study, folder, willing_solver(study)), LoopEnd::finished);
    return *RunFolder(folder).read_networks(0);
  };
  const Model free = first_round({"stages=6"});
  ASSERT_GT(free.origin.stage, 0u);
  ASSERT_LT(free.origin.stage, 5u);
  const Model capped = first_round({"stages=" + std::to_string(free.origin.stage + 1)});
  EXPECT_EQ(free.members, capped.members);
  EXPECT_NE(first_round({"stages=1"}).members, free.members);

  const Model none = first_round({"stages=2", "validation=1e-9"});
  EXPECT_EQ(none.origin.held_back, std::vector<double>{});
  const config::Value line =
      RunFolder(temporary.path("validation=1e-9")).read_metrics().at(0).value;
  EXPECT_EQ(line.find("stages")->integer<int>(), 1);
  EXPECT_EQ(line.find("kept_stage")->integer<int>(), 0);
  EXPECT_TRUE(line.find("held_back")->list()->empty());
}

// Broken by: a second stage whatever came of the first.
TEST(Stages, NetworksThatAreNotFiniteGetNoSecond) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("run");
  const Study study = staged_study({"stages=3", "seed=1", "rounds=0", "train.learning_rate=1e20"});
  ASSERT_EQ(drive_fake(study, folder, willing_solver(study)), LoopEnd::finished);
  const config::Value line = RunFolder(folder).read_metrics().at(0).value;
  EXPECT_EQ(line.find("stages")->integer<int>(), 1);
  EXPECT_EQ(RunFolder(folder).read_networks(0)->origin.held_back.size(), 1u);
}

// Goes on in a folder until so many epochs are trained.
LoopEnd drive_epochs(const Study& study, const std::shared_ptr<test::FarSolver>& solver,
                     const std::string& folder, int most) {
  struct Epochs : Observer {
    void epoch_done(const EpochDone&) override { ++count; }
    int count = 0;
  } epochs;
  test::Runs runs;
  runs.push_back(open_run(study, folder, test::fake_problem(study, solver), epochs));
  return run_loop(runs, 1, epochs, [&] { return epochs.count >= most; });
}

// Broken by: a stage that begins before what it goes on from is on disk, half-trained networks of
// one stage that are taken for another's, losses that are cut by the epochs of their stage alone.
TEST(Stages, WhateverAKillLeavesTheEndIsTheSame) {
  const TemporaryFolder temporary;
  const Study study = staged_study({"stages=3", "seed=1", "train.epochs=2", "rounds=0",
                                    "checkpoint_epochs=1", "train.learning_rate=0.01"});
  const auto solver = willing_solver(study);
  const auto everything = [](const std::string& folder) {
    return test::lasting_bytes(folder) + test::content(RunFolder(folder).losses_file());
  };
  const auto drive = [&](const std::string& folder, int most) {
    return drive_epochs(study, solver, folder, most);
  };
  constexpr int kEpochs = 2 * (2 + 4 + 8);  // of two members
  ASSERT_EQ(drive(temporary.path("whole"), kEpochs + 1), LoopEnd::finished);
  const std::string expected = everything(temporary.path("whole"));
  ASSERT_EQ(RunFolder(temporary.path("whole")).read_networks(0)->origin.held_back.size(), 3u);

  std::set<std::pair<bool, bool>> seen;  // whether there is a stage file and a half-trained one
  std::string older;                     // half-trained networks of the first stage
  for (int most = 1; most < kEpochs; ++most) {
    const std::string name = temporary.path(std::to_string(most));
    ASSERT_EQ(drive(name, most), LoopEnd::stopped);
    const RunFolder folder(name);
    const bool has_stage = fs::exists(folder.stage_file(0)),
               has_half = fs::exists(folder.training_file(0));
    const bool is_new = seen.insert({has_stage, has_half}).second;
    if (has_half && !has_stage) older = test::content(folder.training_file(0));
    std::vector<std::string> ways{name};
    if (has_stage && is_new) {
      // A kill between a stage's file and the removal of its half-trained one; what nobody should
      // do.
      const RunFolder between(name + "between"), without(name + "without");
      for (const RunFolder& copy : {between, without})
        fs::copy(name, copy.path(), fs::copy_options::recursive);
      if (!has_half)
        temporary.file(std::to_string(most) + "between/rounds/00/training.safetensors", older);
      fs::remove(without.stage_file(0));
      ways.insert(ways.end(), {between.path(), without.path()});
    }
    for (const std::string& way : ways) {
      ASSERT_EQ(drive(way, kEpochs + 1), LoopEnd::finished) << way;
      EXPECT_TRUE(everything(way) == expected) << way;
    }
  }
  EXPECT_NE(older, "");
  EXPECT_EQ(seen.size(), 4u) << "no stop with each of the files that there may be";
}

// Broken by: the round's folder in the place of the file, of which it may have three.
TEST(Stages, NetworksUnderAnotherNameAreRefusedByTheirFile) {
  const TemporaryFolder temporary;
  const Study study = staged_study({"stages=3", "seed=1", "train.epochs=2", "rounds=0",
                                    "checkpoint_epochs=1", "train.learning_rate=0.01"});
  const auto solver = willing_solver(study);
  ASSERT_EQ(drive_epochs(study, solver, temporary.path("run"), 2 * (2 + 1)), LoopEnd::stopped);
  const auto refusal = [&](const char* from, const char* to, bool gone) {
    const std::string copy = temporary.path(std::string(from) + to);
    fs::copy(temporary.path("run"), copy, fs::copy_options::recursive);
    const fs::path round = fs::path(copy) / "rounds/00";
    fs::copy_file(round / from, round / to, fs::copy_options::overwrite_existing);
    if (gone) fs::remove(round / from);
    return test::error_text(ErrorKind::data, [&] { drive_epochs(study, solver, copy, 100); });
  };
  const char *half = "training.safetensors", *stage = "stage.safetensors",
             *done = "committee.safetensors";

  const std::string name = "00/";
  EXPECT_TRUE(test::contains(refusal(half, stage, false),
                             name + stage +
                                 " holds networks of 1 of 4 epochs under the name of "
                                 "finished ones"));
  EXPECT_TRUE(test::contains(refusal(half, done, false), name + done + " holds networks of 1 of"));
  EXPECT_TRUE(test::contains(refusal(stage, half, true),
                             name + half +
                                 " holds networks of 2 of 2 epochs under the name of "
                                 "half-trained ones"));
}

// Runs that share round 0, and others that need more stages or fewer, in one engine.
TEST(Stages, OfSeveralRunsAreSharedAndCountedAsTheyAre) {
  const TemporaryFolder temporary;
  struct Told : Observer {
    void epoch_done(const EpochDone& event) override { members.insert(event.member); }
    void progress(const Progress& event) override {
      if (event.unit != "epochs") return;
      // Work that turns out to be there makes it go backwards.
      const double now = static_cast<double>(event.done) / static_cast<double>(event.total);
      EXPECT_GE(now, share) << event.phase;
      share = now;
      phases.insert(std::string(event.phase));
    }
    std::set<int> members;
    std::set<std::string> phases;
    double share = 0.0;
  } told;
  const std::vector<std::string> common{"stages=4", "rounds=0", "train.learning_rate=0.03"};
  test::Runs runs;
  for (const std::vector<std::string>& own : std::vector<std::vector<std::string>>{
           {"seed=1"}, {"seed=1", "method=random"}, {"seed=2"}, {"seed=3"}}) {
    std::vector<std::string> settings = common;
    settings.insert(settings.end(), own.begin(), own.end());
    const Study study = staged_study(settings);
    runs.push_back(open_run(study, temporary.path(own[0] + own.back()),
                            test::fake_problem(study, willing_solver(study)), told));
  }
  ASSERT_EQ(run_loop(runs, 1, told), LoopEnd::finished);

  EXPECT_EQ(told.members, (std::set<int>{0, 1, 4, 5, 6, 7}));
  EXPECT_EQ(told.share, 1.0);
  EXPECT_TRUE(told.phases.contains("round 0 of 0, training, stage 2"));
  EXPECT_EQ(runs[0].members, runs[1].members);
  EXPECT_EQ(test::content(runs[0].folder.losses_file()),
            test::content(runs[1].folder.losses_file()));
  const auto stages = [&](std::size_t r) {
    return *runs[r].folder.read_metrics().at(0).value.find("stages")->integer<int>();
  };
  EXPECT_EQ(runs[0].folder.read_metrics().at(0).value.find("held_back")->list()->size(),
            runs[1].folder.read_metrics().at(0).value.find("held_back")->list()->size());
  EXPECT_EQ(stages(0), stages(1));
  EXPECT_GT((std::set<int>{stages(0), stages(2), stages(3)}).size(), 1u);
  // Who waits for others, or takes from them, ends as alone.
  for (std::size_t r : {1, 2}) {
    const std::string alone = temporary.path("alone" + std::to_string(r));
    ASSERT_EQ(drive_fake(runs[r].study, alone, willing_solver(runs[r].study)), LoopEnd::finished);
    EXPECT_EQ(test::lasting_bytes(alone), test::lasting_bytes(runs[r].folder.path()));
  }
}

}  // namespace
}  // namespace stap
