// `stap journal print`: the record of a run or of generated data, for people and other programs.
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "stap/core/error.h"
#include "stap/folder/sweep_folder.h"
#include "stap/journal/journal.h"

namespace stap::app {
namespace {

struct JournalOptions {
  std::string place;  ///< a run folder or a journal
  std::string type;   ///< of lines; empty: all
};

void run_journal_print(const JournalOptions& options, std::ostream& out) {
  namespace fs = std::filesystem;
  fs::path file = options.place;
  std::error_code error;
  if (fs::is_directory(file, error)) {
    if (is_sweep(file) && !fs::exists(file / "config.yaml", error)) {
      const std::vector<std::string> names = names_in(file);
      throw Error(ErrorKind::config,
                  fmt::format("{} is a sweep: choose one of its runs{}", file.string(),
                              names.empty() ? "" : ", for example " + (file / names[0]).string()));
    }
    file /= "journal.jsonl";
  }
  read_journal(file, [&](JournalLine&& line, const std::string&) {
    if (!options.type.empty() && line.type != options.type) return;
    config::Value value;
    value.set("seq", line.sequence);
    value.set("type", line.type);
    value.set("body", std::move(line.body));
    out << config::json_text(value, 0) << '\n';
  });
}

}  // namespace

void add_journal(CLI::App& program, const Globals&) {
  CLI::App* journal = program.add_subcommand("journal", "Print the record of a run");
  journal->require_subcommand(1);
  journal->footer("Example:\n  stap journal print my-run --type ledger");
  const auto options = std::make_shared<JournalOptions>();
  CLI::App* command = journal->add_subcommand(
      "print", "Print the journal of a run as JSON, one object per line, and check every line");
  command->add_option("place", options->place, "Folder of a run or of generated data, or a journal")
      ->required()
      ->type_name("RUN");
  one_of(command->add_option("--type", options->type, "Only lines of this type"),
         {"run", "answer", "ledger", "breaker", "dropped", "session"});
  command->footer(
      "Stops at a damaged line, with its number and exit code 3.\n"
      "Example:\n  stap journal print my-run --type ledger");
  command->callback([options] { run_journal_print(*options, std::cout); });
}

}  // namespace stap::app
