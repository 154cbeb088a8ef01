#include <iostream>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "help.h"
#include "interrupt.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/market/generate.h"
#include "stap/study/axes.h"
#include "stap/study/presets.h"
#include "stap/study/spending.h"
#include "stap/study/study.h"
#include "study_end.h"

namespace stap::app {
namespace {

struct GenerateOptions {
  std::string config;                  ///< file or preset
  std::vector<std::string> overlays;   ///< --with
  std::vector<std::string> overrides;  ///< key=value
  std::string folder;
  TimeLimitOptions time;
  bool json = false;
};

// The sections that decide about the data must fit. The rest of the document is looked at for
// mistakes only, and a method need not be given.
Study checked(const GenerateOptions& options) {
  config::Value document = load_config(options.config, options.overlays);
  apply_settings(document, options.overrides);
  return make_study(only_run(std::move(document), options.overrides, options.config),
                    Purpose::generate);
}

// Where the files go: the cache, unless told otherwise.
std::string folder_of(const GenerateOptions& options, const DataRequest& request) {
  if (!options.folder.empty()) return options.folder;
  const std::filesystem::path cache = cache_folder();
  if (cache.empty())
    throw Error(ErrorKind::config,
                "there is no cache (STAP_CACHE is off): give a folder with --out");
  return (cache / data_key(request)).string();
}

// What must be made, and what that costs with a solver of the user's own.
std::string spending_of(Study study, const DataRequest& request, const std::string& folder) {
  study.base = {};  // no run
  study.steps = {};
  study.planner = {};
  const std::filesystem::path journal = std::filesystem::path(folder) / "journal.jsonl";
  const auto spending = expected_spending({&study, 1}, {&journal, 1});
  if (!spending.empty()) return spending_text(spending[0], known_step_seconds(study));
  std::vector<std::string> parts;
  if (request.pool > 0)
    parts.push_back(counted(request.pool, "initial condition", "initial conditions"));
  if (request.test > 0)
    parts.push_back(fmt::format("{} of {}",
                                counted(request.test, "test trajectory", "test trajectories"),
                                counted(request.steps, "step", "steps")));
  return fmt::format("to be made: {}", fmt::join(parts, ", "));
}

void print_summary(const std::string& folder, const DataRequest& request, const Generated& done,
                   std::ostream& out) {
  if (request.pool > 0)
    out << fmt::format("{}/pool.h5: {}, SHA-256 {}\n", folder,
                       counted(request.pool, "initial condition", "initial conditions"),
                       done.pool_sha256);
  if (request.test > 0)
    out << fmt::format("{}/test.h5: {} of {}, SHA-256 {}\n", folder,
                       counted(request.test, "trajectory", "trajectories"),
                       counted(request.steps, "step", "steps"), done.test_sha256);
  out << fmt::format("{:.3g} s of computing\n", done.seconds);
}

config::Value to_json(const std::string& folder, const DataRequest& request,
                      const Generated& done) {
  config::Value value;
  value.set("folder", folder);
  value.set("finished", done.finished);
  value.set("pool", request.pool);
  value.set("test", request.test);
  value.set("steps", request.steps);
  if (!done.pool_sha256.empty()) value.set("pool_sha256", done.pool_sha256);
  if (!done.test_sha256.empty()) value.set("test_sha256", done.test_sha256);
  value.set("seconds", done.seconds);
  return value;
}

void run_generate(const GenerateOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const Study study = checked(options);
  const DataRequest request = data_request(study);
  if (request.pool == 0 && request.test == 0)
    throw Error(ErrorKind::config,
                fmt::format("{} reads all its data from files: there is nothing to generate",
                            options.config));
  const std::string folder = folder_of(options, request);
  const std::shared_ptr<const Solver> solver = make_solver(study, globals.threads);
  const auto sampler = make_sampler(study, solver->grid());
  const InterruptGuard interrupt(time_limit(options.time));
  Console console(globals);
  const std::filesystem::path cache = cache_folder(),
                              cached = cache.empty() ? cache : cache / data_key(request);
  if (!is_generated(request, folder) && (cached.empty() || !is_generated(request, cached)))
    console.note(spending_of(study, request, folder));
  const Generated done =
      generate(request, *sampler, solver, folder, console, interrupt.stop(), cached);
  console.finish();
  if (!done.finished && interrupt.requested())
    console.note(fmt::format("stopped; run the same command again to continue in {}", folder));
  if (options.json)
    out << config::json_text(to_json(folder, request, done)) << std::endl;
  else if (done.finished)
    print_summary(folder, request, done, out);
  if (done.finished) return;
  if (interrupt.requested()) interrupt.end_program();
  end_in_time(folder, command_text(globals), console);
}

}  // namespace

void add_generate(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = program.add_subcommand(
      "generate", "Make a study's pool of initial conditions and its test set, as files");
  command->add_option("config", options->config, "YAML file, preset or folder of a run")
      ->required()
      ->type_name("CONFIG");
  command->add_option("setting", options->overrides, "key=value, such as pool=100 data_seed=1")
      ->type_name("SETTING");
  add_with(*command, options->overlays);
  command
      ->add_option("--out", options->folder,
                   "Folder for pool.h5 and test.h5 (default: the cache, where runs look for them)")
      ->type_name("FOLDER");
  add_time_limit(*command, options->time);
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "pool.h5 holds `states` [B,C,X...], test.h5 `trajectory` [B,T,C,X...]: the formats of 'stap "
      "solve' and 'stap evaluate'.\n"
      "Stopped or interrupted, it keeps what is solved; run the same command again to continue.\n"
      "Example:\n  stap generate demo --out my-data\n"
      "  stap generate my-run        (the data of a run, into the cache)");
  command->callback([options, &globals] { run_generate(*options, globals, std::cout); });
}

}  // namespace stap::app
