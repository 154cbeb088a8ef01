// All of a problem that is not on the first screen.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/html.h"
#include "report/page_parts.h"
#include "report/svg.h"
#include "report/ticks.h"
#include "stap/report/charts.h"

namespace stap {
namespace {

// Of methods that buy whole trajectories there is nothing to see.
bool buys_all(const PictureChart& raster) {
  return std::ranges::all_of(raster.picture.values, [](auto v) { return v == kTopLevel; });
}

std::string pictures_html(const std::string& id, const ReportProblem& problem,
                          const std::string& which) {
  std::string html, whole, note;
  for (std::size_t m = 0; m < problem.methods.size(); ++m) {
    const ReportMethod& method = problem.methods[m];
    for (const auto& [name, picture] : method.pictures) {
      if (name != which) continue;
      if (buys_all(picture)) {
        whole += (whole.empty() ? "" : ", ") + name_html(method.label);
        continue;
      }
      note = picture.note;
      html += fmt::format(
          "<figure class=\"raster\" id=\"{}\"><figcaption><strong>{}, seed {}</strong></figcaption>"
          "<div class=\"plot\">{}</div></figure>\n",
          chart_id(id, name, m), name_html(method.label), method.shown_seed,
          svg_text(picture, {.width_mm = 110, .height_mm = 80, .font_pt = 9, .page = true}));
    }
  }
  if (!html.empty())
    html = fmt::format("<p class=\"how\">{}.</p>\n<div class=\"rasters\">\n{}</div>\n",
                       escaped(note), html);
  if (!whole.empty()) html += fmt::format("<p class=\"how\">Whole trajectories: {}.</p>\n", whole);
  return html;
}

// A chart of each method's run that is shown.
std::string maps_html(const std::string& id, const ReportProblem& problem,
                      const std::string& which) {
  std::string html;
  for (std::size_t m = 0; m < problem.methods.size(); ++m)
    for (const ReportChart& chart : problem.methods[m].charts)
      if (chart.id == which) html += chart_html(chart_id(id, which, m), chart.variants[0]);
  return html.empty() ? html : fmt::format("<div class=\"maps\">\n{}</div>\n", html);
}

// Why there is none.
std::string no_fields_text(const ReportProblem& problem) {
  const ProblemTable& table = problem.table;
  if (problem.fields_left_out) return "they are left out to keep this page small";
  const auto all = [&](auto is) { return std::ranges::all_of(table.rows, is); };
  if (table.validation || all([](const TableRow& row) { return row.without_errors > 0; }))
    return "the study has no test set to roll out on";
  if (all([](const TableRow& row) { return row.members.seeds.empty(); }))
    return "runs keep some at their last evaluation, and none is finished";
  return "the runs have kept none that can be read (extracts.h5)";
}

// The hard one is on the first screen, unless more methods than there are shown.
std::string fields_html(const std::string& id, const ReportProblem& problem, const Headline& head) {
  if (problem.fields.empty())
    return fmt::format("<p class=\"absent\">There are no trajectories here: {}.</p>\n",
                       no_fields_text(problem));
  const std::optional<Field> first = case_of(problem, head);
  const bool narrow = problem.fields.front().models.size() < 3;
  std::string html = fmt::format("<div class=\"{}\">\n", narrow ? "pair" : "wide");
  for (const Field& field : problem.fields) {
    if (field.kind == ExtractKind::worst && first && first->models.size() == field.models.size())
      continue;
    const char* title = field.kind == ExtractKind::best     ? "The easiest test case"
                        : field.kind == ExtractKind::median ? "A typical test case"
                                                            : "The hardest test case, all methods";
    html += field_html(field_id(id, field), field, title);
  }
  return html + "</div>\n";
}

std::string row_html(const std::string& id, const ReportProblem& problem, const Headline& head,
                     const ChartRow& row) {
  const auto first = first_charts(problem);
  if (std::ranges::find(first, row.id) != first.end()) return {};
  if (row.of_run != nullptr) return maps_html(id, problem, row.id);
  if (row.picture_of_run != nullptr) return pictures_html(id, problem, row.id);
  if (row.of_methods == nullptr) return fields_html(id, problem, head);
  const Chart* chart = chart_of(problem, row.id);
  return chart == nullptr ? ""
                          : chart_html(chart_id(id, row.id), *chart,
                                       chart_finding(row.id, *chart, problem, head));
}

// The averaged model's first; what published tables have can be opened.
std::string error_tables_html(const std::string& id, const ReportProblem& problem,
                              const Headline& head) {
  std::string html = error_table_html(error_table_id(id, head.whose), problem.table, head.whose),
              other;
  html += channels_html(id + "-channels", problem.table, head.whose);
  for (const ErrorsOfInfo& errors : errors_of_infos())
    if (errors.whose != head.whose)
      other += error_table_html(error_table_id(id, errors.whose), problem.table, errors.whose);
  return html +
         fold_html(id + "-other-errors", "Errors of single networks (as in the paper)", other);
}

bool lost_something(const ReportProblem& problem) {
  return std::ranges::any_of(problem.methods, [](const ReportMethod& method) {
    const Ledger& ledger = method.ledger;
    return ledger.refused + ledger.failed + ledger.unspent > 0;
  });
}

// What stands above a chart, and the tables below it.
std::string words_above(const std::string& id, const ReportProblem& problem, const Headline& head,
                        std::string_view row) {
  return row == "cost"     ? cost_html(cost_id(id), problem)
         : row == "errors" ? error_tables_html(id, problem, head)
                           : "";
}

// Parts that few readers need are closed, with what they hold.
std::string fold_text(std::string_view section, const ReportProblem& problem) {
  if (section == "Chosen time steps") return "Which steps of every trajectory were bought";
  if (section == "Budget")
    return lost_something(problem) ? ""
                                   : "Where the budget went: nothing failed, was refused or left";
  if (section == "Training") return "Losses, round by round";
  if (section == "What the committee knows")
    return "How well its spread tells its error, and where bought states lie";
  return {};
}

}  // namespace

std::string field_html(const std::string& id, const Field& field, std::string_view title) {
  std::string rmse;
  for (const FieldModel& model : field.models)
    rmse += fmt::format("{}{} {}", rmse.empty() ? "RMSE: " : ", ", model.label,
                        std::isfinite(model.rmse) ? number_text(model.rmse)
                                                  : std::string("not finite: it diverged"));
  const bool strips = std::ranges::any_of(
      field.models, [](const FieldModel& model) { return model.bought.size() > 1; });
  std::string html = fmt::format(
      "<figure class=\"field\" id=\"{}\"><figcaption><strong>{}</strong> <span>Test trajectory {}, "
      "averaged model after round {}. {}{}</span></figcaption>\n",
      id, escaped(title), field.trajectory, field.round, prose_html(rmse),
      field.dimensions == 1 && strips ? ". Bars: share of the chosen trajectories of which each "
                                        "step was bought"
                                      : "");
  const bool alone = field.models.size() == 1;
  const std::size_t more = field.models.size() > 2 ? field.models.size() - 2 : 0;
  const double width = 125 + 30 * static_cast<double>(more);
  const double height = field.dimensions == 1 ? (alone ? 46 : 72) : (alone ? 58 : 92);
  for (std::size_t c = 0; c < field.channels.size(); ++c)
    html += fmt::format(
        "<div class=\"plot\" data-channel=\"{}\">{}</div>\n", c,
        svg_text(field, c, std::nan(""),
                 {.width_mm = width, .height_mm = height, .font_pt = 8.5, .page = true}));
  return html + "</figure>\n";
}

std::string problem_html(const std::string& id, const ReportProblem& problem,
                         const Headline& head) {
  const std::vector<ChartRow>& rows = chart_rows();
  std::string html;
  for (auto row = rows.begin(); row != rows.end();) {
    const std::string& section = row->section;
    std::string part;
    for (bool pair = false; row != rows.end() && row->section == section; ++row) {
      std::string one = words_above(id, problem, head, row->id);
      const std::string chart = row_html(id, problem, head, *row);
      if (row->half && !chart.empty() && !pair) one += "<div class=\"pair\">\n";
      one += chart;
      if (row->half && !chart.empty()) pair = true;
      const bool ends = row + 1 == rows.end() || (row + 1)->section != section || !(row + 1)->half;
      if (pair && ends) {
        one += "</div>\n";
        pair = false;
      }
      if (row->id == "ledger") one += ledger_html(id + "-ledger-table", problem);
      part += one;
    }
    if (part.empty()) continue;
    std::string name;
    for (const char c : section)
      name += c == ' ' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    const std::string fold = fold_text(section, problem), anchor = id + "-part-" + name;
    html += fmt::format("<section id=\"{}\"><h3>{}</h3>\n{}</section>\n", anchor, section,
                        fold.empty() ? part : fold_html(anchor + "-fold", fold, part));
  }
  return html;
}

}  // namespace stap
