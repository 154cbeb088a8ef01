#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stap/results/published.h"
#include "stap/results/table_format.h"

// Single numbers of tables, and what is said below them: for whoever lays out a table of its own.
namespace stap {

/// One number, as a mean and what stands behind its ±; NaN: there is none.
struct BlockEntry {
  double mean, spread;
  std::size_t diverged = 0;  ///< of its row, for means that are not finite
  bool best = false;         ///< the lowest of its column
};

/// "-3.674 ± 0.071", "div(3)" or "-".
std::string entry_text(const BlockEntry& entry);
/// A mean on the scale of the published tables; NaN where there is none.
double on_published_scale(double mean, const ProblemTable& table, Metric metric);
/// The published number of a row; null if there is none.
const Published* published_of(const ProblemTable& table, const TableRow& row, Metric metric);
/// Its difference to that of the first row; NaN if there is none, and in the first row.
double published_difference(const ProblemTable& table, const TableRow& row, Metric metric);
/// What must be said below the tables.
std::vector<std::string> table_notes(std::span<const ProblemTable> tables, const TableView& view);

}  // namespace stap
