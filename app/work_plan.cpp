#include "work_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "duration.h"
#include "help.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/nn/engine.h"
#include "stap/study/clusters.h"
#include "stap/study/data_request.h"
#include "stap/study/kept_of_solver.h"
#include "stap/study/study.h"
#include "stap/trial/solver_advice.h"

namespace stap::app {
namespace {

// What bodies of networks hold of all members' training steps: above this, measuring takes seconds.
constexpr double kQuickBytes = 1.25e8;
constexpr double kRecordBytes = 500.0;     // of a step, in the journal and elsewhere
constexpr std::size_t kFewestPoints = 16;  // of an axis: no fewer than modes, as a rule

// Of a run's folder: answers in double, transitions, extracts and networks in float.
double run_bytes(const Study& study) {
  const StudyOptions& o = study.options;
  const auto state = static_cast<double>(study.grid.values());
  const auto steps = static_cast<double>(o.initial * o.steps + o.rounds * o.budget);
  const double committees =
      o.keep_committees == StudyOptions::Keep::all ? static_cast<double>(o.rounds + 1) : 1.0;
  return steps * (state * (8 + 2 * 4) + kRecordBytes) +
         committees * static_cast<double>(o.members) *
             static_cast<double>(parameter_count(study_network(study))) * 4;
}

// Seconds of training per row of the training set, of one stage. Costs grow with the points, so
// what a large grid takes follows from a smaller one.
std::optional<double> seconds_per_row(const Study& given, int threads) {
  if (const auto kept = kept_training_seconds(given)) return kept;
  Study study = given;
  double factor = 1.0;
  const auto bytes = [&] {
    const NetworkSpec network = study_network(study);
    const int members = study.options.members;
    const std::size_t weights = parameter_count(network) * static_cast<std::size_t>(members);
    const std::size_t all =
        training_bytes({.device = ComputeOptions::Device::cpu}, network, members, {}, members);
    return static_cast<double>(all) - 3.0 * sizeof(float) * static_cast<double>(weights);
  };
  try {
    if (bytes() > kQuickBytes) factor = std::exchange(study.options.members, 1);
    while (bytes() > kQuickBytes) {
      const auto largest = std::ranges::max_element(study.grid.points);
      if (*largest / 2 < kFewestPoints) return std::nullopt;
      factor *= static_cast<double>(*largest) / static_cast<double>(*largest / 2);
      *largest /= 2;
    }
    const double seconds = measure_training(study, threads) * factor;
    if (asks_own_solver(given)) keep_training_seconds(given, seconds);
    return seconds;
  } catch (const Error&) {  // no such device here, not enough memory, or too many modes
    return std::nullopt;
  }
}

// Of a plan, those that are measured: the rest is taken for the last of them.
constexpr std::size_t kMostMeasured = 12;

// What the seconds of a training step and the steps of a training depend on.
std::string training_key(const Study& study) {
  std::string key = fmt::format("{} {}", study.grid.shape_text(), study.options.members);
  for (const char* path : {"network", "train.epochs", "train.steps", "train.batch"})
    if (const config::Value* value = config::find_path(study.effective, path))
      key += config::json_text(*value, 0);
  return key;
}

NetworkPlan& network_plan(WorkPlan& plan, const Study& study) {
  const std::string key = training_key(study);
  for (NetworkPlan& network : plan.networks)
    if (training_key(network.study) == key) return network;
  if (plan.networks.size() < kMostMeasured) plan.networks.push_back({study});
  return plan.networks.back();
}

std::size_t training_bytes_of(const Study& study, int threads) {
  const RowChanges changes{make_symmetries(study).size(), study.train.noise > 0};
  return training_bytes(study.compute, study_network(study), study.options.members, changes,
                        threads);
}

double step_seconds(const Study& study, double per_row) {
  return per_row * static_cast<double>(study.options.cluster * study.train.batch) /
         epochs_of_middle_round(study);
}

}  // namespace

std::string milliseconds_text(double seconds) {
  const double ms = 1e3 * seconds;
  return ms < 100 ? fmt::format("{:.2g} ms", ms) : fmt::format("{:.0f} ms", ms);
}

std::string bytes_text(double bytes) {
  return bytes < 1e6   ? fmt::format("{:.0f} kB", std::max(bytes / 1e3, 1.0))
         : bytes < 1e9 ? fmt::format("{:.0f} MB", bytes / 1e6)
                       : fmt::format("{:.1f} GB", bytes / 1e9);
}

bool asks_own_solver(const Study& study) {
  return study.pde && study.pde.row->outline && study.dt > 0;
}

void add_to_plan(const Study& study, WorkPlan& plan) {
  if (!study.complete() || study.dt <= 0) return;
  const StudyOptions& o = study.options;
  const auto rounds = static_cast<double>(o.rounds);
  const double stages = std::ldexp(1.0, static_cast<int>(o.stages)) - 1;
  ++plan.runs;
  const DataRequest request = data_request(study);
  const std::size_t asked = o.initial * o.steps + o.rounds * o.budget;
  // A step of a trajectory is bought at most once.
  const std::size_t most = request.pool > 0 ? request.pool * o.steps : asked;
  plan.bought += std::min(asked, most);
  plan.unspent += asked - std::min(asked, most);
  network_plan(plan, study).row_epochs +=
      stages * ((rounds + 1) * static_cast<double>(o.initial * o.steps) +
                rounds * (rounds + 1) / 2 * static_cast<double>(o.budget));
  plan.disk += static_cast<std::size_t>(run_bytes(study));
  if (request.pool + request.test == 0 || !plan.data.insert(data_key(request)).second) return;
  plan.test += request.test * request.steps;
  if (warm_up_steps(study) > 0) plan.warm_ups += request.pool + request.test;
  plan.warm_up += (request.pool + request.test) * warm_up_steps(study);
  plan.disk +=
      (request.pool + request.test * (request.steps + 1)) * study.grid.values() * sizeof(double);
}

std::optional<double> training_seconds(WorkPlan& plan, int threads) {
  if (plan.runs == 0) return std::nullopt;
  std::optional<double> all = 0.0;
  for (NetworkPlan& network : plan.networks) {
    const auto seconds = seconds_per_row(network.study, threads);
    if (seconds) network.step_seconds = step_seconds(network.study, *seconds);
    all = all && seconds ? std::optional(*all + *seconds * network.row_epochs) : std::nullopt;
  }
  return all;
}

std::optional<double> training_step_seconds(const Study& study, int threads) {
  const auto seconds = seconds_per_row(study, threads);
  return seconds ? std::optional(step_seconds(study, *seconds)) : std::nullopt;
}

std::vector<std::string> network_texts(const WorkPlan& plan, int threads) {
  std::vector<std::string> texts;
  for (const auto& [study, rows, seconds] : plan.networks) {
    const NetworkSpec network = study_network(study);
    // A configuration for another machine is a good one all the same.
    const bool here = !uses_gpu(study.compute) || cuda_problem().empty();
    texts.push_back(fmt::format(
        "network {}: {} of {:.3g} M weights; training takes {}, a step of all of them {}",
        network.family.row->name,
        counted(static_cast<std::size_t>(study.options.members), "member", "members"),
        1e-6 * static_cast<double>(parameter_count(network)),
        here ? bytes_text(static_cast<double>(training_bytes_of(study, threads))) + " of memory"
             : "unknown memory",
        seconds ? fmt::format("about {}", milliseconds_text(*seconds))
                : std::string("unknown time")));
  }
  return texts;
}

config::Value networks_json(const WorkPlan& plan, int threads) {
  config::Value::List list;
  for (const auto& [study, rows, seconds] : plan.networks) {
    const NetworkSpec network = study_network(study);
    config::Value row;
    row.set("name", network.family.row->name);
    row.set("members", study.options.members);
    row.set("weights", parameter_count(network));
    const bool here = !uses_gpu(study.compute) || cuda_problem().empty();
    row.set("training_bytes",
            here ? config::Value(training_bytes_of(study, threads)) : config::Value());
    row.set("step_seconds", seconds ? config::Value(*seconds) : config::Value());
    list.push_back(std::move(row));
  }
  return config::Value(std::move(list));
}

std::string plan_text(const WorkPlan& plan, const std::optional<double>& training) {
  if (plan.runs == 0) return {};
  std::string text = fmt::format("plan: {} {}, {} solver steps", plan.runs,
                                 plan.runs == 1 ? "run" : "runs", plan.bought);
  if (plan.test > 0) text += fmt::format(", {} for the test set", plan.test);
  if (plan.warm_up > 0) text += fmt::format(", {} for {} warm-ups", plan.warm_up, plan.warm_ups);
  if (plan.unspent > 0)
    text += fmt::format(
        "; {} more of the budget stay unspent: the pool has no further steps "
        "(study.pool)",
        plan.unspent);
  text += training ? fmt::format("; about {} of training", duration_text(*training))
                   : std::string("; training time unknown");
  return text + fmt::format(", {} on disk", bytes_text(static_cast<double>(plan.disk)));
}

}  // namespace stap::app
