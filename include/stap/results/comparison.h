#pragma once

// What may be said of two rows of a table: one rule for the report and for analyses.

#include <cstddef>
#include <string>

#include "stap/results/table.h"

namespace stap {

/// The difference of two rows' log RMSE, paired by seed, with its 95 % interval, corrected for the
/// number of comparisons (Bonferroni).
struct Comparison {
  std::size_t pairs = 0;
  double difference = 0, half = 0;  ///< NaN below two pairs, or where a row diverged
  /// The interval leaves out 0.
  bool told_apart() const;
  /// Within 0.5 %: no difference worth a word, however sure it is.
  bool same() const;
};
/// a - b, of the mean over rounds or, by &TableCell::last, after the last one.
Comparison compare_rows(const TableErrors& a, const TableErrors& b, std::size_t comparisons,
                        std::vector<double> TableCell::*log = &TableCell::by_seed);

/// Why whatever is said of a row and its baseline is a guess: their errors cannot be told apart,
/// corrected for all pairs of rows that are ranked together. Empty: they surely differ. `shown`:
/// what the baseline is called.
std::string guess_text(const ProblemTable& table, const std::string& mine,
                       const std::string& baseline, const std::string& shown);

/// "36 % lower", "4.5 % higher", "2.6 times as high": what a difference of logarithms means.
std::string change_text(double log_difference);
/// "36 % lower (95 % interval 28 to 43 %)", from the error's own point of view.
std::string change_text(const Comparison& comparison);

/// Half of Welch's 95 % interval of a difference of means.
double welch_half_95(const Summary& a, const Summary& b);

}  // namespace stap
