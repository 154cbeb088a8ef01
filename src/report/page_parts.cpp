#include "report/page_parts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/html.h"

namespace stap {

std::string name_html(std::string_view name) {
  const std::string shown = shortened(name);
  if (shown.size() == name.size()) return escaped(name);
  return fmt::format("<span title=\"{}\">{}</span>", escaped(shortened(name, kWholeName)),
                     escaped(shown));
}

Cell text_cell(std::string_view text) {
  return {name_html(text)};
}

Cell number_cell(double value, std::string_view text) {
  return {escaped(text), true, value};
}

Cell digits_cell(double value) {
  return number_cell(value, std::isfinite(value) ? fmt::format("{:.4g}", value) : "-");
}

std::string table_html(const HtmlTable& table) {
  std::string html = fmt::format(
      "<div class=\"scroll\"><table class=\"sortable\" id=\"{}\">\n<caption>{}</caption>\n"
      "<thead><tr>",
      table.id, prose_html(table.caption));
  for (std::size_t c = 0; c < table.head.size(); ++c) {
    const bool number = !table.rows.empty() && table.rows.front()[c].number;
    html += fmt::format("<th scope=\"col\" data-type=\"{}\">{}</th>", number ? "number" : "text",
                        prose_html(table.head[c]));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : table.rows) {
    html += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const Cell& cell = row[c];
      if (c == 0)
        html += fmt::format("<th scope=\"row\">{}</th>", cell.html);
      else if (!cell.number)
        html += fmt::format("<td>{}</td>", cell.html);
      else if (std::isnan(cell.value))
        html += fmt::format("<td data-value=\"\">{}</td>", cell.html);
      else if (std::isinf(cell.value))
        html += fmt::format("<td data-value=\"{}Infinity\">{}</td>", cell.value < 0 ? "-" : "",
                            cell.html);
      else
        html += fmt::format("<td data-value=\"{}\">{}</td>", cell.value, cell.html);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string fold_html(const std::string& id, std::string_view summary, const std::string& content) {
  if (content.empty()) return {};
  return fmt::format("<details class=\"fold\" id=\"{}\"><summary>{}</summary>\n{}</details>\n", id,
                     prose_html(summary), content);
}

std::string chart_html(const std::string& id, const Chart& chart, const std::string& finding,
                       double height_mm) {
  if (chart.series.empty())
    return fmt::format("<p class=\"absent\" id=\"{}\"><strong>{}</strong>: {}</p>\n", id,
                       escaped(chart.title), prose_html(chart.note));
  const std::string how = finding.empty() ? chart.note
                                          : fmt::format("{}{}{}", chart.title,
                                                        chart.note.empty() ? "" : ". ", chart.note);
  return fmt::format(
      "<figure class=\"chart\" id=\"{}\"><figcaption><strong>{}</strong> <span>{}</span>"
      "</figcaption><div class=\"plot\">{}</div></figure>\n",
      id, prose_html(finding.empty() ? chart.title : finding), prose_html(how),
      svg_text(chart, {.width_mm = 150, .height_mm = height_mm, .font_pt = 9, .page = true}));
}

std::string chart_id(const std::string& problem, std::string_view chart,
                     std::optional<std::size_t> method) {
  return fmt::format("{}-{}{}", problem, chart, method ? fmt::format("-m{}", *method) : "");
}

const Chart* chart_of(const ReportProblem& problem, std::string_view id) {
  const auto chart = std::ranges::find(problem.charts, id, &ReportChart::id);
  return chart == problem.charts.end() ? nullptr : &chart->variants.front();
}

std::string cost_id(const std::string& problem) {
  return problem + "-pays";
}

std::string field_id(const std::string& problem, const Field& field) {
  return fmt::format("{}-{}", problem, to_string(field.kind));
}

std::string case_id(const std::string& problem) {
  return problem + "-case";
}

}  // namespace stap
