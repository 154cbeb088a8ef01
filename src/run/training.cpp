#include "run/training.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "run/bought_rows.h"
#include "run/news.h"
#include "run/phases.h"
#include "run/stages.h"
#include "stap/core/error.h"
#include "stap/core/hash64.h"
#include "stap/core/resident_rows.h"
#include "stap/study/affecting.h"

namespace stap {
namespace {

// What the training of round 0 depends on.
std::string first_round_key(const Run& run) {
  using enum config::Affects;
  const TransitionSet& set = run.transitions;
  return config::yaml_text(
             affecting(run.study.effective, {problem, data, training, seed, device})) +
         fmt::format("{:016x} {:016x} {:016x} {:016x}",
                     hash64(std::as_bytes(std::span(set.origins))),
                     hash64(std::as_bytes(std::span(set.inputs))),
                     hash64(std::as_bytes(std::span(set.outputs))),
                     hash64(std::as_bytes(std::span(set.parameters.values))));
}

// Who trains, and who takes the networks of round 0 from whom.
struct Assignment {
  std::vector<std::size_t> training;
  std::vector<std::pair<std::size_t, std::size_t>> followers;  // run, its leader
};
Assignment assign(const Group& group) {
  Assignment result;
  std::map<std::string, std::size_t> leaders;
  for (std::size_t r = 0; r < group.runs.size(); ++r) {
    const Run& run = *group.runs[r];
    if (run.phase != Run::Phase::train) continue;
    if (run.round == 0) {
      const auto [leader, is_new] = leaders.emplace(first_round_key(run), r);
      if (!is_new) {
        result.followers.emplace_back(r, leader->second);
        continue;
      }
    }
    result.training.push_back(r);
  }
  return result;
}

// Epochs up to the next checkpoint, of all that train.
std::vector<FitJob> make_jobs(const Group& group, const std::vector<std::size_t>& training,
                              const std::vector<BoughtRows>& data) {
  std::vector<FitJob> jobs;
  for (std::size_t i = 0; i < training.size(); ++i) {
    const Run& run = *group.runs[training[i]];
    if (run.phase != Run::Phase::train) continue;
    const FitOptions options = stage_options(run.study.train, run.stage);
    Rng order = run.stream("order");
    if (run.stage > 0) order = order.split("stage", run.stage);
    for (int m = 0; m < group.members; ++m)
      jobs.push_back({group.first_member(training[i]) + m, data[i].view(), options,
                      order.split("member", static_cast<std::uint64_t>(m)), run.epochs_done,
                      std::min(run.epochs, run.epochs_done + run.study.options.checkpoint_epochs),
                      data[i].symmetries, run.loss_factors});
  }
  return jobs;
}

std::string training_text(const Run& run) {
  const std::string text = fmt::format("{}, training", round_text(run));
  return run.study.options.stages > 1 ? fmt::format("{}, stage {}", text, run.stage + 1) : text;
}

void keep_losses(const Group& group, Account& account) {
  std::map<std::size_t, std::vector<Loss>> by_run;
  for (const EpochDone& event : account.take_losses()) {
    const auto r = static_cast<std::size_t>(event.member / group.members);
    const Run& run = *group.runs[r];
    by_run[r].push_back(
        {run.round, event.member % group.members, run.epochs_before + event.epoch, event.loss});
  }
  for (auto& [r, losses] : by_run) {
    // In which order members come depends on the threads.
    std::ranges::sort(losses, {}, [](const Loss& l) { return std::pair(l.epoch, l.member); });
    group.runs[r]->folder.add_losses(losses);
  }
}

std::vector<Loss> losses_of_round(const Run& run) {
  std::vector<Loss> losses = run.folder.read_losses();
  std::erase_if(losses, [&](const Loss& loss) { return loss.round != run.round; });
  return losses;
}

void load_members(Group& group, std::size_t r) {
  for (int m = 0; m < group.members; ++m)
    group.engine().load(group.first_member(r) + m,
                        group.runs[r]->members[static_cast<std::size_t>(m)]);
}

// A checkpoint; at the end of a stage, what becomes of it.
void keep_networks(Group& group, std::size_t r, Account& account) {
  Run& run = *group.runs[r];
  const bool over = run.epochs_done == run.epochs;
  for (int m = 0; m < group.members; ++m) {
    const int member = group.first_member(r) + m;
    run.members[static_cast<std::size_t>(m)] =
        over ? group.engine().save_trained(member) : group.engine().save(member);
  }
  if (!over) return save_training(run);
  // Takes less than an epoch: it is not given up when all is to stop.
  if (most_stages(run) > 1) measure_stage(run, *committee_of(group, r, {}));
  end_stage(run);
  if (run.phase == Run::Phase::train)
    load_members(group, r);
  else
    account.drop(epochs_left(run));
}

// Stops where another epoch, if it takes as long as the longest so far, would end too late.
class EpochsInTime {
 public:
  explicit EpochsInTime(const StopAsked& stop) : stop_(stop) {}

  void begin() { begun_ = StopAsked::Clock::now(); }
  bool epoch_done() {
    const auto now = StopAsked::Clock::now();
    longest_ = std::max(longest_, now - begun_);
    begun_ = now;
    return stop();
  }
  bool stop() const {
    if (!stop_) return false;
    const auto deadline = stop_.deadline();
    return stop_() || (deadline && StopAsked::Clock::now() + longest_ > *deadline);
  }

 private:
  const StopAsked& stop_;
  StopAsked::Clock::time_point begun_{};
  StopAsked::Clock::duration longest_{};
};

}  // namespace

std::vector<Group> make_groups(std::span<Run> runs, int threads) {
  std::vector<Group> groups;
  for (Run& run : runs) {
    const int members = run.study.options.members;
    auto fits = [&](const Group& g) {
      return g.runs[0]->network == run.network && g.members == members &&
             g.runs[0]->study.compute == run.study.compute;
    };
    auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group == groups.end()) group = groups.insert(groups.end(), Group{{}, members, threads});
    group->runs.push_back(&run);
  }
  return groups;
}

Engine& Group::engine() {
  if (!made)
    made = make_engine(runs[0]->study.compute, runs[0]->network,
                       static_cast<int>(runs.size()) * members, threads);
  return *made;
}

std::unique_ptr<Committee> committee_of(Group& group, std::size_t r, const StopAsked& stop) {
  std::vector<int> members;
  for (int m = 0; m < group.members; ++m) {
    members.push_back(group.first_member(r) + m);
    // Before the first training there is nothing to load: the engine's members are zero.
    if (!group.runs[r]->members.empty())
      group.engine().load(members.back(), group.runs[r]->members[static_cast<std::size_t>(m)]);
  }
  auto committee = group.engine().committee(std::move(members));
  committee->stop_when(stop);
  committee->weigh_channels(distance_factors(*group.runs[r]));
  return committee;
}

std::string round_text(const Run& run) {
  return fmt::format("round {} of {}", run.round, run.study.options.rounds);
}

void fit(Group& group, Account& account, const StopAsked& stop) {
  for (const Run* run : group.runs) {
    if (run->phase != Run::Phase::train) continue;
    account.begin(*run);
    if (run->round == 0 && run->epochs_done == 0 && most_stages(*run) < run->study.options.stages)
      account.warning(
          fmt::format("{}: none of the candidates bought so far is held back (study.validation: "
                      "{}), so this round is trained in one stage",
                      run->folder.path().string(), run->study.options.validation));
  }
  const Assignment who = assign(group);
  std::vector<BoughtRows> data;
  data.reserve(who.training.size());
  for (std::size_t r : who.training) {
    Run& run = *group.runs[r];
    data.emplace_back(run.transitions, training_rows(run), run.network, make_symmetries(run.study));
    run.folder.cut_losses(run.round, run.epochs_before + run.epochs_done);
    load_members(group, r);
  }
  EpochsInTime in_time(stop);
  TrainingNews news(group, who.followers, account);
  for (;;) {
    std::vector<FitJob> jobs = make_jobs(group, who.training, data);
    if (jobs.empty()) break;
    if (in_time.stop()) throw Stopped();
    account.say(training_text(*group.runs[static_cast<std::size_t>(jobs[0].member) /
                                          static_cast<std::size_t>(group.members)]));
    const auto start = std::chrono::steady_clock::now();
    in_time.begin();
    group.engine().fit(jobs, news, [&] { return in_time.epoch_done(); });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    keep_losses(group, account);
    const double share = static_cast<double>(group.members) / static_cast<double>(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); j += static_cast<std::size_t>(group.members)) {
      const auto r = static_cast<std::size_t>(jobs[j].member / group.members);
      Run& run = *group.runs[r];
      // Stopped between two members: what is on disk stands, and these epochs are trained again.
      const auto own = std::span(jobs).subspan(j, static_cast<std::size_t>(group.members));
      if (std::ranges::any_of(
              own, [&](const FitJob& job) { return job.epochs_done != jobs[j].epochs_done; }))
        continue;
      run.epochs_done = jobs[j].epochs_done;
      run.folder.add_timing({run.round, "train", seconds.count() * share});
      keep_networks(group, r, account);
    }
  }
  for (const auto& [r, leader] : who.followers) {
    Run& run = *group.runs[r];
    const Run& other = *group.runs[leader];
    account.add(epochs_left(run));
    run.members = other.members;
    run.stage = other.stage;
    run.stage_errors = other.stage_errors;
    run.folder.cut_losses(run.round, 0);
    run.folder.add_losses(losses_of_round(other));
    run.epochs_done = run.epochs;
    save_training(run);
  }
}

}  // namespace stap
