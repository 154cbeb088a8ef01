// The section of one problem.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/field_parts.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/shortened.h"
#include "report/svg.h"
#include "report/ticks.h"
#include "stap/report/charts.h"

namespace stap {
namespace {

std::string heading(const ReportProblem& problem) {
  const ProblemTable& table = problem.table;
  std::string text = fmt::format("{} solver steps a trajectory", table.steps);
  if (problem.dt > 0) text += fmt::format(" of {:.4g} time units each", problem.dt);
  if (problem.grid.size() > 1)
    text += fmt::format(", {} grid points", fmt::join(problem.grid, " × "));
  else if (const std::size_t n = problem.grid.empty() ? table.points : problem.grid[0]; n > 0)
    text += fmt::format(", {} grid points", n);
  if (table.validation) text += "; errors of single steps on what was held back from training";
  return text;
}

// Text beside a picture for those who cannot see it.
std::string alt_text(const Field& field, const FieldChannel& channel, std::string_view what) {
  return fmt::format("{} of channel {}, {} trajectory: {}", what, shortened(channel.name, 40),
                     to_string(field.kind),
                     field.dimensions == 1 ? "time to the right, space up"
                                           : "one frame after the other, row by row");
}

// How often each step was bought, as high as that, along the time axis of a 1-D trajectory. Step i
// leads from column i to the next one: it lies between the two.
std::string bought_html(const Field& field) {
  if (field.dimensions != 1 || field.bought.empty()) return {};
  std::string path = "M0 1";
  for (std::size_t i = 0; i < field.bought.size(); ++i)
    path += fmt::format("V{}H{}", coordinate(1 - std::clamp(field.bought[i], 0.0, 1.0)), i + 1);
  return fmt::format(
      "<svg class=\"share\" width=\"100%\" height=\"16\" viewBox=\"-0.5 0 {} 1\" "
      "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"how often each step was "
      "bought\"><path d=\"{}V1Z\" class=\"bar g0\" fill=\"{}\"/><path d=\"M0 1H{}\" class=\"axis\" "
      "stroke=\"#333333\" "
      "vector-effect=\"non-scaling-stroke\"/></svg>",
      field.bought.size() + 1, path, group_colour(0), field.bought.size());
}

std::string pane_html(const Field& field, std::size_t c, std::string_view what,
                      std::string_view title, const Picture& picture) {
  const FieldChannel& channel = field.channels[c];
  // Pixels of small fields are enlarged to something that can be seen, without styles, too.
  const auto times = [&](std::size_t size, double wanted) {
    return std::max<std::size_t>(size, static_cast<std::size_t>(std::lround(wanted)));
  };
  const std::size_t width = field.dimensions == 1 ? times(picture.width, 320) : picture.width;
  const std::size_t height = field.dimensions == 1 ? times(picture.height, 160) : picture.height;
  // The numbers are those of the colours, not of what is in the picture.
  const std::string scale = what == "error" ? "colours ±" + number_text(picture.high)
                            : what == "prediction"
                                ? std::string("colours as of the truth")
                                : fmt::format("colours from {} to {}", number_text(picture.low),
                                              number_text(picture.high));
  return fmt::format(
      "<div class=\"pane\"{} data-what=\"{}\" data-channel=\"{}\"><p>{}{}: {}</p><img "
      "width=\"{}\" height=\"{}\" src=\"{}\" alt=\"{}\">{}</div>\n",
      field.dimensions == 1 ? "" : " hidden", what, c, title,
      field.channels.size() > 1 ? " of " + name_html(channel.name) : std::string(), scale, width,
      height, data_uri(picture), escaped(alt_text(field, channel, title)), bought_html(field));
}

// Frames side by side. Scripts show one after the other in their place, from all tiles, which are
// hidden.
std::string stills_html(const Field& field) {
  if (field.dimensions == 1) return {};
  std::string html = "<div class=\"stills\">";
  for (std::size_t c = 0; c < field.channels.size(); ++c) {
    if (field.channels.size() > 1)
      html += fmt::format("<p>{}</p>", name_html(field.channels[c].name));
    html += stills_svg(field, c, {.width_mm = 180, .height_mm = 90, .font_pt = 9, .page = true});
  }
  return html + "</div>\n";
}

std::string field_html(const std::string& id, const Field& field) {
  std::string html = fmt::format(
      "<figure class=\"field{}\" id=\"{}\"><figcaption><strong>{}</strong> <span>test trajectory "
      "{}, "
      "RMSE of the mean model {}, after round {}{}</span></figcaption>\n",
      field.dimensions == 1 ? " flat" : "", id, to_string(field.kind), field.trajectory,
      std::isfinite(field.rmse) ? fmt::format("{:.3g}", field.rmse) : "not finite: it diverged",
      field.round, field.dimensions == 1 ? "; time to the right, space up" : "");
  html += stills_html(field);
  for (std::size_t c = 0; c < field.channels.size(); ++c) {
    const FieldChannel& channel = field.channels[c];
    html += pane_html(field, c, "truth", "truth", channel.truth);
    html += pane_html(field, c, "prediction", "prediction", channel.prediction);
    html += pane_html(field, c, "error", "prediction − truth", channel.error);
  }
  return html + "</figure>\n";
}

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
    html = fmt::format(
        "<div class=\"together\"><p class=\"about\">{}.</p>\n<div "
        "class=\"rasters\">\n{}</div></div>\n",
        escaped(note), html);
  if (!whole.empty())
    html += fmt::format("<p class=\"about\">Whole trajectories only: {}.</p>\n", whole);
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

}  // namespace

std::string fields_html(const std::string& id, const ReportProblem& problem) {
  std::string html, about;
  for (const ReportMethod& method : problem.methods)
    if (std::ranges::any_of(method.fields, [](const auto& f) { return !bought_html(f).empty(); }))
      about =
          "<p>The bar under a picture says for every step how many of the trajectories that the "
          "method chose had it bought: full height is all of them.</p>\n";
  for (std::size_t m = 0; m < problem.methods.size(); ++m) {
    const ReportMethod& method = problem.methods[m];
    if (method.fields.empty()) continue;
    // On paper what stands over a figure stays with it.
    html += fmt::format("<div class=\"together\">{}<h4>{}, seed {}</h4>\n",
                        std::exchange(about, ""), name_html(method.label), method.shown_seed);
    for (std::size_t i = 0; i < method.fields.size(); ++i)
      html += field_html(field_id(id, m, method.fields[i]), method.fields[i]) +
              (i == 0 ? "</div>\n" : "");
  }
  if (html.empty())
    return fmt::format("<p class=\"absent\">There are no trajectories here: {}.</p>\n",
                       no_fields_text(problem));
  return fmt::format(
      "<details class=\"trajectories\" open id=\"{}-trajectories\"><summary>Best, median and worst "
      "test trajectory of one seed a method</summary>\n{}</details>\n",
      id, html);
}

namespace {

std::string row_html(const std::string& id, const ReportProblem& problem, const ChartRow& row) {
  if (row.of_run != nullptr) return maps_html(id, problem, row.id);
  if (row.picture_of_run != nullptr) return pictures_html(id, problem, row.id);
  if (row.of_methods == nullptr) return fields_html(id, problem);
  const auto chart = std::ranges::find(problem.charts, row.id, &ReportChart::id);
  return chart == problem.charts.end() ? "" : chart_html(chart_id(id, row.id), chart->variants[0]);
}

// What stands above a chart, and the tables below it.
std::string words_above(const std::string& id, const ReportProblem& problem, std::string_view row) {
  return row == "cost" ? cost_html(cost_id(id), problem) : "";
}
std::string tables_below(const std::string& id, const ReportProblem& problem,
                         std::string_view row) {
  std::string html;
  if (row == "ledger") html = ledger_html(id + "-ledger-table", problem);
  if (row == "errors")
    for (const ErrorsOfInfo& errors : errors_of_infos())
      html += error_table_html(error_table_id(id, errors.whose), problem.table, errors.whose);
  return html;
}

}  // namespace

std::string problem_html(const std::string& id, const ReportProblem& problem) {
  std::string html =
      fmt::format("<section id=\"{}\" class=\"problem\"><h2>{}</h2>\n<p class=\"about\">{}</p>\n",
                  id, name_html(problem.table.problem), prose_html(heading(problem)));
  std::string section;
  bool pair = false;
  for (const ChartRow& row : chart_rows()) {
    const bool next = row.section != section;
    if (pair && (next || !row.half)) html += "</div>\n";
    if (next) html += fmt::format("<h3>{}</h3>\n", section = row.section);
    if (row.half && (next || !pair)) html += "<div class=\"pair\">\n";
    pair = row.half;
    html += words_above(id, problem, row.id) + row_html(id, problem, row) +
            tables_below(id, problem, row.id);
  }
  if (!problem.notes.empty()) {
    html += "<ul class=\"notes\">\n";
    for (const std::string& note : problem.notes)
      html += fmt::format("<li>{}</li>\n", prose_html(note));
    html += "</ul>\n";
  }
  return html + "</section>\n";
}

}  // namespace stap
