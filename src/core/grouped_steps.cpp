#include "core/grouped_steps.h"

#include <utility>

#include <fmt/format.h>

#include "core/queue_around.h"

namespace stap {
namespace {

class GroupedQueue final : public QueueAround {
 public:
  GroupedQueue(const Solver& solver, StepGroup group)
      : QueueAround(solver.open()), solver_(solver), group_(group) {}

  void submit(Query query) override {
    Query single = first_of_group(solver_, query);
    single.steps = query.steps * group_.size;
    inner().submit(std::move(single));
  }

  std::optional<Reply> next(Clock::time_point until) override {
    std::optional<Reply> reply = inner().next(until);
    if (!reply) return std::nullopt;
    group_up(reply->answer);
    return reply;
  }

  void close(const Closing& closing) override {
    Closing single = closing;
    single.usual /= static_cast<double>(group_.size);
    inner().close(single);
  }

 private:
  // Turns an answer in single steps into one in groups: what is refused within one was tried.
  void group_up(Answer& answer) const {
    const std::size_t values = solver_.grid().values(), made = answer.states.size() / values;
    const std::size_t within = made % group_.size;
    const bool refused = answer.status == Answer::Status::refused;
    if (answer.status != Answer::Status::ok && group_.size > 1 && !(refused && within == 0)) {
      answer.reason = fmt::format("step {} of {} {}: {}", within + 1, group_.size,
                                  refused ? "was refused" : "failed", answer.reason);
      answer.status = Answer::Status::failed;
    }
    std::vector<double> states;
    const std::size_t kept = group_.kept * values;
    for (std::size_t g = 1; g <= made / group_.size; ++g) {
      const auto end =
          answer.states.begin() + static_cast<std::ptrdiff_t>(g * group_.size * values);
      states.insert(states.end(), end - static_cast<std::ptrdiff_t>(kept), end);
    }
    answer.states = std::move(states);
  }

  const Solver& solver_;
  StepGroup group_;
};

}  // namespace

Query first_of_group(const Solver& solver, const Query& query) {
  const auto values = static_cast<std::ptrdiff_t>(solver.grid().values());
  return {.id = query.id,
          .state = {query.state.end() - values, query.state.end()},
          .time = query.time,
          .params = query.params};
}

std::unique_ptr<SolverQueue> make_grouped_queue(const Solver& solver, StepGroup group) {
  return std::make_unique<GroupedQueue>(solver, group);
}

}  // namespace stap
