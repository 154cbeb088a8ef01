#include <iostream>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "families.h"

namespace stap::app {

void run_schema(std::ostream& out) {
  out << config::json_text(config::schema(families())) << '\n';
}

void add_schema(CLI::App& program, const Globals&) {
  CLI::App* command =
      program.add_subcommand("schema", "Print the JSON Schema of configurations, for editors");
  command->footer("Example:\n  stap schema > stap.schema.json");
  command->callback([] { run_schema(std::cout); });
}

}  // namespace stap::app
