#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "stap/core/error.h"
#include "stap/study/starter.h"

namespace stap::app {
namespace {

struct InitOptions {
  std::string folder, from, language;
  std::size_t points = 64;
};

// The folder's name as that of a problem: two projects must not share what is cached.
std::string label_of(const std::string& folder) {
  namespace fs = std::filesystem;
  fs::path path = fs::absolute(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  std::string label = path.filename().string().substr(0, 64);
  for (char& c : label)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '-';
  return label.empty() ? "my-problem" : label;
}

void run_init(const InitOptions& options, std::ostream& out) {
  if (options.folder.empty())
    throw Error(ErrorKind::config, "the folder's name is empty, expected a folder to write to");
  write_starter({.from = options.from,
                 .language = options.language,
                 .label = label_of(options.folder),
                 .points = options.points},
                options.folder);
  out << fmt::format(
      "{0} has a study with its own solver in {1}\nnext: cd {0}, and read README.md\n",
      options.folder, options.language);
}

}  // namespace

void add_init(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<InitOptions>();
  CLI::App* command =
      program.add_subcommand("init", "Start a study with your own solver from a working example");
  output_name(command->add_option("folder", options->folder, "New or empty folder"))
      ->required()
      ->type_name("FOLDER");
  one_of(command->add_option("--from", options->from,
                             "How the solver is called: command (a program is started for every "
                             "step, and reads and writes files) or worker (one is started once "
                             "and then asked for steps)"),
         starter_kinds())
      ->required();
  one_of(command->add_option("--language", options->language, "Language of the example solver"),
         starter_languages())
      ->required();
  command->add_option("--points", options->points, "Points of the grid")
      ->capture_default_str()
      ->type_name("N");
  command->footer("Example:\n  stap init my-study --from command --language python");
  command->callback([options] { run_init(*options, std::cout); });
}

}  // namespace stap::app
