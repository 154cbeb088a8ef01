// `stap fsck`: looks for damage, and repairs what can be repaired.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/stop.h"
#include "stap/data/store.h"
#include "stap/folder/fsck.h"
#include "stap/folder/sweep_folder.h"
#include "stap/run/repair.h"

namespace stap::app {
namespace {

struct FsckOptions {
  std::vector<std::string> places;  ///< runs, sweeps, data folders, files
  bool repair = false, json = false;
};

namespace fs = std::filesystem;
using config::Value;

// What was found in one place, and what was done about it.
struct Looked {
  std::string place;
  std::vector<FileState> files;
  std::vector<RepairedFile> repaired{};
  bool run = false;      ///< of a kind that can be repaired here
  std::string remark{};  ///< or why it could not be looked at
  bool looked = true;
  bool simulation = false;

  bool good() const { return looked && std::ranges::all_of(files, &FileState::good); }
};

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

Looked look_at_run(const fs::path& path) {
  return {path.string(), check_run(RunFolder(path)), {}, true};
}

std::vector<std::string> runs_below(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (is_run(entry->path())) names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// The same run twice: one of them is not what its name says.
void tell_equal_runs(std::vector<Looked>& all) {
  std::map<std::string, std::string> place_of;
  for (Looked& looked : all) {
    if (!looked.run || !looked.good()) continue;
    const auto [first, is_new] = place_of.emplace(RunFolder(looked.place).run(), looked.place);
    if (!is_new && !first->first.empty())
      looked.remark = fmt::format("the same run as {}", first->second);
  }
}

// Whether there is more of a run than word that its data are being made.
bool has_begun(const fs::path& run) {
  std::error_code error;
  for (fs::directory_iterator entry(run, error), end; !error && entry != end;
       entry.increment(error))
    if (!entry->path().filename().string().starts_with("status.json")) return true;
  return static_cast<bool>(error) && is_there(run);  // one that cannot be read is not passed over
}

// A sweep is its list and its runs.
std::vector<Looked> look_at_sweep(const fs::path& path) {
  std::vector<Looked> all{{path.string(), {check_file(sweep_file(path))}}};
  const std::vector<std::string> names = all.front().good() ? names_in(path) : runs_below(path);
  std::size_t begun = 0;
  for (const std::string& name : names)
    if (has_begun(path / name)) {
      ++begun;
      all.push_back(look_at_run(path / name));
    }
  if (begun < names.size())
    all.front().remark = fmt::format("{} of its {} runs are missing: not started, or lost",
                                     names.size() - begun, names.size());
  tell_equal_runs(all);
  return all;
}

// A file of a run is judged as a part of it; empty: it is by itself.
std::optional<Looked> look_at_part(const fs::path& file) {
  const fs::path absolute = fs::absolute(file).lexically_normal();
  for (fs::path folder = absolute.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (absolute.lexically_relative(folder).string().find("..") == 0) break;
    if (!is_run(folder)) {
      if (folder == absolute.parent_path().parent_path().parent_path()) break;
      continue;
    }
    for (FileState& state : check_run(RunFolder(folder)))
      if (state.file == absolute)
        return Looked{file.string(),
                      {std::move(state)},
                      {},
                      false,
                      fmt::format("a file of the run {}", folder.string())};
    break;
  }
  return std::nullopt;
}

std::vector<Looked> look_at(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw Error(ErrorKind::data, fmt::format("{}: no such file or folder", path.string()));
  if (!fs::is_directory(status)) {
    if (std::optional<Looked> part = look_at_part(path)) return {std::move(*part)};
    return {{path.string(), {check_file(path)}}};
  }
  fs::directory_iterator(path, error);
  if (error) throw Error(ErrorKind::storage, fmt::format("{}: {}", path.string(), error.message()));
  if (is_sweep(path)) return look_at_sweep(path);
  if (is_run(path)) return {look_at_run(path)};
  if (is_simulation(path)) {
    Looked looked{path.string(), check_data(path)};
    looked.simulation = true;
    looked.remark = "a simulation";
    return {std::move(looked)};
  }
  if (is_there(path / "pool.h5") || is_there(path / "test.h5") || is_there(path / "config.yaml"))
    return {{path.string(), check_data(path)}};
  if (!runs_below(path).empty()) return look_at_sweep(path);
  throw Error(ErrorKind::data,
              fmt::format("{} is not a folder of a run, a sweep or generated data", path.string()));
}

void repair(Looked& looked, const Globals& globals, Console& console, const StopAsked& stop) {
  if (looked.good() || !looked.looked) return;
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
               ? "remove it and run the same 'stap sweep' command again, which writes it"
           : file.file.filename() == "simulation.h5" || file.file.filename() == "transitions.h5"
               ? "if 'stap simulate' made it, run the same command again, which writes it from its "
                 "journal"
           : looked.simulation
               ? "nothing to rebuild it from: restore it from a copy, or remove the folder and run "
                 "the same 'stap simulate' again, which asks the solver again"
           : !looked.remark.empty()
               ? "give the folder of the run"
               : "nothing to rebuild it from: if 'stap generate' made it, remove it and generate "
                 "it again; otherwise restore it from a copy"});
}

// Without the file, which stands before it, and the advice to do what is being done.
std::string reason(const FileState& file) {
  std::string_view why = file.why;
  const std::string name = file.file.string();
  if (why.starts_with(name)) why.remove_prefix(name.size());
  why.remove_prefix(std::min(why.find_first_not_of(":, "), why.size()));
  return std::string(why.substr(0, why.find(" ('stap fsck'")));
}

void print(const Looked& looked, std::ostream& out) {
  const auto count = [&](auto&& is) { return std::ranges::count_if(looked.files, is); };
  const auto bad = count([](const FileState& file) { return !file.good(); });
  const auto unsealed =
      count([](const FileState& file) { return file.is == FileState::Is::unsealed; });
  const std::size_t files = looked.files.size();
  std::vector<std::string> words;
  if (looked.looked) words.push_back(fmt::format("{} {}", files, files == 1 ? "file" : "files"));
  if (bad > 0)
    words.push_back(fmt::format("{} damaged or missing", bad));
  else if (static_cast<std::size_t>(unsealed) < files)
    words.push_back("none damaged");
  if (unsealed > 0)
    words.push_back(
        fmt::format("{} not checked: without a checksum of stap (made by another program or an "
                    "earlier version, or cut off)",
                    unsealed));
  if (!looked.remark.empty()) words.push_back(looked.remark);
  out << fmt::format("{}: {}\n", looked.place, fmt::join(words, ", "));
  for (const FileState& file : looked.files)
    if (file.is == FileState::Is::whole && !file.why.empty())
      out << fmt::format("  {}: {}\n", file.file.string(), file.why);
    else if (!file.good() && looked.repaired.empty())
      out << fmt::format("  {} {}: {}\n", file.file.string(), to_string(file.is), reason(file));
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

void run_fsck(const FsckOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const InterruptGuard interrupt;
  Console console(globals);
  std::vector<Looked> all;
  for (const std::string& place : options.places) {
    try {
      std::vector<Looked> found = look_at(place);
      std::ranges::move(found, std::back_inserter(all));
    } catch (const Error& error) {  // the others are looked at all the same
      if (options.places.size() == 1) throw;
      all.push_back({place, {}, {}, false, error.what(), false});
    }
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
                fmt::format("{} of {} {} damaged{}", bad, all.size(),
                            all.size() == 1 ? "place is" : "places are",
                            options.repair ? "" : "; 'stap fsck --repair' rebuilds what it can"));
}

}  // namespace

void add_fsck(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<FsckOptions>();
  CLI::App* command = program.add_subcommand(
      "fsck", "Look for damage in runs, sweeps, data and files, and repair it");
  command
      ->add_option("place", options->places,
                   "Folders of runs, sweeps or generated data, or single files")
      ->required()
      ->type_name("RUN");
  command->add_flag("--repair", options->repair,
                    "Rebuild damaged files of runs from the journal, from each other, or by "
                    "repeating the run with the recorded answers (trains the networks again, calls "
                    "no solver). Intact files stay as they are");
  command->add_flag("--json", options->json, "Print what was found as JSON");
  command->footer(
      "The exit code is 3 if anything is still damaged or missing at the end.\n"
      "Example:\n  stap fsck my-run\n  stap fsck my-run --repair");
  command->callback([options, &globals] { run_fsck(*options, globals, std::cout); });
}

}  // namespace stap::app
