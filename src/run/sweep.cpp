#include "stap/run/sweep.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "core/descriptors.h"
#include "core/pending_file.h"
#include "run/news.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"
#include "stap/folder/claim.h"
#include "stap/folder/sweep_folder.h"
#include "stap/market/problem.h"
#include "stap/study/affecting.h"
#include "stap/study/data_request.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

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

// Throws Error(storage). Runs that have no folder yet will make theirs in that of the sweep.
void check_writable(const fs::path& folder, const std::vector<RunFolder>& runs) {
  make_folder(folder);
  std::set<fs::path> files;
  std::error_code error;
  for (const RunFolder& run : runs)
    files.insert(fs::is_directory(run.path(), error) ? run.status_file() : sweep_file(folder));
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
  // Of every run journal and answers are open, as far as that goes; some files more are for
  // moments.
  constexpr std::size_t kForMoments = 6;
  need_descriptors(std::min(2 * mine.size(), most_logs_open()) + kForMoments,
                   mine.size() == 1 ? "a run" : fmt::format("a sweep of {} runs", mine.size()));
  // Nothing is solved for a folder that will be refused, or cannot be written (below).
  std::set<std::string> notes{""};
  for (const std::size_t r : mine) {
    device_text(studies[r].compute, studies[r].network.family);  // throws if there is none
    keep_older_meaning(studies[r], folder_of(runs[r]));
    check_claim(folder_of(runs[r]), studies[r].effective);
    if (const std::string note = pool_note(studies[r]); notes.insert(note).second)
      observer.note(note);
  }
  if (!runs.empty() && !runs[0].name.empty()) write_sweep(folder, runs, share.shards > 1);
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
