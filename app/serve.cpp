// `stap serve`, and all of the program stap-serve: answers queries of a spool folder.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "duration.h"
#include "interrupt.h"
#include "stap/couple/serve.h"
#include "stap/study/study.h"

namespace stap::app {
namespace {

struct ServeCommandOptions {
  std::string folder;
  std::vector<std::string> settings;  ///< solver.key=value
  std::size_t slots = 0;              ///< 0: as the configuration says
  std::string stop_after, idle;       ///< "90s", "9m", "1h"; empty: never
  bool trust_folder = false;
};

namespace fs = std::filesystem;

std::string summary(const Served& served) {
  std::string text =
      fmt::format("answered {} {}", served.answered, served.answered == 1 ? "query" : "queries");
  if (served.failed > 0) text += fmt::format(", {} failed", served.failed);
  if (served.given_back > 0) text += fmt::format(", {} given back", served.given_back);
  if (served.in_vain > 0) text += fmt::format(", {} started in vain", served.in_vain);
  return text +
         fmt::format("; {:.3g} s of solver in {:.3g} s", served.busy_seconds, served.seconds);
}

void run_serve(const ServeCommandOptions& options, const Globals& globals, std::ostream& out) {
  ServeOptions how{.folder = options.folder,
                   .slots = options.slots,
                   .seconds = seconds_of(options.stop_after, "--stop-after").value_or(0),
                   .idle = seconds_of(options.idle, "--idle").value_or(0),
                   .settings = options.settings,
                   .trust_folder = options.trust_folder};
  Console console(globals);
  const InterruptGuard interrupt;
  // A log that stays empty does not tell a server that waits from one that has not started.
  console.note(fmt::format("looking for queries in {}", options.folder));
  const Served served = serve(how, console, interrupt.stop());
  console.finish();
  out << summary(served) << std::endl;
  if (served.end == Served::End::stopped && interrupt.requested()) interrupt.end_program();
}

}  // namespace

void show_spools(std::span<const Study> studies, Console& console) {
  std::set<std::string> shown;
  for (const Study& study : studies) {
    const config::Value* spool = config::find_path(study.effective, "solver.spool");
    if (spool == nullptr || spool->text() == nullptr || spool->text()->empty()) continue;
    if (shown.insert(*spool->text()).second)
      console.note(fmt::format(
          "queries wait in {0} for servers; on any machine that sees it, run: stap serve {0}",
          *spool->text()));
  }
}

void declare_serve(CLI::App& command, const std::string& name, const Globals& globals) {
  const auto options = std::make_shared<ServeCommandOptions>();
  command.add_option("folder", options->folder, "The folder that solver.spool names")
      ->required()
      ->type_name("FOLDER");
  command
      .add_option("setting", options->settings,
                  "key=value of the section solver, for this machine: solver.scratch=/local")
      ->type_name("SETTING");
  command
      .add_option("--slots", options->slots,
                  "Queries at the same time (default: solver.slots of the configuration)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  command
      .add_option("--stop-after", options->stop_after,
                  "End after this time (90s, 9m, 1h); unfinished queries are given back")
      ->check(complaint_if_empty)
      ->type_name("TIME");
  command.add_option("--idle", options->idle, "End after this time without a query")
      ->check(complaint_if_empty)
      ->type_name("TIME");
  command.add_flag("--trust-folder", options->trust_folder,
                   "Serve it whoever owns it or may write in it: they choose the program that is "
                   "started with your rights");
  command.footer(fmt::format(
      "Any number of servers may come and go, on all machines that see the folder.\n"
      "Ctrl-C starts no new query and waits for those that run; a second Ctrl-C, or SIGTERM, gives "
      "them back.\n"
      "Example:\n  {} /shared/spool --slots 4 --stop-after 55m --idle 10m",
      name));
  command.callback([options, &globals] { run_serve(*options, globals, std::cout); });
}

void add_serve(CLI::App& program, const Globals& globals) {
  declare_serve(*program.add_subcommand("serve", "Answer the queries that runs put into a spool"),
                "stap serve", globals);
}

}  // namespace stap::app
