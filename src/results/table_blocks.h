#pragma once

#include <span>
#include <string>
#include <vector>

#include "stap/results/table_entry.h"

namespace stap {

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

}  // namespace stap
