#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "standard_streams.h"
#include "stap/data/store.h"
#include "stap/results/sweep_analysis.h"

namespace stap::app {
namespace {

struct AnalyseOptions {
  std::vector<std::string> folders;  ///< of runs or sweeps
  std::string baseline = "random";   ///< a method
  std::optional<double> efficiency, solver_seconds;
  bool json = false;
};

// Writes an analysis and shows it.
template <class Analysis>
void conclude(const Analysis& analysis, const std::string& folder, bool json,
              config::Value::List& documents, std::ostream& out) {
  write_analysis(analysis);
  if (json)
    documents.push_back(to_value(analysis));
  else
    out << folder << ":\n" << analysis_text(analysis, stdout_style());
}

void run_analyse(const AnalyseOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  AnalysisOptions analysis{.compute = compute_options(globals),
                           .threads = globals.threads,
                           .baseline = options.baseline,
                           .efficiency = options.efficiency,
                           .solver_seconds = options.solver_seconds};
  Console console(globals);
  config::Value::List documents;
  for (const std::string& folder : options.folders) {
    if (std::filesystem::exists(std::filesystem::path(folder) / "config.yaml"))
      conclude(analyse_run(read_result(folder), analysis), folder, options.json, documents, out);
    else
      conclude(analyse_sweep(folder, read_results(folder), analysis, console), folder, options.json,
               documents, out);
  }
  console.finish();
  if (options.json) out << config::json_text(config::Value(std::move(documents))) << '\n';
}

}  // namespace

void add_analyse(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<AnalyseOptions>();
  CLI::App* command = program.add_subcommand(
      "analyse", "Look into runs: chosen steps, calibration, times and cost");
  command->add_option("folder", options->folders, "Folders of runs or sweeps")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--baseline", options->baseline,
                   "Method that the others of a sweep are compared with")
      ->capture_default_str()
      ->type_name("METHOD");
  command
      ->add_option("--efficiency", options->efficiency,
                   "Data efficiency over the baseline to assume instead of the measured one: 2 "
                   "means half the solver steps")
      ->check(CLI::PositiveNumber)
      ->type_name("FACTOR");
  command
      ->add_option("--solver-seconds", options->solver_seconds,
                   "Seconds per solver step to assume instead of the recorded ones")
      ->check(CLI::NonNegativeNumber)
      ->type_name("S");
  command->add_flag("--json", options->json, "Print JSON: a list with one document per folder");
  command->footer(
      "Writes analysis.json and analysis.h5 into the folder of every run, and a summary "
      "analysis.json into that of a sweep.\n"
      "Example:\n  stap analyse my-sweep\n  stap analyse my-sweep --solver-seconds 60");
  command->callback([options, &globals] { run_analyse(*options, globals, std::cout); });
}

}  // namespace stap::app
