#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stap/core/answer_record.h"
#include "stap/core/observer.h"
#include "stap/core/solver_queue.h"
#include "stap/folder/run_records.h"
#include "stap/journal/answer_log.h"

namespace stap {

/// Steps of one candidate that a solver is asked for.
struct SolverOrder {
  const Solver* solver = nullptr;
  AnswerKey first{};  ///< as it will be recorded
  Query query{};      ///< its id is the customer's own
};

/// What is open of a customer's orders.
struct OpenOrders {
  double usual = 0.0;  ///< seconds of a step; 0: not known
  std::vector<RunStatus::Query> running{}, waiting{};
};

/// Who buys steps: a run in one round, or the rows of a pool or a test set. The Market asks solvers
/// and records what they answer as one acquisition of the customer's log.
class Customer {
 public:
  /// The log and the solvers of orders must live as long.
  Customer(AnswerLog& log, std::size_t acquisition) : log_(log), acquisition_(acquisition) {}
  virtual ~Customer() = default;
  Customer(const Customer&) = delete;
  Customer& operator=(const Customer&) = delete;

  /// All that can be ordered now. It is asked again whenever something was taken.
  virtual std::vector<SolverOrder> ask() = 0;
  /// Uses what came of an order: its records, which are on disk.
  virtual void take(std::uint64_t query, std::vector<AnswerRecord> records) = 0;
  /// "my-run, round 2", for messages.
  virtual std::string text() const = 0;
  virtual Progress progress() const = 0;

  /// Whether it can do without such an answer; else that is not recorded, and take() will throw.
  virtual bool bears(Answer::Status) const { return true; }
  /// A failure or refusal in words.
  virtual std::string trouble(const AnswerRecord& record) const;
  /// What else helps where too many orders fail.
  virtual std::string other_way() const {
    return "solver.breaker=false continues in spite of them";
  }
  /// How many orders may be given back in all, where the solver allows this share.
  virtual std::size_t most_stragglers(double share) const;
  /// Seconds of a step of this solver by what is known from before.
  virtual std::optional<double> known_seconds(const Solver&) const { return {}; }
  /// Tells those who look from outside.
  virtual void show(OpenOrders) const {}
  /// Leaves the device's memory to others until the next ask().
  virtual void rest() {}

 protected:
  AnswerLog& log_;
  std::size_t acquisition_;
  /// Whoever derives from it may begin to count again.
  struct Orders {
    std::size_t asked = 0, open = 0, given_back = 0;
  } orders_;
  struct Steps {
    std::size_t ok = 0, refused = 0, failed = 0;
    void add(Answer::Status status);
  } steps_;

 private:
  friend class QueueDriver;
  friend class Market;
};

}  // namespace stap
