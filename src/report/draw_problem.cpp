// Charts and pictures of one problem, thinned to what a page can hold.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "report/field_parts.h"
#include "report/gather.h"
#include "report/shortened.h"
#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/report/charts.h"

namespace stap {
namespace {

// What a page has room for, all problems together: 5 MB with everything.
constexpr double kActivationPoints = 7'000;  // about 100 bytes each
constexpr double kPictureBytes = 2.0e6;      // of trajectories, as text
constexpr std::size_t kMostPixels = 40'000;  // of one picture, however much room there is

// A row's chart of the problem, and the variants of it that there are.
ReportChart draw_row(const ChartRow& row, const ProblemMethods& methods, ChartOf of) {
  ReportChart chart{row.id, {}};
  const bool errors = row.variants != ChartRow::Variants::none;
  const bool metrics = row.variants == ChartRow::Variants::metrics;
  for (const ErrorsOfInfo& whose : errors_of_infos())
    for (const MetricInfo& metric : metric_infos()) {
      if ((!errors && whose.whose != of.whose) || (!metrics && metric.metric != of.metric))
        continue;
      ChartOf one = of;
      one.whose = whose.whose;
      one.metric = metric.metric;
      if (Chart drawn = row.of_methods(methods, one);
          chart.variants.empty() || !drawn.series.empty())
        chart.variants.push_back(std::move(drawn));
    }
  return chart;
}

// Every n-th value and the last one.
void thin(std::vector<double>& values, std::size_t every) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i % every == 0 || i + 1 == values.size()) kept.push_back(values[i]);
  values = std::move(kept);
}

// Whether anything was left out.
bool thin(Chart& chart, std::size_t points_most) {
  bool thinned = false;
  for (Series& series : chart.series) {
    if (series.x.size() <= points_most) continue;
    const std::size_t every = (series.x.size() + points_most - 1) / points_most;
    for (std::vector<double>* values : {&series.x, &series.y, &series.low, &series.high})
      thin(*values, every);
    thinned = true;
  }
  return thinned;
}

// Share of the chosen trajectories of which each solver step was bought.
std::vector<double> bought_share(const Chart& steps, const std::string& label,
                                 std::size_t cluster) {
  std::vector<double> share;
  const auto found = std::ranges::find(steps.series, label, &Series::label);
  if (found != steps.series.end())
    for (const double y : found->y) share.insert(share.end(), std::max<std::size_t>(cluster, 1), y);
  return share;
}

// What is read of one run for its pictures.
struct Shown {
  const RunResult* run;
  ReportMethod* method;
  RunExtracts extracts{};
  std::vector<double> bought{};
};

std::vector<Field> fields_of(const Shown& shown, std::size_t pixels) {
  std::vector<Field> fields;
  const auto names = channel_names(shown.run->manifest, shown.extracts.states.grid.channels);
  for (const Extract& one : shown.extracts.extracts.rollouts) {
    fields.push_back(make_field(shown.extracts, one.kind, names, pixels));
    fields.back().bought = shown.bought;
  }
  return fields;
}

std::size_t picture_bytes(const std::vector<Shown>& all) {
  std::size_t bytes = 0;
  for (const Shown& shown : all)
    for (const Field& field : shown.method->fields)
      for (const FieldChannel& channel : field.channels)
        for (const Picture* picture : {&channel.truth, &channel.prediction, &channel.error}) {
          bytes += data_uri(*picture).size();
          if (field.dimensions > 1) bytes += data_uri(still_strip(*picture, field)).size();
        }
  return bytes;
}

// Trajectories as large as there is room for them.
void draw_fields(std::vector<Shown>& all, double share, ReportProblem& problem) {
  std::size_t pictures = 0, whole = 0;
  for (const Shown& shown : all) {
    const std::size_t rollouts = shown.extracts.extracts.rollouts.size();
    pictures += 3 * rollouts * shown.extracts.states.grid.channels;
    whole =
        std::max(whole, shown.extracts.extracts.times.size() * shown.extracts.states.grid.values() /
                            std::max<std::size_t>(shown.extracts.states.grid.channels, 1));
  }
  if (pictures == 0) return;
  const double budget = share * kPictureBytes;
  // A pixel takes about half a byte of text.
  std::size_t pixels = std::clamp<std::size_t>(
      static_cast<std::size_t>(2.0 * budget / static_cast<double>(pictures)), 200, kMostPixels);
  for (int tries = 0; tries < 8; ++tries) {
    for (Shown& shown : all) shown.method->fields = fields_of(shown, pixels);
    const double bytes = static_cast<double>(picture_bytes(all));
    if (bytes <= budget) break;
    pixels = static_cast<std::size_t>(static_cast<double>(pixels) * 0.9 * budget / bytes);
  }
  if (whole > pixels)
    problem.notes.push_back(
        fmt::format("Trajectories are shown with fewer times or points than the runs have (at most "
                    "{} values a picture), to keep this page small.",
                    pixels));
}

constexpr std::size_t kTitle = 300, kNote = 1'500;  // characters

void shorten_names(Chart& chart) {
  for (Series& series : chart.series) series.label = shortened(series.label);
  for (Axis* axis : {&chart.x, &chart.y})
    for (std::string& name : axis->names) name = shortened(name);
  chart.title = shortened(chart.title, kTitle);
  chart.note = shortened(chart.note, kNote);
}

void shorten_names(ReportProblem& problem) {
  for (ReportChart& chart : problem.charts)
    for (Chart& variant : chart.variants) shorten_names(variant);
  for (ReportMethod& method : problem.methods) {
    for (ReportChart& chart : method.charts) shorten_names(chart.variants.front());
    for (auto& [id, picture] : method.pictures) {
      picture.title = shortened(picture.title, kTitle);
      picture.note = shortened(picture.note, kNote);
    }
  }
}

// Charts and pictures of a method's run that is shown; `points` of a series. Whether anything was
// left out.
bool draw_run(const RunResult& run, std::size_t points, ReportMethod& method) {
  bool thinned = false;
  for (const ChartRow& row : chart_rows()) {
    if (row.picture_of_run != nullptr)
      if (PictureChart picture = row.picture_of_run(run); picture.picture.width > 0)
        method.pictures.emplace_back(row.id, std::move(picture));
    if (row.of_run == nullptr) continue;
    Chart chart = row.of_run(run);
    thinned = thin(chart, points) || thinned;
    method.charts.push_back({row.id, {std::move(chart)}});
  }
  return thinned;
}

}  // namespace

void draw_problem(const ProblemMethods& methods, double share, ReportProblem& problem) {
  std::vector<MethodCost> costs;
  for (const ReportMethod& method : problem.methods)
    if (method.cost && !method.cost->baseline.empty())
      costs.push_back({method.label, method.cost->baseline, method.group, method.cost->cost.terms});
  for (const ChartRow& row : chart_rows()) {
    if (row.of_methods == nullptr || (row.has != nullptr && !row.has(methods))) continue;
    problem.charts.push_back(draw_row(row, methods, {.costs = [&] { return costs; }}));
  }

  const Chart steps = steps_chart(methods);
  const auto points = static_cast<std::size_t>(share * kActivationPoints /
                                               (2.0 * static_cast<double>(problem.methods.size())));
  std::vector<Shown> all;
  bool thinned = false;
  for (ReportMethod& method : problem.methods) {
    const MethodRuns& runs = *std::ranges::find(methods.methods, method.label, &MethodRuns::label);
    const RunResult* run = *std::ranges::find_if(
        runs.runs, [&](const RunResult* r) { return r->folder.string() == method.shown; });
    thinned = draw_run(*run, std::clamp<std::size_t>(points, 40, 1'000), method) || thinned;
    std::error_code error;
    const RunFolder folder(run->folder);
    if (!std::filesystem::exists(folder.extracts_file(), error)) continue;
    try {
      all.push_back(
          {run, &method, folder.read_extracts(), bought_share(steps, method.label, run->cluster)});
      if (problem.dt == 0) problem.dt = all.back().extracts.states.dt;
    } catch (const Error& damage) {
      problem.notes.push_back(
          fmt::format("No trajectories of {}: {}.", method.label, damage.what()));
    }
  }
  if (thinned)
    problem.notes.emplace_back(
        "Of the states in the maps of hidden activations every so many are shown; analysis.h5 has "
        "all of them.");
  draw_fields(all, share, problem);
  shorten_names(problem);
}

}  // namespace stap
