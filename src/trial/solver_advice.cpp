#include "stap/trial/solver_advice.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "stap/core/cluster.h"
#include "stap/couple/launch_probe.h"
#include "stap/eval/cost.h"
#include "stap/nn/engine.h"

namespace stap {
namespace {

using Seconds = std::chrono::duration<double>;

// Where starting a program matters, and where it does not.
constexpr double kShort = 1.0, kLong = 10.0;  // seconds of a call
constexpr double kMuch = 0.2;                 // of a call is start-up
constexpr double kShared = 1.3;  // times as long for two at a time: they take from each other
// Methods of this kind need half to a third of the steps where they help; a guess, and said to be.
constexpr double kEfficiency = 2.0;
constexpr double kClearly = 0.8;  // of the time that it takes without
constexpr std::size_t kTimedRows = 32;
constexpr double kTimedSeconds = 0.2;
constexpr int kTimedEpochs = 64;

std::string time_text(double seconds) {
  if (seconds < 600) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

std::string about_kind(const SolverCheck& check, const AdviceFacts& facts, double seconds) {
  if (facts.kind != "command") {
    if (!check.start) return "worker: it is started once per slot, and then only asked";
    return fmt::format("worker: it takes {} to start, once per slot, and {} per step",
                       time_text(*check.start), time_text(seconds));
  }
  const std::string told =
      check.start_share ? fmt::format(", {:.0f} % of it start-up", 100 * *check.start_share) : "";
  if (seconds >= kLong && check.start_share.value_or(0.0) < kMuch)
    return fmt::format("command is right: starting a program is little beside {} per call{}",
                       time_text(seconds), told);
  if (seconds < kShort || check.start_share.value_or(0.0) >= kMuch)
    return fmt::format(
        "worker instead of command would be quicker: a call takes {}{}, and a worker "
        "starts, reads its set-up and imports once instead of every time ('stap init "
        "DIR --from worker' writes one to start from)",
        time_text(seconds), told);
  return fmt::format(
      "command is good enough at {} per call{}; a worker pays if the program takes long "
      "to set up",
      time_text(seconds), told);
}

std::string about_slots(const SolverCheck& check, const AdviceFacts& facts) {
  const std::string now = fmt::format("(now {})", facts.slots);
  std::string text;
  if (!facts.room.empty()) {
    text = fmt::format("slots: auto {}: {}", now, facts.room);
  } else if (check.cores) {
    const double each = std::max(1.0, std::round(*check.cores));
    const auto fit =
        std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(facts.cores) / each));
    text = fmt::format("slots: {} {}: one call keeps {:.2g} of {} cores busy", fit, now,
                       *check.cores, facts.cores);
    if (*check.cores < 0.5) text += ", so it waits: if for another machine, there may be more";
  } else {
    text = fmt::format("slots: as many as {} cores hold, one or more for each call {}", facts.cores,
                       now);
  }
  if (check.together && *check.together > kShared)
    text += fmt::format(
        "; two at a time took {:.2g} times as long as one alone: do they use all "
        "cores (env: [OMP_NUM_THREADS=1])?",
        *check.together);
  return text;
}

std::string about_steps(const SolverCheck& check, const AdviceFacts& facts, double seconds) {
  if (facts.steps_at_once > 1) {
    if (!check.start_share) return {};
    return fmt::format("steps_at_once: {} saves {:.0f} % of a call for every step but the first",
                       facts.steps_at_once, 100 * *check.start_share);
  }
  if (facts.kind == "command" && seconds < kLong)
    return "several steps a call: where the program can make them, put {steps} into argv and set "
           "steps_at_once, and consecutive steps cost one start";
  return {};
}

// The sums, then what follows from them.
std::string about_learning(const AdviceFacts& facts, double seconds) {
  if (facts.rounds == 0 || facts.budget == 0) return {};
  const double each = seconds / static_cast<double>(facts.slots);
  const double steps = static_cast<double>(facts.rounds * facts.budget);
  const std::string bought = fmt::format(
      "the {:g} steps of all rounds, {} each in {}, are {}", steps, time_text(seconds),
      facts.slots == 1 ? "1 slot" : fmt::format("{} slots", facts.slots), time_text(steps * each));
  if (!facts.training)
    return fmt::format("active learning: {}; what training takes could not be measured", bought);
  // How many stages a round will have nobody knows before: all of them, and said to be.
  const double training = *facts.training * (std::ldexp(1.0, static_cast<int>(facts.stages)) - 1.0);
  const CostVerdict verdict = judge_cost({.initial = static_cast<double>(facts.initial_steps),
                                          .budget = static_cast<double>(facts.budget),
                                          .rounds = static_cast<double>(facts.rounds),
                                          .efficiency = kEfficiency,
                                          .acquire = each,
                                          .train = training,
                                          .select = 0.0});
  const std::string sums = fmt::format(
      "{}, and training takes {} per step in the training set{}. Buying them all and training once "
      "is {}; half of them, chosen in {}, is {}",
      bought, time_text(training),
      facts.stages > 1 ? fmt::format(" if every round needs all {} stages", facts.stages) : "",
      time_text(verdict.baseline_seconds),
      verdict.active_rounds == 1 ? "1 round" : fmt::format("{:g} rounds", verdict.active_rounds),
      time_text(verdict.active_seconds));
  const double ratio = verdict.active_seconds / verdict.baseline_seconds;
  const char* judged = ratio < kClearly       ? "pays"
                       : ratio < 1 / kClearly ? "is worth about what it costs"
                                              : "does not pay";
  const double turning = verdict.turning_acquire * static_cast<double>(facts.slots);
  return fmt::format("active learning {} if it needs half the steps: {}{}", judged, sums,
                     ratio >= kClearly && std::isfinite(turning)
                         ? fmt::format("; break-even: {} per step", time_text(turning))
                         : "");
}

std::string about_symmetries(const AdviceFacts& facts) {
  if (facts.symmetries || facts.rounds == 0) return {};
  return "symmetries: if the problem looks the same in a mirror, turned, or with time running "
         "backwards, say so in train.symmetries: every bought step then counts several times; "
         "'stap solver symmetries' looks for them";
}

}  // namespace

AdviceFacts advice_facts(const Study& study) {
  const config::Value* solver = study.effective.find("solver");
  const auto number = [&](const char* key) -> std::size_t {
    const config::Value* value = solver != nullptr ? solver->find(key) : nullptr;
    return value != nullptr ? value->integer<std::uint64_t>().value_or(1) : 1;
  };
  const StudyOptions& o = study.options;
  AdviceFacts facts;
  if (study.solver) facts.kind = study.solver.row->name;
  if (facts.kind == "command") facts.room = room_text(study.solver.options.as(command_fields()));
  if (facts.kind == "worker") facts.room = room_text(study.solver.options.as(worker_fields()));
  facts.slots = solver != nullptr ? slots_of(*solver) : 1;
  facts.steps_at_once = number("steps_at_once");
  facts.cores = std::max(1u, std::thread::hardware_concurrency());
  facts.initial_steps = o.initial * o.steps;
  facts.budget = o.budget;
  facts.stages = o.stages;
  facts.symmetries = !study.train.symmetries.empty();
  facts.rounds = study.has_method() ? o.rounds : 0;
  return facts;
}

double measure_training(const Study& study, int threads) {
  const NetworkSpec network = study_network(study);
  const int members = study.options.members;
  const auto engine = make_engine(study.compute, network, members, threads);
  States<float> inputs(network.grid, kTimedRows), targets(network.grid, kTimedRows);
  const Rng rng = Rng(0).split("training pace");
  for (States<float>* states : {&inputs, &targets}) {
    const std::span<float> values = states->values();
    const Rng own = rng.split(states == &inputs ? "input" : "target");
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(own.uniform(i, -1.0, 1.0));
  }
  const std::vector<float> told(kTimedRows * network.told_channels(), 0.5f);
  const Scaling scaling = unit_scaling(network.grid.channels);
  const TransitionsView data{std::as_const(inputs).view(), std::as_const(targets).view(), told};
  std::vector<FitJob> jobs;
  FitOptions options = study.train;
  options.epochs = kTimedEpochs;
  options.steps = 0;
  for (int m = 0; m < members; ++m) {
    const auto index = static_cast<std::uint64_t>(m);
    engine->load(m, fresh_member(network, scaling, rng.split("member", index)));
    jobs.push_back({m, data, options, rng.split("order", index)});
  }
  Observer nobody;
  const auto begun = std::chrono::steady_clock::now();
  const auto seconds = [&] { return Seconds(std::chrono::steady_clock::now() - begun).count(); };
  engine->fit(jobs, nobody, [&] { return seconds() > kTimedSeconds; });
  int epochs = 0;
  for (const FitJob& job : jobs) epochs += job.epochs_done;
  const double epoch = seconds() / std::max(epochs, 1) * members;  // of all members
  return epoch * epochs_of_middle_round(study) /
         static_cast<double>(kTimedRows * study.options.cluster);
}

int epochs_of_middle_round(const Study& study) {
  // Where steps count, the epochs of a round become fewer.
  const StudyOptions& o = study.options;
  const std::size_t rows = o.initial * o.pattern_steps() + o.rounds * o.pattern_budget() / 2;
  return fit_length(study.train, std::max<std::size_t>(rows, 1)).epochs;
}

std::vector<std::string> solver_advice(const SolverCheck& check, const AdviceFacts& facts) {
  const std::optional<double> seconds = check.median_seconds();
  if (!seconds) return {};
  std::vector<std::string> all{about_kind(check, facts, *seconds), about_slots(check, facts),
                               about_steps(check, facts, *seconds), about_symmetries(facts),
                               about_learning(facts, *seconds)};
  std::erase(all, "");
  return all;
}

}  // namespace stap
