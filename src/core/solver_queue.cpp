#include "stap/core/solver_queue.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

class BatchQueue final : public SolverQueue {
 public:
  explicit BatchQueue(const Solver& solver) : solver_(solver) {}

  void submit(std::uint64_t id, std::vector<double> state, double time) override {
    const auto same = [id](const auto& entry) { return entry.id == id; };
    if (std::any_of(waiting_.begin(), waiting_.end(), same) ||
        std::any_of(solved_.begin(), solved_.end(), same))
      throw Error(ErrorKind::internal, fmt::format("query {} was submitted while it is open", id));
    waiting_.push_back({id, std::move(state), time});
  }

  std::size_t open() const override { return waiting_.size() + solved_.size(); }
  bool ready() const override { return !solved_.empty(); }

  Reply next() override {
    if (solved_.empty()) solve();
    if (solved_.empty())
      throw Error(ErrorKind::internal, "a reply was asked for, but no query is open");
    Reply reply = std::move(solved_.front());
    solved_.pop_front();
    return reply;
  }

 private:
  struct Waiting {
    std::uint64_t id;
    std::vector<double> state;
    double time;
  };

  void solve() {
    std::vector<Query> queries;
    for (const Waiting& w : waiting_) queries.push_back({w.id, w.state, w.time, {}});
    std::vector<Answer> answers(queries.size());
    solver_.solve(queries, answers);
    for (std::size_t i = 0; i < answers.size(); ++i)
      solved_.push_back({queries[i].id, std::move(answers[i])});
    waiting_.clear();
  }

  const Solver& solver_;
  std::vector<Waiting> waiting_;
  std::deque<Reply> solved_;
};

}  // namespace

std::unique_ptr<SolverQueue> make_batch_queue(const Solver& solver) {
  return std::make_unique<BatchQueue>(solver);
}

}  // namespace stap
