// What a worker's launcher says of it, and what follows for its query.
#include <fmt/format.h>

#include "couple/launcher_log.h"
#include "couple/worker_slot.h"

namespace stap {

// A launcher may wait for room for ever, while other slots have nothing to do: the query is theirs.
void WorkerSlot::look_for_room() {
  const LauncherWords said = launcher_words(options_.folder / "log.txt");
  if (said.waits.empty()) {
    if (waits_since_) started_ = Clock::now();
    waits_since_.reset();
    return;
  }
  if (!waits_since_) waits_since_ = Clock::now();
  started_ = Clock::now();
  if (Clock::now() < later(*waits_since_, options_.room)) return;
  fail(fmt::format("there is no room for it: {}", said.waits), false);
  outcome_.lost = false;
  outcome_.not_begun = true;
}

// Who is to blame for its end: the worker, or what it ran on?
void WorkerSlot::judge_launcher() {
  if (!hung_up_) return;  // what it did wrong was seen by ourselves, or it was we who ended it
  const LauncherWords said = launcher_words(options_.folder / "log.txt");
  const bool started = greeted_;
  if (!started && said.node_lost.empty() && !said.not_started.empty()) {
    outcome_.not_begun = true;
    outcome_.lost = false;
    why_ = fmt::format("its launcher could not start it: {}", said.not_started);
    return;
  }
  // A launcher that knows of no end while the connection is gone: the node is not there any more,
  // and it will hear of that later than we do.
  const bool silent = options_.known_launcher && said.rank_ended.empty() &&
                      (had_to_be_ended_ || process_->ended()->by_force());
  if (said.node_lost.empty() && !silent) return;
  outcome_.lost = true;
  outcome_.worth_a_retry = false;
  why_ =
      fmt::format("{}: {} ({})", kNodeLost,
                  said.node_lost.empty() ? "its launcher knows of no end" : said.node_lost, why_);
}

}  // namespace stap
