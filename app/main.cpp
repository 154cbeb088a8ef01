#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "complete.h"
#include "console.h"
#include "failure.h"
#include "help.h"
#include "interrupt.h"
#include "standard_streams.h"
#include "stap/config/complaints.h"
#include "stap/config/keys.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"
#include "stap/core/version.h"
#include "stap/data/store.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap::app {
namespace {

// The commands by task, in the order of the help.
struct CommandGroup {
  const char* title;
  std::vector<void (*)(CLI::App& program, const Globals& globals)> commands;
};
const CommandGroup kGroups[] = {
    {"Set up a study", {add_list, add_describe, add_init, add_check, add_schema}},
    {"Run it", {add_run, add_sweep, add_generate, add_watch, add_queue}},
    {"See what came out", {add_report, add_table, add_analyse, add_plot, add_choose_network}},
    {"Use the surrogate",
     {add_predict, add_simulate, add_evaluate, add_calibrate, add_export_model, add_export}},
    {"Your own solver and data", {add_solver, add_serve, add_ask, add_tell, add_import, add_solve}},
    {"Look after files", {add_fsck, add_unlock, add_journal, add_version}},
    {"", {add_man}},  // hidden
};

std::string without_dashes(const std::string& word) {
  const std::size_t start = word.find_first_not_of('-');
  return start == std::string::npos ? "" : word.substr(start);
}

bool takes_settings(const CLI::App* command) {
  return command != nullptr && std::ranges::any_of(command->get_options(), [](const auto* option) {
           return value_name(*option) == "SETTING";
         });
}

// A setting that is written like an option: "--seed 1" means seed=1. Empty: there is none.
std::string describe_setting(const std::string& option, const Globals& globals) {
  const std::size_t equals = option.find('=');
  const std::string key = without_dashes(option.substr(0, equals));
  std::vector<std::string> paths = config::paths_of(study_families(), key);
  if (key == "method") paths = {key};
  if (paths.empty()) return "";
  if (full_key(key) == paths.front()) paths.front() = key;
  const auto next = std::ranges::find(globals.words, option) + 1;
  const std::string value = equals != std::string::npos  ? option.substr(equals + 1)
                            : next < globals.words.end() ? *next
                                                         : "...";
  for (std::string& path : paths) path += "=" + value;
  return fmt::format("--{} is a setting and has no dashes: write {}", key,
                     fmt::join(paths, " or "));
}

/// "unknown option '--ouput'; did you mean '--out'?".
std::string describe_option(const CLI::App& program, const CLI::App* command,
                            const std::string& word, const Globals& globals) {
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
  const std::string setting =
      starting.size() != 1 && takes_settings(command) ? describe_setting(word, globals) : "";
  return setting.empty()
             ? fmt::format("unknown option '{}'{}", given, config::hint(meant, known, "options"))
             : setting;
}

/// CLI11 says only which word was left over; we know what it should have been.
std::string describe_extra(const CLI::App& program, const CLI::App* command,
                           const std::string& word, const Globals& globals) {
  if (word.starts_with("-")) return describe_option(program, command, word, globals);
  const CLI::App& owner = command ? *command : program;
  std::vector<std::string> known;
  for (const CLI::App* sub : owner.get_subcommands({}))
    if (!sub->get_group().empty()) known.push_back(sub->get_name());
  if (known.empty()) return fmt::format("unexpected argument '{}'", word);
  // All of them are too many for a message, which names their help.
  const bool listed = &owner != &program || !config::suggest(word, known).empty();
  return fmt::format("unknown command '{}'{}", word,
                     listed ? config::hint(word, known, "commands") : "");
}

std::string usage_message(const CLI::App& program, const CLI::ParseError& error,
                          const Globals& globals) {
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
  const std::string what = misspelt ? describe_option(program, command, *option, globals)
                           : extra  ? describe_extra(program, command, extras.front(), globals)
                                    : error.what();
  return what.ends_with('?') ? what : fmt::format("{}; see 'stap {}--help'", what, called);
}

// The words for CLI11, the last first; "help COMMAND" asks for "COMMAND --help".
std::vector<std::string> parsed_words(const CLI::App& program, const Globals& globals) {
  std::vector<std::string> words = globals.words;
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    const CLI::App* at = &program;
    for (const std::string& word : words) {
      const auto subs =
          at->get_subcommands([&](const auto* sub) { return sub->get_name() == word; });
      if (subs.empty())
        throw Error(ErrorKind::config,
                    describe_extra(program, at == &program ? nullptr : at, word, globals));
      at = subs.front();
    }
    words.emplace_back("--help");
  }
  std::ranges::reverse(words);
  return words;
}

// Whatever is written by a name can be named in messages, scripts and reports.
void check_output_names(CLI::App& command) {
  for (CLI::Option* option : command.get_options())
    if (option->check_lname("out")) output_name(option);
  for (CLI::App* sub : command.get_subcommands({})) check_output_names(*sub);
}

// The stream does not keep the reason; another attempt does.
std::string stdout_problem() {
  return write(STDOUT_FILENO, "\n", 1) < 0 ? std::strerror(errno) : "it was cut off";
}

int run(int argc, char** argv) {
  check_trust();  // a slip of the pen there must not show when a file was read
  Globals globals;
  globals.words.assign(argv + 1, argv + argc);
  CLI::App program(
      "Active learning of PDE surrogates: picks the simulations, and the time steps within them, "
      "that are worth running",
      "stap");
  program.formatter(help_formatter());  // before the commands, which take it over
  program.set_help_flag("-h,--help", "Show this help");
  program.set_version_flag("--version", fmt::format("stap {}", version()), "Show the version");
  program.add_flag("--quiet", globals.quiet, "Show warnings only, no progress");
  program.add_option("--threads", globals.threads, "Threads to use (default: all cores)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  program
      .add_option_function<std::string>(
          "--device", [&](const std::string& text) { choose_devices(text, globals); },
          "Where networks are computed: auto (the GPU if there is one), cpu, cuda, cuda:1 (the "
          "second GPU); for a sweep also several, such as cuda:0,1")
      ->type_name("DEVICE");
  one_of(program.add_option("--precision", globals.precision,
                            "Of matrix products on the GPU: tf32, or fp32 (slower, closer to the "
                            "CPU)"),
         {"tf32", "fp32"});
  program.require_subcommand(0, 1);
  program.fallthrough();  // global options may follow the command
  program.footer(
      "'stap COMMAND --help' says more about a command, 'stap list' about what it can be given.\n"
      "Example:\n  stap run demo\n  stap run demo method=sbal+stap seed=1 --out my-run\n"
      "  stap report my-run");
  for (const CommandGroup& group : kGroups)
    for (const auto add : group.commands) {
      add(program, globals);
      program.get_subcommands({}).back()->group(group.title);
    }
  check_output_names(program);
  if (!globals.words.empty() && globals.words.front() == "complete") {
    complete(program, std::span(globals.words).subspan(1), std::cout);
    return 0;
  }

  int code = 0;
  try {
    program.parse(parsed_words(program, globals));
    if (program.get_subcommands().empty()) std::cout << program.help();
  } catch (const EndWith& end) {
    code = end.code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      throw Error(ErrorKind::config, usage_message(program, error, globals));
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
  stap::app::end_with_parent();
  try {
    return stap::app::run(argc, argv);
  } catch (...) {
    const stap::app::Failure failure = stap::app::caught_failure();
    return stap::app::report(failure.message, failure.exit_code);
  }
}
