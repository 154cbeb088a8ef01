// `stap journal print`: the record of a run or of generated data, for people and other programs.
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "stap/journal/journal.h"

namespace stap::app {

void run_journal_print(const JournalOptions& options, std::ostream& out) {
  std::filesystem::path file = options.place;
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) file /= "journal.jsonl";
  read_journal(file, [&](JournalLine&& line, const std::string&) {
    if (!options.type.empty() && line.type != options.type) return;
    config::Value value;
    value.set("seq", line.sequence);
    value.set("type", line.type);
    value.set("body", std::move(line.body));
    out << config::json_text(value, 0) << '\n';
  });
}

void add_journal(CLI::App& program, const Globals&) {
  CLI::App* journal = program.add_subcommand("journal", "Look at the record of a run");
  journal->require_subcommand(1);
  journal->footer("Example:\n  stap journal print my-run --type ledger");
  const auto options = std::make_shared<JournalOptions>();
  CLI::App* command = journal->add_subcommand(
      "print", "Print the lines of a journal as JSON, one a line, each checked");
  command->add_option("place", options->place, "Folder of a run or of generated data, or a journal")
      ->required();
  command->add_option("--type", options->type,
                      "Only lines of this type: run, answer, ledger, breaker, session");
  command->footer(
      "A line that is damaged ends it with exit code 3 and its number.\n"
      "Example:\n  stap journal print my-run --type ledger");
  command->callback([options] { run_journal_print(*options, std::cout); });
}

}  // namespace stap::app
