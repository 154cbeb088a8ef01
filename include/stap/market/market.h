#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "stap/core/stop.h"
#include "stap/market/customer.h"

namespace stap {

class QueueDriver;

/// Nothing can be done before people have answered. Nothing is wrong.
class Waiting : public std::exception {
 public:
  const char* what() const noexcept override { return "waiting for answers"; }
};
/// An order that waits for somebody to answer it.
struct OpenQuestion {
  const Customer* customer = nullptr;
  AnswerKey first{};
  std::uint64_t input_hash = 0;
  const Query* query = nullptr;
};
/// Is handed all of them when nothing can be done without an answer; gives answers to some, whose
/// ids are positions in the list, or none.
using AnswerQuestions = std::function<std::vector<Reply>(std::span<const OpenQuestion> open)>;

/// Throws Error(storage) if the last answers of a log went where room was held for them.
void check_disk(const AnswerLog& log, const std::string& customer);

/// Where everything is bought that is paid for: one queue per solver, for as long as it lives.
/// - Answers are on disk before they are used; what is there together is written together. When the
///   disk is full they go where room was held for them, and nothing more is asked.
/// - Equal questions to an expensive solver are one.
/// - Failures end it as the solver's FailurePolicy says, and do not count then.
/// - Where the policy allows stragglers: when all of a customer's orders but that share are
/// answered
///   and no other waits for a slot, those that have been running for more than 3 times what is
///   usual (and a second) are given back. That is recorded as a refusal first, so a later process
///   does the same.
/// - Who is asked to stop begins nothing more and waits for what runs outside this process (the
///   observer is told how long), unless even that is not wanted.
class Market {
 public:
  Market();
  ~Market();

  /// Buys for all of them until none has an order, so that no slot stays idle while somebody has a
  /// question. Throws Stopped; Waiting if `people` have no answer; Error(solver) where failures are
  /// more than a solver's policy bears; Error(storage) where the disk is full; and what customers
  /// and queues throw. What was answered by then is on disk, and the market must not be used any
  /// more.
  void serve(std::span<Customer* const> customers, Observer& observer, const StopAsked& stop,
             const AnswerQuestions& people = {});

 private:
  void buy(const AnswerQuestions& people);
  void look();
  void wind_down();
  void order(Customer& customer);
  void serve(QueueDriver& driver, std::chrono::steady_clock::time_point until);
  void ask_people(const AnswerQuestions& people);
  void tell_progress();
  void show();

  std::span<Customer* const> customers_;
  Observer* observer_ = nullptr;
  const StopAsked* stop_ = nullptr;
  Customer* asked_ = nullptr;  // the last one
  std::vector<std::unique_ptr<QueueDriver>> drivers_;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace stap
