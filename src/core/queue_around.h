#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "stap/core/solver_queue.h"

namespace stap {

/// A queue around another one, which does all that is not overridden.
class QueueAround : public SolverQueue {
 public:
  explicit QueueAround(std::unique_ptr<SolverQueue> inner) : inner_(std::move(inner)) {}

  void submit(Query query) override { inner_->submit(std::move(query)); }
  std::size_t open() const override { return inner_->open(); }
  Outlook outlook() const override { return inner_->outlook(); }
  std::optional<Reply> next(Clock::time_point until) override { return inner_->next(until); }
  bool give_back(std::uint64_t id) override { return inner_->give_back(id); }
  void recorded() override { inner_->recorded(); }
  void close(const Closing& closing) override { inner_->close(closing); }
  std::vector<Running> running() const override { return inner_->running(); }
  People* people() override { return inner_->people(); }

 protected:
  SolverQueue& inner() const { return *inner_; }

 private:
  std::unique_ptr<SolverQueue> inner_;
};

}  // namespace stap
