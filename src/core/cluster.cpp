#include "stap/core/cluster.h"

#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

class ClusteredSolver final : public Solver {
 public:
  ClusteredSolver(std::shared_ptr<const Solver> single, std::size_t size)
      : Solver(single->name(), cluster_grid(single->grid(), size),
               static_cast<double>(size) * single->dt()),
        single_(std::move(single)),
        size_(size) {}

 private:
  // The single solver's own guard speaks when it is asked for the first step.
  std::string guard(const Query&) const override { return {}; }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    std::vector<std::size_t> alive(queries.size());
    std::iota(alive.begin(), alive.end(), std::size_t{0});
    for (Answer* answer : answers) answer->attempts = 0;
    for (std::size_t step = 0; step < size_ && !alive.empty(); ++step) {
      std::vector<Query> asked;
      for (std::size_t i : alive) asked.push_back(question(*queries[i], *answers[i], step));
      std::vector<Answer> replies(asked.size());
      single_->solve(asked, replies);
      std::vector<std::size_t> still;
      for (std::size_t r = 0; r < alive.size(); ++r)
        if (take(std::move(replies[r]), step, *answers[alive[r]])) still.push_back(alive[r]);
      alive = std::move(still);
    }
    for (std::size_t i : alive) answers[i]->status = Answer::Status::ok;
  }

  // Step `step` (from 0) of a query whose steps before are in `answer`.
  Query question(const Query& query, const Answer& answer, std::size_t step) const {
    const std::span<const double> states = step == 0 ? query.state : answer.state;
    return {.id = query.id,
            .state = states.last(single_->grid().values()),
            .time = query.time + static_cast<double>(step) * single_->dt(),
            .params = query.params};
  }

  // Adds a step to the answer; false if that is its end.
  bool take(Answer reply, std::size_t step, Answer& answer) const {
    const std::size_t values = single_->grid().values();
    answer.seconds += reply.seconds;
    answer.attempts += reply.attempts;
    if (reply.status == Answer::Status::ok && reply.state.size() != values) {
      reply.status = Answer::Status::failed;
      reply.reason =
          fmt::format("the answer has {} values, expected {}", reply.state.size(), values);
    }
    if (reply.status == Answer::Status::ok) {
      answer.state.insert(answer.state.end(), reply.state.begin(), reply.state.end());
      return true;
    }
    answer.state.clear();
    const bool refused = reply.status == Answer::Status::refused;
    if (step == 0 && refused) {
      answer.status = Answer::Status::refused;
      answer.reason = std::move(reply.reason);
    } else {
      answer.status = Answer::Status::failed;
      answer.reason = fmt::format("step {} of {} {}: {}", step + 1, size_,
                                  refused ? "was refused" : "failed", reply.reason);
    }
    return false;
  }

  std::shared_ptr<const Solver> single_;
  std::size_t size_;
};

}  // namespace

Grid cluster_grid(Grid grid, std::size_t size) {
  if (size == 0) throw Error(ErrorKind::config, "a cluster of 0 states, expected at least 1");
  grid.channels *= size;
  return grid;
}

Grid slot_grid(Grid clusters, std::size_t size) {
  if (size == 0 || clusters.channels % size != 0)
    throw Error(ErrorKind::config,
                fmt::format("{} channels cannot be clusters of {} states: expected a multiple",
                            clusters.channels, size));
  clusters.channels /= size;
  return clusters;
}

std::string multiples_beside(std::size_t number, std::size_t size) {
  const std::size_t below = number / size * size;
  return below == 0 ? fmt::format("{}", size) : fmt::format("{} or {}", below, below + size);
}

std::unique_ptr<Solver> make_clustered_solver(std::shared_ptr<const Solver> single,
                                              std::size_t size) {
  return std::make_unique<ClusteredSolver>(std::move(single), size);
}

}  // namespace stap
