#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "stap/core/committee.h"
#include "stap/eval/calibration.h"
#include "stap/eval/metrics.h"

namespace stap {

/// Which trajectory an extract shows, judged by the mean model's RMSE.
enum class ExtractKind { best, median, worst };
std::string_view to_string(ExtractKind kind);

/// One test trajectory beside what the mean model makes of it.
struct Extract {
  ExtractKind kind = ExtractKind::best;
  std::size_t trajectory = 0;  ///< index in the test set
  double rmse = 0.0;           ///< of the mean model; infinite if it diverged
  std::vector<float> truth{};  ///< [times, C, X...]
  std::vector<float> mean{};   ///< the same of the mean model; the first k times are the truth's
};

/// Small pieces of an evaluation that let one look at it without test set and networks.
struct Extracts {
  std::vector<std::size_t> times{};  ///< which times of a trajectory are kept, ascending
  std::vector<Extract> rollouts{};   ///< best, median, worst; none if a state is too large
  Calibration calibration{};         ///< of the first trajectories of the test set
};

/// What both parts of extracts take at most, as doubles in a file.
inline constexpr std::size_t kExtractBytes = std::size_t{8} << 20;

/// Rolls the mean model out on the best, the median and the worst trajectory, and all members on
/// the first ones. If they would take more than `bytes_most`, fewer times are kept (evenly spaced,
/// the first and the last among them). A committee of one has no spread: its calibration has no
/// trajectories. `metrics` is what evaluate() gave for this committee and test set.
Extracts take_extracts(Committee& committee, const TrajectoriesView& test, const Metrics& metrics,
                       std::size_t bytes_most = kExtractBytes);

}  // namespace stap
