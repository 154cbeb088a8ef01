#include "stap/run/sweep.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "run/news.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"
#include "stap/folder/claim.h"
#include "stap/market/problem.h"
#include "stap/study/affecting.h"
#include "stap/study/data_request.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSweepFormat = "sweep/2";  // sweep/1 has no seal

bool is_foreign(const Study& study) {
  return static_cast<bool>(study.pde.row->outline);
}

// Problems, each made once for all runs that share it.
class Problems {
 public:
  Problems(int threads, const StopAsked& stop, Until until)
      : threads_(threads), stop_(stop), until_(until) {}

  std::shared_ptr<const Problem> of(const Study& study, Observer& observer) {
    std::shared_ptr<const Problem>& problem =
        made_[config::yaml_text(problem_part(study.effective))];
    if (!problem) problem = std::make_shared<Problem>(make(study, observer));
    return problem;
  }

 private:
  Problem make(const Study& study, Observer& observer) const {
    if (until_ != Until::trained || !is_foreign(study))
      return make_problem(study, threads_, observer, stop_);
    // One that nobody asks need not be on this machine.
    const Outline outline = study.pde.row->outline(study.pde.options);
    return make_problem(study, make_by_hand_solver(outline, {}), observer, stop_);
  }

  int threads_;
  const StopAsked& stop_;
  Until until_;
  std::map<std::string, std::shared_ptr<const Problem>> made_;
};

std::vector<std::string> read_order(const fs::path& order) {
  std::vector<std::string> all;
  config::Value sweep = read_json(order);
  if (field<std::string>(sweep, "format", order) == kSweepFormat)
    sweep = read_json(order, Sealed::always);
  const config::Value* names = sweep.find("runs");
  if (names == nullptr || !names->is_list()) throw_bad_field("runs", order);
  for (const config::Value& name : *names->list()) {
    if (name.text() == nullptr) throw_bad_field("runs", order);
    // A folder beside it, and no way out of there.
    const fs::path path = *name.text();
    if (path.empty() || path != path.filename() || path == "." || path == "..")
      throw Error(ErrorKind::data,
                  fmt::format("{} names a run '{}', expected that of a folder in {}",
                              order.string(), path.string(), order.parent_path().string()));
    all.push_back(path.string());
  }
  return all;
}

// sweep.json: the runs in the order of the grid, for tables. Whoever of several shards comes first
// writes it, the others find it as they would write it.
void write_order(const std::vector<SweepRun>& runs, const fs::path& folder, const Share& share) {
  const fs::path order = folder / "sweep.json";
  std::vector<std::string> names;
  for (const SweepRun& run : runs) names.push_back(run.name);
  // What a killed process was writing; another shard may be writing it now.
  if (share.shards == 1)
    remove_leftovers(folder, [](const fs::path& file) {
      return file == "sweep.json" || file == "analysis.json" || file == "report.html";
    });
  std::error_code error;
  if (fs::exists(order, error)) {
    const std::vector<std::string> there = read_order(order);
    if (there == names) return;
    const auto is_mine = [&](const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
    if (share.shards > 1 && !std::ranges::all_of(there, is_mine))
      throw Error(ErrorKind::config,
                  fmt::format("{} is that of another sweep: all shards must be given the same "
                              "configuration, settings and axes",
                              order.string()));
  }
  config::Value value;
  value.set("format", kSweepFormat);
  value.set("runs", config::Value(config::Value::List(names.begin(), names.end())));
  make_folder(folder);
  write_sealed_json(order, config::json_text(value) + "\n");
}

// Throws Error(storage). Runs that have no folder yet will make theirs in that of the sweep.
void check_writable(const fs::path& folder, const std::vector<RunFolder>& runs) {
  make_folder(folder);
  std::set<fs::path> files;
  std::error_code error;
  for (const RunFolder& run : runs)
    files.insert(fs::is_directory(run.path(), error) ? run.status_file() : folder / "sweep.json");
  for (const fs::path& file : files) PendingFile tried(file);  // is removed again
}

// Whether this run can be trained without asking its solver.
bool can_train(const Study& study) {
  if (!is_foreign(study) || data_are_made(study)) return true;
  if (cache_folder().empty())
    throw Error(ErrorKind::config,
                "without a cache (STAP_CACHE is off) pool and test set are made by every process, "
                "and 'until trained' must not ask the solver: give a cache, or files of data");
  return false;
}

}  // namespace

void keep_names(std::vector<SweepRun>& runs, const fs::path& folder) {
  const auto is_renamed = [](const SweepRun& run) { return run.name != run.written; };
  if (std::ranges::none_of(runs, is_renamed)) return;
  std::error_code error;
  std::set<std::string> names;  // begun or not
  if (fs::exists(folder / "sweep.json", error))
    for (std::string& name : read_order(folder / "sweep.json")) names.insert(std::move(name));
  for (SweepRun& run : runs)
    if (is_renamed(run) &&
        (names.contains(run.written) || fs::is_directory(folder / run.written, error)))
      run.name = run.written;
}

std::vector<std::string> names_in(const fs::path& folder) {
  const fs::path order = folder / "sweep.json";
  std::error_code error;
  if (!fs::exists(folder / "config.yaml", error) && fs::exists(order, error))
    return read_order(order);
  const RunFolder run(folder);
  const bool begun = fs::exists(run.config_file(), error);
  if (begun || !fs::exists(run.status_file(), error)) run.read_config();  // throws if it is none
  return {""};
}

std::vector<SweepRun> runs_in(const fs::path& folder) {
  std::vector<SweepRun> runs;
  for (const std::string& name : names_in(folder))
    runs.push_back({name, RunFolder(folder / name).read_config().document});
  return runs;
}

// All configurations first: a mistake in the last run must not show after an hour.
std::vector<Study> read_runs(const std::vector<SweepRun>& runs, Until until) {
  std::vector<Study> studies;
  for (const SweepRun& run : runs)
    studies.push_back(
        make_study(run.document, until == Until::trained ? Purpose::train : Purpose::run));
  return studies;
}

LoopEnd drive(const std::vector<SweepRun>& runs, const fs::path& folder, int threads,
              Observer& observer, const StopAsked& stop, ByHand* by_hand, const Share& share) {
  return drive(runs, read_runs(runs, share.until), folder, threads, observer, stop, by_hand, share);
}

LoopEnd drive(const std::vector<SweepRun>& runs, std::vector<Study> studies, const fs::path& folder,
              int threads, Observer& observer, const StopAsked& stop, ByHand* by_hand,
              const Share& share) {
  for (Study& study : studies) {
    study.failures = folder / "failures";  // runs that share a problem share its solver
    // The nodes of a solver need not have a GPU, and what is bought must not depend on whether.
    if (share.until == Until::bought) study.compute.device = ComputeOptions::Device::cpu;
  }
  std::error_code missing;
  if (!runs.empty() && !runs[0].name.empty() && fs::exists(folder / "config.yaml", missing))
    throw Error(
        ErrorKind::config,
        fmt::format("{} holds a run or data: give a sweep another folder", folder.string()));
  const auto folder_of = [&](const SweepRun& run) {
    return RunFolder(run.name.empty() ? folder : folder / run.name);
  };
  std::vector<std::size_t> mine;
  for (std::size_t r = share.shard; r < runs.size(); r += share.shards) mine.push_back(r);
  // Nothing is solved for a folder that will be refused, or cannot be written (below).
  std::set<std::string> notes{""};
  for (const std::size_t r : mine) {
    device_text(studies[r].compute);  // throws if there is none
    check_claim(folder_of(runs[r]), studies[r].effective);
    if (const std::string note = pool_note(studies[r]); notes.insert(note).second)
      observer.note(note);
  }
  if (!runs.empty() && !runs[0].name.empty()) write_order(runs, folder, share);
  const std::size_t all = mine.size();
  if (share.until == Until::trained)
    std::erase_if(mine, [&](std::size_t r) { return !can_train(studies[r]); });
  if (mine.size() < all)
    observer.note(
        fmt::format("{} of {} runs have no pool or test set yet, which 'until bought' "
                    "makes",
                    all - mine.size(), all));
  if (mine.empty() && all > 0) return LoopEnd::paused;
  std::vector<RunFolder> folders;
  for (const std::size_t r : mine) folders.push_back(folder_of(runs[r]));
  check_writable(folder, folders);
  Problems problems(threads, stop, share.until);
  std::vector<Run> open;
  open.reserve(mine.size());
  try {
    for (const std::size_t r : mine) {
      const RunFolder own = folder_of(runs[r]);
      DataNews news(own, studies[r].options.rounds, observer);
      auto problem = problems.of(studies[r], news);
      open.push_back(open_run(std::move(studies[r]), own.path(), std::move(problem), observer,
                              share.until == Until::bought));
      news.withdraw();
    }
  } catch (const Stopped&) {
    return LoopEnd::stopped;
  }
  const LoopEnd end = run_loop(open, threads, observer, stop, by_hand, share.until);
  return end == LoopEnd::finished && mine.size() < all ? LoopEnd::paused : end;
}

}  // namespace stap
