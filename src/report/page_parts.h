// Pieces of the page. Everything that comes from folders goes through escaped().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/headline.h"
#include "stap/report/report.h"

namespace stap {

/// A name as HTML: shortened in the middle where it is long, with the whole of it to look up.
std::string name_html(std::string_view name);
/// One cell of a table: what is seen, and the number it is sorted by (NaN: none).
struct Cell {
  std::string html;
  bool number = false;
  double value = 0;
};
Cell text_cell(std::string_view text);
Cell number_cell(double value, std::string_view format_text);
/// "1.234", or "-" for what is no number.
Cell digits_cell(double value);

struct HtmlTable {
  std::string id, caption;  ///< the caption is text
  std::vector<std::string> head;
  std::vector<std::vector<Cell>> rows;
};
/// A sortable table in a frame that scrolls.
std::string table_html(const HtmlTable& table);
/// A part that can be opened. Its id keeps it open where the page is loaded again.
std::string fold_html(const std::string& id, std::string_view summary, const std::string& content);
/// A chart below its finding (its title, where that is empty), and how it was made in small print;
/// of one without series only why.
std::string chart_html(const std::string& id, const Chart& chart, const std::string& finding = {},
                       double height_mm = 82);
/// What a chart of methods shows of the best one, in a few words; may be empty.
std::string chart_finding(std::string_view id, const Chart& chart, const ReportProblem& problem,
                          const Headline& head);

/// Means ± deviations of all metrics; nothing where nothing was measured.
std::string error_table_html(const std::string& id, const ProblemTable& table, ErrorsOf whose);
/// The errors of each channel, where there are several.
std::string channels_html(const std::string& id, const ProblemTable& table, ErrorsOf whose);
/// Of that table, in the part of the page that is called `id`.
std::string error_table_id(const std::string& id, ErrorsOf whose);
std::string ledger_html(const std::string& id, const ReportProblem& problem);
std::string cost_html(const std::string& id, const ReportProblem& problem);
/// A trajectory with some of its models (all: none are named), below `title`.
std::string field_html(const std::string& id, const Field& field, std::string_view title);
/// The same field with these models only, by their labels; empty: it has none of them.
std::optional<Field> with_models(const Field& field, const std::vector<std::string>& labels);
/// Differences of all rows to the first one, with their intervals: for many methods.
std::string forest_svg(const ReportProblem& problem, const Headline& head);
bool has_forest(const ReportProblem& problem, const Headline& head);

/// The finding, four answers, and the figures that show it. `level`: of its heading, 1 or 2.
std::string first_html(const std::string& id, const ReportProblem& problem, const Headline& head,
                       int level);
/// The charts on it, by their ids: of errors, or where there are none of losses; of chosen steps.
std::vector<std::string_view> first_charts(const ReportProblem& problem);
/// All else about one problem; `id`: "p1".
std::string problem_html(const std::string& id, const ReportProblem& problem, const Headline& head);
/// The first `most` of them.
std::string runs_html(const Report& report, std::size_t most);

/// What scripts need, as JSON that may stand in a <script> element; of the first `problems`.
std::string page_data(const Report& report, std::size_t problems,
                      const std::vector<Headline>& heads);
/// The finding and its numbers as Markdown.
std::string summary_markdown(const Report& report, const std::vector<Headline>& heads);

/// "p1-errors"; of a run of method m "p1-activations-m0".
std::string chart_id(const std::string& problem, std::string_view chart,
                     std::optional<std::size_t> method = std::nullopt);
const Chart* chart_of(const ReportProblem& problem, std::string_view id);
/// Of the words and terms of the cost analysis: "p1-pays".
std::string cost_id(const std::string& problem);
/// "p1-worst"; that of the first screen "p1-case".
std::string field_id(const std::string& problem, const Field& field);
std::string case_id(const std::string& problem);
/// What the first screen shows: the hard test case, of the two methods it compares.
std::optional<Field> case_of(const ReportProblem& problem, const Headline& head);

}  // namespace stap
