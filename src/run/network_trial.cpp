#include "stap/run/network_trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "run/bought_rows.h"
#include "stap/core/committee.h"
#include "stap/core/error.h"
#include "stap/eval/rollout.h"
#include "stap/nn/engine.h"
#include "stap/run/run.h"

namespace stap {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMembersAtOnce = 16;  // in one engine, so that its memory stays small
constexpr double kTimedSeconds = 0.1;
constexpr std::size_t kTimedRows = 32;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

// The rows of a candidate by its steps.
using CandidateRows = std::map<std::size_t, std::size_t>;

bool is_whole(const CandidateRows& rows, std::size_t steps) {
  return rows.size() == steps && rows.rbegin()->first + 1 == steps;
}

// Candidates in an order of their own, and the fold of each.
std::map<std::size_t, std::size_t> deal(const std::map<std::size_t, CandidateRows>& candidates,
                                        std::size_t steps, std::size_t folds, const Rng& rng) {
  struct Card {
    bool whole;
    double draw;
    std::size_t candidate;
  };
  std::vector<Card> cards;
  for (const auto& [candidate, rows] : candidates)
    cards.push_back({is_whole(rows, steps), rng.uniform(candidate), candidate});
  std::ranges::sort(cards, [](const Card& a, const Card& b) {
    return std::tuple(!a.whole, a.draw, a.candidate) < std::tuple(!b.whole, b.draw, b.candidate);
  });
  std::map<std::size_t, std::size_t> fold_of;
  for (std::size_t i = 0; i < cards.size(); ++i) fold_of[cards[i].candidate] = i % folds;
  return fold_of;
}

// Shows the epochs of all splits as one piece of work.
class TrialProgress final : public Observer {
 public:
  TrialProgress(std::string_view phase, std::size_t total, Observer& listener)
      : phase_(phase), total_(total), listener_(listener) {}

  void epoch_done(const EpochDone&) override {
    listener_.progress({phase_, ++done_, total_, "epochs"});
  }
  void warning(std::string_view text) override { listener_.warning(text); }
  void note(std::string_view text) override { listener_.note(text); }

 private:
  std::string_view phase_;
  std::size_t total_, done_ = 0;
  Observer& listener_;
};

double counted_error(const Errors& errors, std::span<const double> deviations) {
  if (errors.diverged > 0) return std::numeric_limits<double>::infinity();
  if (deviations.empty()) return errors.rmse;
  double sum = 0;
  for (std::size_t c = 0; c < errors.rmse_by_channel.size(); ++c) {
    const double counted = errors.rmse_by_channel[c] / deviations[c];
    sum += counted * counted;
  }
  return std::sqrt(sum / static_cast<double>(errors.rmse_by_channel.size()));
}

double error_on(Committee& committee, const TransitionSet& set, std::span<const std::size_t> rows,
                std::size_t steps, std::span<const double> deviations, int threads) {
  const BoughtTrajectories trajectories(set, rows, steps);
  const Metrics metrics = evaluate(committee, trajectories.view(), 256, nullptr, threads);
  return counted_error(metrics.mean_model, deviations);
}

// Of a step of the averaged model, per state.
double step_seconds(Committee& committee, const TransitionSet& set, const NetworkSpec& network) {
  std::vector<std::size_t> rows(std::min(set.count(), kTimedRows));
  std::iota(rows.begin(), rows.end(), 0);
  const BoughtRows data(set, rows, network, {});
  Conditions conditions;
  for (const std::size_t row : rows) conditions.add(set.origins[row].step, set.parameters.row(row));
  std::size_t states = 0;
  const auto begun = Clock::now();
  do {
    roll_out(
        committee, data.view().inputs, kMean, 1, kTimedRows, [](auto, auto, auto) {},
        conditions.view());
    states += rows.size();
  } while (seconds_since(begun) < kTimedSeconds);
  return seconds_since(begun) / static_cast<double>(states);
}

}  // namespace

std::vector<TrialSplit> trial_splits(const TransitionSet& set, std::size_t steps, std::size_t folds,
                                     std::size_t repeats, const Rng& rng) {
  std::map<std::size_t, CandidateRows> candidates;
  std::size_t initial = 0;
  for (std::size_t i = 0; i < set.count(); ++i) {
    const Provenance& origin = set.origins[i];
    const auto [at, is_new] = candidates.try_emplace(origin.candidate);
    if (is_new && origin.acquisition == 0) ++initial;
    at->second[origin.step] = i;
  }
  if (initial < 2 || candidates.size() < folds)
    throw Error(
        ErrorKind::config,
        fmt::format("there are {} candidates of which something was bought, {} of them initial "
                    "trajectories: expected at least 2 of these, and a candidate for each of {} "
                    "folds; give fewer --folds, or a run that has bought more",
                    candidates.size(), initial, folds));
  std::vector<TrialSplit> splits;
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    const auto fold_of = deal(candidates, steps, folds, rng.split("repeat", repeat));
    for (std::size_t fold = 0; fold < folds; ++fold) {
      TrialSplit split;
      bool begins = false;  // an initial trajectory is trained on
      for (std::size_t i = 0; i < set.count(); ++i) {
        const bool held_back = fold_of.at(set.origins[i].candidate) == fold;
        (held_back ? split.held_back : split.training).push_back(i);
        begins = begins || (!held_back && set.origins[i].acquisition == 0);
      }
      for (const auto& [candidate, rows] : candidates)
        if (fold_of.at(candidate) == fold && is_whole(rows, steps))
          for (const auto& [step, row] : rows) split.whole.push_back(row);
      if (!begins)
        throw Error(ErrorKind::config,
                    fmt::format("a split into {} folds holds back all initial trajectories: give "
                                "more --folds, or another seed",
                                folds));
      splits.push_back(std::move(split));
    }
  }
  return splits;
}

NetworkTrial try_network(const Study& study, const NetworkSpec& network, const TransitionSet& set,
                         std::span<const TrialSplit> splits, std::span<const double> deviations,
                         std::string_view name, Observer& observer, int threads,
                         const StopAsked& stop) {
  const auto members = static_cast<std::size_t>(study.options.members);
  const std::size_t steps = study.options.pattern_steps();
  const std::size_t at_once =
      std::min(std::max<std::size_t>(kMembersAtOnce / members, 1), splits.size());
  const std::vector<StateMap> maps = make_symmetries(study);
  std::size_t epochs = 0;
  for (const TrialSplit& split : splits)
    epochs +=
        members * static_cast<std::size_t>(fit_length(study.train, split.training.size()).epochs);
  TrialProgress progress(name, epochs, observer);
  const auto engine =
      make_engine(study.compute, network, static_cast<int>(at_once * members), threads);
  NetworkTrial trial;
  for (std::size_t first = 0; first < splits.size(); first += at_once) {
    const auto group = splits.subspan(first, std::min(at_once, splits.size() - first));
    std::vector<BoughtRows> data;
    std::vector<DataUnits> units;
    data.reserve(group.size());
    for (const TrialSplit& split : group) {
      std::vector<std::size_t> out;
      for (const std::size_t row : split.held_back) out.push_back(set.origins[row].candidate);
      std::ranges::sort(out);
      data.emplace_back(set, split.training, network, maps);
      units.push_back(units_of(set, steps, study.train, network, [&](std::size_t candidate) {
        return std::ranges::binary_search(out, candidate);
      }));
    }
    std::vector<FitJob> jobs;
    for (std::size_t s = 0; s < group.size(); ++s)
      for (std::size_t m = 0; m < members; ++m) {
        const auto member = static_cast<int>(s * members + m);
        const Rng rng =
            Rng(study.options.seed).split("network trial", first + s).split("member", m);
        engine->load(member, fresh_member(network, units[s].scaling, rng.split("weights")));
        jobs.push_back({.member = member,
                        .data = data[s].view(),
                        .options = study.train,
                        .rng = rng.split("order"),
                        .symmetries = data[s].symmetries,
                        .loss_factors = units[s].loss_factors});
      }
    const auto begun = Clock::now();
    engine->fit(jobs, progress, stop);
    trial.training_seconds += seconds_since(begun) / static_cast<double>(splits.size());
    if (std::ranges::any_of(jobs,
                            [](const auto& job) { return job.epochs_done < job.epochs_end(); }))
      throw Stopped();
    for (std::size_t s = 0; s < group.size(); ++s) {
      std::vector<int> list;
      for (std::size_t m = 0; m < members; ++m) {
        list.push_back(static_cast<int>(s * members + m));
        engine->load(list.back(), engine->save_trained(list.back()));
      }
      const auto committee = engine->committee(list);
      TrialErrors errors;
      errors.single = error_on(*committee, set, group[s].held_back, 1, deviations, threads);
      if (!group[s].whole.empty())
        errors.rollout = error_on(*committee, set, group[s].whole, steps, deviations, threads);
      trial.errors.push_back(errors);
      if (trial.step_seconds == 0.0) trial.step_seconds = step_seconds(*committee, set, network);
    }
  }
  return trial;
}

std::vector<double> trial_deviations(const Study& study, const TransitionSet& set,
                                     const NetworkSpec& network) {
  if (study.train.loss == FitOptions::Loss::physical) return {};
  const Scaling scaling = initial_scaling(set, study.options.pattern_steps(), {}, study.train.loss,
                                          network.fixed.get());
  return {scaling.deviation.begin(), scaling.deviation.end()};
}

}  // namespace stap
