#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "run/purchase.h"
#include "stap/core/solver_queue.h"

namespace stap {
namespace {

constexpr std::chrono::milliseconds kPatience{200};  // between two looks at `stop`
constexpr std::size_t kMostReplies = 1024;           // of one commit

// Which purchase a query belongs to stands in the upper half of its id.
constexpr unsigned kShift = 32;
constexpr std::uint64_t kOwn = (std::uint64_t{1} << kShift) - 1;

}  // namespace

// The purchases that ask one solver.
class Market::Counter {
 public:
  explicit Counter(const Solver& asked) : solver(asked), queue_(asked.open()) {}

  const Solver& solver;

  void add(RoundPurchase& purchase) {
    purchases_.push_back(&purchase);
    ask(purchases_.size() - 1);
  }
  bool open() const { return queue_->open() > 0; }
  // All are done.
  void clear() { purchases_.clear(); }

  // Takes the replies that are there, waiting for the first.
  void serve(SolverQueue::Clock::time_point until) {
    std::vector<Reply> replies;
    while (open() && replies.size() < kMostReplies && (replies.empty() || queue_->ready())) {
      auto reply = queue_->next(until);
      if (!reply) break;
      replies.push_back(*std::move(reply));
    }
    // On disk, all of them with one wait for it, before any is used.
    std::set<std::size_t> touched;
    std::vector<std::size_t> owners;
    for (Reply& reply : replies) {
      owners.push_back(reply.id >> kShift);
      reply.id &= kOwn;
      purchases_[owners.back()]->record(reply);
      touched.insert(owners.back());
    }
    for (std::size_t which : touched) purchases_[which]->commit();
    for (std::size_t i = 0; i < replies.size(); ++i) purchases_[owners[i]]->take(replies[i]);
    for (std::size_t which : touched) ask(which);
  }

 private:
  void ask(std::size_t which) {
    for (Query& query : purchases_[which]->ask()) {
      query.id |= static_cast<std::uint64_t>(which) << kShift;
      queue_->submit(std::move(query));
    }
  }

  std::unique_ptr<SolverQueue> queue_;
  std::vector<RoundPurchase*> purchases_;
};

Market::Market() = default;
Market::~Market() = default;

Market::Counter& Market::counter_of(const Solver& solver) {
  const auto there =
      std::ranges::find_if(counters_, [&](const auto& c) { return &c->solver == &solver; });
  if (there != counters_.end()) return **there;
  return *counters_.emplace_back(std::make_unique<Counter>(solver));
}

void Market::buy(std::span<const std::unique_ptr<RoundPurchase>> purchases, const StopAsked& stop) {
  const auto look = [&] {
    if (stop && stop()) throw Stopped();
  };
  for (const auto& purchase : purchases) {
    look();
    counter_of(purchase->solver()).add(*purchase);
  }
  for (bool open = true; open;) {
    open = false;
    for (const auto& counter : counters_) {
      look();
      if (!counter->open()) continue;
      counter->serve(SolverQueue::Clock::now() + kPatience);
      open = true;
    }
  }
  for (const auto& counter : counters_) counter->clear();
}

}  // namespace stap
