#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "standard_streams.h"
#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/sweep_folder.h"
#include "stap/results/table.h"
#include "stap/results/table_format.h"

namespace stap::app {
namespace {

struct TableOptions {
  std::vector<std::string> folders;
  std::string baseline;
  std::string metric;  ///< a name of metric_infos() or "all"; empty: what fits the format
  std::string model = "members";  ///< a name of errors_of_infos()
  bool paper = false, notes = false;
  bool json = false, latex = false;
  std::string csv;  ///< "runs", "summary" or empty. At most one of the three; none: text
};

constexpr const char* kAll = "all";
constexpr const char* kRuns = "runs";  // of --csv

// Programs get all metrics unless one is asked for, people and papers the RMSE.
std::optional<Metric> chosen(const TableOptions& options) {
  if (options.metric.empty())
    return options.csv.empty() && !options.json ? std::optional(Metric::rmse) : std::nullopt;
  for (const MetricInfo& row : metric_infos())
    if (row.name == options.metric) return row.metric;
  return std::nullopt;
}

// Runs of a sweep that are not there: those of shards that were not started yet.
std::string missing_text(const std::filesystem::path& folder) {
  if (!is_sweep(folder)) return {};
  std::error_code error;
  const std::vector<std::string> names = names_in(folder);
  const auto missing = std::ranges::count_if(names, [&](const std::string& name) {
    return !std::filesystem::exists(RunFolder(folder / name).config_file(), error);
  });
  if (missing == 0) return {};
  return fmt::format("{} of the sweep's {} runs {} not started\n", missing, names.size(),
                     missing == 1 ? "has" : "have");
}

// The runs of all folders; one that is given twice, by itself and with its sweep, counts once.
std::vector<RunResult> results_of(const std::vector<std::string>& folders) {
  std::vector<RunResult> results;
  for (const std::string& folder : folders)
    for (RunResult& result : read_results(folder)) {
      const auto same = [&](const RunResult& other) {
        std::error_code error;
        return std::filesystem::equivalent(other.folder, result.folder, error);
      };
      if (folders.size() == 1 || std::ranges::none_of(results, same))
        results.push_back(std::move(result));
    }
  return results;
}

}  // namespace

std::string model_text(ErrorsOf whose) {
  return whose == ErrorsOf::members      ? "single networks; the averaged model: --model mean\n"
         : whose == ErrorsOf::mean_model ? "the averaged model; single networks: --model members\n"
                                         : "";
}

namespace {

void run_table(const TableOptions& options, std::ostream& out) {
  const std::vector<RunResult> results = results_of(options.folders);
  std::string missing;
  for (const std::string& folder : options.folders) missing += missing_text(folder);
  const bool text = options.csv.empty() && !options.json && !options.latex;
  if (!text && !missing.empty()) write_stderr(missing);
  if (options.csv == kRuns) {
    if (options.paper)
      throw Error(ErrorKind::config,
                  "--paper goes with --csv=summary: the published numbers are means over rounds");
    out << runs_csv(results, chosen(options));
    return;
  }
  const auto tables = make_tables(results, options.baseline);
  const TableView view{chosen(options), options.paper, errors_named(options.model), options.notes};
  if (options.json)
    out << config::json_text(tables_value(tables, view)) << '\n';
  else if (!options.csv.empty())
    out << tables_csv(tables, view);
  else if (options.latex)
    out << tables_latex(tables, view);
  else
    out << tables_text(tables, view, stdout_style()) << model_text(view.whose) << missing;
}

}  // namespace

void add_model_option(CLI::App& command, const std::string& more, std::string& model) {
  std::vector<std::string> names;
  for (const ErrorsOfInfo& errors : errors_of_infos()) names.emplace_back(errors.name);
  one_of(command.add_option("--model", model,
                            "Whose errors: members, as in the paper, or the averaged model, which "
                            "you would deploy; with study.images also of both over images" +
                                more),
         names)
      ->capture_default_str();
}

void add_table(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<TableOptions>();
  CLI::App* command =
      program.add_subcommand("table", "Compare methods: errors over seeds, and their differences");
  command->add_option("folder", options->folders, "Folders of sweeps or runs")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--baseline", options->baseline,
                   "Method that the others are compared with (default: the first)")
      ->type_name("METHOD");
  std::vector<std::string> names{kAll};
  for (const MetricInfo& row : metric_infos()) names.emplace_back(row.name);
  one_of(command->add_option("--metric", options->metric,
                             "Which error (default: rmse; all with --csv and --json); q50, q95 and "
                             "q99 are quantiles of the RMSE"),
         names);
  add_model_option(*command, "; --json has all of them", options->model);
  command->add_flag("--paper", options->paper, "Show the published numbers beside ours");
  command->add_flag("--notes", options->notes, "Explain the columns below the table");
  CLI::Option* json = command->add_flag("--json", options->json, "Print JSON");
  CLI::Option* csv =
      one_of(command->add_flag("--csv{runs}", options->csv,
                               "Print comma-separated values: one line per run and round, or, with "
                               "--csv=summary, per row of the table"),
             {kRuns, "summary"});
  command->add_flag("--latex", options->latex, "Print LaTeX")->excludes(json)->excludes(csv);
  csv->excludes(json);
  command->footer(
      "Example:\n  stap table my-sweep --baseline random --notes\n"
      "  stap table my-sweep other-sweep --metric all --paper");
  command->callback([options] { run_table(*options, std::cout); });
}

}  // namespace stap::app
