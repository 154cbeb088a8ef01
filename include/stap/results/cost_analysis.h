#pragma once

#include <optional>
#include <string>

#include "stap/eval/cost.h"

namespace stap {

/// Seconds that the inequality of the cost analysis asks for; NaN where they are not known.
struct CostSeconds {
  double acquire = 0, train = 0, select = 0;
};
/// Cost terms, verdict, and what to say about them.
struct CostAnalysis {
  CostTerms terms{};
  std::optional<double> efficiency{};  ///< empty: not known, and no verdict
  /// The same with the warm-ups of the chosen trajectories counted, where they were not charged.
  std::optional<double> efficiency_with_warm_ups{};
  std::optional<CostVerdict> verdict{};
  std::string text{};
};

/// "2.61 µs", "412 s", "2.3 h": three digits are more than such times are worth.
std::string seconds_text(double seconds);

}  // namespace stap
