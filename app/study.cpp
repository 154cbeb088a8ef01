// `stap run` and `stap sweep`: a run is a sweep of one, in the folder itself.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "duration.h"
#include "help.h"
#include "interrupt.h"
#include "output_file.h"
#include "shards.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/core/shown_text.h"
#include "stap/data/store.h"
#include "stap/folder/run_id.h"
#include "stap/folder/sweep_folder.h"
#include "stap/run/by_hand.h"
#include "stap/run/sweep.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "stap/trial/tried_symmetries.h"
#include "study_end.h"

namespace stap::app {
namespace {

struct StudyCommandOptions {
  std::string config;                  ///< file or preset; a sweep over `extends` needs none
  std::vector<std::string> overlays;   ///< --with
  std::vector<std::string> overrides;  ///< key=value
  bool sweep = false;                  ///< more than one run may come of it
  std::vector<std::string> grid;       ///< sweep only: key=a,b,c
  std::string folder;
  TimeLimitOptions time;
  std::string until;  ///< "bought", "trained"; empty: to the end
  std::string shard;  ///< sweep only: "2/6", "auto"; empty: all of it
  bool no_report = false;
};

void add_common(CLI::App& command, StudyCommandOptions& options) {
  command
      .add_option("setting", options.overrides,
                  "key=value, such as train.epochs=20 seed=3 ('stap describe SECTION')")
      ->type_name("SETTING");
  add_with(command, options.overlays);
  command
      .add_option("--out", options.folder,
                  "Folder (default: a name made of the configuration, which is printed). Run the "
                  "same command again to continue")
      ->type_name("FOLDER");
  add_time_limit(command, options.time);
  one_of(command.add_option("--until", options.until,
                            "Run only one phase: bought calls the solver (no GPU needed), trained "
                            "trains and plans (no solver needed)"),
         {"bought", "trained"});
  command.add_flag("--no-report", options.no_report,
                   "Skip the analysis and report.html at the end");
}

// seed=0..4 is an axis.
void refuse_range(const std::string& setting, const StudyCommandOptions& options) {
  const std::size_t value = setting.find('=') + 1, dots = setting.find("..", value);
  constexpr const char* kDigits = "0123456789-";
  if (value == 0 || dots == std::string::npos || dots == value || dots + 2 == setting.size() ||
      setting.find_first_not_of(kDigits, value) != dots ||
      setting.find_first_not_of(kDigits, dots + 2) != std::string::npos)
    return;
  throw Error(ErrorKind::config, fmt::format("{} are several values: write {}--grid {}", setting,
                                             options.sweep ? "" : "'stap sweep' and ", setting));
}

// The configuration with its settings; a sweep over `extends` may have none of its own.
config::Value document_of(const StudyCommandOptions& options, const Globals& globals) {
  config::Value document;
  if (!options.config.empty())
    document = load_config(options.config, options.overlays);
  else
    for (const std::string& name : options.overlays) overlay(document, load_config(name));
  for (const std::string& setting : options.overrides) refuse_range(setting, options);
  apply_settings(document, options.overrides);
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

// Where a run or sweep goes by default: a function of what it computes, so that the same command
// continues there.
std::string default_folder(const StudyCommandOptions& options, const std::vector<SweepRun>& runs) {
  std::error_code error;
  std::string name = options.config.empty() ? "sweep" : stem_of(options.config);
  if (find_preset(options.config) != nullptr && !std::filesystem::exists(options.config, error))
    name = options.config;
  std::ranges::replace(name, '/', '-');
  if (!options.sweep)
    for (const char* key : {"method", "study.seed"})
      if (const config::Value* value = config::find_path(runs.front().document, key)) {
        const std::string text =
            value->text() != nullptr ? *value->text() : config::json_text(*value, 0);
        if (text.find_first_of("/ ()[]{},") == std::string::npos) name += "-" + text;
      }
  Sha256 hash;
  for (const SweepRun& run : runs) {
    const std::string all = run.name + "\n" + config::yaml_text(essential_config(run.document));
    hash.add(std::as_bytes(std::span(all)));
  }
  return fmt::format("{}-{}", name, hash.hex().substr(0, 8));
}

// The command that tries symmetries on a run's solver. Of a preset that is an axis, what is given
// is laid over that.
std::string check_command(const SweepRun& run, const std::vector<std::string>& symmetries,
                          const StudyCommandOptions& options) {
  constexpr std::string_view kExtends = "extends=", kStated = "train.symmetries=";
  std::string config = options.config;
  std::vector<std::string> overlays = options.overlays, settings = options.overrides;
  for (const std::string& setting : run.settings) {
    if (!setting.starts_with(kExtends)) {
      settings.push_back(setting);
      continue;
    }
    if (!config.empty()) overlays.insert(overlays.begin(), config);
    config = setting.substr(kExtends.size());
  }
  std::erase_if(settings, [&](const std::string& s) { return s.starts_with(kStated); });
  const config::Value all = config::list_of(symmetries);
  settings.push_back(std::string(kStated) + config::json_text(all, 0));
  std::string command = "stap solver check " + shell_quoted(config);
  for (const std::string& name : overlays) command += " --with " + shell_quoted(name);
  for (const std::string& setting : settings) command += " " + shell_quoted(setting);
  return command;
}

// Symmetries of all runs of which the same is to be said, and the first run that states one.
struct Doubt {
  std::vector<std::string> texts{};
  const SweepRun* run = nullptr;

  void add(const std::vector<std::string>& more, const SweepRun& of) {
    for (const std::string& text : more)
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    if (!more.empty() && run == nullptr) run = &of;
  }
};

// Built-in equations refuse symmetries that they do not have; a solver of the user's own is asked
// by 'stap solver check' and 'solver symmetries' alone.
void warn_of_doubts(const std::vector<SweepRun>& runs, const std::vector<Study>& studies,
                    const StudyCommandOptions& options, Console& console) {
  Doubt untried, broken;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const DoubtedSymmetries doubted = doubted_symmetries(studies[r]);
    untried.add(doubted.untried, runs[r]);
    broken.add(doubted.broken, runs[r]);
  }
  if (broken.run != nullptr)
    console.warning(fmt::format(
        "train.symmetries has \"{}\", which this solver did not have when last tried: networks "
        "would "
        "learn something wrong; remove it or, if the solver was fixed, try again: {}",
        fmt::join(broken.texts, "\", \""), check_command(*broken.run, broken.texts, options)));
  if (untried.run != nullptr)
    console.warning(fmt::format(
        "train.symmetries has \"{}\", which was never tried on this solver: if it does not hold, "
        "networks learn something wrong; to try it: {}",
        fmt::join(untried.texts, "\", \""), check_command(*untried.run, untried.texts, options)));
}

// Of another family than the configuration's network, in a run or more.
void show_left_out(const std::vector<SweepRun>& runs, const StudyCommandOptions& options,
                   Console& console) {
  if (options.config.empty()) return;
  const config::Value before = load_config(options.config);
  std::set<std::string> notes{""};
  for (const SweepRun& run : runs)
    if (const std::string note = left_out_note(before, run.document); notes.insert(note).second)
      console.note(note);
}

Until until_of(const std::string& text) {
  return text == "bought" ? Until::bought : text == "trained" ? Until::trained : Until::finished;
}

void run_study(StudyCommandOptions options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const TimeLimit limit = time_limit(options.time);
  Share share{.until = until_of(options.until)};
  read_shard(options.shard, share);
  Globals of_one = globals;
  of_one.devices.clear();
  const bool spread = options.sweep && !globals.devices.empty();
  std::vector<SweepRun> runs = runs_of(options, document_of(options, spread ? of_one : globals));
  Console console(globals);
  const bool by_default = options.folder.empty();
  if (by_default) options.folder = default_folder(options, runs);
  if (options.sweep) keep_names(runs, options.folder);
  const Task task{options.folder, command_text(globals), share,
                  options.no_report ? nullptr : &globals};
  std::vector<Study> studies = read_runs(runs, share.until);
  if (by_default) console.note(fmt::format("folder: {}", options.folder));
  if (share.shard == 0) show_left_out(runs, options, console);
  if (spread) return sweep_on_devices(runs, task, globals, console, out);
  if (share.until != Until::trained) {
    std::vector<std::filesystem::path> folders;  // of runs that ask a solver of the user's own
    std::vector<Study> asking;
    for (std::size_t r = share.shard; r < runs.size(); r += share.shards) {
      if (!studies[r].pde.row->outline) continue;
      folders.push_back(std::filesystem::path(options.folder) / runs[r].name);
      asking.push_back(studies[r]);
    }
    show_spending(asking, folders, console);
    show_spools(asking, console);
    if (share.shard == 0) warn_of_doubts(runs, studies, options, console);
  }
  const InterruptGuard interrupt(limit);
  ByHand by_hand;
  const LoopEnd end = drive(runs, std::move(studies), options.folder, globals.threads, console,
                            interrupt.stop(), &by_hand, share);
  report_end(end, task, by_hand, interrupt, console, out);
}

}  // namespace

void add_run(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<StudyCommandOptions>();
  CLI::App* command = program.add_subcommand(
      "run", "Run one study: train, measure, choose and buy steps, round by round");
  command->add_option("config", options->config, "YAML file, preset ('stap list') or run folder")
      ->required()
      ->type_name("CONFIG");
  add_common(*command, *options);
  command->footer(
      "The exit code is 0 when the study is finished, 8 when a time limit stopped it (run the same "
      "command again to continue), 9 when the phase of --until is done (the other one is next).\n"
      "Example:\n  stap run demo\n"
      "  stap run demo method=sbal+stap seed=1 --out my-run\n"
      "  stap run study.yaml --out my-run --until bought");
  command->callback([options, &globals] { run_study(*options, globals, std::cout); });
}

void add_sweep(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<StudyCommandOptions>();
  CLI::App* command =
      program.add_subcommand("sweep", "Run a study for all combinations of some settings");
  options->sweep = true;
  command
      ->add_option("config", options->config,
                   "YAML file, preset ('stap list') or run folder; not needed where extends is an "
                   "axis")
      ->type_name("CONFIG");
  add_common(*command, *options);
  add_grid(*command, options->grid);
  command
      ->add_option("--shard", options->shard,
                   "i/n: only runs k with k mod n = i, all into the same --out; auto: by the task "
                   "of a Slurm array")
      ->check(complaint_if_empty)
      ->type_name("I/N");
  command->footer(
      "Exit codes are those of 'stap run'.\n"
      "Example:\n  stap sweep demo --grid method=random,sbal+stap --grid seed=0..4 --out my-sweep\n"
      "  stap sweep studies/small-burgers\n"
      "  stap sweep --grid extends=paper/burgers,paper/kdv rounds=2\n"
      "  stap sweep studies/main --shard 2/6 --out main      (the third of six processes)\n"
      "  stap sweep studies/main --device cuda:0,1,2,3");
  command->callback([options, &globals] {
    // Without a configuration the first word is a setting.
    std::error_code missing;
    if (options->config.find('=') != std::string::npos &&
        !std::filesystem::exists(options->config, missing)) {
      options->overrides.insert(options->overrides.begin(), options->config);
      options->config.clear();
    }
    run_study(*options, globals, std::cout);
  });
}

}  // namespace stap::app
