// The runs of some folders, one by one.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "report/gather.h"
#include "report/shortened.h"
#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/sweep_folder.h"
#include "stap/report/watch.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using State = ReportRun::State;

constexpr std::size_t kErrorShown = 400;  // characters of what a solver or the system said

// What a run that can be read says about its end.
void judge(const RunResult& result, const std::optional<RunStatus>& status, ReportRun& run) {
  run.seed = result.seed;
  run.manifest = result.manifest;
  if (status) {
    run.host = status->host;
    run.time = status->time;
  }
  if (result.complete() || (result.without_errors() && result.rounds_done == result.rounds + 1)) {
    run.state = State::finished;
    run.words = fmt::format("{} rounds", result.rounds);
    return;
  }
  const std::string far =
      result.rounds_done == 0
          ? "nothing is trained and evaluated yet"
          : fmt::format("round {} of {} is evaluated", result.rounds_done - 1, result.rounds);
  run.state = State::unfinished;
  run.words = far;
  if (status && status->phase == "failed") {
    run.state = State::failed;
    run.words = fmt::format("{}; {}", shortened(status->error, kErrorShown), far);
    return;
  }
  // What `stap watch` says of it, too.
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const LiveFolder live = look_at_live(result.folder, now);
  if (live.runs.size() != 1) return;
  const LiveRun& seen = live.runs.front();
  if (!status && seen.state == LiveRun::State::not_begun) return;
  const bool killed = seen.state == LiveRun::State::dead;
  const bool asked =
      seen.state == LiveRun::State::ended && status && status->phase == "stopped";  // Ctrl-C, say
  if (killed || asked) run.state = State::stopped;
  run.words = fmt::format("{}; {}{}", far, killed ? "stopped while " : "",
                          shortened(seen.words, kErrorShown));
}

void read_run(const fs::path& folder, std::span<const RunResult> read, Report& report) {
  ReportRun run{.folder = folder.string()};
  try {
    const auto known = std::ranges::find(read, folder, &RunResult::folder);
    RunResult result = known != read.end() ? *known : read_result(folder);
    std::optional<RunStatus> status;
    try {
      status = RunFolder(folder).read_status();
    } catch (const Error&) {
      // Nothing depends on it, and it has no checksum.
    }
    judge(result, status, run);
    report.results.push_back(std::move(result));
  } catch (const Error& damage) {
    run.state = State::damaged;
    run.words = damage.what();
  }
  report.runs.push_back(std::move(run));
}

// Runs of a sweep that have no folder yet.
void add_not_begun(const fs::path& folder, Report& report) {
  if (!is_sweep(folder)) return;
  std::error_code error;
  for (const std::string& name : names_in(folder))
    if (!fs::exists(RunFolder(folder / name).config_file(), error))
      report.runs.push_back({.folder = (folder / name).string(),
                             .state = State::not_begun,
                             .words = "it begins when pool and test set are made"});
}

}  // namespace

std::string_view to_string(State state) {
  switch (state) {
    case State::finished:
      return "finished";
    case State::unfinished:
      return "not finished";
    case State::stopped:
      return "stopped";
    case State::failed:
      return "failed";
    case State::damaged:
      return "damaged";
    case State::not_begun:
      return "not started";
  }
  return "";
}

void gather_runs(std::span<const fs::path> folders, std::span<const RunResult> read,
                 Report& report) {
  for (const fs::path& folder : folders) {
    report.folders.push_back(folder.string());
    try {
      for (const fs::path& run : run_folders(folder)) {
        // The same run may be given twice, by itself and with its sweep.
        const auto there = [&](const ReportRun& other) { return other.folder == run.string(); };
        if (std::ranges::none_of(report.runs, there)) read_run(run, read, report);
      }
      add_not_begun(folder, report);
    } catch (const Error& problem) {
      report.runs.push_back(
          {.folder = folder.string(), .state = State::damaged, .words = problem.what()});
    }
  }
}

}  // namespace stap
