// What a browser polls.
#include <algorithm>
#include <utility>

#include "report/shortened.h"
#include "stap/report/watch.h"

namespace stap {
namespace {

using config::Value;

constexpr std::size_t kMostRunning = 1000;  // queries of a run
constexpr std::size_t kMostText = 400;      // characters of what programs of users may have said

Value to_value(const LiveRun& run) {
  const RunStatus& status = run.status;
  Value value;
  value.set("folder", run.name);
  value.set("state", to_string(run.state));
  value.set("words", shortened(run.words, kMostText));
  value.set("phase", status.phase.empty() ? std::string(to_string(run.state)) : status.phase);
  value.set("round", status.round);
  value.set("rounds", status.rounds);
  value.set("budget", status.budget);
  value.set("spent", status.spent);
  value.set("left", status.budget - std::min(status.spent, status.budget));
  value.set("failed", status.failed);
  value.set("refused", status.refused);
  value.set("open", status.open);
  value.set("epochs", status.epochs);
  value.set("epochs_done", status.epochs_done);
  value.set("slots", run.slots ? Value(*run.slots) : Value());
  Value::List running;
  for (const RunStatus::Query& query : status.running) {
    if (!run.works() || running.size() == kMostRunning) break;
    Value& one = running.emplace_back();
    one.set("candidate", query.candidate);
    one.set("step", query.step);
    one.set("seconds", query.seconds);
    one.set("where", shortened(query.where));
  }
  value.set("running", Value(std::move(running)));
  const bool trouble = run.state == LiveRun::State::dead || run.state == LiveRun::State::silent ||
                       run.state == LiveRun::State::damaged;
  value.set("error", shortened(trouble ? run.words : status.error, kMostText));
  value.set("seconds_left", run.seconds_left ? Value(*run.seconds_left) : Value());
  value.set("phase_seconds_left",
            run.phase_seconds_left ? Value(*run.phase_seconds_left) : Value());
  value.set("host", status.host);
  value.set("process", static_cast<std::size_t>(status.process));
  value.set("time", status.time);
  return value;
}

}  // namespace

Value to_value(const LiveFolder& live, const std::string& version) {
  Value::List runs;
  for (const LiveRun& run : live.runs) runs.push_back(to_value(run));
  Value value;
  value.set("format", "watch/1");
  value.set("version", version);
  value.set("runs", Value(std::move(runs)));
  value.set("ended", live.ended);
  value.set("error", shortened(live.error, kMostText));
  return value;
}

}  // namespace stap
