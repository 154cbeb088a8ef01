// `stap run` and `stap sweep`: a run is a sweep of one, in the folder itself.
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/run/sweep.h"
#include "stap/study/presets.h"
#include "study_end.h"

namespace stap::app {
namespace {

std::optional<std::chrono::duration<double>> parse_duration(const std::string& text) {
  if (text.empty()) return std::nullopt;
  double number = 0;
  std::size_t used = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double factor = unit.empty() || unit == "s" ? 1.0
                        : unit == "m"               ? 60.0
                        : unit == "h"               ? 3600.0
                                                    : 0.0;
  if (used == 0 || factor == 0.0 || !(number > 0))
    throw Error(ErrorKind::config,
                fmt::format("--stop-after '{}', expected a time such as 90s, 9m or 1.5h", text));
  return std::chrono::duration<double>(number * factor);
}

void add_common(CLI::App& command, StudyCommandOptions& options) {
  command.add_option("setting", options.overrides, "key=value, for example train.epochs=20 seed=3");
  add_with(command, options.overlays);
  command.add_option("--out", options.folder, "Folder; the same command again continues there")
      ->required();
  command.add_option("--stop-after", options.stop_after,
                     "Stop cleanly at the next checkpoint after this time (90s, 9m, 1h)");
}

// The configuration with its settings; a sweep over `extends` may have none of its own.
config::Value document_of(const StudyCommandOptions& options, const Globals& globals) {
  config::Value document;
  if (!options.config.empty())
    document = load_config(options.config, options.overlays);
  else
    for (const std::string& name : options.overlays) overlay(document, load_config(name));
  for (const std::string& setting : options.overrides) apply_setting(document, setting);
  apply_compute(globals, document);
  return document;
}

std::vector<SweepRun> runs_of(const StudyCommandOptions& options, config::Value document) {
  if (!options.sweep) return {{"", only_run(document, options.overrides, options.config)}};
  const bool is_study = document.find("sweep") != nullptr;
  const std::vector<GridAxis> axes = take_axes(document, options.overrides, options.grid);
  if (axes.empty() && !is_study)
    throw Error(ErrorKind::config,
                "a sweep needs an axis: give --grid key=a,b,c, or a configuration with 'sweep'");
  return expand_grid(document, axes);
}

}  // namespace

void run_study(const StudyCommandOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const auto limit = parse_duration(options.stop_after);
  const std::vector<SweepRun> runs = runs_of(options, document_of(options, globals));

  Console console(globals);
  show_spending(runs, options.folder, console);
  show_spools(runs, console);
  const InterruptGuard interrupt;
  const auto start = std::chrono::steady_clock::now();
  const StopAsked stop(
      [&] {
        return interrupt.requested() ||
               (limit && std::chrono::steady_clock::now() - start > *limit);
      },
      [&] { return interrupt.now(); });
  ByHand by_hand;
  const LoopEnd end = drive(runs, options.folder, globals.threads, console, stop, &by_hand);
  report_end(end, options.folder, by_hand, interrupt, console, out);
}

void add_run(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<StudyCommandOptions>();
  CLI::App* command =
      program.add_subcommand("run", "Run one study: train, evaluate, select, buy, round by round");
  command->add_option("config", options->config, "YAML file, preset or run folder")->required();
  add_common(*command, *options);
  command->footer("Example:\n  stap run demo method=sbal+stap seed=1 --out my-run");
  command->callback([options, &globals] { run_study(*options, globals, std::cout); });
}

void add_sweep(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<StudyCommandOptions>();
  CLI::App* command =
      program.add_subcommand("sweep", "Run a study for every combination of some settings");
  options->sweep = true;
  command->add_option("config", options->config,
                      "YAML file, preset or run folder; not needed where extends is an axis");
  add_common(*command, *options);
  command
      ->add_option("--grid", options->grid,
                   "key=a,b,c or key=0..4; may be given several times, for every combination, and "
                   "takes the place of an axis of the configuration")
      ->allow_extra_args(false);  // one axis each, or settings would be taken for more
  command->footer(
      "Example:\n  stap sweep demo --grid method=random,sbal,sbal+stap --grid seed=0,1,2 --out "
      "my-sweep\n  stap sweep studies/small-burgers --out my-study\n"
      "  stap sweep --grid extends=paper/burgers,paper/kdv rounds=2 --out my-problems");
  command->callback([options, &globals] {
    // Without a configuration the first word is a setting.
    if (options->config.find('=') != std::string::npos && !std::ifstream(options->config)) {
      options->overrides.insert(options->overrides.begin(), options->config);
      options->config.clear();
    }
    run_study(*options, globals, std::cout);
  });
}

}  // namespace stap::app
