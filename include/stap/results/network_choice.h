#pragma once

// Which of several networks to take, by their errors on what was held back.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stap/results/comparison.h"

namespace stap {

/// Errors of one network by split, and what it costs.
struct NetworkScore {
  std::string name;            ///< "dilated(width=32)"
  bool own = false;            ///< of the run itself
  std::vector<double> errors;  ///< infinite where it left the numbers
  double training_seconds = 0.0, step_seconds = 0.0;

  bool diverged() const;
  /// Geometric mean; infinite where it diverged.
  double error() const;
};

/// Half the 95 % interval of a mean difference over splits of which each holds back one of `folds`
/// parts of the same data, corrected for the number of comparisons. Their trainings share data, so
/// the differences are no independent sample: the variance of their mean is taken as
/// s^2 (1/n + 1/(folds - 1)) (Nadeau and Bengio, Machine Learning 52, 2003), with n - 1 degrees of
/// freedom.
double splits_half_95(const Summary& differences, std::size_t comparisons, std::size_t folds);

struct NetworkChoice {
  std::vector<std::size_t> order;    ///< the lowest error first, those that diverged last
  std::vector<Comparison> to_first;  ///< log(error / error of the first), in that order
  /// Of the lowest error, and significantly so against every other one that did not diverge.
  bool clear = false;
};
/// One rule of significance: Comparison::verdict(), corrected for all pairs.
NetworkChoice choose_network(std::span<const NetworkScore> scores, std::size_t folds);
/// The recommendation in words: sentences on lines of their own, without a line break at the end.
std::string choice_text(std::span<const NetworkScore> scores, const NetworkChoice& choice);

}  // namespace stap
