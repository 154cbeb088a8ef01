// Tables for people: aligned text.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "results/table_blocks.h"
#include "stap/results/table_format.h"

namespace stap {
namespace {

using Lines = std::vector<std::vector<std::string>>;

std::string sparkline(const std::vector<double>& values) {
  static const char* const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (double v : values)
    if (std::isfinite(v)) low = std::min(low, std::log(v)), high = std::max(high, std::log(v));
  std::string line;
  for (double v : values) {
    if (!std::isfinite(v)) {
      line += "!";
      continue;
    }
    const double part = high > low ? (std::log(v) - low) / (high - low) : 0.0;
    line += bars[std::min(7, static_cast<int>(part * 8))];
  }
  return line;
}

// Display width of UTF-8 text whose characters are one column wide.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string aligned(const Lines& lines) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], width_of(line[c]));
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      text += line[c];
      if (c + 1 < line.size()) text += std::string(widths[c] - width_of(line[c]) + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

// One metric: everything about a method in one line.
Lines compact(const ProblemTable& table, Metric metric, const TableView& view) {
  const bool paper = view.paper;
  const MetricInfo& about = info(metric);
  // Of a problem that was never published the scale says nothing.
  const bool both = about.two_scales && !table.published_problem.empty();
  std::vector<std::string> head{"method", "seeds", fmt::format("log {}", about.title)};
  if (both) head.push_back("published scale");
  if (paper) head.push_back("paper");
  head.push_back("difference, 95 %");
  if (paper) head.push_back("paper, difference");
  head.insert(head.end(), {fmt::format("last {}", about.title), "by round"});
  Lines lines{head};
  for (const TableRow& row : table.rows) {
    const TableErrors& errors = row.of(view.whose);
    const TableCell& cell = errors.of(metric);
    std::vector<std::string> line{row.label, fmt::format("{}", errors.seeds.size())};
    auto add = [&](double mean, double spread) {
      line.push_back(entry_text({mean, spread, errors.diverged}));
    };
    add(cell.log.mean, cell.log.deviation);
    if (both) add(on_published_scale(cell.log.mean, table, metric), cell.log.deviation);
    const Published* published = published_of(table, row, metric);
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    if (paper) add(published ? published->mean : none, published ? published->deviation : none);
    const bool differs = std::isfinite(cell.difference.mean);
    add(differs ? cell.difference.mean : none, cell.difference_95);
    if (paper) add(published_difference(table, row, metric), none);
    line.push_back(cell.by_round.empty() ? "-"
                   : !std::isfinite(cell.by_round.back())
                       ? fmt::format("div({})", errors.diverged)
                       : fmt::format("{:.4g}", cell.by_round.back()));
    line.push_back(sparkline(cell.by_round));
    lines.push_back(std::move(line));
  }
  return lines;
}

// All metrics: block by block.
Lines full(const ProblemTable& table, const TableView& view) {
  std::vector<Column> columns;
  for (const MetricInfo& metric : metric_infos())
    columns.push_back({&table, metric.metric, view.whose});
  Lines lines;
  for (const Block& block : make_blocks(columns, view.paper)) {
    if (!lines.empty()) lines.push_back({""});
    lines.push_back({block.title});
    for (const Column& column : columns) lines.back().emplace_back(info(column.metric).title);
    for (const BlockRow& row : block.rows) {
      lines.push_back({row.label});
      for (const BlockEntry& entry : row.entries) lines.back().push_back(entry_text(entry));
    }
  }
  return lines;
}

}  // namespace

std::string tables_text(std::span<const ProblemTable> tables, const TableView& view) {
  std::string text;
  for (const ProblemTable& table : tables) {
    text += fmt::format("{}{}: {} steps{}; errors of the {}{}\n", text.empty() ? "" : "\n",
                        table.problem, table.steps,
                        table.points > 0 ? fmt::format(", {} points", table.points) : "",
                        view.whose == ErrorsOf::members ? "members" : "mean model",
                        table.validation ? ", single steps on what was held back" : "");
    text += aligned(view.metric ? compact(table, *view.metric, view) : full(table, view));
  }
  text += '\n';
  for (const std::string& note : table_notes(tables, view)) text += note + "\n";
  return text;
}

}  // namespace stap
