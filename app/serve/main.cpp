// stap-serve: `stap serve` for machines that have neither HDF5 nor a GPU.
#include <csignal>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "failure.h"
#include "help.h"
#include "interrupt.h"
#include "standard_streams.h"
#include "stap/core/error.h"
#include "stap/core/version.h"

namespace {

int report(std::string_view message, int exit_code) {
  stap::app::write_stderr(fmt::format("stap-serve: {}\n", message));
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  stap::app::occupy_standard_streams();
  stap::app::show_printable();
  std::signal(SIGXFSZ, SIG_IGN);  // to write beyond a limit is an error, and is said
  stap::app::heed_notice();
  stap::app::Globals globals;
  CLI::App program("Answer the queries that runs of stap put into a spool", "stap-serve");
  program.formatter(stap::app::help_formatter());
  program.set_help_flag("-h,--help", "Show this help");
  program.set_version_flag("--version", fmt::format("stap {}", stap::version()),
                           "Show the version");
  program.add_flag("--quiet", globals.quiet, "Show warnings only, no progress");
  stap::app::declare_serve(program, "stap-serve", globals);
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help or --version
    return report(fmt::format("{}; see 'stap-serve --help'", error.what()),
                  static_cast<int>(stap::ErrorKind::config));
  } catch (...) {
    const stap::app::Failure failure = stap::app::caught_failure();
    return report(failure.message, failure.exit_code);
  }
}
