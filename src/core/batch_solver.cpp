#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "core/block_size.h"
#include "core/parallel.h"
#include "stap/core/solver_queue.h"

namespace stap {
namespace {

// Whoever waits for a reply can be told to stop this often.
constexpr double kBlockSeconds = 0.5;

}  // namespace

// What waits is solved in blocks, in the order of submission, when a reply is asked for.
class BatchSolver::Queue final : public SolverQueue {
 public:
  explicit Queue(const BatchSolver& solver)
      : solver_(solver),
        size_(solver.grid().values() * sizeof(double), solver.threads(), kBlockSeconds) {}

  void submit(Query query) override { waiting_.push_back(std::move(query)); }
  std::size_t open() const override { return waiting_.size() + solved_.size(); }
  Outlook outlook() const override { return solved_.empty() ? Outlook::later : Outlook::ready; }

  std::optional<Reply> next(Clock::time_point) override {
    if (solved_.empty() && held_) return std::nullopt;
    if (solved_.empty()) solve_block();
    Reply reply = std::move(solved_.front());
    solved_.pop_front();
    return reply;
  }

  bool give_back(std::uint64_t id) override {
    return std::erase_if(waiting_, [&](const Query& query) { return query.id == id; }) > 0 ||
           std::erase_if(solved_, [&](const Reply& reply) { return reply.id == id; }) > 0;
  }

  void close(const Closing& closing) override { held_ = held_ || closing.hold; }

 private:
  void solve_block() {
    const auto start = Clock::now();
    const std::size_t n = std::min(size_.rows(), waiting_.size());
    std::vector<const Query*> queries(n);
    std::vector<Answer> answers(n);
    std::vector<Answer*> places(n);
    for (std::size_t i = 0; i < n; ++i) {
      queries[i] = &waiting_[i];
      answers[i].attempts = 1;
      places[i] = &answers[i];
    }
    solver_.compute(queries, places);
    for (std::size_t i = 0; i < n; ++i) {
      solved_.push_back({waiting_.front().id, std::move(answers[i])});
      waiting_.pop_front();
    }
    size_.took(n, std::chrono::duration<double>(Clock::now() - start).count());
  }

  const BatchSolver& solver_;
  BlockSize size_;
  std::deque<Query> waiting_;
  std::deque<Reply> solved_;
  bool held_ = false;  // no further block is begun
};

BatchSolver::BatchSolver(std::string name, Grid grid, double dt, int threads)
    : Solver(std::move(name), std::move(grid), dt), threads_(thread_count(threads)) {}

std::unique_ptr<SolverQueue> BatchSolver::open_queue() const {
  return std::make_unique<Queue>(*this);
}

}  // namespace stap
