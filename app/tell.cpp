// `stap tell`: answers that somebody brings to a run.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "by_hand.h"
#include "commands.h"
#include "stap/data/store.h"
#include "stap/run/by_hand.h"
#include "stap/run/question_file.h"
#include "stap/run/sweep.h"
#include "study_end.h"

namespace stap::app {
namespace {

struct TellOptions {
  std::string folder;   ///< of a run or a sweep
  std::string answers;  ///< a file, or a folder
};

void run_tell(const TellOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const std::vector<SweepRun> runs = runs_by_hand(options.folder, globals);
  ByHand by_hand{.told = read_told(options.answers)};
  Console console(globals);
  const InterruptGuard interrupt;
  const LoopEnd end =
      drive(runs, options.folder, globals.threads, console, interrupt.stop(), &by_hand);
  console.finish();
  if (by_hand.told.empty())
    out << fmt::format(
        "{} {} recorded{}\n", by_hand.recorded, by_hand.recorded == 1 ? "answer" : "answers",
        by_hand.known == 0
            ? ""
            : fmt::format("; {} were known already, with the same states", by_hand.known));
  report_end(end, {options.folder, command_text(globals), {}, &globals}, by_hand, interrupt,
             console, out);
}

}  // namespace

void add_tell(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<TellOptions>();
  CLI::App* command = program.add_subcommand(
      "tell", "Record answers to the queries of 'stap ask', and continue the run");
  command->add_option("run", options->folder, "Folder of a run or a sweep")
      ->required()
      ->type_name("RUN");
  command->add_option("answers", options->answers, "File (.h5) or folder with the answers")
      ->required()
      ->type_name("FILE");
  command->footer(
      "answers.h5 has `id` [n] and `states` [n,C,X...] or [n,steps,C,X...] (NaN after the last "
      "step of a row), and may have `failed` [n] and `reason` [n]. In a folder of 'stap ask', "
      "ID/output.npy is an answer, and ID/failed.txt says why there is none.\n"
      "Example:\n  stap tell my-run answers.h5");
  command->callback([options, &globals] { run_tell(*options, globals, std::cout); });
}

}  // namespace stap::app
