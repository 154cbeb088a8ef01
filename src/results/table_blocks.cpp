#include "results/table_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stap {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const TableRow* row_of(const ProblemTable& table, const std::string& label) {
  const auto row = std::ranges::find(table.rows, label, &TableRow::label);
  return row == table.rows.end() ? nullptr : &*row;
}

// Marks the lowest value of every column whose rows can be compared.
void mark_best(Block& block, std::span<const Column> columns) {
  if (block.rows.empty()) return;
  for (std::size_t c = 0; c < block.rows[0].entries.size(); ++c) {
    if (!columns[c].table->apart.empty()) continue;
    BlockEntry* best = nullptr;
    for (BlockRow& row : block.rows) {
      BlockEntry& entry = row.entries[c];
      if (std::isfinite(entry.mean) && (best == nullptr || entry.mean < best->mean)) best = &entry;
    }
    if (best != nullptr) best->best = true;
  }
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(text);
}

void add_paper_notes(std::span<const ProblemTable> tables, const TableView& view,
                     std::vector<std::string>& notes) {
  bool any = false, sizes = true, clusters = false;
  for (const ProblemTable& table : tables)
    for (const TableRow& row : table.rows)
      for (const MetricInfo& metric : metric_infos()) {
        if (view.metric && *view.metric != metric.metric) continue;
        const Published* value = published_of(table, row, metric.metric);
        if (value == nullptr) continue;
        any = true;
        sizes = sizes && table.published_sizes;
        clusters = clusters || value->table == "multistep";
        if (const std::string doubt = published_doubt(*value); !doubt.empty())
          add_once(notes, fmt::format("paper: {}.", doubt));
      }
  if (!any) {
    notes.emplace_back("paper: it prints no number for any of these problems and methods.");
    return;
  }
  notes.push_back(
      fmt::format("paper: as printed, on the published scale; {}.", published_caveat()));
  if (view.whose != ErrorsOf::members)
    notes.push_back(fmt::format("paper: its numbers are errors of the members, not of the {}.",
                                info(view.whose).title));
  if (!sizes)
    notes.emplace_back(
        "paper: its studies have other sizes than some of these (pool 10000, 32 initial "
        "trajectories, 10 rounds of 8 L steps, 2 members of width 64).");
  if (clusters)
    notes.emplace_back(
        "paper: its multi-step set-ups are not fully described; ours on Burgers as coded agree on "
        "the scale used here, of clusters, on other problems compare the order of methods only.");
}

// How much of the numbers is the test set's: the largest of the rows.
void add_test_set_note(const ProblemTable& table, const TableView& view,
                       std::vector<std::string>& notes) {
  if (view.metric && *view.metric != Metric::rmse) return;
  double most = -1;
  for (const TableRow& row : table.rows) most = std::max(most, row.of(view.whose).test_set_sd);
  if (!(most >= 0) || !std::isfinite(most)) return;
  // Of two test sets, each of which has that standard deviation.
  const double half = 1.96 * std::sqrt(2.0) * most;
  notes.push_back(
      fmt::format("Test set of {}: with another of as many trajectories the log RMSE would be "
                  "higher or lower by up to {:.2g} (95 %), mostly the same for all rows.",
                  table.problem, half));
}

// Rows that cannot be compared with others, or not in all of their rounds.
void add_set_notes(const ProblemTable& table, std::vector<std::string>& notes) {
  if (!table.apart.empty())
    notes.push_back(
        fmt::format("{}: rows differ in their {}, so that their errors do not say which is better; "
                    "differences are to rows with the same only.",
                    table.problem, table.apart));
  for (const TableRow& row : table.rows)
    if (row.cut)
      notes.push_back(
          fmt::format("{}: of rounds 0 to {} only, which all rows that it is compared with have.",
                      row.label, row.rounds));
}

void add_cost_note(std::span<const ProblemTable> tables, std::vector<std::string>& notes) {
  for (const ProblemTable& table : tables)
    if (std::ranges::any_of(table.rows, [](const TableRow& row) { return row.warm_up_steps > 0; }))
      return add_once(
          notes,
          "Cost: means over seeds after the last round; initial conditions are free in "
          "solver steps, \"with warm-ups\" adds the learned steps that lead to those of "
          "the trajectories.");
}

}  // namespace

double on_published_scale(double mean, const ProblemTable& table, Metric metric) {
  if (!info(metric).two_scales) return mean;
  return std::isfinite(table.published_offset) ? mean + table.published_offset : kNone;
}

const Published* published_of(const ProblemTable& table, const TableRow& row, Metric metric) {
  return find_published(table.published_problem, row.method, info(metric).key);
}

double published_difference(const ProblemTable& table, const TableRow& row, Metric metric) {
  const Published* mine = published_of(table, row, metric);
  const Published* first = published_of(table, table.rows.front(), metric);
  const bool compared = &row != &table.rows.front();
  return compared && mine != nullptr && first != nullptr ? mine->mean - first->mean : kNone;
}

std::string entry_text(const BlockEntry& entry) {
  if (std::isnan(entry.mean)) return "-";
  if (!std::isfinite(entry.mean)) return fmt::format("div({})", entry.diverged);
  return std::isfinite(entry.spread) ? fmt::format("{:+.3f} ± {:.3f}", entry.mean, entry.spread)
                                     : fmt::format("{:+.3f}", entry.mean);
}

std::vector<Block> make_blocks(std::span<const Column> columns, bool paper) {
  std::vector<std::string> labels;
  for (const Column& column : columns)
    for (const TableRow& row : column.table->rows) add_once(labels, row.label);
  // `entry` makes the number of one row and column; rows without any number are left out.
  auto block = [&](std::string title, const auto& entry) {
    Block b{std::move(title), {}};
    for (const std::string& label : labels) {
      BlockRow line{label, {}};
      for (const Column& column : columns) {
        const TableRow* row = row_of(*column.table, label);
        line.entries.push_back(row == nullptr ? BlockEntry{kNone, kNone} : entry(column, *row));
      }
      if (std::ranges::any_of(line.entries, [](const auto& e) { return !std::isnan(e.mean); }))
        b.rows.push_back(std::move(line));
    }
    return b;
  };
  std::vector<Block> blocks;
  blocks.push_back(block("logarithm, our scale", [](const Column& c, const TableRow& row) {
    const Summary& log = c.cell(row).log;
    return BlockEntry{log.mean, log.deviation, row.of(c.whose).diverged};
  }));
  if (std::ranges::any_of(columns, [](const auto& c) {
        return info(c.metric).two_scales && std::isfinite(c.table->published_offset);
      }))
    blocks.push_back(block("logarithm, published scale", [](const Column& c, const TableRow& row) {
      const Summary& log = c.cell(row).log;
      return BlockEntry{on_published_scale(log.mean, *c.table, c.metric), log.deviation,
                        row.of(c.whose).diverged};
    }));
  if (paper)
    blocks.push_back(block("paper, as printed", [](const Column& c, const TableRow& row) {
      const Published* value = published_of(*c.table, row, c.metric);
      return value == nullptr ? BlockEntry{kNone, kNone}
                              : BlockEntry{value->mean, value->deviation};
    }));
  for (Block& b : blocks) mark_best(b, columns);
  const std::string first = columns.front().table->rows.front().label;
  const bool one_first = std::ranges::all_of(
      columns, [&](const auto& c) { return c.table->rows.front().label == first; });
  const std::string to = fmt::format("difference to {}", one_first ? first : "the first method");
  blocks.push_back(block(to + ", 95 %", [](const Column& c, const TableRow& row) {
    const TableCell& cell = c.cell(row);
    if (!std::isfinite(cell.difference.mean)) return BlockEntry{kNone, kNone};
    return BlockEntry{cell.difference.mean, cell.corrected_95};
  }));
  blocks.back().differences = true;
  if (paper)
    blocks.push_back(block("paper, " + to, [](const Column& c, const TableRow& row) {
      return BlockEntry{published_difference(*c.table, row, c.metric), kNone};
    }));
  std::erase_if(blocks, [](const Block& b) { return b.rows.empty(); });
  return blocks;
}

namespace {

// Of one row: how much lower errors are over images, paired by seed.
std::string images_text(const TableRow& row, ErrorsOf with, ErrorsOf without, Metric metric) {
  const Summary summary = paired_difference(row.of(with), row.of(without), metric);
  const double half = half_interval_95(summary);
  return fmt::format("{:+.3f}{} ({})", summary.mean,
                     std::isfinite(half) ? fmt::format(" ± {:.3f}", half) : "",
                     info(without).title);
}

void add_image_notes(const TableRow& row, const std::string& where, const TableView& view,
                     std::vector<std::string>& notes) {
  if (row.images.seeds.empty()) return;
  const Metric metric = view.metric.value_or(Metric::rmse);
  notes.push_back(fmt::format(
      "{}: over images log {} is {} and {} against without them, paired by seed.", where,
      info(metric).title, images_text(row, ErrorsOf::members_images, ErrorsOf::members, metric),
      images_text(row, ErrorsOf::mean_model_images, ErrorsOf::mean_model, metric)));
}

// Differences need a first row that was measured.
void add_baseline_note(const ProblemTable& table, ErrorsOf whose, std::vector<std::string>& notes) {
  const auto measured = [&](const TableRow& row) { return !row.of(whose).seeds.empty(); };
  if (whose == ErrorsOf::members || measured(table.rows.front()) ||
      std::ranges::none_of(table.rows, measured))
    return;
  notes.push_back(
      fmt::format("{}: no differences, since errors of the {} were not measured in the row {}; "
                  "--baseline names another one.",
                  table.problem, info(whose).title, table.rows.front().label));
}

}  // namespace

std::vector<std::string> table_notes(std::span<const ProblemTable> tables, const TableView& view) {
  std::vector<std::string> notes{
      "Logarithms: mean over rounds of the natural logarithm, ± standard deviation over seeds; "
      "lower is better.",
      "Differences: to the first row, paired by seed, ± half the 95 % interval, corrected "
      "(Bonferroni) for all pairs of rows, as in the report."};
  if (!view.notes) notes.clear();
  for (const ProblemTable& table : tables) {
    add_set_notes(table, notes);
    add_baseline_note(table, view.whose, notes);
    if (view.notes) add_test_set_note(table, view, notes);
  }
  if (view.notes) add_cost_note(tables, notes);
  if (std::ranges::any_of(tables, &ProblemTable::validation))
    notes.emplace_back(
        "Held back: every run is measured on what it bought and did not train on, which grows from "
        "round to round and differs from method to method; compare methods with care.");
  std::vector<std::string> useless;
  for (const ProblemTable& table : tables)
    for (const TableRow& row : table.rows) {
      const std::string where =
          tables.size() > 1 ? fmt::format("{}, {}", table.problem, row.label) : row.label;
      if (const std::size_t diverged = row.of(view.whose).diverged; diverged > 0)
        notes.push_back(
            fmt::format("{}: div({}): rollouts that were not finite.", where, diverged));
      // The error of predicting zero is the size of the states themselves.
      const std::vector<double>& nrmse = row.of(view.whose).of(Metric::nrmse).by_round;
      if (!nrmse.empty() && std::isfinite(nrmse.back()) && nrmse.back() >= 1)
        useless.push_back(fmt::format("{} ({:.3g})", where, nrmse.back()));
      if (row.incomplete > 0)
        notes.push_back(
            fmt::format("{}: {} runs are not finished and not counted.", where, row.incomplete));
      if (row.repeated > 0)
        notes.push_back(fmt::format("{}: {} runs are there under another name and counted once.",
                                    where, row.repeated));
      if (row.without_errors > 0)
        notes.push_back(fmt::format("{}: {} runs have no errors: their study has no test set.",
                                    where, row.without_errors));
      if (const std::size_t without = row.without(view.whose); without > 0)
        notes.push_back(
            view.whose == ErrorsOf::mean_model
                ? fmt::format("{}: {} runs are from before the averaged model was measured and not "
                              "counted.",
                              where, without)
                : fmt::format("{}: {} runs were not measured over images (study.images) and are "
                              "not counted.",
                              where, without));
      add_image_notes(row, where, view, notes);
    }
  if (!useless.empty())
    notes.push_back(fmt::format(
        "No better than predicting zero, at the end: {}. That is an NRMSE of 1 or more: more "
        "epochs "
        "(train.epochs), a wider network or more to begin with (study.initial) may help.",
        fmt::join(useless, ", ")));
  if (view.paper && view.notes) add_paper_notes(tables, view, notes);
  return notes;
}

}  // namespace stap
