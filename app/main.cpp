#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "failure.h"
#include "interrupt.h"
#include "standard_streams.h"
#include "stap/config/complaints.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"
#include "stap/core/version.h"
#include "stap/data/store.h"

namespace stap::app {
namespace {

/// Adds what every command takes to the help of each.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    const CLI::App* program = app;
    while (program->get_parent()) program = program->get_parent();
    const std::string below =
        app->get_subcommands({}).empty() ? "" : Formatter::make_subcommands(app, mode);
    if (program == app) return below;
    return below + make_group("Options of every command", false,
                              program->get_options([program](const CLI::Option* option) {
                                return option != program->get_help_ptr() &&
                                       option != program->get_version_ptr();
                              }));
  }
};

std::string without_dashes(const std::string& word) {
  const std::size_t start = word.find_first_not_of('-');
  return start == std::string::npos ? "" : word.substr(start);
}

/// "unknown option '--ouput'; did you mean '--out'? (known options: ...)".
std::string describe_option(const CLI::App& program, const CLI::App* command,
                            const std::string& word) {
  const std::string given = word.substr(0, word.find('='));  // of --name=value
  std::vector<std::string> known, starting;
  for (const CLI::App* owner : {command, &program})
    if (owner)
      for (const CLI::Option* option : owner->get_options())
        for (const std::string& name : option->get_lnames())
          if (std::ranges::find(known, "--" + name) == known.end()) known.push_back("--" + name);
  for (const std::string& name : known) {
    const std::string a = without_dashes(name), b = without_dashes(given);
    if (a.starts_with(b) || b.starts_with(a)) starting.push_back(name);
  }
  // --stop and --output are further from --stop-after and --out than slips of the pen.
  const std::string& meant = starting.size() == 1 ? starting.front() : given;
  return fmt::format("unknown option '{}'{}", given, config::hint(meant, known, "options"));
}

/// CLI11 says only which word was left over; we know what it should have been.
std::string describe_extra(const CLI::App& program, const CLI::App* command,
                           const std::string& word) {
  if (word.starts_with("-")) return describe_option(program, command, word);
  const CLI::App& owner = command ? *command : program;
  std::vector<std::string> known;
  for (const CLI::App* sub : owner.get_subcommands({})) known.push_back(sub->get_name());
  if (known.empty()) return fmt::format("unexpected argument '{}'", word);
  return fmt::format("unknown command '{}'{}", word, config::hint(word, known, "commands"));
}

std::string usage_message(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* command = nullptr;
  std::string called;  // "solver check "
  for (const CLI::App* at = &program; !at->get_subcommands().empty();) {
    at = command = at->get_subcommands().front();
    called += command->get_name() + " ";
  }
  const std::vector<std::string> extras = program.remaining(true);
  const auto is = [&](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  // What is required may be missing because its name is misspelt: CLI11 misses it first.
  const auto option =
      std::ranges::find_if(extras, [](const std::string& word) { return word.starts_with("-"); });
  const bool misspelt = is(CLI::ExitCodes::RequiredError) && option != extras.end();
  const bool group = command && !command->get_subcommands({}).empty();  // of commands
  const bool extra = (is(CLI::ExitCodes::ExtrasError) || group) && !extras.empty();
  const std::string what = misspelt ? describe_option(program, command, *option)
                           : extra  ? describe_extra(program, command, extras.front())
                                    : error.what();
  return fmt::format("{}; see 'stap {}--help'", what, called);
}

// The stream does not keep the reason; another attempt does.
std::string stdout_problem() {
  return write(STDOUT_FILENO, "\n", 1) < 0 ? std::strerror(errno) : "it was cut off";
}

int run(int argc, char** argv) {
  check_trust();  // a slip of the pen there must not show when a file was read
  Globals globals;
  CLI::App program(
      "Active learning of PDE surrogates: decides which initial conditions and which "
      "time steps to buy from a solver",
      "stap");
  program.formatter(std::make_shared<HelpFormatter>());  // before the commands, which take it over
  program.set_version_flag("--version", fmt::format("stap {}", version()));
  program.add_flag("--quiet", globals.quiet, "Show no progress");
  program.add_option("--threads", globals.threads, "Threads to use (default: all cores)")
      ->check(CLI::Range(1, 4096));
  globals.words.assign(argv + 1, argv + argc);
  program.add_option_function<std::string>(
      "--device", [&](const std::string& text) { choose_devices(text, globals); },
      "Where networks are computed: cpu, cuda, cuda:1 (the second GPU), or auto, the GPU if there "
      "is one; of a sweep also several: cuda:0,1");
  program
      .add_option("--precision", globals.precision,
                  "Of matrix products on the GPU: tf32 or fp32 (slower, closer to the CPU)")
      ->check(CLI::IsMember({"tf32", "fp32"}));
  program.require_subcommand(0, 1);
  program.fallthrough();  // global options may follow the command
  program.footer("Example:\n  stap run demo --out my-run");

  add_list(program, globals);
  add_describe(program, globals);
  add_check(program, globals);
  add_schema(program, globals);
  add_solve(program, globals);
  add_generate(program, globals);
  add_init(program, globals);
  add_solver(program, globals);
  add_run(program, globals);
  add_sweep(program, globals);
  add_serve(program, globals);
  add_ask(program, globals);
  add_tell(program, globals);
  add_unlock(program, globals);
  add_queue(program, globals);
  add_watch(program, globals);
  add_table(program, globals);
  add_analyse(program, globals);
  add_report(program, globals);
  add_plot(program, globals);
  add_predict(program, globals);
  add_evaluate(program, globals);
  add_export(program, globals);
  add_import(program, globals);
  add_fsck(program, globals);
  add_journal(program, globals);

  int code = 0;
  try {
    program.parse(argc, argv);
    if (program.get_subcommands().empty()) std::cout << program.help();
  } catch (const EndWith& end) {
    code = end.code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw Error(ErrorKind::config, usage_message(program, error));
    program.exit(error);  // --help or --version
  }
  if (!std::cout.flush())
    throw Error(ErrorKind::storage,
                fmt::format("cannot write to standard output: {}", stdout_problem()));
  return code;
}

int report(std::string_view message, int exit_code) {
  write_to_terminal(fmt::format("{} {}\n", painted("stap:", kRed), printable(message)));
  return exit_code;
}

}  // namespace
}  // namespace stap::app

int main(int argc, char** argv) {
  stap::app::occupy_standard_streams();
  stap::app::show_printable();
  std::signal(SIGXFSZ, SIG_IGN);  // to write beyond a limit is an error, and is said
  stap::app::heed_notice();
  try {
    return stap::app::run(argc, argv);
  } catch (...) {
    const stap::app::Failure failure = stap::app::caught_failure();
    return stap::app::report(failure.message, failure.exit_code);
  }
}
