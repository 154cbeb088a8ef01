#include "stap/run/loop.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {
namespace {

// The runs of one network shape and their engine; run r has members r * M .. (r + 1) * M - 1.
struct Group {
  std::vector<Run*> runs;
  int members = 0;  // M of each
  std::unique_ptr<Engine> engine;

  int first_member(std::size_t r) const { return static_cast<int>(r) * members; }
};

std::vector<Group> make_groups(std::span<Run> runs, int threads) {
  std::vector<Group> groups;
  for (Run& run : runs) {
    const int members = run.study.options.members;
    auto fits = [&](const Group& g) {
      return g.runs[0]->shape == run.shape && g.members == members &&
             g.runs[0]->study.compute == run.study.compute;
    };
    auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group == groups.end()) group = groups.insert(groups.end(), Group{{}, members, nullptr});
    group->runs.push_back(&run);
  }
  for (Group& group : groups)
    group.engine = make_engine(group.runs[0]->study.compute, group.runs[0]->shape,
                               static_cast<int>(group.runs.size()) * group.members, threads);
  return groups;
}

// What the training of round 0 depends on: all but the method, what later rounds do, the test set,
// and how often and how long networks are kept. The pool counts: initial trajectories are drawn
// from all of it.
std::string first_round_key(const Run& run) {
  config::Value document = run.study.effective;
  document.erase("base");
  document.erase("steps");
  for (const char* key : {"rounds", "budget", "test", "checkpoint_epochs", "keep_committees",
                          "on_unstable", "charge_failed", "trust_quantile"})
    document.find("study")->erase(key);
  return config::yaml_text(document);
}

// Epochs of all members of all runs, done and in all: what progress counts.
class Account : public Observer {
 public:
  Account(std::span<const Run> runs, Observer& listener) : listener_(listener) {
    for (const Run& run : runs) {
      const std::size_t epochs = epochs_of(run);
      total_ += (run.study.options.rounds + 1) * epochs;
      done_ += run.round * epochs;
      if (run.phase == Run::Phase::train)
        done_ += static_cast<std::size_t>(run.epochs_done * run.study.options.members);
      else
        done_ += epochs;
    }
  }
  void say(std::string phase) {
    phase_ = std::move(phase);
    listener_.progress({phase_, done_, total_, "epochs"});
  }
  void add(std::size_t epochs) { done_ += epochs; }
  void epoch_done(const EpochDone& event) override {
    ++done_;
    listener_.epoch_done(event);
    listener_.progress({phase_, done_, total_, "epochs"});
  }
  static std::size_t epochs_of(const Run& run) {
    return static_cast<std::size_t>(run.study.train.epochs * run.study.options.members);
  }

 private:
  Observer& listener_;
  std::string phase_;
  std::size_t done_ = 0, total_ = 0;
};

// A run's training data as the engine wants it.
struct TrainingData {
  TrainingData(const TransitionSet& set, bool time_input, std::size_t steps)
      : inputs(set.grid, set.count()), outputs(set.grid, set.count()) {
    convert(set.inputs, inputs.values());
    convert(set.outputs, outputs.values());
    if (time_input)
      for (const Provenance& origin : set.origins)
        times.push_back(static_cast<float>(input_time(origin.step + 1, steps)));
  }
  TransitionsView view() const { return {inputs.view(), outputs.view(), times}; }
  States<float> inputs, outputs;
  std::vector<float> times;
};

std::string round_text(const Run& run) {
  return fmt::format("round {} of {}", run.round, run.study.options.rounds);
}

// Trains every run of the group that waits for it, checkpoint by checkpoint. False if stopped.
bool fit(Group& group, Account& account, const std::function<bool()>& stop) {
  std::map<std::string, std::size_t> leaders;  // of round 0
  std::vector<std::size_t> training;
  std::vector<std::pair<std::size_t, std::size_t>> followers;  // run, its leader
  for (std::size_t r = 0; r < group.runs.size(); ++r) {
    Run& run = *group.runs[r];
    if (run.phase != Run::Phase::train) continue;
    if (run.round == 0) {
      const auto [leader, is_new] = leaders.emplace(first_round_key(run), r);
      if (!is_new) {
        followers.emplace_back(r, leader->second);
        continue;
      }
    }
    training.push_back(r);
  }
  std::vector<TrainingData> data;
  data.reserve(training.size());
  for (std::size_t r : training) {
    Run& run = *group.runs[r];
    data.emplace_back(run.transitions, run.shape.options.time_input,
                      run.study.options.pattern_steps());
    for (int m = 0; m < group.members; ++m)
      group.engine->load(group.first_member(r) + m, run.members[static_cast<std::size_t>(m)]);
  }
  for (bool open = !training.empty(); open;) {
    open = false;
    std::vector<FitJob> jobs;
    for (std::size_t i = 0; i < training.size(); ++i) {
      const Run& run = *group.runs[training[i]];
      const FitOptions& options = run.study.train;
      for (int m = 0; m < group.members; ++m)
        jobs.push_back(
            {group.first_member(training[i]) + m, data[i].view(), options,
             run.stream("order").split("member", static_cast<std::uint64_t>(m)), run.epochs_done,
             std::min(options.epochs, run.epochs_done + run.study.options.checkpoint_epochs)});
    }
    account.say(fmt::format("{}, training", round_text(*group.runs[training[0]])));
    const auto start = std::chrono::steady_clock::now();
    group.engine->fit(jobs, account);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    for (std::size_t i = 0; i < training.size(); ++i) {
      Run& run = *group.runs[training[i]];
      if (run.phase != Run::Phase::train) continue;
      run.epochs_done = jobs[i * static_cast<std::size_t>(group.members)].epochs_done;
      for (int m = 0; m < group.members; ++m)
        run.members[static_cast<std::size_t>(m)] =
            group.engine->save(group.first_member(training[i]) + m);
      save_training(run);
      add_timing(run, "train", seconds.count() / static_cast<double>(training.size()));
      open = open || run.phase == Run::Phase::train;
    }
    if (stop()) return false;
  }
  for (const auto& [r, leader] : followers) {
    Run& run = *group.runs[r];
    const int left = run.study.train.epochs - run.epochs_done;
    account.add(static_cast<std::size_t>(left * group.members));
    run.members = group.runs[leader]->members;
    run.epochs_done = run.study.train.epochs;
    save_training(run);
  }
  return true;
}

// The committee of one run, its weights in the engine.
std::unique_ptr<Committee> committee_of(Group& group, std::size_t r) {
  std::vector<int> members;
  for (int m = 0; m < group.members; ++m) {
    members.push_back(group.first_member(r) + m);
    group.engine->load(members.back(), group.runs[r]->members[static_cast<std::size_t>(m)]);
  }
  return group.engine->committee(std::move(members));
}

}  // namespace

LoopEnd run_loop(std::span<Run> runs, int threads, Observer& observer,
                 const std::function<bool()>& stop) {
  Account account(runs, observer);
  std::vector<Group> groups = make_groups(runs, threads);
  auto unfinished = [](const Run& run) { return run.phase != Run::Phase::done; };
  while (std::any_of(runs.begin(), runs.end(), unfinished)) {
    for (Group& group : groups) {
      if (!fit(group, account, stop)) return LoopEnd::stopped;
      for (std::size_t r = 0; r < group.runs.size(); ++r) {
        Run& run = *group.runs[r];
        if (run.phase == Run::Phase::done) continue;
        const auto committee = committee_of(group, r);
        if (run.phase == Run::Phase::evaluate) {
          account.say(fmt::format("{}, evaluating", round_text(run)));
          evaluate_round(run, *committee);
        }
        if (run.phase == Run::Phase::acquire) {
          account.say(fmt::format("{}, selecting and buying", round_text(run)));
          acquire_round(run, *committee, threads, observer);
        }
        if (stop()) return LoopEnd::stopped;
      }
    }
  }
  return LoopEnd::finished;
}

}  // namespace stap
