// `stap solver check`, `stap solver symmetries` and `stap solver replay`.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"
#include "stap/data/store.h"
#include "stap/study/axes.h"
#include "stap/study/kept_of_solver.h"
#include "stap/study/presets.h"
#include "stap/study/spending.h"
#include "stap/trial/solver_advice.h"
#include "stap/trial/solver_probe.h"
#include "stap/trial/solver_replay.h"
#include "stap/trial/symmetry_search.h"
#include "stap/trial/tried_symmetries.h"

namespace stap::app {
namespace {

/// Of what asks a study's solver.
struct SolverAskOptions {
  std::string config;                  ///< file, preset or run folder
  std::vector<std::string> overlays;   ///< --with
  std::vector<std::string> overrides;  ///< key=value
  std::size_t calls = 0;               ///< at most; 0: as many as are usual
  bool json = false;
};

struct SolverReplayOptions {
  std::string bundle;                  ///< a folder
  std::vector<std::string> overrides;  ///< key=value
  bool keep = false;                   ///< the program's files, below the bundle
};

namespace fs = std::filesystem;

Study study_of(const SolverAskOptions& options, const Globals& globals) {
  config::Value document = load_config(options.config, options.overlays);
  apply_settings(document, options.overrides);
  apply_compute(globals, document);
  return make_study(only_run(std::move(document), options.overrides, options.config),
                    Purpose::generate);
}

// The advice needs what training takes; where that cannot be measured it does without.
AdviceFacts facts_of(const Study& study, const Globals& globals, Console& console) {
  AdviceFacts facts = advice_facts(study);
  if (facts.rounds == 0) return facts;
  try {
    facts.training = measure_training(study, globals.threads);
    keep_training_seconds(study, *facts.training);
  } catch (const Error& error) {
    console.warning(fmt::format("training was not measured: {}", error.what()));
  }
  return facts;
}

// ", about 3 s", where it is known what a call takes.
std::string duration_of(const Study& study, std::size_t calls) {
  const auto known = known_step_seconds(study);
  if (!known) return {};
  return fmt::format(", about {:.2g} s", static_cast<double>(calls) * known->seconds);
}

// BUNDLE/replay-1, or the next number that is free.
fs::path unused_below(const fs::path& bundle) {
  for (int n = 1;; ++n)
    if (fs::path path = bundle / fmt::format("replay-{}", n); !fs::exists(path)) return path;
}

void print_replay(const Bundle& bundle, const Replay& replay, std::ostream& out) {
  out << fmt::format("before: {}\n", bundle.reason);
  const bool works = replay.answer.status == Answer::Status::ok;
  out << fmt::format(
      "now:    {}, after {:.3g} s\n",
      works ? "ok" : fmt::format("{}: {}", to_string(replay.answer.status), replay.answer.reason),
      replay.seconds);
  if (!replay.folder.empty()) out << fmt::format("files:  {}\n", replay.folder.string());
  if (!replay.log.empty()) out << "last lines of its log:\n" << replay.log << '\n';
}

void run_solver_check(const SolverAskOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const Study study = study_of(options, globals);
  const std::size_t calls = options.calls > 0 ? options.calls
                                              : usual_calls(study.train.symmetries.size(),
                                                            varied_parameters(study.pde).size());
  const InterruptGuard interrupt;
  Console console(globals);
  SolverCheck check;
  try {
    const SolverProbe probe(study, calls);
    const std::size_t planned = planned_calls(probe.solver(), calls);
    console.note(fmt::format("solver check: at most {} calls of the solver{}", planned,
                             duration_of(study, planned)));
    show_spools(std::span(&study, 1), console);
    check = check_solver(probe.solver(), calls, console, [&] { return interrupt.requested(); });
  } catch (const Stopped&) {
    console.note("interrupted");
    interrupt.end_program();
  }
  console.finish();
  if (const auto seconds = check.median_seconds())
    keep_step_seconds(study, {*seconds, check.seconds.size(), "solver check"});
  for (const CheckRow& row : check.rows) {
    if (row.name != "symmetries") continue;
    using Verdict = CheckRow::Verdict;
    if (row.verdict == Verdict::failed) keep_tried_symmetries(study, {}, study.train.symmetries);
    if (row.verdict == Verdict::ok || row.verdict == Verdict::warning)
      keep_tried_symmetries(study, study.train.symmetries, {});
  }
  const std::vector<std::string> advice =
      check.any_failed() ? std::vector<std::string>()
                         : solver_advice(check, facts_of(study, globals, console));
  if (options.json)
    out << config::json_text(to_value(check, advice)) << '\n';
  else
    out << solver_check_text(check, advice);
  std::vector<std::string> failed;
  for (const CheckRow& row : check.rows)
    if (row.verdict == CheckRow::Verdict::failed) failed.push_back(row.name);
  if (!failed.empty())
    throw Error(ErrorKind::solver, fmt::format("a study cannot rely on this solver; failed: {}",
                                               fmt::join(failed, ", ")));
}

void run_solver_symmetries(const SolverAskOptions& options, const Globals& globals,
                           std::ostream& out) {
  disable_store_exit_handler();
  const Study study = study_of(options, globals);
  const InterruptGuard interrupt;
  Console console(globals);
  SymmetrySearch search;
  try {
    const SolverProbe probe(study, 1);
    const std::size_t planned = planned_search_calls(probe.solver(), options.calls);
    console.note(
        fmt::format("solver symmetries: {} calls of the solver{}{}", planned,
                    planned == options.calls ? " at most" : ", and one more per symmetry found",
                    duration_of(study, planned)));
    show_spools(std::span(&study, 1), console);
    search = find_symmetries(probe.solver(), options.calls, console,
                             [&] { return interrupt.requested(); });
  } catch (const Stopped&) {
    search.stopped = true;  // before anything could be told
  }
  console.finish();
  std::vector<std::string> hold = search.found, broken;
  for (const SymmetryTried& row : search.rows) {
    if (row.verdict == SymmetryTried::Verdict::holds) hold.push_back(row.text);
    if (row.verdict == SymmetryTried::Verdict::broken) broken.push_back(row.text);
  }
  keep_tried_symmetries(study, hold, broken);
  if (options.json)
    out << config::json_text(to_value(search)) << '\n';
  else
    out << symmetry_search_text(search);
  if (search.stopped) {
    out.flush();  // the signal that ends the program leaves nobody to do it
    console.note("interrupted: only the symmetries above were tried");
    interrupt.end_program();
  }
  if (search.nothing_told())
    throw Error(ErrorKind::solver,
                fmt::format("no symmetry could be tested: the solver stepped from initial "
                            "conditions, but failed on all of their images ({}): see why it fails "
                            "there, or choose other initial conditions; more with: stap solver "
                            "check {}",
                            search.rows.back().trouble, shell_quoted(options.config)));
}

void run_solver_replay(const SolverReplayOptions& options, std::ostream& out) {
  disable_store_exit_handler();
  const Bundle bundle = read_bundle(options.bundle);
  config::Value document = bundle.document;
  apply_settings(document, options.overrides);
  const InterruptGuard interrupt;
  Replay done;
  try {
    done = replay(bundle, document, options.keep ? unused_below(options.bundle) : fs::path(),
                  [&] { return interrupt.requested(); });
  } catch (const Stopped&) {
    interrupt.end_program();
  }
  print_replay(bundle, done, out);
  if (done.answer.status != Answer::Status::ok)
    throw Error(ErrorKind::solver, fmt::format("the query of {} still fails", options.bundle));
}

void add_asking(CLI::App& command, SolverAskOptions& options, const std::string& calls) {
  command.add_option("config", options.config, "YAML file or folder of a run")
      ->required()
      ->type_name("CONFIG");
  command.add_option("setting", options.overrides, "key=value, such as solver.slots=2")
      ->type_name("SETTING");
  add_with(command, options.overlays);
  command.add_option("--calls", options.calls, calls)
      ->check(CLI::Range(std::size_t{1}, std::size_t{100000}))
      ->type_name("N");
  command.add_flag("--json", options.json, "Print JSON");
}

}  // namespace

void add_solver(CLI::App& program, const Globals& globals) {
  CLI::App* solver = program.add_subcommand(
      "solver", "Check your own solver, find its symmetries, repeat its failures");
  solver->require_subcommand(1);
  solver->footer("Example:\n  stap solver check study.yaml");

  const auto check = std::make_shared<SolverAskOptions>();
  CLI::App* command = solver->add_subcommand(
      "check", "Call the solver a few times and say whether a study can rely on it");
  add_asking(
      *command, *check,
      fmt::format("At most so many calls (default: {}, and one per symmetry); more calls try "
                  "more initial conditions",
                  kSolverCheckCalls));
  command->footer(
      "The exit code is 7 if a check failed; warnings alone leave it at 0.\n"
      "Example:\n  stap solver check study.yaml\n"
      "  stap solver check study.yaml 'solver.argv=[./other, \"{input}\", \"{output}\"]' --calls "
      "4");
  command->callback([check, &globals] { run_solver_check(*check, globals, std::cout); });

  const auto symmetries = std::make_shared<SolverAskOptions>();
  command = solver->add_subcommand("symmetries", "Find out which symmetries the solver has");
  add_asking(*command, *symmetries, "At most so many calls (default: one per symmetry to try)");
  command->footer(
      "Prints what to write into train.symmetries. Ctrl-C prints what was found so far.\n"
      "The exit code is 7 if the solver fails on its first steps, or on all images of them.\n"
      "Example:\n  stap solver symmetries study.yaml\n"
      "  stap solver symmetries study.yaml --calls 20 --json");
  command->callback(
      [symmetries, &globals] { run_solver_symmetries(*symmetries, globals, std::cout); });

  const auto replay = std::make_shared<SolverReplayOptions>();
  command = solver->add_subcommand("replay", "Repeat a failed query from the files it left");
  command->add_option("bundle", replay->bundle, "Folder, such as my-run/failures/001")
      ->required()
      ->type_name("FOLDER");
  command
      ->add_option("setting", replay->overrides,
                   "key=value of the sections pde and solver, such as solver.limits.seconds=60")
      ->type_name("SETTING");
  command->add_flag("--keep", replay->keep, "Keep the program's files in that folder");
  command->footer(
      "The exit code is 7 if it still fails, 0 if it works now.\n"
      "Example:\n  stap solver replay my-run/failures/001 --keep\n"
      "  stap solver replay my-run/failures/001 'solver.argv=[./debug, \"{input}\", "
      "\"{output}\"]'");
  command->callback([replay] { run_solver_replay(*replay, std::cout); });
}

}  // namespace stap::app
