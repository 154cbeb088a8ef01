#include "stap/acquire/buy.h"

#include <utility>

namespace stap {
namespace {

// Waits for a reply; those that are ready behind it come along.
std::vector<Reply> ready_replies(SolverQueue& queue) {
  std::vector<Reply> replies;
  for (bool more = true; more;) {
    const auto until = SolverQueue::Clock::now() + std::chrono::seconds(replies.empty() ? 1 : 0);
    std::optional<Reply> reply = queue.next(until);
    more = reply ? queue.open() > 0 && queue.ready() : replies.empty();
    if (reply) replies.push_back(std::move(*reply));
  }
  return replies;
}

}  // namespace

Delivery buy(const Plan& plan, std::size_t budget, StatesView<const double> initial,
             const Solver& solver, SolverQueue& queue, Committee& committee, const BuyHooks& hooks,
             const BuyRules& rules) {
  Buyer buyer(plan, budget, initial, solver, committee, rules, hooks.recorded);
  for (;;) {
    for (Query& query : buyer.ask()) queue.submit(std::move(query));
    if (buyer.done()) return buyer.deliver();
    const std::vector<Reply> replies = ready_replies(queue);
    if (hooks.record)
      for (const Reply& reply : replies)
        for (const AnswerRecord& record : buyer.records_of(reply)) hooks.record(record);
    if (hooks.commit) hooks.commit();
    for (const Reply& reply : replies) buyer.take(reply);
  }
}

}  // namespace stap
