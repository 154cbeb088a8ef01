#include "stap/eval/error_bars.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "stap/core/rng.h"
#include "stap/eval/coverage.h"
#include "stap/eval/predicted_bars.h"
#include "support/function_committee.h"
#include "support/networks.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::expect_error;
using test::FunctionCommittee;

constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<double> kFloor{1e-6};

FunctionCommittee::Function adding(float shift) {
  return [shift](float value, double) { return value + shift; };
}

// n trajectories of `times` states of two points, all 0.
struct Still {
  States<float> states;
  TrajectoriesView view;
  Still(std::size_t n, std::size_t times)
      : states(make_grid(1, {2}, {1.0}), n * times), view{states.view(), times} {}
};

// Of n scores the ceil((n + 1) level)-th smallest: the ninth of nine, the 18th of 19.
TEST(ConformalQuantile, ByHand) {
  const auto up_to = [](std::size_t n) {
    std::vector<double> scores(n);
    std::iota(scores.rbegin(), scores.rend(), 1.0);  // falling: they need not be sorted
    return scores;
  };

  EXPECT_EQ(conformal_quantile(up_to(9), 1, 0.9), 9);
  EXPECT_EQ(conformal_quantile(up_to(9), 1, 0.8), 8);
  EXPECT_EQ(conformal_quantile(up_to(19), 1, 0.9), 18);
  EXPECT_EQ(conformal_quantile(up_to(10), 1, 0.5), 6);
  EXPECT_EQ(conformal_quantile(up_to(1), 1, 0.5), 1);
  // Four trajectories with two scores each: five times two times a half.
  EXPECT_EQ(conformal_quantile(up_to(8), 2, 0.5), 5);
  EXPECT_EQ(conformal_quantile({3, kInf, 1, 2}, 1, 0.6), 3);
  EXPECT_EQ(conformal_quantile({3, kInf, 1, 2}, 1, 0.8), kInf);
}

TEST(ConformalQuantile, SaysWhichLevelsAreAllowed) {
  expect_error(ErrorKind::config,
               "8 trajectories allow levels up to 0.8888, not 0.9: take 9 at least",
               [] { conformal_quantile(std::vector<double>(8), 1, 0.9); });
  expect_error(ErrorKind::config, "take 99 at least", [] { check_level(98, 0.99); });
  check_level(99, 0.99);
  for (const double level : {0.0, 1.0, -1.0, std::nan("")})
    expect_error(ErrorKind::config, "between 0 and 1", [&] { check_level(100, level); });
}

// Members at 1 and 3 at the first point, 2 and 2 at the second: spreads 1 and 0, so that of the
// field is sqrt(1/2).
TEST(BarScales, ByHand) {
  const std::vector<float> a{1, 2}, b{3, 2};
  const std::vector<std::span<const float>> members{a, b};

  const BarScales scales = bar_scales(members, kFloor);

  EXPECT_DOUBLE_EQ(scales.scales[0], std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(scales.scales[1], std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(scales.points[0], std::sqrt(1.5));
  EXPECT_DOUBLE_EQ(scales.points[1], std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(scales.scales[2], 1.0);
}

TEST(BarScales, WithoutSpreadTheFloorCounts) {
  const std::vector<float> one{5, 5, 7, 7};
  const std::vector<double> floor{0.3, 0.4};
  const std::vector<std::span<const float>> alone{one}, equal{one, one};

  for (const auto& members : {alone, equal}) {
    const BarScales scales = bar_scales(members, floor);

    EXPECT_DOUBLE_EQ(scales.scales[0], 0.5);
    EXPECT_DOUBLE_EQ(scales.scales[1], 0.3);
    EXPECT_DOUBLE_EQ(scales.scales[2], 0.4);
    EXPECT_DOUBLE_EQ(scales.points[3], 0.4);
  }
}

TEST(BarScales, InfiniteWhereAMemberIsNotFinite) {
  for (const float bad : {INFINITY, NAN}) {
    const std::vector<float> a{1, bad}, b{1, 2};
    const std::vector<std::span<const float>> members{a, b};

    const BarScales scales = bar_scales(members, kFloor);

    for (const double scale : scales.scales) EXPECT_EQ(scale, kInf);
    EXPECT_EQ(scales.points[0], kInf);
  }
}

// Members that add 1 and 3, truth that stands still: after i steps their mean is off by 2 i and
// their spread is i, so every score is 2, and that of a band 2 i / (i sqrt 2).
TEST(BarTrials, ScoresFromEveryStartByHand) {
  const Still still(3, 4);
  FunctionCommittee committee(still.states.grid(), {adding(1), adding(3)});

  const BarTrials trials = try_bars(committee, still.view, kFloor, 2);

  EXPECT_EQ(trials.starts(), 3u);
  for (std::size_t start = 0; start < 3; ++start)
    for (std::size_t step = 0; step < 3; ++step)
      for (std::size_t b = 0; b < 3; ++b) {
        const bool there = step < 3 - start;
        const double i = static_cast<double>(step + 1);
        EXPECT_DOUBLE_EQ(trials.scores[trials.at(start, 0, step) + b], there ? 2 : 0);
        EXPECT_DOUBLE_EQ(trials.scores[trials.at(start, 1, step) + b], there ? 2 : 0);
        EXPECT_DOUBLE_EQ(trials.scores[trials.at(start, 2, step) + b], there ? std::sqrt(2) : 0);
        EXPECT_DOUBLE_EQ(trials.scales[trials.at(start, 0, step) + b], there ? i : 0);
      }
  EXPECT_EQ(committee.blocks_in_use(), 0u);
}

// Networks that are told the time: a start is told that of its state. Truth u(t) = t(t+1)/2 is what
// adding the step's number makes, so every rollout is exact from every start.
TEST(BarTrials, StartsKnowTheirTime) {
  States<float> truth(make_grid(1, {2}, {1.0}), 4);
  for (std::size_t t = 0; t < 4; ++t)
    for (float& value : truth.row(t)) value = static_cast<float>(t * (t + 1) / 2);
  const auto step = [](float value, double time) {
    return value + static_cast<float>(time * 4) + 1;
  };
  FunctionCommittee committee(truth.grid(), {step, step}, 4);

  const BarTrials trials = try_bars(committee, {truth.view(), 4}, kFloor);

  for (const double score : trials.scores) EXPECT_EQ(score, 0);
}

// Two frames a call: step 1 of a rollout is the first frame, and starts are whole clusters.
TEST(BarTrials, ClustersOfStates) {
  const Still still(1, 6);
  FunctionCommittee committee(make_grid(2, {2}, {1.0}), {adding(1), adding(3)});

  const BarTrials trials = try_bars(committee, {still.states.view(), 6, 2}, kFloor);

  EXPECT_EQ(trials.starts(), 2u);
  EXPECT_EQ(trials.steps, 4u);
  for (std::size_t step = 0; step < 4; ++step)
    EXPECT_DOUBLE_EQ(trials.scales[trials.at(0, 0, step)], step < 2 ? 1 : 2);
  EXPECT_DOUBLE_EQ(trials.scores[trials.at(1, 0, 1)], 2);
  EXPECT_DOUBLE_EQ(trials.scores[trials.at(1, 0, 2)], 0);
}

// What leaves the numbers at its second step, comes back later, and is lost all the same.
TEST(ErrorBars, AreInfiniteAndNeverNanWhereRolloutsDiverge) {
  const Still still(9, 4);
  const auto wild = [](float value, double) {
    return value == 1 ? INFINITY : std::isinf(value) ? 1.0F : value + 1;
  };
  FunctionCommittee committee(still.states.grid(), {wild, wild});

  const BarTrials trials = try_bars(committee, still.view, kFloor);
  const ErrorBars bars = fit_bars(trials, kFloor, 0.9);
  const PredictedBars predicted =
      predict_bars(committee, still.states.view().rows(0, 1), 4, bars, {.bands = true});

  for (std::size_t kind = 0; kind < 3; ++kind) {
    EXPECT_TRUE(std::isfinite(bars.first[kind * 3]));
    EXPECT_EQ(bars.first[kind * 3 + 1], kInf);
    EXPECT_EQ(bars.first[kind * 3 + 2], kInf);
  }
  for (std::size_t t = 0; t < 5; ++t) {
    EXPECT_EQ(std::isfinite(predicted.all[t]), t < 2);
    EXPECT_EQ(std::isfinite(predicted.bands[2 * t]), t < 2);
  }
  EXPECT_EQ(half_width(0, kInf), kInf);
  EXPECT_EQ(half_width(kInf, 0), kInf);
}

TEST(PredictedBars, AreFactorTimesScaleAndEndWithTheCalibration) {
  const Still still(9, 3);
  FunctionCommittee committee(still.states.grid(), {adding(1), adding(3)});
  ErrorBars bars = fit_bars(try_bars(committee, still.view, kFloor), kFloor, 0.9);
  bars.any.assign(bars.any.size(), 7);

  const auto predict = [&](bool any) {
    return predict_bars(committee, still.states.view().rows(0, 2), 3, bars,
                        {.from_any = any, .bands = true, .block = 1});
  };

  EXPECT_EQ(predict(false).all, (std::vector<double>{0, 2, 4, kInf, 0, 2, 4, kInf}));
  EXPECT_EQ(predict(true).all, (std::vector<double>{0, 7, 14, kInf, 0, 7, 14, kInf}));
  EXPECT_EQ(predict(false).channels, predict(false).all);
  EXPECT_EQ(predict(false).unlike, 0u);
  ASSERT_EQ(predict(false).bands.size(), 16u);
  // All points are within bands of sqrt 2 times sqrt(1 + 1).
  EXPECT_DOUBLE_EQ(predict(false).bands[2], 2);
  EXPECT_DOUBLE_EQ(predict(false).bands[5], 4);
  const auto unlike = [&](float shift) {
    FunctionCommittee wider(still.states.grid(), {adding(1), adding(shift)});
    return predict_bars(wider, still.states.view().rows(0, 2), 2, bars).unlike;
  };
  EXPECT_EQ(unlike(4), 0u);    // 1.5 times as far apart: two of two beyond nine come once in 55
  EXPECT_EQ(unlike(5.5), 2u);  // more than twice
}

TEST(ErrorBars, ReadBackAndRefusedWhenDamaged) {
  const Still still(9, 3);
  FunctionCommittee committee(still.states.grid(), {adding(1), adding(3)});
  ErrorBars bars = fit_bars(try_bars(committee, still.view, kFloor), kFloor, 0.9);
  bars.states = {1, 2, ~std::uint64_t{0}};
  bars.first[1] = kInf;
  bars.weights = "0123456789abcdef";
  bars.round = 3;

  const auto value = config::parse_json(config::json_text(to_value(bars)), "it");
  const ErrorBars back = error_bars_in(value, "it");

  EXPECT_EQ(back.first, bars.first);
  EXPECT_EQ(back.any, bars.any);
  EXPECT_EQ(back.widest, bars.widest);
  EXPECT_EQ(back.states, bars.states);
  EXPECT_EQ(back.weights, bars.weights);
  EXPECT_EQ(back.round, 3u);
  const std::pair<const char*, config::Value> damages[] = {
      {"steps", 3},
      {"channels", 2},
      {"cluster", 0},
      {"states", "12"},
      {"floor", "none"},
      {"first", 1},
      {"level", 1.5},
      {"any", config::Value()},
      {"widest", config::Value(config::Value::List{-1, 0})}};
  for (const auto& [key, damage] : damages) {
    config::Value wrong = value;
    wrong.set(key, damage);
    expect_error(ErrorKind::data, "it: its error bars do not fit together",
                 [&] { error_bars_in(wrong, "it"); });
  }
}

// Exact sums of C(x+a-1, x) C(n-x+b-1, n-x) / C(n+a+b-1, n), by Python's fractions.
TEST(CoverageRange, OfTheBetaBinomialLaw) {
  using Range = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(coverage_range(50, 0.9, 1000), Range(716, 989));
  EXPECT_EQ(coverage_range(500, 0.9, 1000), Range(840, 947));
  EXPECT_EQ(coverage_range(20, 0.9, 20), Range(9, 20));
  EXPECT_EQ(coverage_range(1, 0.5, 2999), Range(1, 2998));  // uniform: 1/3000 each
}

TEST(JudgedBars, LeaveOutWhatWasCalibratedOn) {
  const States<float> states = test::random_states(make_grid(1, {4}, {1.0}), 30 * 3, Rng(5));
  FunctionCommittee committee(states.grid(), {adding(0.5), adding(-0.2F), adding(0.1F)});
  const auto part = [&](std::size_t first, std::size_t n) {
    return TrajectoriesView{states.view().rows(first * 3, n * 3), 3};
  };
  ErrorBars bars = fit_bars(try_bars(committee, part(0, 12), kFloor), kFloor, 0.9);
  for (std::size_t row = 0; row < 12 * 3; ++row) bars.states.push_back(state_hash(states.row(row)));
  std::ranges::sort(bars.states);

  const JudgedBars all = judge_bars(bars, committee, part(0, 30));
  const JudgedBars others = judge_bars(bars, try_bars(committee, part(12, 18), kFloor));
  const JudgedBars none = judge_bars(bars, committee, part(0, 12));

  EXPECT_EQ(all.left_out, 12u);
  EXPECT_EQ(all.judged_on, 18u);
  EXPECT_EQ(all.first.found, others.first.found);
  EXPECT_EQ(all.any.bar, others.any.bar);
  EXPECT_NE(none.absent, "");
  EXPECT_EQ(coverage_warning(none), "");
}

// Errors four times as large as those of the calibration, spreads as before: nothing is covered,
// and that is said.
TEST(JudgedBars, WarnOfTrajectoriesOfAnotherKind) {
  const Still calm(20, 3), other(20, 3);
  FunctionCommittee committee(calm.states.grid(), {adding(1), adding(3)});
  const ErrorBars bars = fit_bars(try_bars(committee, calm.view, kFloor), kFloor, 0.9);
  FunctionCommittee worse(calm.states.grid(), {adding(7), adding(9)});

  const JudgedBars good = judge_bars(bars, try_bars(committee, other.view, kFloor));
  const JudgedBars bad = judge_bars(bars, try_bars(worse, other.view, kFloor));

  EXPECT_EQ(good.first.found, std::vector<double>(6, 1.0));
  EXPECT_EQ(coverage_warning(good), "");
  EXPECT_EQ(bad.first.found, std::vector<double>(6, 0.0));
  EXPECT_EQ(bad.thirds, std::vector<double>(3, 0.0));
  EXPECT_DOUBLE_EQ(bad.first.bar[1], 4);
  EXPECT_DOUBLE_EQ(bad.first.error[1], 16);
  EXPECT_NE(coverage_warning(bad).find("as few as 0.0 % of the errors"), std::string::npos);
  EXPECT_NE(coverage_warning(bad).find("at steps 1, 2"), std::string::npos);
}

// Six trajectories, one step; those with the two widest bars are beyond them.
TEST(JudgedBars, TellThirdsByWidth) {
  BarTrials trials{.trajectories = 6, .steps = 1};
  trials.scores = {1, 9, 1, 1, 9, 1};
  trials.scales = {3, 6, 1, 4, 5, 2};
  for (auto* values : {&trials.scores, &trials.scales})
    for (std::size_t i = 0; i < 12; ++i) values->push_back(1);  // of other kinds
  ErrorBars bars{.level = 0.8, .trajectories = 6, .steps = 1};
  bars.first = bars.any = {2, 2, 2};

  EXPECT_EQ(judge_bars(bars, trials).thirds, (std::vector<double>{1, 1, 0}));
}

}  // namespace
}  // namespace stap
