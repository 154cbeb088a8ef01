// Pieces of the page. Everything that comes from folders goes through escaped().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
/// A chart with its caption; of one without series only why.
std::string chart_html(const std::string& id, const Chart& chart);

/// Means ± deviations of all metrics; nothing where nothing was measured.
std::string error_table_html(const std::string& id, const ProblemTable& table, ErrorsOf whose);
/// Of that table, in the part of the page that is called `id`.
std::string error_table_id(const std::string& id, ErrorsOf whose);
std::string ledger_html(const std::string& id, const ReportProblem& problem);
std::string cost_html(const std::string& id, const ReportProblem& problem);
std::string fields_html(const std::string& id, const ReportProblem& problem);
/// All about one problem; `id`: "p1".
std::string problem_html(const std::string& id, const ReportProblem& problem);
/// The first `most` of them.
std::string runs_html(const Report& report, std::size_t most);

/// What scripts need, as JSON that may stand in a <script> element; of the first `problems`.
std::string page_data(const Report& report, std::size_t problems);

/// "p1-errors"; of a run of method m "p1-activations-m0".
std::string chart_id(const std::string& problem, std::string_view chart,
                     std::optional<std::size_t> method = std::nullopt);
/// Of the words and terms of the cost analysis: "p1-pays".
std::string cost_id(const std::string& problem);
/// "p1-m0-worst".
std::string field_id(const std::string& problem, std::size_t method, const Field& field);

}  // namespace stap
