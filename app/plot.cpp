#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "output_file.h"
#include "stap/config/complaints.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/folder/run_folder.h"
#include "stap/report/charts.h"
#include "stap/report/field.h"
#include "stap/results/chosen_steps.h"

namespace stap::app {
namespace {

struct PlotOptions {
  std::string folder;  ///< of a run or a sweep
  std::string figure, output;
  std::string metric = "rmse", model = "members", parameter;
  std::string width, height, font = "8pt";  ///< empty: what suits the figure
  std::string problem;                      ///< empty: the only one
  std::vector<std::string> methods;         ///< labels; empty: all
  std::optional<std::uint64_t> seed;        ///< none: the first
  bool seeds = false;                       ///< draw single seeds
  std::string kind = "worst", channel;      ///< of a trajectory; empty: the first
  std::optional<double> time;               ///< none: the last
};

constexpr std::size_t kPixelsMost = 1'000'000;  // of a picture: more than any print shows

// What svg_text() writes as its first tag; names in it are escaped, so the first ">" ends it.
bool is_our_figure(std::string_view text) {
  const std::string_view tag = text.substr(0, text.find('>'));
  return tag.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"") &&
         tag.find(" class=\"figure\" font-family=\"") != std::string_view::npos;
}

// A whole number that is not negative: the parser would take -1 for the largest there is.
std::string complaint_unless_count(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? "" : fmt::format("'{}', expected a whole number from 0 on", text);
}

// "85mm", "8.5cm", "3.3in", "240pt" or, in mm, "85".
double millimetres(const std::string& text, const std::string& option, double least, double most) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double factor = unit.empty() || unit == "mm" ? 1.0
                        : unit == "cm"               ? 10.0
                        : unit == "in"               ? 25.4
                        : unit == "pt"               ? 25.4 / 72
                                                     : 0.0;
  if (end == text.c_str() || !(number * factor >= least && number * factor <= most))
    throw Error(
        ErrorKind::config,
        fmt::format("{} '{}', expected a length from {:.4g} to {:.4g} mm, such as {}", option, text,
                    least, most, option == "--font" ? "8pt or 3mm" : "85mm, 8.5cm or 240pt"));
  return number * factor;
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& items, std::string T::*name) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.*name);
  return names;
}

ProblemMethods& choose_problem(std::vector<ProblemMethods>& problems, const PlotOptions& options) {
  const auto names = names_of(problems, &ProblemMethods::problem);
  if (options.problem.empty() && problems.size() == 1) return problems.front();
  if (options.problem.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} has runs of {} problems: choose one with --problem: {}",
                            options.folder, problems.size(), fmt::join(names, ", ")));
  const auto found = std::ranges::find(names, options.problem);
  if (found == names.end())
    throw Error(ErrorKind::config,
                fmt::format("there is no problem '{}' in {}{}", options.problem, options.folder,
                            config::hint(options.problem, names, "problems")));
  return problems[static_cast<std::size_t>(found - names.begin())];
}

// Leaves the methods that were asked for.
void choose_methods(ProblemMethods& problem, const PlotOptions& options) {
  const auto names = names_of(problem.methods, &MethodRuns::label);
  for (const std::string& wanted : options.methods)
    if (std::ranges::find(names, wanted) == names.end())
      throw Error(ErrorKind::config,
                  fmt::format("there is no method '{}' in {}{}", wanted, options.folder,
                              config::hint(wanted, names, "methods")));
  if (!options.methods.empty())
    std::erase_if(problem.methods, [&](const MethodRuns& method) {
      return std::ranges::find(options.methods, method.label) == options.methods.end();
    });
}

// The one run that a figure is about.
const RunResult& choose_run(const ProblemMethods& problem, const PlotOptions& options) {
  if (problem.methods.size() > 1)
    throw Error(
        ErrorKind::config,
        fmt::format("figure {} shows one run: choose a method with --method: {}", options.figure,
                    fmt::join(names_of(problem.methods, &MethodRuns::label), ", ")));
  const auto& runs = problem.methods.front().runs;
  if (!options.seed) return *runs.front();
  const auto found = std::ranges::find(runs, *options.seed, &RunResult::seed);
  std::vector<std::uint64_t> seeds;
  for (const RunResult* run : runs) seeds.push_back(run->seed);
  if (found == runs.end())
    throw Error(ErrorKind::config,
                fmt::format("there is no seed {} of {} in {}; seeds: {}", *options.seed,
                            problem.methods.front().label, options.folder, fmt::join(seeds, ", ")));
  return **found;
}

FigureStyle style_of(const PlotOptions& options, double width, double height) {
  FigureStyle style{
      .width_mm = width, .height_mm = height, .font_pt = 8, .page = false, .seeds = options.seeds};
  if (!options.width.empty()) style.width_mm = millimetres(options.width, "--width", 30, 1000);
  if (!options.height.empty()) style.height_mm = millimetres(options.height, "--height", 25, 1000);
  std::string font = options.font;
  if (!font.empty() && font.find_first_not_of("0123456789.") == std::string::npos) font += "pt";
  style.font_pt = millimetres(font, "--font", 1, 15) * 72 / 25.4;
  return style;
}

// A drawing, and what to say about it.
struct Figure {
  std::string svg, title, note;
};

Figure chart_figure(const Chart& chart, const PlotOptions& options) {
  if (chart.series.empty())
    throw Error(ErrorKind::data, fmt::format("{} has nothing for figure {}: {}", options.folder,
                                             options.figure, chart.note));
  return {svg_text(chart, style_of(options, 85, 60)), chart.title, chart.note};
}

Figure raster_figure(const RunResult& run, const PictureChart& chart, const PlotOptions& options) {
  if (chart.picture.height == 0)
    throw Error(ErrorKind::data, fmt::format("{} has nothing for figure {}: {}",
                                             run.folder.string(), options.figure, chart.note));
  return {svg_text(chart, style_of(options, 85, 80)), chart.title, chart.note};
}

// That of the frame which is nearest to the one asked for.
double chosen_time(const Field& field, const PlotOptions& options) {
  const auto& times = field.times;
  if (!options.time || times.empty()) return times.empty() ? NAN : times.back();
  if (!(*options.time >= times.front() && *options.time <= times.back()))
    throw Error(ErrorKind::config,
                fmt::format("--time {:.6g}, expected a time of the trajectory: {:.6g} to {:.6g}",
                            *options.time, times.front(), times.back()));
  return *std::ranges::min_element(times, {},
                                   [&](double t) { return std::abs(t - *options.time); });
}

Figure trajectory_figure(const RunResult& run, std::size_t group, const PlotOptions& options) {
  ExtractKind kind = ExtractKind::best;
  for (const ExtractKind one : {ExtractKind::best, ExtractKind::median, ExtractKind::worst})
    if (to_string(one) == options.kind) kind = one;
  const RunExtracts extracts = RunFolder(run.folder).read_extracts();
  const auto names = channel_names(run.manifest, extracts.states.grid.channels);
  const auto found =
      options.channel.empty() ? names.begin() : std::ranges::find(names, options.channel);
  if (found == names.end())
    throw Error(ErrorKind::config,
                fmt::format("there is no channel '{}' in {}; channels: {}", options.channel,
                            run.folder.string(), fmt::join(names, ", ")));
  FieldSource source{&extracts, {.label = run.method, .group = group}};
  if (extracts.states.grid.axes() == 1) source.model.bought = read_chosen_steps(run).frequency();
  const Field field = make_field(std::span(&source, 1), kind, names, kPixelsMost);
  const FieldModel& model = field.models.front();
  const double time = chosen_time(field, options);
  const FigureStyle style = style_of(options, 170, field.dimensions == 1 ? 60 : 75);
  const auto channel = static_cast<std::size_t>(found - names.begin());
  return {svg_text(field, channel, time, style),
          fmt::format(
              "{} trajectory of {}, seed {}, {}{}; RMSE of the averaged model {}, after round {}",
              options.kind, run.method, run.seed, *found,
              field.dimensions == 1 ? "" : fmt::format(" at time {:.4g}", time),
              std::isfinite(model.rmse) ? fmt::format("{:.3g}", model.rmse) : "not finite",
              field.round),
          model.bought.empty() ? "" : "Bars over the prediction: how often each step was bought"};
}

Figure make_figure(const PlotOptions& options) {
  const std::vector<RunResult> results = read_results(options.folder);
  std::vector<ProblemMethods> problems = methods_of(results);
  ProblemMethods& problem = choose_problem(problems, options);
  choose_methods(problem, options);
  const std::vector<std::string> parameters = parameters_of(problem);
  if (!options.parameter.empty() &&
      std::ranges::find(parameters, options.parameter) == parameters.end())
    throw Error(
        ErrorKind::config,
        fmt::format("there is no parameter '{}' that varies in {}{}", options.parameter,
                    options.folder, config::hint(options.parameter, parameters, "parameters")));
  ChartOf of{.whose = errors_named(options.model), .parameter = options.parameter, .costs = [&] {
               return read_costs(options.folder, problem);
             }};
  for (const MetricInfo& row : metric_infos())
    if (row.name == options.metric) of.metric = row.metric;
  const ChartRow& row = *std::ranges::find(chart_rows(), options.figure, &ChartRow::id);
  if (row.of_methods != nullptr) return chart_figure(row.of_methods(problem, of), options);
  const RunResult& run = choose_run(problem, options);
  const std::size_t group = problem.methods.front().group;
  if (row.of_run != nullptr) return chart_figure(row.of_run(run, group), options);
  if (row.picture_of_run != nullptr) return raster_figure(run, row.picture_of_run(run), options);
  return trajectory_figure(run, group, options);
}

void run_plot(PlotOptions options, std::ostream& out) {
  disable_store_exit_handler();
  if (options.output.empty()) options.output = options.figure + ".svg";
  if (const auto ending = std::filesystem::path(options.output).extension();
      !ending.empty() && ending != ".svg")
    throw Error(ErrorKind::config,
                fmt::format("--out {}: figures are SVG, so choose a name that ends in .svg; "
                            "rsvg-convert and Inkscape make other formats of it",
                            options.output));
  check_text_output(options.output, {"figure of stap", ".svg", is_our_figure},
                    std::array<std::filesystem::path, 1>{options.folder});
  const Figure figure = make_figure(options);
  write_text(options.output, figure.svg);
  out << options.output << ": " << figure.title << '\n';
  if (!figure.note.empty()) out << figure.note << '\n';
  const ErrorsOf whose = errors_named(options.model);
  if (figure.title.find(info(whose).title) != std::string::npos && options.figure != "trajectory")
    out << model_text(whose);
}

}  // namespace

void add_plot(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App* command =
      program.add_subcommand("plot", "Draw one figure of a run or sweep for print (SVG)");
  command->add_option("folder", options->folder, "Folder of a sweep or a run")
      ->required()
      ->type_name("RUN");
  one_of(command->add_option("--figure", options->figure, "Which figure ('stap list charts')"),
         names_of(chart_rows(), &ChartRow::id))
      ->required();
  command->add_option("--out", options->output, "File to write (default: the figure's name, .svg)")
      ->type_name("FILE");
  std::vector<std::string> metrics;
  for (const MetricInfo& row : metric_infos()) metrics.emplace_back(row.name);
  one_of(command->add_option("--metric", options->metric, "Error shown by the figure errors"),
         metrics)
      ->capture_default_str();
  add_model_option(*command, "", options->model);
  command
      ->add_option("--width", options->width,
                   "Such as 85mm (one column), 17cm or 240pt (default: 85mm, trajectories 170mm)")
      ->type_name("LENGTH");
  command->add_option("--height", options->height, "Height; a long legend may add to it")
      ->type_name("LENGTH");
  command->add_option("--font", options->font, "Font size")
      ->capture_default_str()
      ->type_name("LENGTH");
  command->add_option("--problem", options->problem, "Problem, if the sweep has several")
      ->type_name("NAME");
  command
      ->add_option("--method", options->methods,
                   "Only this method, as tables call it; may be given several times")
      ->take_all()
      ->type_name("METHOD");
  command
      ->add_option("--parameter", options->parameter,
                   "Parameter of the figures parameters and values (default: the first)")
      ->type_name("NAME");
  command->add_option("--seed", options->seed, "Seed, for figures of one run (default: the first)")
      ->check(complaint_unless_count)
      ->type_name("N");
  command->add_flag("--seeds", options->seeds, "Draw every seed as well as their mean");
  one_of(command->add_option("--kind", options->kind, "Which trajectory"),
         {"best", "median", "worst"})
      ->capture_default_str();
  command->add_option("--channel", options->channel, "Channel of a trajectory (default: the first)")
      ->type_name("NAME");
  command->add_option("--time", options->time, "Time of a 2-D trajectory (default: the last)")
      ->type_name("TIME");
  command->footer(
      "Example:\n  stap plot my-sweep --figure errors\n"
      "  stap plot my-sweep --figure trajectory --method sbal+stap --kind worst --out worst.svg");
  command->callback([options] { run_plot(*options, std::cout); });
}

}  // namespace stap::app
