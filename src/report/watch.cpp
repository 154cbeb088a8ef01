#include "stap/report/watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/owner.h"
#include "stap/core/error.h"
#include "stap/core/lock_holder.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/sweep_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr double kSilence = 60.0;  // seconds, of who holds no lock and is not here
// A process that has said its last word still writes analyses and a report.
constexpr double kLastWork = 30.0;  // seconds

bool is_end(const std::string& phase) {
  constexpr std::array ends{"done", "stopped", "waiting", "failed", "bought", "trained"};
  return std::ranges::find(ends, phase) != ends.end();
}

bool is_of_this_host(const RunStatus& status) {
  static const std::string host = Owner::here().host;
  return status.host == host;
}

void judge_life(const fs::path& folder, double now, LiveRun& run) {
  using State = LiveRun::State;
  const RunStatus& status = run.status;
  const std::optional<LockHolder> holder = lock_holder(folder);
  const bool over = is_end(status.phase);
  const bool here = is_of_this_host(status) && process_runs(status.process);
  const bool held = holder && !holder->stale();  // also by who goes on with it
  if (over) {
    run.state = held || (here && now - status.time < kLastWork) ? State::working : State::ended;
    run.words = phase_text(status);
    if (run.state == State::working)
      run.words += "; somebody still works on it";
    else if (status.phase == "stopped")
      run.words += "; nobody works on it, and the same command continues";
    return;
  }
  const std::string what = status.phase.empty() ? "beginning" : phase_text(status);
  const std::string who = holder ? holder->who
                                 : fmt::format("process {}{}", status.process,
                                               status.host.empty() ? "" : " on " + status.host);
  if (holder ? holder->gone : is_of_this_host(status) && !here) {
    run.state = State::dead;
    run.words = fmt::format("{}: {} is gone; the same command continues", what, who);
  } else if (const double silence = holder ? holder->silent : now - status.time;
             holder ? !holder->lives_here && holder->stale()
                    : !here && !status.phase.empty() && silence > kSilence) {
    run.state = State::silent;
    run.words = fmt::format("{}: no sign of life from {} for {:.0f} s", what, who, silence);
  } else if (holder || !status.phase.empty()) {
    run.state = State::working;
    run.words = fmt::format("{} ({})", what, who);
  } else {
    run.words = "not started";
  }
}

// Of a run that has no configuration yet: that its data are being made is all that it may say. A
// power cut may leave nothing of it.
RunStatus data_status(const RunFolder& folder) {
  try {
    if (const auto status = folder.read_status(); status && status->phase == "data") return *status;
  } catch (const Error&) {
  }
  return {};
}

LiveRun look_at_run(const fs::path& path, std::string name, double now) {
  LiveRun run{.name = std::move(name)};
  const RunFolder folder(path);
  std::error_code error;
  try {
    if (!fs::exists(folder.config_file(), error)) {
      run.status = data_status(folder);
      run.words = "not started";
      if (!run.status.phase.empty()) judge_life(path, now, run);
      return run;
    }
    run.status = folder.read_status().value_or(RunStatus{});
    run.timings = folder.read_timings();
    judge_life(path, now, run);
  } catch (const std::exception& damage) {  // also of files that go while they are read
    run.state = LiveRun::State::damaged;
    run.words = damage.what();
  }
  return run;
}

void see(const fs::path& file, std::string& text) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    text += "- ";
    return;
  }
  text += fmt::format("{}.{}:{}:{} ", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size,
                      status.st_ino);
}

}  // namespace

LiveFolder look_at_live(const fs::path& folder, double now) {
  LiveFolder live;
  try {
    for (const std::string& name : names_in(folder))
      live.runs.push_back(look_at_run(name.empty() ? folder : folder / name,
                                      name.empty() ? folder.string() : name, now));
  } catch (const std::exception& error) {
    live.error = error.what();
    return live;
  }
  estimate_time_left(live.runs, now);
  const auto begun = [](const LiveRun& run) {
    return run.state == LiveRun::State::ended || run.state == LiveRun::State::dead;
  };
  live.ended =
      std::ranges::any_of(live.runs, begun) && std::ranges::none_of(live.runs, &LiveRun::works);
  return live;
}

std::string files_seen(const fs::path& folder) {
  std::string text;
  std::vector<std::string> names;
  try {
    names = names_in(folder);
  } catch (const std::exception& error) {
    return error.what();
  }
  see(sweep_file(folder), text);
  see(folder / "analysis.json", text);
  for (const std::string& name : names) {
    const RunFolder run(name.empty() ? folder : folder / name);
    for (const fs::path& file :
         {run.config_file(), run.manifest_file(), run.transitions_file(), run.metrics_file(),
          run.timings_file(), run.losses_file(), run.extracts_file(), run.path() / "analysis.json",
          run.path() / "analysis.h5"})
      see(file, text);
    std::error_code error;
    if (!fs::exists(run.config_file(), error))  // then it says that data are made, every second
      text += fs::exists(run.status_file(), error) ? "data " : "- ";
    for (std::size_t round = 0, pass = 1; fs::exists(run.plan_file(round, 1), error);
         ++round, pass = 1)
      for (; fs::exists(run.plan_file(round, pass), error); ++pass)
        see(run.plan_file(round, pass), text);
  }
  return text;
}

}  // namespace stap
