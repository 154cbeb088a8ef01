// `stap queue`: what runs have asked their solvers, and what became of it.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/folder/fsck.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/sweep_folder.h"
#include "stap/report/watch.h"

namespace stap::app {
namespace {

struct QueueOptions {
  std::string folder;  ///< of a run or a sweep
  bool json = false;
};

namespace fs = std::filesystem;
using config::Value;

constexpr std::size_t kShown = 10;  // of anything, to people

struct Failed {
  std::size_t acquisition = 0;
  AnswerRecord answer;
};
struct Spool {
  std::string folder;
  std::size_t servers = 0;  ///< that have left no word of their end
};
struct AskedRun {
  RunFolder folder;
  LiveRun live;
  std::size_t answers = 0;  ///< that are ok
  std::vector<Failed> failed{};
  std::optional<Spool> spool{};
};
struct FailureFolder {
  fs::path folder;
  std::string reason;
};

std::optional<Spool> spool_of(const RunFolder& run) {
  std::error_code error;
  if (!fs::exists(run.config_file(), error)) return std::nullopt;
  Spool spool{config::text_at(run.read_config(), "solver.spool")};
  if (spool.folder.empty()) return std::nullopt;
  for (const auto& server : fs::directory_iterator(fs::path(spool.folder) / "servers", error))
    spool.servers += server.path().empty() ? 0 : 1;
  return spool;
}

AskedRun look_at(const fs::path& path, LiveRun live) {
  if (live.state == LiveRun::State::damaged) throw Error(ErrorKind::data, live.words);
  AskedRun run{.folder = RunFolder(path), .live = std::move(live)};
  const RunFolder& folder = run.folder;
  run.spool = spool_of(folder);
  std::error_code error;
  if (!fs::exists(folder.journal_file(), error)) return run;
  folder.read_answers([&](std::size_t acquisition, const AnswerRecord& answer) {
    if (answer.status == Answer::Status::ok)
      ++run.answers;
    else
      run.failed.push_back({acquisition, answer});
  });
  return run;
}

std::vector<FailureFolder> bundles_in(const fs::path& failures) {
  std::vector<FailureFolder> bundles;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(failures, error)) {
    if (!fs::exists(entry.path() / "bundle.json", error)) continue;
    std::string reason = "bundle.json cannot be read";
    try {
      const Value about = read_json(entry.path() / "bundle.json");
      if (const Value* text = about.find("reason"); text != nullptr && text->text() != nullptr)
        reason = *text->text();
    } catch (const Error&) {  // it may be going just now
    }
    bundles.push_back({entry.path(), std::move(reason)});
  }
  std::ranges::sort(bundles, {}, &FailureFolder::folder);
  return bundles;
}

std::string seconds_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

void print(const AskedRun& run, double now, std::ostream& out) {
  const RunStatus& s = run.live.status;
  const bool told = !s.phase.empty();
  const double since = std::max(0.0, now - s.time);
  out << run.live.name << ": " << run.live.words
      << (told ? fmt::format(", as of {} ago\n", seconds_text(since)) : "\n");
  const auto refused = static_cast<std::size_t>(std::ranges::count(
      run.failed, Answer::Status::refused, [](const Failed& one) { return one.answer.status; }));
  if (run.answers + run.failed.size() > 0)
    out << fmt::format("  answered: {} steps; {} failed, {} refused\n", run.answers,
                       run.failed.size() - refused, refused);
  if (told) {
    if (s.phase == "data" && s.budget > 0)
      out << fmt::format("  solved in this phase: {} of {} solver steps\n", s.spent, s.budget);
    else if (s.budget > 0)
      out << fmt::format("  bought in this round: {} of {} solver steps; {} {} open\n", s.spent,
                         s.budget, s.open, s.open == 1 ? "query" : "queries");
    if (run.spool && run.live.state != LiveRun::State::ended)
      out << (run.spool->servers > 0
                  ? fmt::format("  servers in {}: {}\n", run.spool->folder, run.spool->servers)
                  : fmt::format("  no server yet; start one: stap serve {0}\n", run.spool->folder));
    const double more = run.live.state == LiveRun::State::working ? since : 0.0;
    for (std::size_t i = 0; i < std::min(kShown, s.running.size()); ++i)
      out << fmt::format("  running: candidate {}, step {}, for {}, {}\n", s.running[i].candidate,
                         s.running[i].step + 1, seconds_text(s.running[i].seconds + more),
                         s.running[i].where);
    if (s.running.size() > kShown)
      out << fmt::format("  ... {} running in all\n", s.running.size());
    for (std::size_t i = 0; i < std::min(kShown, s.waiting.size()); ++i)
      out << fmt::format("  waiting: candidate {}, step {}\n", s.waiting[i].candidate,
                         s.waiting[i].step + 1);
    if (s.waiting.size() > kShown)
      out << fmt::format("  ... {} waiting in all\n", s.open - std::min(s.open, s.running.size()));
    if (!s.error.empty()) out << fmt::format("  ended with: {}\n", s.error);
  }
  const std::size_t skipped = run.failed.size() - std::min(kShown, run.failed.size());
  if (skipped > 0) out << fmt::format("  the last {} failures:\n", kShown);
  for (std::size_t i = skipped; i < run.failed.size(); ++i) {
    const AnswerRecord& answer = run.failed[i].answer;
    out << fmt::format("  {}: candidate {}, step {}: {}\n", to_string(answer.status),
                       answer.candidate, answer.step + 1, answer.reason);
  }
}

Value to_value(const AskedRun& run) {
  Value value;
  using State = LiveRun::State;
  const State state = run.live.state;
  value.set("run", run.live.name);
  value.set("answered", run.answers);
  Value::List failed;
  for (const auto& [acquisition, answer] : run.failed) {
    Value& row = failed.emplace_back();
    row.set("acquisition", acquisition);
    row.set("candidate", answer.candidate);
    row.set("step", answer.step);
    row.set("status", to_string(answer.status));
    row.set("reason", answer.reason);
  }
  value.set("failed", Value(std::move(failed)));
  value.set("alive", state == State::working || state == State::dead
                         ? Value(state == State::working)
                         : Value());
  if (run.spool) {
    Value spool;
    spool.set("folder", run.spool->folder);
    spool.set("servers", run.spool->servers);
    value.set("spool", std::move(spool));
  }
  value.set("status",
            run.live.status.phase.empty() ? Value() : read_json(run.folder.status_file()));
  return value;
}

void run_queue(const QueueOptions& options, std::ostream& out) {
  const fs::path folder = options.folder;
  std::error_code error;
  const bool begun = fs::exists(folder / "config.yaml", error) || is_sweep(folder);
  if (!begun && !fs::exists(RunFolder(folder).status_file(), error))
    throw Error(ErrorKind::data,
                fmt::format("there is no run in {}{}", folder.string(),
                            fs::exists(folder / "spool.json", error)
                                ? ": it is a spool; give the folder of the run that asks there"
                                : " yet"));
  if (is_simulation(folder))
    throw Error(ErrorKind::data,
                fmt::format("{} is a folder of 'stap simulate', not of a run: the command that "
                            "works there shows its progress, and journal.jsonl has the answers; "
                            "if it was stopped, run the same command again",
                            folder.string()));
  std::vector<AskedRun> runs;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const double now = std::chrono::duration<double>(since).count();
  LiveFolder live = look_at_live(folder, now);
  if (!live.error.empty()) throw Error(ErrorKind::data, live.error);
  for (LiveRun& run : live.runs)
    runs.push_back(look_at(run.name == folder.string() ? folder : folder / run.name, run));
  const std::vector<FailureFolder> bundles = bundles_in(folder / "failures");
  if (options.json) {
    Value::List list, failures;
    for (const AskedRun& run : runs) list.push_back(to_value(run));
    for (const FailureFolder& bundle : bundles) {
      Value& row = failures.emplace_back();
      row.set("bundle", bundle.folder.string());
      row.set("reason", bundle.reason);
    }
    Value value;
    value.set("format", "queue/1");
    value.set("runs", Value(std::move(list)));
    value.set("failures", Value(std::move(failures)));
    out << config::json_text(value) << '\n';
    return;
  }
  for (const AskedRun& run : runs) print(run, now, out);
  for (const FailureFolder& bundle : bundles)
    out << fmt::format("{}: {} (stap solver replay {})\n", bundle.folder.filename().string(),
                       bundle.reason, bundle.folder.string());
}

}  // namespace

void add_queue(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<QueueOptions>();
  CLI::App* command = program.add_subcommand(
      "queue", "Show the queries to the solver: where they run, which failed, why");
  command->add_option("folder", options->folder, "Folder of a run or a sweep")
      ->required()
      ->type_name("RUN");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Only reads files, so it can be used while the run works, here or on another machine.\n"
      "Example:\n  stap queue my-run");
  command->callback([options] { run_queue(*options, std::cout); });
}

}  // namespace stap::app
