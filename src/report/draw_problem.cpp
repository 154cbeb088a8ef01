// Charts and pictures of one problem, thinned to what a page can hold.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "report/gather.h"
#include "report/shortened.h"
#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/report/charts.h"
#include "stap/results/comparison.h"

namespace stap {
namespace {

// What a page has room for, all problems together: 5 MB with everything.
constexpr double kActivationPoints = 7'000;  // about 100 bytes each
constexpr double kPictureBytes = 2.0e6;      // of trajectories, as text
constexpr std::size_t kModels = 5;           // in one figure of trajectories
constexpr std::size_t kMostPixels = 40'000;  // of one picture, however much room there is

// A row's chart of the problem, and the variants of it that there are.
ReportChart draw_row(const ChartRow& row, const ProblemMethods& methods, ChartOf of) {
  using Variants = ChartRow::Variants;
  ReportChart chart{row.id, {}};
  if (row.variants == Variants::parameters) {
    for (const std::string& name : parameters_of(methods)) {
      of.parameter = name;
      chart.variants.push_back(row.of_methods(methods, of));
    }
    return chart;
  }
  const bool metrics = row.variants == Variants::metrics;
  const bool errors = metrics || row.variants == Variants::errors;
  std::vector<ErrorsOfInfo> order(errors_of_infos().begin(), errors_of_infos().end());
  std::ranges::stable_partition(order, [&](const auto& one) { return one.whose == of.whose; });
  for (const ErrorsOfInfo& whose : order)
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

// What is read of one method for its pictures.
struct Shown {
  RunExtracts extracts;
  FieldModel model;
  std::vector<std::string> channels;
};

// A run's extracts of a name; none where there is no file, or a damaged one, which is said.
std::optional<Shown> read_shown(const RunResult& run, const ReportMethod& method, const char* name,
                                ReportProblem& problem) {
  std::error_code error;
  const RunFolder folder(run.folder);
  if (!std::filesystem::exists(folder.path() / name, error)) return std::nullopt;
  try {
    Shown shown{folder.read_extracts(name), {.label = method.label, .group = method.group}, {}};
    shown.channels = channel_names(run.manifest, shown.extracts.states.grid.channels);
    if (problem.dt == 0) problem.dt = shown.extracts.states.dt;
    return shown;
  } catch (const Error& damage) {
    problem.notes.push_back(fmt::format("No trajectories of {}: {}.", method.label, damage.what()));
    return std::nullopt;
  }
}

// Of several methods those that show the same test trajectories, which the analysis of a sweep
// takes; where there are none, or one method only, what the best one has kept itself.
std::vector<Shown> all_shown(const std::map<std::string, const RunResult*>& runs,
                             ReportProblem& problem) {
  std::vector<std::size_t> order(problem.methods.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto sets = ranked_sets(problem.table, deployed_errors(problem.table.rows));
  const std::size_t best = sets.empty() ? 0 : sets.front().front();
  std::ranges::stable_partition(order, [&](std::size_t m) { return m == 0 || m == best; });
  std::vector<Shown> all;
  for (const char* name : {kSharedExtracts, kOwnExtracts})
    for (const std::size_t m : order) {
      if (all.size() == kModels || (name == kOwnExtracts && (!all.empty() || m != best))) continue;
      const ReportMethod& method = problem.methods[m];
      std::optional<Shown> shown = read_shown(*runs.at(method.label), method, name, problem);
      if (shown && (all.empty() || same_trajectories(shown->extracts, all.front().extracts)))
        all.push_back(std::move(*shown));
    }
  if (all.size() == 1 && problem.methods.size() > 1)
    problem.notes.push_back(
        fmt::format("Trajectories are of {} only: 'stap analyse' of the finished sweep shows all "
                    "methods on the same ones.",
                    all.front().model.label));
  return all;
}

std::size_t picture_bytes(const std::vector<Field>& fields) {
  std::size_t bytes = 0;
  for (const Field& field : fields)
    for (const FieldChannel& channel : field.channels) {
      bytes += data_uri(channel.truth).size();
      for (const auto* pictures : {&channel.predictions, &channel.errors})
        for (const Picture& picture : *pictures) bytes += data_uri(picture).size();
    }
  return bytes;
}

// Trajectories as large as there is room for them.
void draw_fields(std::vector<Shown>& all, double share, ReportProblem& problem) {
  if (all.empty() || all.front().extracts.extracts.rollouts.empty()) return;
  const RunExtracts& first = all.front().extracts;
  const std::size_t whole = first.extracts.times.size() * first.states.grid.points_total();
  const std::size_t pictures =
      first.extracts.rollouts.size() * first.states.grid.channels * (1 + 2 * all.size());
  const double budget = share * kPictureBytes;
  std::vector<FieldSource> sources;
  for (const Shown& shown : all) sources.push_back({&shown.extracts, shown.model});
  // A pixel takes about half a byte of text.
  std::size_t pixels = std::clamp<std::size_t>(
      static_cast<std::size_t>(2.0 * budget / static_cast<double>(pictures)), 200, kMostPixels);
  for (int tries = 0; tries < 8; ++tries) {
    problem.fields.clear();
    for (const Extract& one : first.extracts.rollouts)
      problem.fields.push_back(make_field(sources, one.kind, all.front().channels, pixels));
    const double bytes = static_cast<double>(picture_bytes(problem.fields));
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
  for (Field& field : problem.fields)
    for (FieldModel& model : field.models) model.label = shortened(model.label);
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
    Chart chart = row.of_run(run, method.group);
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
    problem.charts.push_back(
        draw_row(row, methods,
                 {.whose = deployed_errors(problem.table.rows), .costs = [&] { return costs; }}));
  }

  const auto points = static_cast<std::size_t>(share * kActivationPoints /
                                               (2.0 * static_cast<double>(problem.methods.size())));
  std::map<std::string, const RunResult*> runs_shown;
  bool thinned = false;
  for (ReportMethod& method : problem.methods) {
    const MethodRuns& runs = *std::ranges::find(methods.methods, method.label, &MethodRuns::label);
    const RunResult* run = *std::ranges::find_if(
        runs.runs, [&](const RunResult* r) { return r->folder.string() == method.shown; });
    runs_shown[method.label] = run;
    thinned = draw_run(*run, std::clamp<std::size_t>(points, 40, 1'000), method) || thinned;
  }
  if (thinned)
    problem.notes.emplace_back(
        "Of the states in the maps of hidden activations every so many are shown; analysis.h5 has "
        "all of them.");
  std::vector<Shown> all = all_shown(runs_shown, problem);
  for (Shown& shown : all)
    shown.model.bought =
        bought_share(*std::ranges::find(methods.methods, shown.model.label, &MethodRuns::label));
  draw_fields(all, share, problem);
  shorten_names(problem);
}

}  // namespace stap
