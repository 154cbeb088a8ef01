// Where runs buy together.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "run/purchase.h"
#include "stap/core/observer.h"
#include "stap/core/stop.h"
#include "stap/run/by_hand.h"

namespace stap {

class Counter;

/// Nothing can be done before people have answered. Nothing is wrong.
class Waiting : public std::exception {
 public:
  const char* what() const noexcept override { return "waiting for answers"; }
};
/// Is handed all open questions when nothing can be done without an answer; gives answers to some
/// of them, by Question::id, or none.
using AnswerQuestions = std::function<std::vector<Reply>(std::vector<Question> open)>;

/// Where runs buy together: one queue a solver, for as long as it lives.
class Market {
 public:
  /// `runs` must live as long; purchases are theirs.
  explicit Market(std::span<const Run> runs);
  ~Market();

  /// Buys for all of them until each is done, so that no slot stays idle while somebody has a
  /// question. One committee at a time works on the device. Throws Stopped when `stop` says so, and
  /// what runs outside this process has ended (the observer is told when that will be), or need not
  /// be waited for; Waiting if `answer` has none; Error(solver) where failures are more than a
  /// solver's policy bears, and what purchases and queues throw; what was answered by then is on
  /// disk, and the market must not be used any more.
  void buy(std::span<const std::unique_ptr<RoundPurchase>> purchases, Observer& observer,
           const StopAsked& stop, const AnswerQuestions& answer = {});

 private:
  void look(Observer& observer, const StopAsked& stop);
  void wind_down(Observer& observer, const StopAsked& stop);
  void ask_people(const AnswerQuestions& answer);
  void show(std::span<const std::unique_ptr<RoundPurchase>> purchases, Observer& observer);
  Counter& counter_of(const Solver& solver);
  std::vector<Query> ask(RoundPurchase& purchase);

  std::span<const Run> runs_;
  RoundPurchase* asked_ = nullptr;  // the last one
  std::vector<std::unique_ptr<Counter>> counters_;
  std::chrono::steady_clock::time_point shown_{};  // in status.json
};

}  // namespace stap
