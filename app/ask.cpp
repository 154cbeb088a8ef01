// `stap ask`: what a run wants to know from a solver that is a person.
#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "by_hand.h"
#include "commands.h"
#include "output_file.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"
#include "stap/data/store.h"
#include "stap/folder/sweep_folder.h"
#include "stap/run/by_hand.h"
#include "stap/run/question_file.h"
#include "stap/run/sweep.h"
#include "stap/study/study.h"
#include "study_end.h"

namespace stap::app {

std::vector<SweepRun> runs_by_hand(const std::string& folder, const Globals& globals) {
  std::vector<SweepRun> runs = runs_in(folder);
  for (SweepRun& run : runs) {
    const config::Value* solver = run.document.find("solver");
    const config::Value* name = solver != nullptr ? solver->find("name") : nullptr;
    if (name == nullptr || name->text() == nullptr || *name->text() != kByHand) {
      config::Value by_hand;
      by_hand.set("name", kByHand);
      run.document.set("solver", std::move(by_hand));
    }
    apply_compute(globals, run.document);
  }
  return runs;
}

namespace {

struct AskOptions {
  std::string folder;                 ///< of a run or a sweep
  std::string output = "queries.h5";  ///< a file, or a folder
  std::size_t limit = 0;              ///< 0: all
};

// What the questions are about.
Outline outline_of(const std::vector<SweepRun>& runs, const std::vector<Study>& studies,
                   const std::vector<Question>& questions) {
  const auto of = [&](std::size_t run) {
    return studies[run].pde.row->outline(studies[run].pde.options);
  };
  std::set<std::size_t> who;
  for (const Question& question : questions) who.insert(question.run);
  const Outline outline = of(*who.begin());
  for (const std::size_t run : who)
    if (!(of(run).grid == outline.grid))
      throw Error(ErrorKind::config,
                  fmt::format("{} and {} have different grids: ask for one of them at a time",
                              runs[*who.begin()].name, runs[run].name));
  return outline;
}

void run_ask(const AskOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  check_output(options.output, OutputKind::queries, {options.folder});
  const std::vector<SweepRun> runs = runs_by_hand(options.folder, globals);
  Console console(globals);
  const InterruptGuard interrupt;
  ByHand by_hand;
  const std::vector<Study> studies = read_runs(runs);
  const LoopEnd end =
      drive(runs, studies, options.folder, globals.threads, console, interrupt.stop(), &by_hand);
  if (end == LoopEnd::finished) {
    console.finish();
    out << fmt::format(
        "{} is finished: there is nothing left to ask, so {} was not written; for the results: "
        "stap table {}\n",
        options.folder, options.output, options.folder);
    return;
  }
  if (end != LoopEnd::waiting)
    return report_end(end, {options.folder, command_text(globals)}, by_hand, interrupt, console,
                      out);
  console.finish();
  std::vector<Question>& open = by_hand.open;
  const std::size_t all = open.size();
  if (options.limit > 0 && open.size() > options.limit) open.resize(options.limit);
  std::vector<std::string> names;
  for (const SweepRun& run : runs) names.push_back(run.name.empty() ? options.folder : run.name);
  write_questions(options.output, open, outline_of(runs, studies, open), names);
  out << fmt::format("{} of {} queries are in {}; bring the answers with: stap tell {} {}\n",
                     open.size(), all, options.output, options.folder,
                     options.output.ends_with("5") ? "answers.h5" : options.output);
}

}  // namespace

void add_ask(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<AskOptions>();
  CLI::App* command =
      program.add_subcommand("ask", "Write the queries of a run that you answer by hand");
  command->add_option("run", options->folder, "Folder of a run or a sweep")
      ->required()
      ->type_name("RUN");
  command->add_option("--out", options->output, "File (.h5) or folder for the queries")
      ->capture_default_str()
      ->type_name("FILE");
  command->add_option("--limit", options->limit, "Write at most this many (default: all)")
      ->type_name("N");
  command->footer(
      "queries.h5 holds `id`, `state` [n,C,X...], `time`, `steps` and more. A folder gets one "
      "subfolder per query, with input.npy and query.json.\n"
      "Example:\n  stap ask my-run --out queries.h5");
  command->callback([options, &globals] { run_ask(*options, globals, std::cout); });
}

}  // namespace stap::app
