#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "stap/eval/error_bars.h"

namespace stap {

/// Error bars of predictions, for times 0 .. T - 1, T = k + steps: 0 at those of the input,
/// infinite where there is no bound: beyond the steps that were calibrated, or where networks leave
/// the finite numbers.
struct PredictedBars {
  std::vector<double> all{};       ///< [B, T]: of the norm sqrt(sum e^2 / Nx) of all channels
  std::vector<double> channels{};  ///< [B, T, C]
  std::vector<double> bands{};     ///< [B, T, C, X...]; empty unless asked for
  /// Rows on which the members come to disagree more than on any trajectory of the calibration: all
  /// of them where there are more at a step than chance explains, else those with twice as much.
  std::size_t unlike = 0;
};
struct PredictedBarsOptions {
  bool from_any = false;  ///< the input is a state from anywhere in a trajectory, not a first one
  bool bands = false;
  std::size_t block = 64;
  std::function<void(std::size_t rows)> advanced{};  ///< told of every step; may throw
};
/// Bars for roll_out() of the averaged model by `calls` steps of the committee. Throws
/// Error(internal) if they are of other channels.
PredictedBars predict_bars(Committee& committee, StatesView<const float> initial, std::size_t calls,
                           const ErrorBars& bars, const PredictedBarsOptions& options = {},
                           ConditionsView conditions = {});

}  // namespace stap
