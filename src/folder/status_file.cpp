// status.json: how a run is doing.
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/folder/run_folder.h"

namespace stap {
namespace {

using config::Value;

constexpr const char* kStatusFormat = "status/1";

std::string this_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Value to_value(const std::vector<RunStatus::Query>& queries, bool running, double now) {
  Value::List list;
  for (const RunStatus::Query& query : queries) {
    Value& one = list.emplace_back();
    one.set("candidate", query.candidate);
    one.set("step", query.step);
    if (!running) continue;
    one.set("seconds", query.seconds);
    one.set("since", now - query.seconds);
    one.set("where", query.where);
  }
  return Value(std::move(list));
}

std::vector<RunStatus::Query> read_queries(const Value& status, const char* key, bool running,
                                           const std::filesystem::path& path) {
  std::vector<RunStatus::Query> queries;
  const Value* list = status.find(key);
  if (list == nullptr) return queries;  // of an earlier version
  if (!list->is_list()) throw_bad_field(key, path);
  for (const Value& one : *list->list()) {
    RunStatus::Query& query = queries.emplace_back();
    query.candidate = field<std::uint64_t>(one, "candidate", path);
    query.step = field<std::uint64_t>(one, "step", path);
    if (!running) continue;
    query.seconds = field<double>(one, "seconds", path);
    query.where = field<std::string>(one, "where", path);
  }
  return queries;
}

}  // namespace

void RunFolder::write_status(const RunStatus& status) const {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  Value value;
  value.set("format", kStatusFormat);
  value.set("phase", status.phase);
  value.set("round", status.round);
  value.set("rounds", status.rounds);
  value.set("budget", status.budget);
  value.set("spent", status.spent);
  value.set("left", status.budget - status.spent);
  value.set("failed", status.failed);
  value.set("refused", status.refused);
  value.set("open", status.open);
  value.set("running", to_value(status.running, true, now.count()));
  value.set("waiting", to_value(status.waiting, false, now.count()));
  value.set("error", status.error);
  if (status.since > 0) {
    value.set("since", status.since);
    value.set("since_done", status.since_done);
  }
  if (status.epochs > 0) {
    value.set("epochs", status.epochs);
    value.set("epochs_done", status.epochs_done);
  }
  if (status.stages > 1) {
    value.set("stage", status.stage);
    value.set("stages", status.stages);
  }
  if (status.usual > 0) value.set("usual", status.usual);
  if (!status.shares.empty()) value.set("shares", status.shares);
  value.set("host", this_host());
  value.set("process", static_cast<std::size_t>(getpid()));
  value.set("time", now.count());
  try {
    write_text(status_file(), config::json_text(value, 1) + "\n", false);
  } catch (const Error&) {
    // Nothing depends on it.
  }
}

std::optional<RunStatus> RunFolder::read_status() const {
  const std::filesystem::path path = status_file();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const Value value = read_json(path);
  if (field<std::string>(value, "format", path) != kStatusFormat) throw_bad_field("format", path);
  const auto number = [&](const char* key) {
    return static_cast<std::size_t>(field<std::uint64_t>(value, key, path));
  };
  RunStatus status{.phase = field<std::string>(value, "phase", path),
                   .round = number("round"),
                   .rounds = number("rounds"),
                   .budget = number("budget"),
                   .spent = number("spent"),
                   .failed = number("failed"),
                   .refused = number("refused"),
                   .open = number("open"),
                   .running = read_queries(value, "running", true, path),
                   .waiting = read_queries(value, "waiting", false, path),
                   .error = field<std::string>(value, "error", path)};
  if (value.find("host") != nullptr) status.host = field<std::string>(value, "host", path);
  status.process = static_cast<std::int64_t>(number("process"));
  status.time = field<double>(value, "time", path);
  // Not in those of earlier versions.
  if (value.find("since") != nullptr) {
    status.since = field<double>(value, "since", path);
    status.since_done = number("since_done");
  }
  if (value.find("epochs") != nullptr) {
    status.epochs = number("epochs");
    status.epochs_done = number("epochs_done");
  }
  if (value.find("stages") != nullptr) {
    status.stage = number("stage");
    status.stages = number("stages");
  }
  if (value.find("usual") != nullptr) status.usual = field<double>(value, "usual", path);
  if (value.find("shares") != nullptr) status.shares = field<std::string>(value, "shares", path);
  return status;
}

std::string phase_text(const RunStatus& s) {
  if (s.phase == "data") return "making pool and test set";
  const std::string shared = "sharing the training of " + s.shares;
  const char* words = !s.shares.empty()       ? shared.c_str()
                      : s.phase == "initial"  ? "buying the initial trajectories"
                      : s.phase == "acquire"  ? "buying"
                      : s.phase == "train"    ? "training"
                      : s.phase == "beside"   ? "trained, waiting for the runs beside it"
                      : s.phase == "evaluate" ? "evaluating"
                      : s.phase == "select"   ? "selecting"
                      : s.phase == "waiting"  ? "waiting for answers of people"
                      : s.phase == "done"     ? "finished"
                      : s.phase == "bought"   ? "bought, to be trained next"
                      : s.phase == "trained"  ? "trained, to buy next"
                                              : s.phase.c_str();
  std::string text = fmt::format("{}, round {} of {}", words, s.round, s.rounds);
  if (s.stages > 1) text += fmt::format(", stage {} of at most {}", s.stage + 1, s.stages);
  return text;
}

}  // namespace stap
