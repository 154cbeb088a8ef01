// Tables for papers: LaTeX tabulars.
#include <cmath>

#include <fmt/format.h>

#include "results/table_blocks.h"
#include "stap/results/table_format.h"

namespace stap {
namespace {

std::string latex_text(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) result += '\\';
    if (c == '~' || c == '^' || c == '\\')
      result += fmt::format("\\char`\\{}{{}}", c);
    else
      result += c;
  }
  return result;
}

std::string entry_latex(const BlockEntry& entry) {
  if (!std::isfinite(entry.mean)) return entry_text(entry) == "-" ? "--" : entry_text(entry);
  const std::string mean = fmt::format("{:.3f}", entry.mean);
  return fmt::format("${}{}$", entry.best ? "\\mathbf{" + mean + "}" : mean,
                     std::isfinite(entry.spread) ? fmt::format(" \\pm {:.3f}", entry.spread) : "");
}

std::string tabular(std::span<const Column> columns, const std::vector<std::string>& titles,
                    std::string_view subject, bool paper) {
  std::string text =
      fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\n", std::string(columns.size(), 'c'));
  for (const std::string& title : titles) text += " & " + latex_text(title);
  text += " \\\\\n";
  for (const Block& block : make_blocks(columns, paper)) {
    text += fmt::format("\\midrule\n\\multicolumn{{{}}}{{l}}{{{}}} \\\\\n", columns.size() + 1,
                        latex_text(fmt::format("{}: {}", subject, block.title)));
    for (const BlockRow& row : block.rows) {
      text += latex_text(row.label);
      for (const BlockEntry& entry : row.entries) text += " & " + entry_latex(entry);
      text += " \\\\\n";
    }
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace

std::string tables_latex(std::span<const ProblemTable> tables, const TableView& view) {
  const std::string of =
      view.whose == ErrorsOf::members ? "" : fmt::format(", {}", info(view.whose).title);
  std::string text = "% needs \\usepackage{booktabs}\n";
  if (view.metric) {
    std::vector<Column> columns;
    std::vector<std::string> titles;
    for (const ProblemTable& table : tables) {
      columns.push_back({&table, *view.metric, view.whose});
      titles.push_back(table.problem);
    }
    text += tabular(columns, titles, std::string(info(*view.metric).title) + of, view.paper);
  } else {
    for (const ProblemTable& table : tables) {
      std::vector<Column> columns;
      std::vector<std::string> titles;
      for (const MetricInfo& metric : metric_infos()) {
        columns.push_back({&table, metric.metric, view.whose});
        titles.emplace_back(metric.title);
      }
      text += tabular(columns, titles, table.problem + of, view.paper);
    }
  }
  for (const std::string& note : table_notes(tables, view)) text += "% " + note + "\n";
  return text;
}

}  // namespace stap
