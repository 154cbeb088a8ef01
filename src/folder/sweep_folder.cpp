#include "stap/folder/sweep_folder.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSweepFormat = "sweep/2";

std::vector<std::string> read_names(const fs::path& folder) {
  const fs::path file = sweep_file(folder);
  const config::Value sweep = read_sealed_json(file, kSweepFormat);
  const config::Value* names = sweep.find("runs");
  if (names == nullptr || !names->is_list()) throw_bad_field("runs", file);
  std::vector<std::string> all;
  for (const config::Value& name : *names->list()) {
    if (name.text() == nullptr) throw_bad_field("runs", file);
    // A folder beside it, and no way out of there.
    const fs::path path = *name.text();
    if (path.empty() || path != path.filename() || path == "." || path == "..")
      throw Error(ErrorKind::data,
                  fmt::format("{} names a run '{}', expected that of a folder in {}", file.string(),
                              path.string(), folder.string()));
    all.push_back(path.string());
  }
  return all;
}

}  // namespace

fs::path sweep_file(const fs::path& folder) {
  return folder / "sweep.json";
}

bool is_sweep(const fs::path& folder) {
  std::error_code error;
  return fs::exists(sweep_file(folder), error);
}

std::vector<std::string> names_in(const fs::path& folder) {
  const RunFolder run(folder);
  std::error_code error;
  const bool begun = fs::exists(run.config_file(), error);
  if (!begun && is_sweep(folder)) return read_names(folder);
  if (begun || !fs::exists(run.status_file(), error)) run.read_config();  // throws if it is none
  return {""};
}

std::vector<SweepRun> runs_in(const fs::path& folder) {
  std::vector<SweepRun> runs;
  for (const std::string& name : names_in(folder))
    runs.push_back({name, with_older_meaning(RunFolder(folder / name).read_config())});
  return runs;
}

void keep_names(std::vector<SweepRun>& runs, const fs::path& folder) {
  const auto is_renamed = [](const SweepRun& run) { return run.name != run.written; };
  if (std::ranges::none_of(runs, is_renamed)) return;
  std::set<std::string> names;  // begun or not
  if (is_sweep(folder))
    for (std::string& name : read_names(folder)) names.insert(std::move(name));
  std::error_code error;
  for (SweepRun& run : runs)
    if (is_renamed(run) &&
        (names.contains(run.written) || fs::is_directory(folder / run.written, error)))
      run.name = run.written;
}

void write_sweep(const fs::path& folder, const std::vector<SweepRun>& runs, bool shared) {
  std::vector<std::string> names;
  for (const SweepRun& run : runs) names.push_back(run.name);
  // What a killed process was writing; another shard may be writing it now.
  if (!shared)
    remove_leftovers(folder, [](const fs::path& file) {
      return file == "sweep.json" || file == "analysis.json" || file == "report.html";
    });
  if (is_sweep(folder)) {
    const std::vector<std::string> there = read_names(folder);
    if (there == names) return;
    const auto is_mine = [&](const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
    if (shared && !std::ranges::all_of(there, is_mine))
      throw Error(ErrorKind::config,
                  fmt::format("{} is that of another sweep: all shards must be given the same "
                              "configuration, settings and axes",
                              sweep_file(folder).string()));
  }
  config::Value value;
  value.set("format", kSweepFormat);
  value.set("runs", config::list_of(names));
  make_folder(folder);
  write_sealed_json(sweep_file(folder), config::json_text(value) + "\n");
}

}  // namespace stap
