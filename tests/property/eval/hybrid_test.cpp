// What keeps a trajectory within a tolerance, over random scales.
#include "stap/eval/hybrid.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "stap/core/rng.h"

namespace stap {
namespace {

// Scales depend on the base and the steps since, as those of drafts do.
double scale_of(const Rng& rng, std::size_t base, std::size_t since) {
  return 0.3 * static_cast<double>(since + 1) * rng.split("base", base).uniform(since);
}

// Every accepted state of the surrogate is within the tolerance, with the factor of its step since
// the last state of the solver; the solver's steps are the first ones, one after the other; and the
// end is reached with at most twice the steps, of the solver and in vain, that trajectories have.
// Mutations: bars that count from the input (`step_` for `since`), a solver that goes on from
// step_ instead of base_, factors of first states after a solver step.
TEST(HybridProperty, StaysWithinTheTolerance) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Rng rng(seed);
    const std::size_t steps = 1 + rng.below(0, 40), calibrated = 1 + rng.below(1, 20);
    ErrorBars bars{.steps = calibrated, .floor = {1e-6}, .together = 1};
    for (std::size_t k = 0; k < 3 * calibrated; ++k) {
      bars.first.push_back(1.5 + rng.split("first").uniform(k));
      bars.any.push_back(0.5 + rng.split("any").uniform(k));
    }
    HybridTurns turns(bars, {.tolerance = 1, .steps = steps});
    std::vector<double> bar_at(steps + 1, 0.0);
    std::vector<std::size_t> base_at(steps + 1, 0);
    std::size_t solved = 0, attempts = 0;

    while (turns.next() != Turn::done) {
      if (turns.next() == Turn::solver) {
        ASSERT_EQ(turns.step(), solved);
        turns.solved();
        bar_at[++solved] = 0;
        continue;
      }
      const std::size_t step = turns.step(), base = turns.base();
      attempts += step == base ? 1 : 0;
      bar_at[step + 1] = turns.drafted(scale_of(rng, base, step - base));
      base_at[step + 1] = base;
    }

    EXPECT_LE(attempts, steps + 1);
    for (std::size_t t = solved + 1; t <= steps; ++t) {
      const std::size_t since = t - 1 - solved;
      ASSERT_LT(since, calibrated);
      EXPECT_EQ(base_at[t], solved);  // one draft to the end
      const double factor = (solved == 0 ? bars.first : bars.any)[since];
      EXPECT_EQ(bar_at[t], factor * scale_of(rng, solved, since));
      EXPECT_LE(bar_at[t], 1.0);
    }
  }
}

// Whoever chooses the start by the width of its bars is not promised what a start drawn at random
// is, but bars that hold together are. Errors are |N(0,1)| times a scale that says nothing, the
// choice is the start with the least error over scale to come, the worst there is. Tolerance: of
// 2,000 new trajectories with a level of 0.8, five standard errors, and what the variance of 40
// calibrations of 60 trajectories adds. Mutation: `together` taken from first states alone, or 1.
TEST(HybridProperty, BarsHoldTogether) {
  constexpr std::size_t kTrajectories = 60, kSteps = 5, kNew = 50, kCalibrations = 40;
  std::size_t within = 0;
  for (std::uint64_t c = 0; c < kCalibrations; ++c) {
    const auto scores_of = [&](const Rng& rng, std::size_t start, std::size_t step) {
      return std::abs(rng.split("start", start).normal(step));
    };
    BarTrials trials{.trajectories = kTrajectories, .channels = 1, .steps = kSteps};
    trials.scores.assign(kSteps * 3 * kSteps * kTrajectories, 0.0);
    trials.scales.assign(trials.scores.size(), 1.0);
    for (std::size_t start = 0; start < kSteps; ++start)
      for (std::size_t kind = 0; kind < 3; ++kind)
        for (std::size_t step = 0; step + start < kSteps; ++step)
          for (std::size_t b = 0; b < kTrajectories; ++b)
            trials.scores[trials.at(start, kind, step) + b] =
                scores_of(Rng(c).split("calibration", b), start, step);
    const std::vector<double> floor{1e-6};
    const ErrorBars bars = fit_bars(trials, floor, 0.8);
    for (std::size_t b = 0; b < kNew; ++b) {
      bool all = true;
      for (std::size_t start = 0; start < kSteps; ++start)
        for (std::size_t step = 0; step + start < kSteps; ++step)
          all = all && scores_of(Rng(c).split("new", b), start, step) <=
                           bars.together * (start == 0 ? bars.first : bars.any)[step];
      within += all ? 1 : 0;
    }
  }

  const double n = kNew * kCalibrations,
               error = std::sqrt(0.16 / n + 0.16 / (kTrajectories * kCalibrations));
  EXPECT_NEAR(static_cast<double>(within) / n, 0.8, 5 * error);
}

}  // namespace
}  // namespace stap
