// What the loop leaves in a run folder besides the training set: metrics, extracts, losses, and
// networks that never saw what is held back.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "stap/nn/dilated.h"
#include "stap/nn/engine.h"
#include "stap/nn/model_file.h"
#include "support/fake_study.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::drive_fake;
using test::fake_study;
using test::FarSolver;
using test::Fate;
using test::TemporaryFolder;
using test::willing_solver;

std::vector<std::string> keys_of(const config::Value& map) {
  std::vector<std::string> keys;
  for (const auto& member : *map.map()) keys.push_back(member.key);
  return keys;
}

TEST(LoopResults, WithoutATestSetThereAreNoErrors) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"study.test=0"});
  ASSERT_EQ(drive_fake(study, temporary.path("run"), willing_solver(study)), LoopEnd::finished);

  const RunFolder folder(temporary.path("run"));
  const auto lines = folder.read_metrics();
  ASSERT_EQ(lines.size(), 3u);
  for (const JsonLine& line : lines)
    EXPECT_EQ(keys_of(line.value),
              (std::vector<std::string>{"run", "round", "transitions", "candidates",
                                        "warm_up_steps", "losses"}));
  EXPECT_EQ(*lines[2].value.find("transitions")->integer<int>(), 2 * 4 + 7 + 7);
  EXPECT_FALSE(std::filesystem::exists(folder.extracts_file()));
}

TEST(LoopResults, TheErrorsAreThoseOfTheTestSet) {
  const TemporaryFolder temporary;
  const Study study = fake_study();
  ASSERT_EQ(drive_fake(study, temporary.path("run"), willing_solver(study)), LoopEnd::finished);

  for (const JsonLine& line : RunFolder(temporary.path("run")).read_metrics()) {
    EXPECT_EQ(line.value.find("measured_on"), nullptr);
    EXPECT_TRUE(std::isfinite(*line.value.find("rmse")->real()));
    EXPECT_TRUE(std::isfinite(*line.value.find("mean_model")->find("rmse")->real()));
  }
}

// Broken by: a held-back candidate that is drawn by its place and not by its id, rows of it in the
// training data or in the scaling.
TEST(LoopResults, WhatIsHeldBackIsBoughtButNeverTrainedOn) {
  const TemporaryFolder temporary;
  const Study study = fake_study({"study.test=0", "validation=0.4", "seed=1", "train.loss=physical",
                                  "study.initial=5", "rounds=1", "pool=30", "budget=12"});
  ASSERT_EQ(drive_fake(study, temporary.path("run"), willing_solver(study)), LoopEnd::finished);
  const RunFolder folder(temporary.path("run"));
  const TransitionSet all = folder.read_transitions();

  // Who is held back, by the rule in the documentation: seed and id decide.
  const Rng draws = Rng(1).split("validation");
  TransitionSet kept{.grid = all.grid};
  std::size_t held_back = 0;
  const std::size_t values = all.grid.values();
  for (std::size_t i = 0; i < all.count(); ++i) {
    if (draws.uniform(all.origins[i].candidate) < 0.4) {
      ++held_back;
      continue;
    }
    const auto from = static_cast<std::ptrdiff_t>(i * values);
    const auto to = from + static_cast<std::ptrdiff_t>(values);
    kept.origins.push_back(all.origins[i]);
    kept.inputs.insert(kept.inputs.end(), all.inputs.begin() + from, all.inputs.begin() + to);
    kept.outputs.insert(kept.outputs.end(), all.outputs.begin() + from, all.outputs.begin() + to);
  }
  ASSERT_GT(held_back, 0u);
  ASSERT_LT(held_back, all.count());
  EXPECT_EQ(all.count(), 5u * 4u + 12u);

  // The networks of round 1, trained on the rest alone.
  const NetworkSpec shape = make_network(study.grid, study.network);
  const auto engine = make_cpu_engine(shape, 2, 1);
  States<float> inputs(study.grid, kept.count()), targets(study.grid, kept.count());
  convert(kept.inputs, inputs.values());
  convert(kept.outputs, targets.values());
  std::vector<FitJob> jobs;
  for (int m = 0; m < 2; ++m) {
    const auto member = static_cast<std::uint64_t>(m);
    engine->load(m, fresh_member(shape, initial_scaling(kept, 4, {}, study.train.loss),
                                 Rng(1).split("weights", 1).split("member", member)));
    jobs.push_back({m,
                    {std::as_const(inputs).view(), std::as_const(targets).view(), {}},
                    study.train,
                    Rng(1).split("order", 1).split("member", member)});
  }
  Observer quiet;
  engine->fit(jobs, quiet);
  const std::optional<Model> model = folder.read_networks(1);
  ASSERT_TRUE(model);
  for (int m = 0; m < 2; ++m)
    EXPECT_EQ(model->members[static_cast<std::size_t>(m)].weights, engine->save(m).weights) << m;

  const auto lines = folder.read_metrics();
  ASSERT_EQ(lines.size(), 2u);
  for (const JsonLine& line : lines) {
    ASSERT_NE(line.value.find("measured_on"), nullptr) << line.text;
    EXPECT_EQ(*line.value.find("measured_on")->text(), "validation");
    EXPECT_TRUE(std::isfinite(*line.value.find("rmse")->real()));
  }
  EXPECT_EQ(*lines[1].value.find("trajectories")->integer<std::size_t>(), held_back);
}

// Broken by: moments, a step count or fresh weights in the place of those of the last round; the
// weights in the place of the average, in the file or at the start; other rounds' order of rows.
TEST(LoopResults, AWarmStartGoesOnFromTheNetworksOfTheLastRound) {
  const TemporaryFolder temporary;
  const Study study =
      fake_study({"rounds=1", "warm_start=true", "train.steps=9", "train.average=0.9",
                  "keep_committees=all", "train.loss=physical"});
  ASSERT_EQ(drive_fake(study, temporary.path("run"), willing_solver(study)), LoopEnd::finished);
  const RunFolder folder(temporary.path("run"));
  const TransitionSet all = folder.read_transitions();
  const auto trained = [&](std::uint64_t round, std::size_t rows, std::vector<MemberState> start) {
    const std::size_t values = all.grid.values();
    States<float> inputs(all.grid, rows), targets(all.grid, rows);
    convert(std::span(all.inputs).first(rows * values), inputs.values());
    convert(std::span(all.outputs).first(rows * values), targets.values());
    const auto engine = make_cpu_engine(make_network(study.grid, study.network), 2, 1);
    std::vector<FitJob> jobs;
    for (int m = 0; m < 2; ++m) {
      const auto member = static_cast<std::uint64_t>(m);
      engine->load(m, start[member]);
      jobs.push_back({m,
                      {std::as_const(inputs).view(), std::as_const(targets).view(), {}},
                      study.train,
                      Rng(0).split("order", round).split("member", member)});
    }
    Observer quiet;
    engine->fit(jobs, quiet);
    return std::vector<MemberState>{engine->save(0), engine->save(1)};
  };
  const NetworkSpec shape = make_network(study.grid, study.network);
  std::vector<MemberState> start;
  for (std::uint64_t m : {0, 1})
    start.push_back(fresh_member(shape, initial_scaling(all, 4, {}, study.train.loss),
                                 Rng(0).split("weights", 0).split("member", m)));

  for (std::uint64_t round : {0, 1}) {
    SCOPED_TRACE(round);
    const std::vector<MemberState> end = trained(round, round == 0 ? 8 : 15, start);
    const std::optional<Model> model = folder.read_networks(round);
    ASSERT_TRUE(model);
    for (std::size_t m : {0, 1}) {
      EXPECT_EQ(model->members[m].weights, end[m].average);
      EXPECT_EQ(model->members[m].steps, 9);
      EXPECT_TRUE(model->members[m].average.empty());
      start[m] = {};
      start[m].scaling = end[m].scaling;
      start[m].weights = end[m].average;
    }
  }

  const ModelOrigin origin = folder.read_networks(0)->origin;

  // Not from a half-trained network, if the other one is gone.
  std::filesystem::rename(folder.committee_file(0), folder.training_file(0));
  std::filesystem::remove_all(folder.round_folder(1));
  test::expect_error(ErrorKind::data, "committee.safetensors is missing, but with study.warm_start",
                     [&] { drive_fake(study, temporary.path("run"), willing_solver(study)); });

  // Nor from networks of another family.
  Model other{.spec = make_network(study.grid, {.family = dilated({4, 1, {1}})}),
              .members = {},
              .origin = origin};
  for (int m = 0; m < 2; ++m)
    other.members.push_back(fresh_member(other.spec, unit_scaling(study.grid.channels), Rng(0)));
  write_model(folder.committee_file(0), other);
  test::expect_error(ErrorKind::data, "of the family dilated, but network.name is fno",
                     [&] { drive_fake(study, temporary.path("run"), willing_solver(study)); });
}

TEST(LoopResults, ExtractsOfTheLastRoundAreKept) {
  const TemporaryFolder temporary;
  const Study study = fake_study();
  const auto solver = willing_solver(study);
  ASSERT_EQ(drive_fake(study, temporary.path("run"), solver), LoopEnd::finished);

  const RunFolder folder(temporary.path("run"));
  const RunExtracts kept = folder.read_extracts();
  EXPECT_LT(std::filesystem::file_size(folder.extracts_file()), 8u << 20);
  EXPECT_EQ(kept.round, 2u);
  EXPECT_EQ(kept.states.equation, "far");
  EXPECT_EQ(kept.states.grid, study.grid);
  EXPECT_EQ(kept.extracts.times, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  ASSERT_EQ(kept.extracts.rollouts.size(), 3u);
  const auto problem = test::fake_problem(study, solver);
  for (const Extract& rollout : kept.extracts.rollouts) {
    std::vector<float> truth(5 * study.grid.values());
    const std::span<const double> exact = problem->test->states.values();
    convert(exact.subspan(rollout.trajectory * truth.size(), truth.size()), truth);
    EXPECT_EQ(rollout.truth, truth);
  }
  EXPECT_EQ(kept.extracts.calibration.trajectories, 3u);
}

// Broken by: a stop between two members that leaves the epochs of one, a cut that drops too little.
TEST(LoopResults, EveryEpochHasItsLossOnceHoweverOftenItStops) {
  const TemporaryFolder temporary;
  const Study study = fake_study();
  const auto solver = willing_solver(study);
  std::size_t stops = 0;
  for (bool finished = false; !finished; ++stops) {
    ASSERT_LT(stops, 300u);
    std::size_t left = 11 + 5 * stops;
    finished = drive_fake(study, temporary.path("run"), solver, [&] {
                 if (left > 0) --left;
                 return left == 0;
               }) == LoopEnd::finished;
  }
  ASSERT_EQ(drive_fake(study, temporary.path("whole"), solver), LoopEnd::finished);

  std::map<std::tuple<std::size_t, int, int>, double> losses, expected;
  const auto stopped = RunFolder(temporary.path("run")).read_losses();
  for (const Loss& loss : stopped) losses[{loss.round, loss.member, loss.epoch}] = loss.loss;
  for (const Loss& loss : RunFolder(temporary.path("whole")).read_losses())
    expected[{loss.round, loss.member, loss.epoch}] = loss.loss;
  EXPECT_GT(stops, 5u);
  EXPECT_EQ(stopped.size(), 3u * 2u * 4u);
  EXPECT_EQ(losses.size(), stopped.size());
  EXPECT_EQ(losses, expected);
}

// Broken by: a round 0 that is shared among trainings that differ, or not among those whose
// difference begins with round 1.
TEST(LoopResults, WhoTakesRoundZeroFromAnotherHasItsLossesToo) {
  const TemporaryFolder temporary;
  struct Counter : Observer {
    void epoch_done(const EpochDone& event) override { members.insert(event.member); }
    std::set<int> members;
  } counter;
  const Study first = fake_study({"rounds=0"}),
              second = fake_study({"rounds=0", "method=random", "warm_start=true"});
  const auto problem = test::fake_problem(first, willing_solver(first));
  test::Runs runs;
  runs.push_back(open_run(first, temporary.path("first"), problem, counter));
  runs.push_back(open_run(second, temporary.path("second"), problem, counter));
  for (const char* other : {"train.steps=8", "train.average=0.5"})
    runs.push_back(
        open_run(fake_study({"rounds=0", other}), temporary.path(other), problem, counter));

  ASSERT_EQ(run_loop(runs, 1, counter), LoopEnd::finished);

  EXPECT_EQ(counter.members, (std::set<int>{0, 1, 4, 5, 6, 7}));
  EXPECT_NE(runs[0].members[0].weights, runs[2].members[0].weights);
  EXPECT_NE(runs[0].members[0].weights, runs[3].members[0].weights);
  EXPECT_EQ(runs[0].members, runs[1].members);
  EXPECT_EQ(runs[1].folder.read_losses().size(), 2u * 4u);
  EXPECT_EQ(test::content(runs[0].folder.losses_file()),
            test::content(runs[1].folder.losses_file()));
}

// Channels far from 0, one that does not vary; what was bought later, the states between two steps
// and candidates that are left out must not count twice or at all.
TEST(InitialScaling, IsMeanAndDeviationOfTheInitialTrajectories) {
  // Two trajectories of two steps on 2 channels x 2 points: states s, values 100 s + channel, ...
  TransitionSet set{.grid = make_grid(2, {2}, {1.0}), .acquisitions = 2};
  std::vector<double> counted;  // of channel 0
  const auto state = [](double s) { return std::vector<double>{1000 + s, 1001 + 3 * s, 7, 7}; };
  const auto add = [&](std::size_t acquisition, std::size_t candidate, std::size_t step, double s) {
    set.origins.push_back({acquisition, candidate, step});
    for (double v : state(s)) set.inputs.push_back(v);
    for (double v : state(s + 1)) set.outputs.push_back(v);
  };
  add(0, 4, 0, 0);
  add(0, 4, 1, 1);
  add(0, 9, 0, 10);
  add(0, 9, 1, 11);
  add(0, 5, 0, 500);
  add(0, 5, 1, 501);
  add(1, 6, 0, 900);
  for (double s : {0.0, 1.0, 2.0, 10.0, 11.0, 12.0}) {
    counted.push_back(1000 + s);
    counted.push_back(1001 + 3 * s);
  }
  long double sum = 0, squares = 0;
  for (double v : counted) sum += v;
  const long double mean = sum / 12;
  for (double v : counted) squares += (v - mean) * (v - mean);

  const auto is_left_out = [](std::size_t candidate) { return candidate == 5; };
  const Scaling scaling = initial_scaling(set, 2, is_left_out, FitOptions::Loss::physical);

  // Both are rounded to float once, from doubles that are right to a few parts in 1e16.
  constexpr float kRounding = 2 * std::numeric_limits<float>::epsilon();
  const auto deviation = static_cast<float>(std::sqrt(squares / 12));
  EXPECT_NEAR(scaling.mean.at(0), static_cast<float>(mean), 1000 * kRounding);
  EXPECT_NEAR(scaling.deviation.at(0), deviation, deviation * kRounding);
  EXPECT_EQ(scaling.mean.at(1), 7.0f);
  EXPECT_EQ(scaling.deviation.at(1), 1.0f);
  // Where units must not matter, what does not vary is counted in its own size.
  const Scaling scaled = initial_scaling(set, 2, is_left_out, FitOptions::Loss::scaled);
  EXPECT_EQ(scaled.deviation.at(0), scaling.deviation.at(0));
  EXPECT_EQ(scaled.deviation.at(1), 7.0f);
}

// Two channels of two points; the states before and after three steps, of which the last is left
// out. Channel a changes by 3, 3, 4 and 4, b by 0.01 at each point. Mutation: deviations about the
// mean change, points of both channels together, or a weight in the place of its root.
TEST(LossFactors, AreOfChangesDeviationsAndWeights) {
  TransitionSet set{.grid = make_grid(2, {2}, {1.0}), .acquisitions = 2};
  set.origins = {{0, 0, 0}, {0, 1, 0}, {1, 2, 0}};
  set.inputs = {1, 2, 5, 5, 1, 1, 7, 7, 0, 0, 0, 0};
  set.outputs = {4, 5, 5.01, 5.01, 5, 5, 7.01, 7.01, 9, 9, 9, 9};
  const Scaling scaling{{0, 0}, {10, 2}};
  FitOptions scaled, physical;
  physical.loss = FitOptions::Loss::physical;

  // Where the second point is masked, the first alone counts.
  const SharedFixedFields half = make_fixed_fields(set.grid, {{1, 0}, {}});
  EXPECT_DOUBLE_EQ(initial_changes(set, {}, half.get())[0], std::sqrt((9 + 16) / 2.0));
  const Scaling first_point = initial_scaling(set, 9, {}, FitOptions::Loss::scaled, half.get());
  EXPECT_EQ(first_point.mean.at(1), 6.0f);  // of 5 and 7
  EXPECT_EQ(first_point.deviation.at(1), 1.0f);

  const std::vector<double> changes = initial_changes(set);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_DOUBLE_EQ(changes[0], std::sqrt((9 + 9 + 16 + 16) / 4.0));
  EXPECT_NEAR(changes[1], 0.01, 1e-15);
  EXPECT_DOUBLE_EQ(initial_changes(set, [](std::size_t c) { return c == 0; })[0], 4.0);

  // Of a, 0.354 of its deviation; b, which changes by 0.005 of its own, counts as if by a tenth of
  // that. Where a state is predicted the deviation itself counts.
  const auto near = [](const std::vector<float>& found, double a, double b) {
    EXPECT_NEAR(found.at(0), a, 1e-6 * a);
    EXPECT_NEAR(found.at(1), b, 1e-6 * b);
  };
  near(loss_factors(scaled, scaling, changes), 1 / changes[0], 1 / (0.1 * changes[0] / 10 * 2));
  near(loss_factors(scaled, scaling, {}), 0.1, 0.5);
  near(loss_factors(scaled, scaling, std::vector<double>{0, 0}), 0.1, 0.5);
  near(loss_factors(physical, scaling, changes), 1, 1);
  scaled.channel_weights = physical.channel_weights = {4, 9};
  near(loss_factors(scaled, scaling, {}), 0.2, 1.5);
  near(loss_factors(physical, scaling, changes), 2, 3);
}

TEST(Scaling, RefusesWhatSinglePrecisionDoesNotHold) {
  TransitionSet set{.grid = make_grid(1, {2}, {1.0}), .acquisitions = 1};
  set.origins.push_back({0, 0, 0});
  set.inputs = {1e-33, 2e-33};
  set.outputs = {1e-33, 3e-33};

  test::expect_error(ErrorKind::data,
                     "channel 0 of the initial trajectories has a deviation of 8.3e-34",
                     [&] { initial_scaling(set, 1); });
}

}  // namespace
}  // namespace stap
