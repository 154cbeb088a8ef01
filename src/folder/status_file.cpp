// status.json: how a run is doing.
#include <unistd.h>

#include <chrono>
#include <utility>

#include "stap/core/error.h"
#include "stap/folder/run_folder.h"

namespace stap {

using config::Value;

void RunFolder::write_status(const RunStatus& status) const {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  Value value;
  value.set("format", "status/1");
  value.set("phase", status.phase);
  value.set("round", status.round);
  value.set("rounds", status.rounds);
  value.set("budget", status.budget);
  value.set("spent", status.spent);
  value.set("left", status.budget - status.spent);
  value.set("failed", status.failed);
  value.set("refused", status.refused);
  value.set("open", status.open);
  Value::List running;
  for (const RunStatus::Query& query : status.running) {
    Value& one = running.emplace_back();
    one.set("candidate", query.candidate);
    one.set("step", query.step);
    one.set("seconds", query.seconds);
    one.set("where", query.where);
  }
  value.set("running", Value(std::move(running)));
  value.set("error", status.error);
  value.set("process", static_cast<std::size_t>(getpid()));
  value.set("time", now.count());
  try {
    write_text(status_file(), config::json_text(value, 1) + "\n", false);
  } catch (const Error&) {
    // Nothing depends on it.
  }
}

}  // namespace stap
