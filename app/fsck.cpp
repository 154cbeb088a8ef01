// `stap fsck`: looks for damage, and mends what can be mended.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/stop.h"
#include "stap/data/store.h"
#include "stap/folder/fsck.h"
#include "stap/run/repair.h"
#include "stap/run/sweep.h"

namespace stap::app {
namespace {

namespace fs = std::filesystem;
using config::Value;

// What was found in one place, and what was done about it.
struct Looked {
  std::string place;
  std::vector<FileState> files;
  std::vector<RepairedFile> repaired{};
  bool run = false;  ///< of a kind that can be repaired here

  bool good() const { return std::ranges::all_of(files, &FileState::good); }
};

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Looked look_at_run(const fs::path& path) {
  return {path.string(), check_run(RunFolder(path)), {}, true};
}

// A sweep is its list and its runs.
std::vector<Looked> look_at_sweep(const fs::path& path) {
  std::vector<Looked> all{{path.string(), {check_file(path / "sweep.json")}}};
  std::vector<std::string> names;
  if (all.front().good())
    names = names_in(path);
  else
    for (const auto& entry : fs::directory_iterator(path))
      if (is_there(entry.path() / "manifest.json"))
        names.push_back(entry.path().filename().string());
  for (const std::string& name : names)
    if (is_there(path / name)) all.push_back(look_at_run(path / name));
  return all;
}

std::vector<Looked> look_at(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw Error(ErrorKind::data, fmt::format("{}: there is no such file or folder", path.string()));
  if (!fs::is_directory(status)) return {{path.string(), {check_file(path)}}};
  if (is_there(path / "sweep.json")) return look_at_sweep(path);
  if (is_there(path / "manifest.json") || is_there(path / "rounds")) return {look_at_run(path)};
  if (is_there(path / "pool.h5") || is_there(path / "test.h5") || is_there(path / "config.yaml"))
    return {{path.string(), check_data(path)}};
  throw Error(ErrorKind::data,
              fmt::format("{} is no folder of a run, a sweep or generated data", path.string()));
}

void repair(Looked& looked, const Globals& globals, Console& console, const StopAsked& stop) {
  if (looked.good()) return;
  if (looked.run) {
    const RunFolder folder(looked.place);
    looked.repaired = repair_run(folder, globals.threads, console, stop);
    looked.files = check_run(folder);
    return;
  }
  for (const FileState& file : looked.files)
    if (!file.good())
      looked.repaired.push_back(
          {file.file, false,
           file.file.filename() == "sweep.json"
               ? "the same 'stap sweep' command writes it again: remove it first"
               : "it stands by itself: what 'stap generate' has made it makes anew once the file "
                 "is "
                 "removed; anything else take from a copy"});
}

void print(const Looked& looked, std::ostream& out) {
  const auto bad =
      std::ranges::count_if(looked.files, [](const FileState& f) { return !f.good(); });
  const auto unsealed = std::ranges::count(looked.files, FileState::Is::unsealed, &FileState::is);
  out << fmt::format("{}: {} files, {}{}\n", looked.place, looked.files.size(),
                     bad == 0 ? "none damaged" : fmt::format("{} damaged or missing", bad),
                     unsealed == 0 ? "" : fmt::format(", {} without a checksum", unsealed));
  for (const FileState& file : looked.files)
    if (!file.good() && looked.repaired.empty())
      out << fmt::format("  {} {}: {}\n", file.file.string(), to_string(file.is), file.why);
  for (const RepairedFile& file : looked.repaired)
    out << fmt::format("  {} {}: {}\n", file.file.string(),
                       file.rebuilt ? "rebuilt" : "not rebuilt", file.how);
}

Value to_value(const Looked& looked) {
  Value::List files, repaired;
  for (const FileState& file : looked.files) {
    Value& one = files.emplace_back();
    one.set("file", file.file.string());
    one.set("state", to_string(file.is));
    one.set("why", file.why);
  }
  for (const RepairedFile& file : looked.repaired) {
    Value& one = repaired.emplace_back();
    one.set("file", file.file.string());
    one.set("rebuilt", file.rebuilt);
    one.set("how", file.how);
  }
  Value value;
  value.set("place", looked.place);
  value.set("good", looked.good());
  value.set("files", Value(std::move(files)));
  value.set("repaired", Value(std::move(repaired)));
  return value;
}

}  // namespace

void run_fsck(const FsckOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const InterruptGuard interrupt;
  Console console(globals);
  std::vector<Looked> all;
  for (const std::string& place : options.places) {
    std::vector<Looked> found = look_at(place);
    std::ranges::move(found, std::back_inserter(all));
  }
  if (options.repair) try {
      for (Looked& looked : all) repair(looked, globals, console, interrupt.stop());
    } catch (const Stopped&) {
      console.finish();
      interrupt.end_program();
    }
  console.finish();
  if (options.json) {
    Value::List places;
    for (const Looked& looked : all) places.push_back(to_value(looked));
    Value value;
    value.set("format", "fsck/1");
    value.set("places", Value(std::move(places)));
    out << config::json_text(value) << '\n';
  } else {
    for (const Looked& looked : all) print(looked, out);
  }
  const auto bad = std::ranges::count_if(all, [](const Looked& looked) { return !looked.good(); });
  if (bad > 0)
    throw Error(ErrorKind::data,
                fmt::format("{} of {} places are damaged{}", bad, all.size(),
                            options.repair ? "" : "; 'stap fsck --repair' rebuilds what it can"));
}

void add_fsck(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<FsckOptions>();
  CLI::App* command = program.add_subcommand(
      "fsck", "Look for damage in runs, sweeps, data and files, and rebuild what can be rebuilt");
  command
      ->add_option("place", options->places,
                   "Folders of runs, sweeps or generated data, or single files")
      ->required();
  command->add_flag("--repair", options->repair,
                    "Rebuild files of runs: from the journal, from each other, or by walking the "
                    "run again with the recorded answers (which trains its networks again, and "
                    "asks no solver). Whole files are not touched");
  command->add_flag("--json", options->json, "Print what was found as JSON");
  command->footer(
      "Ends with exit code 3 if anything is damaged or missing in the end.\n"
      "Example:\n  stap fsck my-run --repair");
  command->callback([options, &globals] { run_fsck(*options, globals, std::cout); });
}

}  // namespace stap::app
