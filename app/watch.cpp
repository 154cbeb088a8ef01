// `stap watch`: how runs are doing, in the terminal, and their report while it grows.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "duration.h"
#include "progress_text.h"
#include "report_file.h"
#include "standard_streams.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"
#include "stap/data/store.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/sweep_folder.h"
#include "stap/report/page.h"
#include "stap/report/watch.h"

namespace stap::app {
namespace {

struct WatchOptions {
  std::string folder;
  bool wait = false;  ///< for the folder
  bool stay = false;  ///< when the runs have ended
};

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEvery{1000}, kPageEvery{3000};
constexpr int kRest = 4;  // times what making a page took

// The folder's report.html, made again when what it shows has changed: every few seconds at most,
// and for at most a fifth of the time, so that the runs keep their cores.
class ReportWriter {
 public:
  explicit ReportWriter(const fs::path& folder)
      : folder_(folder), file_(report_file(folder)), page_(text_of(file_)) {}

  void follow(const LiveFolder& live) {
    std::string seen = files_seen(folder_) + (live.ended ? "ended\n" : "\n");
    for (const LiveRun& run : live.runs) seen += run.words + '\n';
    seen += fmt::format("{:.2f}", share_done(live.runs));
    if (seen == seen_ || (!live.ended && Clock::now() < next_)) return;
    const auto start = Clock::now();
    try {
      const auto left = seconds_left(live.runs);
      const LivePage state{share_done(live.runs), left ? duration_text(*left) : "", live.ended};
      std::string page = page_text(gather_report(std::span(&folder_, 1)), &state);
      check_report_output(file_, std::span(&folder_, 1));
      if (page != page_) write_text(file_, page);
      page_ = std::move(page);
      words_ = fmt::format("report: {}", file_.string());
    } catch (const std::exception& problem) {  // files may change while they are read
      words_ = fmt::format("no report: {}", problem.what());
    }
    seen_ = std::move(seen);
    next_ = Clock::now() + std::max<Clock::duration>(kPageEvery, kRest * (Clock::now() - start));
  }
  /// Where it is, or why there is none.
  const std::string& words() const { return words_; }

 private:
  static std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_, file_;
  std::string page_, words_ = "no report yet", seen_ = "nothing";
  Clock::time_point next_{};
};

std::string queries_text(const LiveRun& run) {
  const RunStatus& status = run.status;
  std::string text;
  if (status.open > 0)
    text += fmt::format(", {} open {} ({} running)", status.open,
                        status.open == 1 ? "query" : "queries", status.running.size());
  if (status.failed > 0) text += fmt::format(", {} failed", status.failed);
  if (status.refused > 0) text += fmt::format(", {} refused", status.refused);
  return text;
}

// "random-0: training, round 2 of 5 (process 77): 12 of 72 epochs, 3 min left".
std::string run_text(const LiveRun& run) {
  const RunStatus& status = run.status;
  std::string text = fmt::format("{}: {}", run.name, run.words);
  if (run.works()) {
    if (status.epochs > 0)
      text += fmt::format(": {} of {} epochs", status.epochs_done, status.epochs);
    else if (status.budget > 0)
      text += fmt::format(": {} of {} solver steps", status.spent, status.budget);
    text += queries_text(run);
    if (run.seconds_left)
      text += fmt::format(", {} left", duration_text(*run.seconds_left));
    else if (run.phase_seconds_left)
      text += fmt::format(", {} left in this phase", duration_text(*run.phase_seconds_left));
  }
  return status.error.empty() ? text : text + "; " + status.error;
}

std::string head_text(const std::string& folder, const LiveFolder& live) {
  if (!live.error.empty()) return live.error;
  const auto working = std::ranges::count_if(live.runs, &LiveRun::works);
  return fmt::format("{}: {} of {} {} working", folder, working, live.runs.size(),
                     live.runs.size() == 1 ? "run" : "runs");
}

// All runs together: "all runs [####    ] 52 of 100 %, 3 min left".
std::string overall_text(const LiveFolder& live, std::size_t columns) {
  const auto left = seconds_left(live.runs);
  return bar_line({.phase = "all runs",
                   .done = static_cast<std::size_t>(100 * share_done(live.runs)),
                   .total = 100,
                   .unit = "%",
                   .left = left ? duration_text(*left) : ""},
                  columns);
}

// A few lines in the place of those before on a terminal; elsewhere a line where what a run does
// has changed.
class View {
 public:
  explicit View(const Globals& globals) : quiet_(globals.quiet) {}

  void show(const std::string& folder, const LiveFolder& live, const std::string& report,
            std::ostream& out) {
    if (quiet_) return;
    if (const auto terminal = terminal_size())
      draw(*terminal, folder, live, report);
    else
      log(folder, live, out);
  }

 private:
  void draw(const TerminalSize& terminal, const std::string& folder, const LiveFolder& live,
            const std::string& report) {
    std::vector<const LiveRun*> runs;
    for (const LiveRun& run : live.runs) runs.push_back(&run);
    const std::size_t most = std::max<std::size_t>(terminal.rows, 6) - 5;
    if (runs.size() > most) std::ranges::stable_partition(runs, &LiveRun::works);
    std::vector<std::string> lines{head_text(folder, live), overall_text(live, terminal.columns)};
    for (const LiveRun* run : runs) {
      if (lines.size() > most) break;
      lines.push_back("  " + run_text(*run));
    }
    if (runs.size() > most) lines.push_back(fmt::format("  and {} more", runs.size() - most));
    lines.push_back(report);
    std::string text = lines_ > 0 ? fmt::format("\033[{}A", lines_) : std::string();
    for (std::string& line : lines) {
      std::ranges::replace(line, '\n', ' ');
      text += "\033[K" + cut_to(printable(line), terminal.columns) + "\n";
    }
    write_to_terminal(text + "\033[J");
    lines_ = lines.size();
  }

  void log(const std::string& folder, const LiveFolder& live, std::ostream& out) {
    const auto tell = [&](const std::string& name, const std::string& words,
                          const std::string& line) {
      if (std::exchange(told_[name], words) != words) out << line << std::endl;
    };
    tell("", live.error, live.error.empty() ? head_text(folder, live) : live.error);
    for (const LiveRun& run : live.runs) tell(run.name, run.words, run_text(run));
  }

  bool quiet_;
  std::size_t lines_ = 0;                    // on the terminal
  std::map<std::string, std::string> told_;  // words by run
};

bool is_begun(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "config.yaml", error) || is_sweep(folder) ||
         fs::exists(folder / "status.json", error);  // while pool and test set are made
}

void wait_for(const WatchOptions& options, Console& console) {
  if (is_begun(options.folder)) return;
  if (!options.wait)
    throw Error(ErrorKind::data,
                fmt::format("there is no run or sweep in {0} yet; to wait for it: stap watch {0} "
                            "--wait",
                            options.folder));
  console.note(fmt::format("waiting for {}", options.folder));
  while (!is_begun(options.folder)) std::this_thread::sleep_for(kLookEvery);
}

// Ctrl-C ends it as it ends any program: there is nothing to tidy.
void run_watch(const WatchOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const fs::path folder = options.folder;
  Console console(globals);
  check_report_output(report_file(folder), std::span(&folder, 1));
  wait_for(options, console);
  // A folder that is neither a run nor a sweep would never end.
  if (const RunFolder run(folder); fs::exists(run.config_file()) && !is_sweep(folder))
    run.read_config();
  ReportWriter report(folder);
  View view(globals);
  for (;;) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const LiveFolder live = look_at_live(folder, std::chrono::duration<double>(now).count());
    report.follow(live);
    view.show(options.folder, live, report.words(), out);
    if (live.ended && !options.stay) break;
    std::this_thread::sleep_for(kLookEvery);
  }
  out << fmt::format("all runs have ended; {}\n", report.words());
}

}  // namespace

void add_watch(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* command = program.add_subcommand(
      "watch", "Show the progress of runs, and keep their report up to date");
  command->add_option("folder", options->folder, "Folder of a run or a sweep")
      ->required()
      ->type_name("RUN");
  command->add_flag("--wait", options->wait, "Wait for the folder if it does not exist yet");
  command->add_flag("--stay", options->stay, "Keep watching after all runs have ended");
  command->footer(
      "Open FOLDER/report.html in a browser: it reloads itself while runs work. Works on any "
      "machine that sees the folder, can be stopped at any time, and ends with the runs.\n"
      "Example:\n  stap watch my-run");
  command->callback([options, &globals] { run_watch(*options, globals, std::cout); });
}

}  // namespace stap::app
