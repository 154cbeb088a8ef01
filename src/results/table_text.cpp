// Tables for people: aligned text.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "results/table_blocks.h"
#include "results/text_layout.h"
#include "stap/results/comparison.h"
#include "stap/results/table_format.h"

namespace stap {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> labels_of(const ProblemTable& table) {
  std::vector<std::string> labels;
  for (const TableRow& row : table.rows) labels.push_back(one_line(row.label));
  return labels;
}

// Numbers on one scale; `div(n)` where rollouts were not finite.
TextColumn column_of(std::string head, std::span<const BlockEntry> entries) {
  TextColumn column{std::move(head), {}};
  std::vector<Spread> values;
  for (const BlockEntry& entry : entries) values.push_back({entry.mean, entry.spread});
  std::vector<std::string> texts = with_spreads(values);
  for (std::size_t r = 0; r < entries.size(); ++r) {
    const bool number = std::isfinite(entries[r].mean);
    column.cells.push_back({number ? std::move(texts[r]) : entry_text(entries[r]),
                            entries[r].best ? Paint::bold : Paint::plain});
  }
  return column;
}

// Lower is better: green is what is significantly lower, red what is significantly higher.
void paint_differences(TextColumn& column, std::span<const BlockEntry> entries) {
  for (std::size_t r = 0; r < entries.size(); ++r) {
    const Verdict verdict = verdict_of(entries[r].mean, entries[r].spread);
    column.cells[r].paint = verdict == Verdict::lower    ? Paint::green
                            : verdict == Verdict::higher ? Paint::red
                                                         : Paint::dim;
  }
}

// Of rows that can be compared.
void mark_lowest(const ProblemTable& table, std::vector<BlockEntry>& entries) {
  if (!table.apart.empty()) return;
  BlockEntry* best = nullptr;
  for (BlockEntry& entry : entries)
    if (std::isfinite(entry.mean) && (best == nullptr || entry.mean < best->mean)) best = &entry;
  if (best != nullptr && entries.size() > 1) best->best = true;
}

// The errors after the last round, and those by round.
void add_rounds(const ProblemTable& table, const Column& about, std::vector<TextColumn>& columns) {
  std::vector<double> last;
  std::vector<std::vector<double>> by_round;
  for (const TableRow& row : table.rows) {
    by_round.push_back(about.cell(row).by_round);
    last.push_back(by_round.back().empty() ? kUnknown : by_round.back().back());
  }
  const OneScale scale = on_one_scale(last);
  const std::vector<std::string> lines = sparklines(by_round);
  const std::string_view title = info(about.metric).title;
  TextColumn errors{scale.exponent == 0 ? fmt::format("last {}", title)
                                        : fmt::format("last {} / 1e{}", title, scale.exponent),
                    {}};
  TextColumn bars{"by round", {}, true};
  std::vector<BlockEntry> entries;
  for (std::size_t r = 0; r < last.size(); ++r)
    entries.push_back({last[r], kUnknown, table.rows[r].of(about.whose).diverged});
  mark_lowest(table, entries);
  for (std::size_t r = 0; r < last.size(); ++r) {
    errors.cells.push_back({std::isfinite(last[r]) ? scale.texts[r] : entry_text(entries[r]),
                            entries[r].best ? Paint::bold : Paint::plain});
    bars.cells.push_back({lines[r]});
  }
  columns.push_back(std::move(errors));
  columns.push_back(std::move(bars));
}

// What the rows have cost, where they say.
void add_costs(const ProblemTable& table, std::vector<TextColumn>& columns) {
  const auto known = [](const TableRow& row) { return std::isfinite(row.candidates); };
  if (std::ranges::none_of(table.rows, known)) return;
  TextColumn steps{"solver steps", {}}, trajectories{"trajectories", {}}, with{"with warm-ups", {}};
  for (const TableRow& row : table.rows) {
    const auto text = [](double value) {
      return TextCell{std::isfinite(value) ? fmt::format("{:.0f}", value) : std::string("-")};
    };
    steps.cells.push_back(text(row.solver_steps));
    trajectories.cells.push_back(text(row.candidates));
    with.cells.push_back(text(row.solver_steps + row.warm_up_steps));
  }
  columns.push_back(std::move(steps));
  columns.push_back(std::move(trajectories));
  if (std::ranges::any_of(table.rows, [](const TableRow& row) { return row.warm_up_steps > 0; }))
    columns.push_back(std::move(with));
}

// One metric: what decides comes first, the published scale and costs behind it.
std::string compact(const ProblemTable& table, Metric metric, const TableView& view,
                    const TextStyle& style) {
  const Column about{&table, metric, view.whose};
  const MetricInfo& named = info(metric);
  std::vector<BlockEntry> logs, published_logs, differences, published, published_differences;
  TextColumn seeds{"seeds", {}};
  for (const TableRow& row : table.rows) {
    const TableErrors& errors = row.of(view.whose);
    const TableCell& cell = about.cell(row);
    seeds.cells.push_back({fmt::format("{}", errors.seeds.size())});
    logs.push_back({cell.log.mean, cell.log.deviation, errors.diverged});
    published_logs.push_back(
        {on_published_scale(cell.log.mean, table, metric), cell.log.deviation, errors.diverged});
    const bool differs = std::isfinite(cell.difference.mean);
    differences.push_back({differs ? cell.difference.mean : kUnknown, cell.corrected_95});
    const Published* printed = published_of(table, row, metric);
    published.push_back(printed == nullptr ? BlockEntry{kUnknown, kUnknown}
                                           : BlockEntry{printed->mean, printed->deviation});
    published_differences.push_back({published_difference(table, row, metric), kUnknown});
  }
  mark_lowest(table, logs);
  mark_lowest(table, published_logs);
  mark_lowest(table, published);
  std::vector<TextColumn> columns{seeds, column_of(fmt::format("log {}", named.title), logs),
                                  column_of("difference, 95 %", differences)};
  paint_differences(columns.back(), differences);
  add_rounds(table, about, columns);
  // Of a problem that was never published the scale says nothing.
  if (named.two_scales && !table.published_problem.empty() && std::isfinite(table.published_offset))
    columns.push_back(column_of("published scale", published_logs));
  if (view.paper) {
    columns.push_back(column_of("paper", published));
    columns.push_back(column_of("paper, difference", published_differences));
  }
  add_costs(table, columns);
  return laid_out("method", labels_of(table), columns, style);
}

// All metrics: block by block.
std::string full(const ProblemTable& table, const TableView& view, const TextStyle& style) {
  std::vector<Column> about;
  for (const MetricInfo& metric : metric_infos())
    about.push_back({&table, metric.metric, view.whose});
  std::string text;
  for (const Block& block : make_blocks(about, view.paper)) {
    std::vector<TextColumn> columns;
    for (std::size_t c = 0; c < about.size(); ++c) {
      std::vector<BlockEntry> entries;
      for (const BlockRow& row : block.rows) entries.push_back(row.entries[c]);
      columns.push_back(column_of(std::string(info(about[c].metric).title), entries));
      if (block.differences) paint_differences(columns.back(), entries);
    }
    std::vector<std::string> labels;
    for (const BlockRow& row : block.rows) labels.push_back(one_line(row.label));
    if (!text.empty()) text += '\n';
    text += wrapped(one_line(block.title), style.columns, 2);
    text += laid_out("method", labels, columns, style);
  }
  return text;
}

// RMSE, or NRMSE, after the last round, channel by channel; empty where there is one, or too many
// for a page.
std::string by_channel(const ProblemTable& table, const TableView& view, const TextStyle& style) {
  constexpr std::size_t kMost = 8;
  const bool relative = view.metric == Metric::nrmse;
  const auto of = [&](const TableRow& row) -> const std::vector<double>& {
    const TableErrors& errors = row.of(view.whose);
    return relative ? errors.nrmse_by_channel : errors.rmse_by_channel;
  };
  const std::size_t count = table.channels.size();
  const auto known = [&](const TableRow& row) { return of(row).size() == count; };
  if ((view.metric && !relative && view.metric != Metric::rmse) || count < 2 || count > kMost ||
      std::ranges::none_of(table.rows, known))
    return {};
  std::vector<TextColumn> columns;
  for (std::size_t c = 0; c < count; ++c) {
    TextColumn column{one_line(table.channels[c]), {}};
    for (const TableRow& row : table.rows)
      column.cells.push_back({known(row) ? fmt::format("{:.3g}", of(row)[c]) : "-"});
    columns.push_back(std::move(column));
  }
  return "\n" +
         wrapped(
             fmt::format("last {} by channel", info(relative ? Metric::nrmse : Metric::rmse).title),
             style.columns, 2) +
         laid_out("method", labels_of(table), columns, style);
}

}  // namespace

std::string tables_text(std::span<const ProblemTable> tables, const TableView& view,
                        const TextStyle& style) {
  std::string text;
  for (const ProblemTable& table : tables) {
    const std::string head = fmt::format(
        "{}: {} steps{}; errors of the {}{}", one_line(table.problem), table.steps,
        table.points > 0 ? fmt::format(", {} points", table.points) : "", info(view.whose).title,
        table.validation ? ", single steps on what was held back" : "");
    if (!text.empty()) text += '\n';
    text += wrapped(head, style.columns, 2);
    text += view.metric ? compact(table, *view.metric, view, style) : full(table, view, style);
    text += by_channel(table, view, style);
  }
  std::vector<std::string> notes = table_notes(tables, view);
  if (!notes.empty()) text += '\n';
  if (view.metric && view.notes)
    notes.insert(notes.begin() + 2,
                 fmt::format("By round: on one logarithmic scale in all rows of a problem, lower "
                             "bars are lower errors."));
  for (const std::string& note : notes)
    text += painted(wrapped(one_line(note), style.columns, 2), Paint::dim, style);
  return text;
}

}  // namespace stap
