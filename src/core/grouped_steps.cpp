#include "core/grouped_steps.h"

#include <unordered_map>
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
    query.state = {};
    asked_.insert_or_assign(query.id, std::move(query));
    inner().submit(std::move(single));
  }

  std::optional<Reply> next(Clock::time_point until) override {
    std::optional<Reply> reply = inner().next(until);
    if (!reply) return std::nullopt;
    const auto query = asked_.find(reply->id);
    group_up(query->second, reply->answer);
    asked_.erase(query);
    return reply;
  }

  bool give_back(std::uint64_t id) override {
    if (!inner().give_back(id)) return false;
    asked_.erase(id);
    return true;
  }

  void close(const Closing& closing) override {
    Closing single = closing;
    single.usual /= static_cast<double>(group_.size);
    inner().close(single);
  }

 private:
  // Turns an answer in single steps into one in groups.
  void group_up(const Query& query, Answer& answer) const {
    const std::size_t values = solver_.grid().values(), made = answer.states.size() / values;
    if (answer.status == Answer::Status::failed && group_.size > 1) {
      const std::string refusal = made == 0 ? "" : refusal_behind(query, made, answer);
      answer.reason = fmt::format("step {} of {} {}: {}", made % group_.size + 1, group_.size,
                                  refusal.empty() ? "failed" : "was refused",
                                  refusal.empty() ? answer.reason : refusal);
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

  // Why the step behind the ones that were made was refused; empty if it was not.
  std::string refusal_behind(const Query& query, std::size_t made, const Answer& answer) const {
    const auto values = static_cast<std::ptrdiff_t>(solver_.grid().values());
    return solver_.refusal({.id = query.id,
                            .state = {answer.states.end() - values, answer.states.end()},
                            .time = query.time + static_cast<double>(made) * solver_.dt(),
                            .params = query.params});
  }

  const Solver& solver_;
  StepGroup group_;
  std::unordered_map<std::uint64_t, Query> asked_;  // without their states
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
