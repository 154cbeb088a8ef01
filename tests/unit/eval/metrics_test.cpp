#include "stap/eval/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "reference/metrics.h"
#include "stap/core/error.h"
#include "support/engine_under_test.h"
#include "support/function_committee.h"
#include "support/networks.h"

namespace stap {
namespace {

using test::FunctionCommittee;
using test::random_states;

constexpr double kDivergedError = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

FunctionCommittee::Function plus(float shift) {
  return [shift](float value, double) { return value + shift; };
}

// Trajectories that stand still at the given values, one point and channel per state.
States<float> still(const std::vector<float>& values, std::size_t times) {
  States<float> states(make_grid(1, {1}, {1.0}), values.size() * times);
  for (std::size_t row = 0; row < states.count(); ++row) states.row(row)[0] = values[row / times];
  return states;
}

// Mutation: a masked point in a sum, or in what a mean divides by.
TEST(Metrics, OfMaskedPointsNothingCounts) {
  const NetworkSpec plain = test::small_shape({6}, {4}, 2);
  const NetworkSpec spec = test::with_padding(plain, {}, {}, {}, test::with_hole(plain.grid));
  const auto engine = test::make_engine_under_test(spec, 2, 1);
  for (int m : {0, 1}) engine->load(m, fresh_member(spec, test::some_scaling(2), Rng(5 + m)));
  const auto committee = engine->committee({0, 1});
  States<float> states = random_states(spec.grid, 3 * 4, Rng(1));
  const Metrics first = evaluate(*committee, {states.view(), 4});
  for (std::size_t row = 0; row < states.count(); ++row)
    for (std::size_t v = 0; v < 12; ++v)
      if (spec.fixed->mask[v % 6] == 0) states.row(row)[v] = 1e3f;

  const Metrics second = evaluate(*committee, {states.view(), 4});

  EXPECT_EQ(first, second);
  EXPECT_EQ(first.points, 4u);
}

// Two steps of one trajectory on two points: u = (3, 4) always; the member adds 1 per step, so that
// e = 1 at step 1 and e = 2 at step 2 at both points.
TEST(Metrics, OneTrajectoryByHand) {
  States<float> states(make_grid(1, {2}, {1.0}), 3);
  for (std::size_t t = 0; t < 3; ++t) {
    states.row(t)[0] = 3;
    states.row(t)[1] = 4;
  }
  FunctionCommittee committee(states.grid(), {plus(1)});

  const Metrics metrics = evaluate(committee, {states.view(), 3});

  EXPECT_EQ(metrics.trajectories, 1u);
  EXPECT_EQ(metrics.members, 1u);
  EXPECT_EQ(metrics.steps, 2u);
  EXPECT_EQ(metrics.points, 2u);
  EXPECT_EQ(metrics.diverged, 0u);
  // sum e^2 = 2 (1 + 4) = 10, L Nx = 4, sum u^2 = 2 (9 + 16) = 50.
  EXPECT_DOUBLE_EQ(metrics.rmse, std::sqrt(10.0 / 4.0));
  EXPECT_DOUBLE_EQ(metrics.nrmse, std::sqrt(10.0 / 50.0));
  EXPECT_DOUBLE_EQ(metrics.mae, 1.5);
  EXPECT_DOUBLE_EQ(metrics.rmse_q50, metrics.rmse);
  EXPECT_DOUBLE_EQ(metrics.rmse_q99, metrics.rmse);
  EXPECT_EQ(metrics.rmse_by_step, (std::vector<double>{1, 2}));
  // ||e|| / (L - 1) = sqrt(10) / 1.
  EXPECT_DOUBLE_EQ(metrics.to_published(metrics.rmse), std::sqrt(10.0));
  EXPECT_EQ(committee.blocks_in_use(), 0u);
}

// One member doubles, so that e = u and 3 u and the RMSE is sqrt(5) u; one keeps, whose RMSE is 0;
// the mean model multiplies by 1.5, with e = 0.5 u and 1.25 u. Of 1, 2, 6 the standard deviation is
// sqrt(7). Breaking mutation: the deviation over all (trajectory, member) pairs, which is larger.
TEST(Metrics, TheStandardErrorIsOverTrajectories) {
  const States<float> states = still({1, 2, 6}, 3);
  FunctionCommittee committee(states.grid(),
                              {[](float value, double) { return 2 * value; }, plus(0)});

  const Metrics metrics = evaluate(committee, {states.view(), 3});

  EXPECT_DOUBLE_EQ(metrics.rmse_standard_error, std::sqrt(5.0 * 7 / 3) / 2);
  EXPECT_DOUBLE_EQ(metrics.mean_model.rmse_standard_error, std::sqrt((0.25 + 1.5625) / 2 * 7 / 3));
  // Of one trajectory nothing is known about others.
  EXPECT_EQ(evaluate(committee, {states.view().rows(0, 3), 3}).rmse_standard_error, kDivergedError);
}

// Members add 1 and 3 a step, so the mean model adds 2: e = 2 and 4, where the members have e = 1
// and 2, and 3 and 6. Breaking mutation: the mean of the members' errors, which is (1 + 3) / 2 = 2
// at step 1 as well, but here members and mean are told apart by a member that subtracts.
TEST(Metrics, TheMeanModelIsRolledOutByItself) {
  const States<float> states = still({5, 7}, 3);
  FunctionCommittee alike(states.grid(), {plus(1), plus(3)});
  FunctionCommittee opposed(states.grid(), {plus(1), plus(-1)});

  const Metrics same_sign = evaluate(alike, {states.view(), 3});
  const Metrics cancelling = evaluate(opposed, {states.view(), 3});

  EXPECT_EQ(same_sign.mean_model.rmse_by_step, (std::vector<double>{2, 4}));
  EXPECT_DOUBLE_EQ(same_sign.mean_model.rmse, std::sqrt((4.0 + 16.0) / 2.0));
  EXPECT_EQ(cancelling.rmse_by_step, (std::vector<double>{1, 2}));
  EXPECT_EQ(cancelling.mean_model.rmse_by_step, (std::vector<double>{0, 0}));
  EXPECT_EQ(cancelling.mean_model.diverged, 0u);
}

// Channels add up in RMSE and are averaged over in MAE: with three of them and e = 2 everywhere,
// RMSE = sqrt(3 4) and MAE = 2.
TEST(Metrics, ChannelsAddInRmseAndAverageInMae) {
  const States<float> states(make_grid(3, {2, 2}, {1.0, 1.0}), 2);
  FunctionCommittee committee(states.grid(), {plus(2)});

  const Metrics metrics = evaluate(committee, {states.view(), 2});

  EXPECT_EQ(metrics.points, 4u);
  EXPECT_DOUBLE_EQ(metrics.rmse, std::sqrt(12.0));
  EXPECT_DOUBLE_EQ(metrics.mae, 2.0);
}

// Of two channels one is small: both are off by half a unit at every point and step, of 2 and of
// 0.25. A rollout that is not finite is so in all of its channels. Mutation: channels of another
// order, or the other channel's size.
TEST(Metrics, ErrorsOfEachChannel) {
  States<float> states(make_grid(2, {3}, {1.0}), 2);
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t p = 0; p < 3; ++p) {
      states.row(t)[p] = 2.0f;
      states.row(t)[3 + p] = 0.25f;
    }
  FunctionCommittee committee(states.grid(), {plus(0.5), plus(-0.5)});
  FunctionCommittee lost(states.grid(),
                         {[](float v, double) { return v < 1 ? v : std::sqrt(-v); }});

  const Metrics metrics = evaluate(committee, {states.view(), 2});
  const Metrics none = evaluate(lost, {states.view(), 2});

  EXPECT_EQ(metrics.rmse_by_channel, (std::vector{0.5, 0.5}));
  EXPECT_EQ(metrics.nrmse_by_channel, (std::vector{0.25, 2.0}));
  EXPECT_EQ(metrics.mean_model.rmse_by_channel, (std::vector{0.0, 0.0}));
  EXPECT_EQ(none.rmse_by_channel, (std::vector{kDivergedError, kDivergedError}));
  const config::Value written = to_value(metrics);
  EXPECT_EQ(written.find("nrmse_by_channel")->list()->at(1).real(), 2.0);
  EXPECT_EQ(written.find("mean_model")->find("rmse_by_channel")->list()->size(), 2u);
}

// Members' errors are averaged, not the error of their average: +1 and -1 do not cancel.
TEST(Metrics, AveragesOverMembersAndTrajectories) {
  const States<float> states = still({1, 2, 4}, 2);
  FunctionCommittee committee(states.grid(), {plus(1), plus(-1), plus(4)});

  const Metrics metrics = evaluate(committee, {states.view(), 2});

  EXPECT_DOUBLE_EQ(metrics.rmse, 2.0);
  EXPECT_DOUBLE_EQ(metrics.mae, 2.0);
  // Mean over members of |shift|, over trajectories of 1/|u| (1, 1/2, 1/4).
  EXPECT_DOUBLE_EQ(metrics.nrmse, 2.0 * 1.75 / 3.0);
}

TEST(Metrics, QuantilesAreTakenOverTrajectoriesThenAveraged) {
  // Doubling makes the errors 1, 2, 3, 4, 5; tripling 2, 4, ..., 10.
  const States<float> states = still({5, 1, 4, 2, 3}, 2);
  FunctionCommittee committee(states.grid(), {[](float v, double) { return 2 * v; },
                                              [](float v, double) { return 3 * v; }});

  const Metrics metrics = evaluate(committee, {states.view(), 2});

  EXPECT_DOUBLE_EQ(metrics.rmse_q50, (3.0 + 6.0) / 2);
  EXPECT_DOUBLE_EQ(metrics.rmse_q95, (4.8 + 9.6) / 2);
  EXPECT_DOUBLE_EQ(metrics.rmse_q99, (4.96 + 9.92) / 2);
}

// Values of numpy.quantile([1, 2, 4, 8], [0, .5, .95, .99, 1]) by hand: positions 0, 1.5, 2.85,
// 2.97, 3.
TEST(Quantile, IsLinearBetweenOrderStatistics) {
  const std::vector<double> values{8, 1, 4, 2};

  EXPECT_EQ(quantile(values, 0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(values, 50), 3.0);
  EXPECT_DOUBLE_EQ(quantile(values, 95), 4 + 0.85 * 4);
  EXPECT_DOUBLE_EQ(quantile(values, 99), 4 + 0.97 * 4);
  EXPECT_EQ(quantile(values, 100), 8.0);
  EXPECT_EQ(quantile({7}, 95), 7.0);
  EXPECT_THROW(quantile({}, 50), Error);
}

TEST(Quantile, InfiniteValuesSortLast) {
  // 101 values 0 .. 99 and infinity: the 99 % quantile is exactly the largest finite one.
  std::vector<double> values{kDivergedError};
  for (int i = 0; i < 100; ++i) values.push_back(i);

  EXPECT_EQ(quantile(values, 99), 99.0);
  EXPECT_EQ(quantile(values, 100), kDivergedError);
  EXPECT_EQ(quantile({1, kDivergedError}, 50), kDivergedError);
  EXPECT_EQ(quantile({1, 2, kDivergedError}, 50), 2.0);
  EXPECT_EQ(quantile({1, kDivergedError, kDivergedError, kDivergedError}, 95), kDivergedError);
}

// The first member loses trajectory 1 (above 3) at its second step; it comes back to finite numbers
// at the third, which must not make it good again.
TEST(Metrics, ADivergedTrajectoryHasInfiniteError) {
  const States<float> states = still({1, 3, 1, 1, 1}, 4);
  const auto loses = [](float value, double time) {
    if (value > 3.5f) return kNan;
    return std::isnan(value) ? 3.0f : value + static_cast<float>(time > -1);
  };
  FunctionCommittee committee(states.grid(), {loses, plus(1)});

  const Metrics metrics = evaluate(committee, {states.view(), 4});

  EXPECT_EQ(metrics.diverged, 1u);
  EXPECT_EQ(metrics.rmse, kDivergedError);
  EXPECT_EQ(metrics.nrmse, kDivergedError);
  EXPECT_EQ(metrics.mae, kDivergedError);
  // e = 1, 2, 3 for the others: RMSE = sqrt(14/3).
  EXPECT_DOUBLE_EQ(metrics.rmse_q50, std::sqrt(14.0 / 3.0));
  EXPECT_EQ(metrics.rmse_q99, kDivergedError);
  EXPECT_EQ(metrics.rmse_by_step, (std::vector<double>{1, kDivergedError, kDivergedError}));
  EXPECT_EQ(metrics.to_published(metrics.rmse), kDivergedError);
}

TEST(Metrics, AnInfinitePredictionCountsAsDiverged) {
  const States<float> states = still({1}, 2);
  FunctionCommittee committee(
      states.grid(), {[](float, double) { return std::numeric_limits<float>::infinity(); }});

  const Metrics metrics = evaluate(committee, {states.view(), 2});

  EXPECT_EQ(metrics.diverged, 1u);
  EXPECT_EQ(metrics.rmse_q50, kDivergedError);
}

// Huge but finite predictions are errors, not divergence: sums are in double.
TEST(Metrics, HugeFinitePredictionsStayFinite) {
  const States<float> states = still({1}, 2);
  FunctionCommittee committee(states.grid(), {[](float, double) { return 3e38f; }});

  const Metrics metrics = evaluate(committee, {states.view(), 2});

  EXPECT_EQ(metrics.diverged, 0u);
  EXPECT_NEAR(metrics.rmse / 3e38, 1.0, 1e-6);  // 3e38f is 3e38 to float precision
}

// Whatever is predicted: it is no divergence, and no number.
TEST(Metrics, ZeroTruthHasNoRelativeError) {
  const States<float> states = still({0}, 2);
  FunctionCommittee right(states.grid(), {plus(0)}), wrong(states.grid(), {plus(1)});

  for (FunctionCommittee* committee : {&right, &wrong}) {
    const Metrics metrics = evaluate(*committee, {states.view(), 2});
    EXPECT_TRUE(std::isnan(metrics.nrmse));
    EXPECT_TRUE(std::isnan(metrics.mean_model.nrmse));
    EXPECT_EQ(metrics.diverged, 0u);
    EXPECT_TRUE(std::isfinite(metrics.rmse));
    EXPECT_NE(to_json_line(metrics).find("\"nrmse\":null"), std::string::npos);
  }
}

// Of three trajectories 0, 4 and 2: errors of 1 are 1/4 and 1/2 of the two that are something.
TEST(Metrics, ATrajectoryOfZerosIsLeftOutOfRelativeErrors) {
  const States<float> states = still({0, 4, 2}, 2);
  FunctionCommittee committee(states.grid(), {plus(1)});

  EXPECT_DOUBLE_EQ(evaluate(committee, {states.view(), 2}).nrmse, (0.25 + 0.5) / 2);
}

TEST(Metrics, TimeRunsOverZeroToOne) {
  const States<float> states = still({0, 0, 0}, 5);
  std::vector<double> times;
  FunctionCommittee committee(states.grid(), {[&](float value, double time) {
                                times.push_back(time);
                                return value;
                              }},
                              4);

  evaluate(committee, {states.view(), 5}, 3);

  // The member by itself, then as the mean model.
  std::vector<double> once{0, 0, 0, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75};
  std::vector<double> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(times, twice);
}

// Single steps out of longer trajectories: each has a time of its own, in every block.
TEST(Metrics, CallsMayHaveTimesOfTheirOwn) {
  const States<float> states = still({0, 0, 0}, 2);
  FunctionCommittee committee(states.grid(),
                              {[](float, double time) { return static_cast<float>(time); }}, 4);
  const std::vector<std::uint32_t> steps{1, 3, 2};

  const Metrics metrics = evaluate(committee, {states.view(), 2, 1, {steps}}, 2);

  // e is the time itself
  EXPECT_EQ(metrics.mean_model_by_trajectory, (std::vector<double>{0.25, 0.75, 0.5}));
  const std::vector<std::uint32_t> few{1};
  EXPECT_THROW(evaluate(committee, {states.view(), 2, 1, {few}}), Error);
}

TEST(Metrics, TestsThatDoNotFitAreRefused) {
  const States<float> states = still({1, 2}, 3);
  FunctionCommittee committee(states.grid(), {plus(0)});
  FunctionCommittee other(make_grid(1, {2}, {1.0}), {plus(0)});
  const States<float> gap = still({1, kNan}, 3);
  const auto message = [](Committee& with, const TrajectoriesView& test) -> std::string {
    try {
      evaluate(with, test);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      return error.what();
    }
    return "";
  };

  EXPECT_NE(message(other, {states.view(), 3}).find("1 x 2"), std::string::npos);
  EXPECT_NE(message(committee, {states.view(), 1}).find("at least 2"), std::string::npos);
  EXPECT_NE(message(committee, {states.view(), 4}).find("whole"), std::string::npos);
  EXPECT_NE(message(committee, {states.view().rows(0, 0), 3}).find("at least one"),
            std::string::npos);
  EXPECT_NE(message(committee, {gap.view(), 3}).find("trajectory 1"), std::string::npos);
}

// Golden: what must be added to a published log RMSE (spec: Burgers and KdV, KS, INS and CNS).
TEST(Metrics, PublishedScale) {
  const auto shift = [](std::size_t steps, std::size_t points, std::size_t cluster = 1) {
    Metrics metrics;
    metrics.steps = steps;
    metrics.points = points;
    metrics.cluster = cluster;
    return -std::log(metrics.to_published(1.0));
  };

  // Stated to three decimals.
  EXPECT_NEAR(shift(13, 256), -1.570, 5e-4);
  EXPECT_NEAR(shift(26, 256), -1.183, 5e-4);
  EXPECT_NEAR(shift(26, 1024), -1.876, 5e-4);
  EXPECT_EQ(shift(1, 4), -kDivergedError);
  // Clusters: 13 of 8 steps, sqrt(104 * 256) / 12; one alone has no such scale.
  EXPECT_NEAR(shift(104, 256, 8), -2.610, 5e-4);
  EXPECT_EQ(shift(8, 4, 8), -kDivergedError);
}

// Real networks against the plain twin, and the block must not show. Breaking mutations: a sum kept
// per block, a remainder block forgotten, members mixed up.
TEST(Metrics, NetworksAgreeWithTheTwinForEveryBlock) {
  NetworkSpec shape = test::small_shape({6, 4}, {4, 4}, 2, 5, 7, true);
  shape.horizon = 3;
  const std::size_t count = 7, steps = 3, times = steps + 1, members = 2;
  const auto engine = test::make_engine_under_test(shape, 2, 1);
  for (int m = 0; m < 2; ++m)
    engine->load(m, fresh_member(shape, test::some_scaling(2),
                                 Rng(5).split("member", static_cast<std::uint64_t>(m))));
  const auto committee = engine->committee({0, 1});
  const States<float> truth = random_states(shape.grid, count * times, Rng(6));
  const auto rollout_of = [&](auto&& state_at) {
    reference::Rollout rollout(steps, {std::vector<double>(24), std::vector<double>(24)});
    for (std::size_t t = 0; t < steps; ++t) {
      const std::span<const float> state = state_at(t);
      for (std::size_t k = 0; k < 48; ++k)
        rollout[t][k / 24][k % 24] = static_cast<double>(state[k]);
    }
    return rollout;
  };

  double rmse = 0, nrmse = 0, mae = 0, q50 = 0, q95 = 0, q99 = 0;
  std::vector<double> by_step(steps, 0.0);
  for (int m = 0; m < 2; ++m) {
    std::vector<double> all;
    for (std::size_t b = 0; b < count; ++b) {
      States<float> predicted(shape.grid, times);
      std::copy_n(truth.row(b * times).begin(), 48, predicted.row(0).begin());
      const RowsId rows = committee->rows(1);
      committee->put(rows, 0, predicted.view().rows(0, 1));
      for (std::size_t t = 0; t < steps; ++t) {
        const std::size_t zero[] = {0};
        const int member[] = {m};
        committee->advance(rows, zero, member, rows, zero);
        committee->get(rows, 0, predicted.view().rows(t + 1, 1));
      }
      committee->release(rows);
      const reference::Errors errors = reference::errors_of(
          rollout_of([&](std::size_t t) { return std::as_const(predicted).row(t + 1); }),
          rollout_of([&](std::size_t t) { return truth.row(b * times + t + 1); }));
      const double share = 1.0 / static_cast<double>(count * members);
      rmse += errors.rmse * share;
      nrmse += errors.nrmse * share;
      mae += errors.mae * share;
      for (std::size_t t = 0; t < steps; ++t) by_step[t] += errors.by_step[t] * share;
      all.push_back(errors.rmse);
    }
    q50 += reference::quantile_of(all, 0.50) / 2;
    q95 += reference::quantile_of(all, 0.95) / 2;
    q99 += reference::quantile_of(all, 0.99) / 2;
  }
  const Metrics whole = evaluate(*committee, {truth.view(), times});

  // Sums of a few hundred numbers of the same sign, in another order.
  const double tolerance = 1e-13;
  EXPECT_NEAR(whole.rmse, rmse, tolerance * rmse);
  EXPECT_NEAR(whole.nrmse, nrmse, tolerance * nrmse);
  EXPECT_NEAR(whole.mae, mae, tolerance * mae);
  EXPECT_NEAR(whole.rmse_q50, q50, tolerance * q50);
  EXPECT_NEAR(whole.rmse_q95, q95, tolerance * q95);
  EXPECT_NEAR(whole.rmse_q99, q99, tolerance * q99);
  for (std::size_t t = 0; t < steps; ++t)
    EXPECT_NEAR(whole.rmse_by_step[t], by_step[t], tolerance * by_step[t]);
  for (const std::size_t block : {1u, 3u, 7u, 100u})
    for (int threads : {1, 3})
      EXPECT_EQ(evaluate(*committee, {truth.view(), times}, block, nullptr, threads), whole)
          << block << " " << threads;
}

TEST(Metrics, ThreadsDoNotShow) {
  const NetworkSpec shape = test::small_shape({16}, {8});
  const States<float> truth = random_states(shape.grid, 40, Rng(6));
  const auto with = [&](int threads) {
    const auto engine = test::make_engine_under_test(shape, 1, threads);
    engine->load(0, fresh_member(shape, unit_scaling(1), Rng(5)));
    return evaluate(*engine->committee({0}), {truth.view(), 4});
  };

  EXPECT_EQ(with(1), with(3));
}

TEST(Metrics, ProgressEndsAtItsTotal) {
  struct Last : Observer {
    void progress(const Progress& event) override {
      EXPECT_EQ(event.phase, "evaluate");
      EXPECT_GT(event.done, done);
      done = event.done;
      total = event.total;
    }
    std::size_t done = 0, total = 0;
  } last;
  const States<float> states = still({1, 2, 3, 4, 5}, 4);
  FunctionCommittee committee(states.grid(), {plus(1), plus(2)});

  evaluate(committee, {states.view(), 4}, 2, &last);

  EXPECT_EQ(last.total, 45u);
  EXPECT_EQ(last.done, 45u);
}

TEST(Metrics, JsonLineHasTheHeadFirstAndNullForInfinite) {
  Metrics metrics;
  static_cast<Errors&>(metrics) = {.rmse = kDivergedError,
                                   .nrmse = 0.1,
                                   .mae = 1e-7,
                                   .rmse_q50 = 0.5,
                                   .rmse_q95 = 2,
                                   .rmse_q99 = kDivergedError,
                                   .rmse_standard_error = 0.125,
                                   .rmse_by_step = {0.25, kDivergedError},
                                   .diverged = 1};
  metrics.trajectories = 3;
  metrics.members = 2;
  metrics.steps = 5;
  metrics.points = 20;
  metrics.mean_model.rmse = 1;
  config::Value head;
  head.set("round", 4);

  const std::string line = to_json_line(metrics, head);

  // sqrt(L Nx) / (L - 1) = 10 / 4.
  EXPECT_EQ(line,
            R"({"round":4,"trajectories":3,"members":2,"steps":5,"points":20,"diverged":1,)"
            R"("rmse":null,"rmse_q50":0.5,"rmse_q95":2.0,"rmse_q99":null,)"
            R"("rmse_published":null,"rmse_q50_published":1.25,"rmse_q95_published":5.0,)"
            R"("rmse_q99_published":null,"rmse_standard_error":0.125,"nrmse":0.1,"mae":1e-07,)"
            R"("rmse_by_step":[0.25,null],)"
            R"("mean_model":{"diverged":0,"rmse":1.0,"rmse_q50":0.0,"rmse_q95":0.0,)"
            R"("rmse_q99":0.0,"rmse_published":2.5,"rmse_q50_published":0.0,)"
            R"("rmse_q95_published":0.0,"rmse_q99_published":0.0,"rmse_standard_error":0.0,)"
            R"("nrmse":0.0,"mae":0.0,"rmse_by_step":[]}})");
}

// Breaking mutation: fewer digits than a double needs.
TEST(Metrics, JsonNumbersReadBackAsTheSameNumber) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const double number = std::exp(20 * Rng(3).normal(i));

    Metrics metrics;
    metrics.rmse = number;
    const auto line = nlohmann::json::parse(to_json_line(metrics));

    EXPECT_EQ(line.at("rmse").get<double>(), number);
  }
}

}  // namespace
}  // namespace stap
