#include "stap/run/loop.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "run/phases.h"
#include "run/purchase.h"
#include "run/training.h"
#include "stap/core/error.h"

namespace stap {
namespace {

class Loop {
 public:
  Loop(std::span<Run> runs, int threads, Observer& observer, const StopAsked& stop)
      : runs_(runs),
        threads_(threads),
        observer_(observer),
        stop_(stop),
        account_(runs, observer),
        groups_(make_groups(runs, threads)) {}

  // Throws Stopped.
  void go() {
    buy(Run::Phase::initial);
    while (std::ranges::any_of(runs_, [](const Run& r) { return r.phase != Run::Phase::done; })) {
      for (Group& group : groups_) fit(group, account_, stop_);
      evaluate();
      buy(Run::Phase::acquire);
    }
  }

 private:
  using Purchases = std::vector<std::unique_ptr<RoundPurchase>>;

  void look() const {
    if (stop_ && stop_()) throw Stopped();
  }

  void evaluate() {
    for (Group& group : groups_)
      for (std::size_t r = 0; r < group.runs.size(); ++r) {
        Run& run = *group.runs[r];
        if (run.phase != Run::Phase::evaluate) continue;
        look();
        account_.say(fmt::format("{}, evaluating", round_text(run)));
        const auto committee = committee_of(group, r, stop_);
        evaluate_round(run, *committee);
      }
  }

  // All runs that want to buy do so together.
  void buy(Run::Phase phase) {
    std::map<const Problem*, States<float>> pools;
    std::vector<std::unique_ptr<Committee>> committees;
    Purchases purchases;
    for (Group& group : groups_)
      for (std::size_t r = 0; r < group.runs.size(); ++r) {
        Run& run = *group.runs[r];
        if (run.phase != phase) continue;
        committees.push_back(committee_of(group, r, stop_));
        purchases.push_back(std::make_unique<RoundPurchase>(
            run, *committees.back(), pool_of(*run.problem, pools), threads_));
      }
    if (purchases.empty()) return;
    account_.say(phase == Run::Phase::initial
                     ? std::string("buying the initial trajectories")
                     : fmt::format("{}, selecting and buying", round_text(purchases[0]->run())));
    const auto start = std::chrono::steady_clock::now();
    try {
      market_.buy(purchases, observer_, stop_);
    } catch (const Stopped&) {
      note_buying(phase, purchases, std::chrono::steady_clock::now() - start);
      throw;
    }
    note_buying(phase, purchases, std::chrono::steady_clock::now() - start);
    for (auto& purchase : purchases) {
      purchase->finish(observer_);
      purchase.reset();
    }
  }

  // They buy side by side: each has its share of the time.
  static void note_buying(Run::Phase phase, const Purchases& purchases,
                          std::chrono::duration<double> seconds) {
    for (const auto& purchase : purchases)
      seconds -= std::chrono::duration<double>(purchase->planning_seconds());
    for (const auto& purchase : purchases)
      purchase->run().folder.add_timing({purchase->run().round,
                                         phase == Run::Phase::initial ? "initial" : "acquire",
                                         seconds.count() / static_cast<double>(purchases.size())});
  }

  // As the planner wants it, once for all runs of a problem.
  static StatesView<const float> pool_of(const Problem& problem,
                                         std::map<const Problem*, States<float>>& pools) {
    const States<double>& exact = problem.pool.states;
    auto [pool, is_new] = pools.try_emplace(&problem, exact.grid(), exact.count());
    if (is_new) convert(exact.values(), pool->second.values());
    return std::as_const(pool->second).view();
  }

  std::span<Run> runs_;
  int threads_;
  Observer& observer_;
  const StopAsked& stop_;
  Account account_;
  std::vector<Group> groups_;
  Market market_;
};

}  // namespace

LoopEnd run_loop(std::span<Run> runs, int threads, Observer& observer, const StopAsked& stop) {
  try {
    Loop(runs, threads, observer, stop).go();
    return LoopEnd::finished;
  } catch (const Stopped&) {
    return LoopEnd::stopped;
  }
}

}  // namespace stap
