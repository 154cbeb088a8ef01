#include "study_end.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "report_file.h"
#include "standard_streams.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"
#include "stap/folder/sweep_folder.h"
#include "stap/results/table.h"
#include "stap/results/table_format.h"
#include "stap/run/by_hand.h"

namespace stap::app {
namespace {

// Of a sweep whose other shards may be under way.
bool all_finished(const std::string& folder, std::vector<RunResult>& results) {
  try {
    results = read_results(folder);
    return results.size() >= names_in(folder).size() &&
           std::ranges::all_of(
               results, [](const RunResult& run) { return run.rounds_done == run.rounds + 1; });
  } catch (const Error&) {
    return false;  // one of them has just begun
  }
}

}  // namespace

std::string command_text(const Globals& globals) {
  std::string text = "stap";
  for (const std::string& word : globals.words) text += " " + shell_quoted(word);
  return text;
}

void end_in_time(const std::string& folder, const std::string& command, Console& console) {
  console.note(fmt::format("stopped in time; to continue in {}, run the same command again:\n  {}",
                           folder, command));
  throw EndWith{kContinue};
}

void report_end(LoopEnd end, const Task& task, const ByHand& by_hand,
                const InterruptGuard& interrupt, Console& console, std::ostream& out) {
  console.finish();
  const Share& share = task.share;
  if (end == LoopEnd::stopped) {
    if (!interrupt.requested()) end_in_time(task.folder, task.command, console);
    console.note(fmt::format("stopped; run the same command again to continue in {}", task.folder));
    interrupt.end_program();
  }
  if (end == LoopEnd::paused) {
    console.note(fmt::format("next for {}: --until {}", task.folder,
                             share.until == Until::bought ? "trained" : "bought"));
    throw EndWith{kOtherPart};
  }
  if (end == LoopEnd::waiting) {
    const std::size_t n = by_hand.open.size();
    out << fmt::format("{} {} for an answer: stap ask {} --out queries.h5\n", n,
                       n == 1 ? "query waits" : "queries wait", task.folder);
    return;
  }
  std::vector<RunResult> results;  // read once for all
  if (share.shards > 1) {
    out << fmt::format("shard {}/{} is finished; for all shards: stap table {}\n", share.shard,
                       share.shards, task.folder);
    if (!all_finished(task.folder, results)) return;
  } else {
    results = read_results(task.folder);
    out << tables_text(make_tables(results), {.notes = false}, stdout_style())
        << fmt::format(
               "results in {0}\n"
               "single networks; the averaged model: stap table {0} --model mean\nwhat the columns "
               "mean: stap table {0} --notes\n",
               task.folder);
  }
  if (task.report != nullptr)
    report_at_end(task.folder, std::move(results), *task.report, interrupt, console, out);
}

}  // namespace stap::app
