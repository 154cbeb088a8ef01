#include "stap/run/loop.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "run/correspondence.h"
#include "run/news.h"
#include "run/phases.h"
#include "run/purchase.h"
#include "run/space.h"
#include "run/training.h"
#include "stap/core/error.h"
#include "stap/market/market.h"

namespace stap {
namespace {

class Loop {
 public:
  Loop(std::span<Run> runs, int threads, Observer& observer, const StopAsked& stop, ByHand* by_hand)
      : runs_(runs),
        threads_(threads),
        observer_(observer),
        stop_(stop),
        by_hand_(by_hand),
        account_(runs, observer),
        groups_(make_groups(runs, threads)) {}

  // Throws Stopped and Waiting.
  void go() {
    buy(Run::Phase::initial);
    while (!done()) {
      train();
      evaluate();
      buy(Run::Phase::acquire);
    }
  }

  // What is bought before the next training. Both throw as go() does.
  void go_until_bought() {
    if (count(Run::Phase::initial) + count(Run::Phase::acquire) == 0)
      return observer_.note(nothing("buy", "train"));
    buy(Run::Phase::initial);
    buy(Run::Phase::acquire);
  }

  // What is computed before the next purchase.
  void go_until_trained() {
    const std::size_t planned = to_plan().size();
    if (count(Run::Phase::train) + count(Run::Phase::evaluate) + planned == 0)
      return observer_.note(nothing("train", "buy"));
    train();
    evaluate();
    plan();
  }

  bool done() const { return count(Run::Phase::done) == runs_.size(); }

  // For who looks from outside, when it has ended.
  void show_end(const char* phase, const std::string& error = {}) const {
    for (const Run& run : runs_) {
      const auto found = cut_off_.find(&run);
      RunStatus status = found != cut_off_.end() ? found->second : RunStatus{};
      status.phase = run.phase == Run::Phase::done ? "done" : phase;
      status.error = error;
      show(run, std::move(status));
    }
  }

 private:
  using Purchases = std::vector<std::unique_ptr<RoundPurchase>>;
  using Floats = std::map<const States<double>*, States<float>>;

  static void show(const Run& run, RunStatus status) {
    status.round = run.round;
    status.rounds = run.study.options.rounds;
    if (status.since == 0) status.since = seconds_since_1970();
    run.folder.write_status(status);
  }

  std::size_t count(Run::Phase phase) const {
    return static_cast<std::size_t>(std::ranges::count(runs_, phase, &Run::phase));
  }

  std::string nothing(const char* what, const char* other) const {
    const std::size_t left = runs_.size() - count(Run::Phase::done);
    if (left == 0) return fmt::format("nothing to {}: all is done", what);
    return runs_.size() == 1 ? fmt::format("nothing to {}: the run must {} first", what, other)
                             : fmt::format("nothing to {}: {} of {} runs must {} first", what, left,
                                           runs_.size(), other);
  }

  void train() {
    for (const Run& run : runs_)
      if (run.phase == Run::Phase::train) show(run, {.phase = "train"});
    for (Group& group : groups_) fit(group, account_, stop_);
  }

  // Runs that will buy and have no plan yet: group and place in it.
  std::vector<std::pair<Group*, std::size_t>> to_plan() {
    std::vector<std::pair<Group*, std::size_t>> all;
    for (Group& group : groups_)
      for (std::size_t r = 0; r < group.runs.size(); ++r)
        if (const Run& run = *group.runs[r];
            run.phase == Run::Phase::acquire && run.folder.passes(run.round) == 0)
          all.emplace_back(&group, r);
    return all;
  }

  void plan() {
    Floats pools;
    for (const auto& [group, r] : to_plan()) {
      look();
      Run& run = *group->runs[r];
      account_.say(fmt::format("{}, selecting", round_text(run)));
      show(run, {.phase = "select"});
      const auto committee = committee_of(*group, r, stop_);
      RoundPurchase(run, *committee, in_floats(run.problem->pool.states, pools)).plan();
    }
  }

  void look() const {
    if (stop_ && stop_()) throw Stopped();
  }

  void evaluate() {
    Floats tests;
    for (Group& group : groups_)
      for (std::size_t r = 0; r < group.runs.size(); ++r) {
        Run& run = *group.runs[r];
        if (run.phase != Run::Phase::evaluate) continue;
        look();
        account_.say(fmt::format("{}, evaluating", round_text(run)));
        show(run, {.phase = "evaluate"});
        const auto committee = committee_of(group, r, stop_);
        const auto& test = run.problem->test;
        evaluate_round(run, *committee,
                       test ? in_floats(test->states, tests) : StatesView<const float>{}, threads_);
      }
  }

  // All runs that want to buy do so together.
  void buy(Run::Phase phase) {
    Floats pools;
    std::vector<std::unique_ptr<Committee>> committees;
    Purchases purchases;
    for (Group& group : groups_)
      for (std::size_t r = 0; r < group.runs.size(); ++r) {
        Run& run = *group.runs[r];
        if (run.phase != phase) continue;
        if (phase == Run::Phase::acquire) show(run, {.phase = "select"});
        committees.push_back(committee_of(group, r, stop_));
        purchases.push_back(std::make_unique<RoundPurchase>(
            run, *committees.back(), in_floats(run.problem->pool.states, pools)));
      }
    if (purchases.empty()) return;
    std::vector<std::pair<const Run*, std::size_t>> sizes;
    for (const auto& purchase : purchases)
      sizes.emplace_back(&purchase->run(), purchase->steps_left());
    check_space(sizes);
    account_.say(phase == Run::Phase::initial
                     ? std::string("buying the initial trajectories")
                     : fmt::format("{}, selecting and buying", round_text(purchases[0]->run())));
    const auto start = std::chrono::steady_clock::now();
    const auto note = [&] {
      note_buying(phase, purchases, std::chrono::steady_clock::now() - start);
    };
    std::vector<Customer*> customers;
    for (const auto& purchase : purchases) customers.push_back(purchase.get());
    try {
      market_.serve(customers, observer_, stop_,
                    [&](std::span<const OpenQuestion> open) { return answers_to(open); });
    } catch (...) {
      try {
        note();
      } catch (const Error&) {  // where nothing can be written the first error says more
      }
      for (const auto& purchase : purchases) cut_off_[&purchase->run()] = purchase->status();
      throw;
    }
    note();
    for (auto& purchase : purchases) {
      purchase->finish(observer_);
      purchase.reset();
    }
  }

  // What was told, once; then what is open is left to be asked.
  std::vector<Reply> answers_to(std::span<const OpenQuestion> open) {
    if (by_hand_ == nullptr) return {};
    std::vector<Question> questions;
    for (const OpenQuestion& one : open)
      questions.push_back(
          question_of(one, static_cast<const RoundPurchase&>(*one.customer).run(), runs_));
    std::vector<Reply> replies = sort_out(*by_hand_, runs_, questions);
    if (replies.empty()) by_hand_->open = std::move(questions);
    return replies;
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

  // States as networks want them, once for all runs of a problem.
  static StatesView<const float> in_floats(const States<double>& exact, Floats& made) {
    auto [states, is_new] = made.try_emplace(&exact, exact.grid(), exact.count());
    if (is_new) convert(exact.values(), states->second.values());
    return std::as_const(states->second).view();
  }

  std::span<Run> runs_;
  int threads_;
  Observer& observer_;
  const StopAsked& stop_;
  ByHand* by_hand_;  // may be null
  Account account_;
  std::vector<Group> groups_;
  Market market_;
  std::map<const Run*, RunStatus> cut_off_;  // purchases that did not come to their end
};

}  // namespace

LoopEnd run_loop(std::span<Run> runs, int threads, Observer& observer, const StopAsked& stop,
                 ByHand* by_hand, Until until) {
  Loop loop(runs, threads, observer, stop, by_hand);
  try {
    until == Until::bought    ? loop.go_until_bought()
    : until == Until::trained ? loop.go_until_trained()
                              : loop.go();
    if (!loop.done()) {
      loop.show_end(until == Until::bought ? "bought" : "trained");
      return LoopEnd::paused;
    }
    if (by_hand != nullptr) sort_out(*by_hand, runs, {});  // none was asked for: known, or wrong
    loop.show_end("done");
    return LoopEnd::finished;
  } catch (const Stopped&) {
    loop.show_end("stopped");
    return LoopEnd::stopped;
  } catch (const Waiting&) {
    loop.show_end("waiting");
    return LoopEnd::waiting;
  } catch (const Error& error) {
    loop.show_end("failed", error.what());
    throw;
  }
}

}  // namespace stap
