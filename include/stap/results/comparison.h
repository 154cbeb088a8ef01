#pragma once

// What may be said of two rows of a table: one rule for tables, reports and analyses.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stap/results/table.h"

namespace stap {

/// lower, higher: significant. same: no difference. open: neither can be said.
enum class Verdict { lower, higher, same, open };
/// The rule, for a difference of logarithms and half its 95 % interval, which is corrected for the
/// number of comparisons. Significant: the interval leaves out 0, and the difference is more than
/// 0.5 %. No difference: the whole interval lies within 5 %.
Verdict verdict_of(double difference, double half);
/// Half the 95 % interval of a mean difference (Student's t), corrected for so many comparisons
/// (Bonferroni); NaN below two values.
double corrected_half_95(const Summary& differences, std::size_t comparisons);

/// The rows whose errors are finite, in the sets that can be compared; the lowest error first.
std::vector<std::vector<std::size_t>> ranked_sets(const ProblemTable& table, ErrorsOf whose);
/// All pairs of the rows of a set, since the best one is picked after the fact; at least 1.
std::size_t comparisons_of(std::size_t rows);
/// Whose errors a comparison is about by default: of the averaged model, which one would deploy;
/// of the members where it was not measured in all runs.
ErrorsOf deployed_errors(std::span<const TableRow> rows);

/// The difference of two rows' log RMSE, paired by seed.
struct Comparison {
  Summary paired{};
  std::size_t comparisons = 1;
  double half = 0;  ///< of its interval; NaN below two pairs, or where a row diverged

  Verdict verdict() const { return verdict_of(paired.mean, half); }
  /// With how many seeds it would probably be significant, if it is as large as it looks and seeds
  /// differ as they do; 0: more than 50, or not known.
  std::size_t seeds_needed() const;
};
/// a - b, of the mean over rounds or, by &TableCell::last, after the last one.
Comparison compare_rows(const TableErrors& a, const TableErrors& b, std::size_t comparisons,
                        std::vector<double> TableCell::*log = &TableCell::by_seed);

/// Why what is said of a row and its baseline is not certain: their difference is not significant.
/// Empty: it is. `shown`: what the baseline is called.
std::string guess_text(const ProblemTable& table, const std::string& mine,
                       const std::string& baseline, const std::string& shown);

/// "36 % lower", "4.5 % higher", "2.6 times as high": what a difference of logarithms means.
std::string change_text(double log_difference);
/// "22 % below random (95 %: 7 to 35 % below)"; the error of the first row from its own view.
std::string below_text(const Comparison& comparison, const std::string& other);
/// Half of Welch's 95 % interval of a difference of means.
double welch_half_95(const Summary& a, const Summary& b);

}  // namespace stap
