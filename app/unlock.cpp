// `stap unlock`: removes what a process of another machine has left.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "stap/core/error.h"
#include "stap/core/lock_holder.h"
#include "stap/folder/sweep_folder.h"

namespace stap::app {
namespace {

struct UnlockOptions {
  std::string folder;  ///< of a run, a sweep or generated data
  bool force = false;
};

namespace fs = std::filesystem;

// Those of a run or a sweep, and of generated data, which are neither.
std::vector<fs::path> folders_of(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw Error(ErrorKind::data, fmt::format("there is no folder {}", folder.string()));
  std::vector<fs::path> folders{folder};
  try {
    for (const std::string& name : names_in(folder))
      if (!name.empty()) folders.push_back(folder / name);
  } catch (const Error&) {
    // A folder that has only just been begun is locked, too.
  }
  return folders;
}

void run_unlock(const UnlockOptions& options, std::ostream& out) {
  std::size_t removed = 0;
  for (const fs::path& folder : folders_of(options.folder))
    if (const auto holder = unlock_folder(folder, options.force)) {
      ++removed;
      out << fmt::format("{}: removed the lock of {}{}\n", folder.string(), holder->text(),
                         holder->gone     ? ", which is gone"
                         : holder->copied ? ", which works in the original of this copy"
                                          : "");
    }
  if (removed == 0) out << fmt::format("{} is not locked\n", options.folder);
}

}  // namespace

void add_unlock(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<UnlockOptions>();
  CLI::App* command = program.add_subcommand(
      "unlock", "Remove the lock that a process on another machine left in a folder");
  command->add_option("folder", options->folder, "Folder of a run, a sweep or generated data")
      ->required()
      ->type_name("RUN");
  command->add_flag("--force", options->force,
                    "Remove it even if its process was alive half a minute ago");
  command->footer(
      "Rarely needed: the next command takes over a lock by itself if its process is gone from "
      "this machine, or silent for half a minute on another. A lock of a process that runs here is "
      "never removed.\n"
      "Example:\n  stap unlock my-run");
  command->callback([options] { run_unlock(*options, std::cout); });
}

}  // namespace stap::app
