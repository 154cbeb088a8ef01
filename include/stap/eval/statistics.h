#pragma once

#include <cstddef>
#include <span>

namespace stap {

/// Mean and standard deviation (n - 1) of a sample; the deviation of one value is NaN.
struct Summary {
  std::size_t count = 0;
  double mean = 0, deviation = 0;
};
Summary summarise(std::span<const double> values);

/// Half the width of the 95 % confidence interval of the mean (Student's t); NaN below two values.
double half_interval_95(const Summary& summary);

/// The p-quantile of Student's t distribution with `freedom` >= 1 degrees of freedom, 0 < p < 1.
double student_quantile(double p, double freedom);

/// Spearman's rank correlation of two samples of equal size; equal values share their mean rank.
/// NaN below two values, or where all values of a sample are equal.
double rank_correlation(std::span<const double> x, std::span<const double> y);

}  // namespace stap
