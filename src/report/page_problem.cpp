// The section of one problem.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/field_parts.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/shortened.h"

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

std::string charts_html(const std::string& id, const ReportProblem& problem,
                        std::initializer_list<std::string_view> which) {
  std::string html;
  for (const std::string_view name : which)
    for (const ReportChart& chart : problem.charts)
      if (chart.id == name) html += chart_html(fmt::format("{}-{}", id, name), chart.variants[0]);
  return html;
}

// Text beside a picture for those who cannot see it.
std::string alt_text(const Field& field, const FieldChannel& channel, std::string_view what) {
  return fmt::format("{} of channel {}, {} trajectory: {}", what, shortened(channel.name, 40),
                     to_string(field.kind),
                     field.dimensions == 1 ? "time to the right, space up"
                                           : "one frame after the other, row by row");
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
  return fmt::format(
      "<div class=\"pane\"{} data-what=\"{}\" data-channel=\"{}\"><p>{}{}: {:.3g} to "
      "{:.3g}</p><img "
      "width=\"{}\" height=\"{}\" src=\"{}\" alt=\"{}\"></div>\n",
      field.dimensions == 1 ? "" : " hidden", what, c, title,
      field.channels.size() > 1 ? " of " + name_html(channel.name) : std::string(), picture.low,
      picture.high, width, height, data_uri(picture), escaped(alt_text(field, channel, title)));
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

std::string rasters_html(const std::string& id, const ReportProblem& problem) {
  std::string html, whole, note;
  for (std::size_t m = 0; m < problem.methods.size(); ++m) {
    const ReportMethod& method = problem.methods[m];
    if (!method.raster) continue;
    if (buys_all(*method.raster)) {
      whole += (whole.empty() ? "" : ", ") + name_html(method.label);
      continue;
    }
    PictureChart raster = *method.raster;
    raster.id = fmt::format("{}-steps-m{}", id, m);
    note = raster.note;
    html += fmt::format(
        "<figure class=\"raster\" id=\"{}\"><figcaption><strong>{}, seed {}</strong></figcaption>"
        "<div class=\"plot\">{}</div></figure>\n",
        raster.id, name_html(method.label), method.shown_seed,
        svg_text(raster, {.width_mm = 110, .height_mm = 80, .font_pt = 9, .page = true}));
  }
  if (!html.empty())
    html = fmt::format("<p class=\"about\">{}.</p>\n<div class=\"rasters\">\n{}</div>\n",
                       escaped(note), html);
  if (!whole.empty())
    html += fmt::format("<p class=\"about\">Whole trajectories only: {}.</p>\n", whole);
  return html;
}

std::string activations_html(const std::string& id, const ReportProblem& problem) {
  std::string html;
  for (std::size_t m = 0; m < problem.methods.size(); ++m)
    if (const auto& chart = problem.methods[m].activations)
      html += chart_html(fmt::format("{}-activations-m{}", id, m), *chart);
  return html.empty() ? html : fmt::format("<div class=\"maps\">\n{}</div>\n", html);
}

}  // namespace

std::string fields_html(const std::string& id, const ReportProblem& problem) {
  std::string html;
  for (std::size_t m = 0; m < problem.methods.size(); ++m) {
    const ReportMethod& method = problem.methods[m];
    if (method.fields.empty()) continue;
    html += fmt::format("<h4>{}, seed {}</h4>\n", name_html(method.label), method.shown_seed);
    for (const Field& field : method.fields) html += field_html(field_id(id, m, field), field);
  }
  if (html.empty())
    return "<p class=\"absent\">There are no trajectories here: runs keep some of their last "
           "evaluation on a test set, and a page that is full leaves them out.</p>\n";
  return fmt::format(
      "<details class=\"trajectories\" open id=\"{}-trajectories\"><summary>Best, median and worst "
      "test trajectory of one seed a method</summary>\n<p>Where scripts run, the bar along the "
      "time "
      "axis says for every step how many of the trajectories that the method chose had it bought: "
      "dark is all of them, empty none, where the surrogate filled it in.</p>\n{}</details>\n",
      id, html);
}

std::string problem_html(const std::string& id, const ReportProblem& problem) {
  std::string html =
      fmt::format("<section id=\"{}\" class=\"problem\"><h2>{}</h2>\n<p class=\"about\">{}</p>\n",
                  id, name_html(problem.table.problem), prose_html(heading(problem)));
  html += "<h3>Errors</h3>\n" + charts_html(id, problem, {"errors"});
  html += error_table_html(id + "-table", problem.table, ErrorsOf::members);
  html += error_table_html(id + "-table-mean", problem.table, ErrorsOf::mean_model);
  html +=
      "<div class=\"pair\">\n" + charts_html(id, problem, {"quantiles", "by-step"}) + "</div>\n";
  html += "<h3>Chosen time steps</h3>\n" + charts_html(id, problem, {"steps"});
  html += rasters_html(id, problem);
  html += "<h3>Where the solver steps went</h3>\n" + charts_html(id, problem, {"ledger"});
  html += ledger_html(id + "-ledger-table", problem);
  html += "<h3>Training and time</h3>\n<div class=\"pair\">\n" +
          charts_html(id, problem, {"losses", "times"}) + "</div>\n";
  html += "<h3>Does it pay?</h3>\n" + cost_html(id + "-cost", problem);
  html += charts_html(id, problem, {"cost-chart"});
  html += "<h3>What the committee knows</h3>\n" + charts_html(id, problem, {"calibration"});
  html += activations_html(id, problem);
  html += "<h3>Trajectories</h3>\n" + fields_html(id, problem);
  if (!problem.notes.empty()) {
    html += "<ul class=\"notes\">\n";
    for (const std::string& note : problem.notes)
      html += fmt::format("<li>{}</li>\n", prose_html(note));
    html += "</ul>\n";
  }
  return html + "</section>\n";
}

}  // namespace stap
