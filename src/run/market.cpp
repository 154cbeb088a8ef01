#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "run/purchase.h"
#include "stap/core/solver_queue.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;

// Waiting for a reply: between two looks at `stop`, and where there are other queues to look at.
constexpr std::chrono::milliseconds kPatience{200}, kGlance{10};
constexpr std::size_t kMostReplies = 1024;  // of one commit

// Which purchase a query belongs to stands in the upper half of its id.
constexpr unsigned kShift = 32;
constexpr std::uint64_t kOwn = (std::uint64_t{1} << kShift) - 1;

}  // namespace

// The purchases that ask one solver.
class Market::Counter {
 public:
  Counter(Market& market, const Solver& asked)
      : solver(asked), market_(market), queue_(asked.open()) {}

  const Solver& solver;

  void add(RoundPurchase& purchase) {
    purchases_.push_back(&purchase);
    ask(purchases_.size() - 1);
  }
  bool open() const { return queue_->open() > 0; }
  bool ready() const { return open() && queue_->ready(); }
  // All are done.
  void clear() { purchases_.clear(); }

  // Takes the replies that are there, waiting for the first until about then.
  void serve(Clock::time_point until) {
    receive(until);
    commit();
    std::set<std::size_t> touched;
    for (const auto& [owner, reply] : std::exchange(replies_, {})) {
      purchases_[owner]->take(reply);
      touched.insert(owner);
    }
    for (const std::size_t which : touched) ask(which);
  }

  // Puts on disk what was answered, for a later process: nothing is used any more.
  void keep() {
    commit();
    while (ready()) {
      replies_.clear();
      receive(Clock::now());
      commit();
      if (replies_.empty()) return;
    }
  }

 private:
  void receive(Clock::time_point until) {
    while (open() && replies_.size() < kMostReplies && (replies_.empty() || queue_->ready())) {
      auto reply = queue_->next(until);
      if (!reply) return;
      const auto owner = static_cast<std::size_t>(reply->id >> kShift);
      reply->id &= kOwn;
      purchases_[owner]->record(*reply);
      replies_.emplace_back(owner, *std::move(reply));
    }
  }

  // One wait for the disk for all that was received of a purchase.
  void commit() {
    for (RoundPurchase* purchase : purchases_) purchase->commit();
  }

  void ask(std::size_t which) {
    for (Query& query : market_.ask(*purchases_[which])) {
      query.id |= static_cast<std::uint64_t>(which) << kShift;
      queue_->submit(std::move(query));
    }
  }

  Market& market_;
  std::unique_ptr<SolverQueue> queue_;
  std::vector<RoundPurchase*> purchases_;
  std::vector<std::pair<std::size_t, Reply>> replies_;  // and whose they are: recorded, not taken
};

Market::Market() = default;
Market::~Market() = default;

Market::Counter& Market::counter_of(const Solver& solver) {
  const auto there =
      std::ranges::find_if(counters_, [&](const auto& c) { return &c->solver == &solver; });
  if (there != counters_.end()) return **there;
  return *counters_.emplace_back(std::make_unique<Counter>(*this, solver));
}

// Plans and mean models of many runs would not fit on a device all at once.
std::vector<Query> Market::ask(RoundPurchase& purchase) {
  if (asked_ != nullptr && asked_ != &purchase) asked_->rest();
  asked_ = &purchase;
  return purchase.ask();
}

void Market::buy(std::span<const std::unique_ptr<RoundPurchase>> purchases, const StopAsked& stop) {
  const auto look = [&] {
    if (stop && stop()) throw Stopped();
  };
  try {
    for (const auto& purchase : purchases) {
      look();
      counter_of(purchase->solver()).add(*purchase);
      // Planning may take minutes: what others wait for goes on in between.
      for (const auto& counter : counters_)
        if (counter->ready()) counter->serve(Clock::now());
    }
    while (const auto open = std::ranges::count_if(counters_, &Counter::open)) {
      for (const auto& counter : counters_) {
        look();
        if (counter->open()) counter->serve(Clock::now() + (open == 1 ? kPatience : kGlance));
      }
    }
  } catch (...) {
    for (const auto& counter : counters_) counter->keep();
    throw;
  }
  asked_ = nullptr;
  for (const auto& counter : counters_) counter->clear();
}

}  // namespace stap
