#pragma once

#include <span>
#include <string>
#include <vector>

#include "stap/results/published.h"
#include "stap/results/table_format.h"

namespace stap {

/// One number of a block, as a mean and what stands behind its ±; NaN: there is none.
struct BlockEntry {
  double mean, spread;
  std::size_t diverged = 0;  ///< of its row, for means that are not finite
  bool best = false;         ///< the lowest of its column
};
struct BlockRow {
  std::string label;
  std::vector<BlockEntry> entries;  ///< one a column
};
struct Block {
  std::string title;
  std::vector<BlockRow> rows;
  bool differences = false;  ///< of ours, with their 95 % intervals
};

struct Column {
  const ProblemTable* table;
  Metric metric;
  ErrorsOf whose = ErrorsOf::members;

  const TableCell& cell(const TableRow& row) const { return row.of(whose).of(metric); }
};

/// Both scales, the published numbers if they are asked for, and the differences, each with a row
/// for every label of the columns' tables, in order of first appearance.
std::vector<Block> make_blocks(std::span<const Column> columns, bool paper);

/// "-3.674 ± 0.071", "div(3)" or "-".
std::string entry_text(const BlockEntry& entry);
/// A mean on the scale of the published tables.
double on_published_scale(double mean, const ProblemTable& table, Metric metric);
/// The published number of a row; null if there is none.
const Published* published_of(const ProblemTable& table, const TableRow& row, Metric metric);
/// Its difference to that of the first row; NaN if there is none, and in the first row.
double published_difference(const ProblemTable& table, const TableRow& row, Metric metric);
/// What must be said below the tables.
std::vector<std::string> table_notes(std::span<const ProblemTable> tables, const TableView& view);

}  // namespace stap
