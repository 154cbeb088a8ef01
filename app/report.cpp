// `stap report`: what runs and sweeps say, as one page.
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "report_file.h"
#include "stap/data/store.h"
#include "stap/report/page.h"
#include "stap/results/table_format.h"

namespace stap::app {
namespace {

struct ReportCommandOptions {
  std::vector<std::string> folders;  ///< of runs or sweeps
  std::string output;                ///< empty: in the first folder
  std::string baseline;              ///< a row; empty: the first
  bool csv = false, json = false;    ///< at most one: printed, and no page is written
};

void run_report(const ReportCommandOptions& options, std::ostream& out) {
  disable_store_exit_handler();
  const std::vector<std::filesystem::path> folders(options.folders.begin(), options.folders.end());
  const std::filesystem::path file =
      options.output.empty() ? report_file(folders.front()) : std::filesystem::path(options.output);
  const bool page = !options.csv && !options.json;
  if (page) check_report_output(file, folders);
  const Report report = gather_report(folders, {.baseline = options.baseline});
  if (options.csv)
    out << runs_csv(report.results);
  else if (options.json)
    out << config::json_text(report_value(report)) << '\n';
  else
    out << fmt::format("report: {}\n", write_report(report, file).string());
}

}  // namespace

void add_report(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<ReportCommandOptions>();
  CLI::App* command = program.add_subcommand(
      "report", "Put runs and sweeps on one HTML page: findings, figures, tables");
  command->add_option("folder", options->folders, "Folders of runs or sweeps")
      ->required()
      ->type_name("RUN");
  CLI::Option* output =
      command
          ->add_option("--out", options->output, "File (default: report.html in the first folder)")
          ->type_name("FILE");
  command
      ->add_option("--baseline", options->baseline,
                   "Method that the others are compared with (default: the first)")
      ->type_name("METHOD");
  CLI::Option* json =
      command->add_flag("--json", options->json, "Print what the page shows as JSON");
  CLI::Option* csv = command->add_flag("--csv", options->csv,
                                       "Print comma-separated values, one line per run and round, "
                                       "like 'stap table --csv'");
  csv->excludes(json);
  output->excludes(json)->excludes(csv);
  command->footer(
      "The page is one file that works offline and without scripts. It computes nothing: it shows "
      "the analyses that 'stap run', 'stap sweep' and 'stap analyse' have made.\n"
      "Example:\n  stap report my-sweep\n"
      "  stap report my-sweep other-run --baseline random --out both.html");
  command->callback([options] { run_report(*options, std::cout); });
}

}  // namespace stap::app
