#include "stap/couple/by_hand.h"

#include <deque>
#include <map>
#include <utility>

#include "stap/core/solver_queue.h"

namespace stap {
namespace {

class ByHandQueue final : public SolverQueue, public People {
 public:
  void submit(Query query) override {
    const std::uint64_t id = query.id;
    waiting_.insert_or_assign(id, std::move(query));
  }
  std::size_t open() const override { return waiting_.size() + answered_.size(); }
  Outlook outlook() const override { return answered_.empty() ? Outlook::later : Outlook::ready; }

  // Does not wait: nothing comes while nobody brings it.
  std::optional<Reply> next(Clock::time_point) override {
    if (answered_.empty()) return std::nullopt;
    Reply reply = std::move(answered_.front());
    answered_.pop_front();
    return reply;
  }

  bool give_back(std::uint64_t id) override {
    return waiting_.erase(id) > 0 ||
           std::erase_if(answered_, [&](const Reply& reply) { return reply.id == id; }) > 0;
  }

  People* people() override { return this; }

  std::vector<const Query*> questions() const override {
    std::vector<const Query*> all;
    for (const auto& [id, query] : waiting_) all.push_back(&query);
    return all;
  }

  bool answer(Reply reply) override {
    if (waiting_.erase(reply.id) == 0) return false;
    answered_.push_back(std::move(reply));
    return true;
  }

 private:
  std::map<std::uint64_t, Query> waiting_;
  std::deque<Reply> answered_;
};

class ByHandSolver final : public Solver {
 public:
  ByHandSolver(const Outline& outline, std::size_t steps_at_once)
      : Solver(outline.name, outline.grid, outline.dt, steps_at_once), outline_(outline) {}

  std::vector<std::string> channels() const override { return outline_.channels; }
  std::vector<std::string> parameters() const override { return varied_names(outline_); }

 private:
  std::string guard(const Query& query) const override {
    return guard_refusal(outline_, query.state);
  }
  std::unique_ptr<SolverQueue> open_queue() const override {
    return std::make_unique<ByHandQueue>();
  }

  Outline outline_;
};

}  // namespace

const config::Fields<ByHandOptions>& by_hand_fields() {
  using O = ByHandOptions;
  static const config::Fields<O> fields{
      {"steps_at_once", &O::steps_at_once, "the most consecutive steps that are one question",
       config::between(1, 1000000)},
  };
  return fields;
}

std::unique_ptr<Solver> make_by_hand_solver(const Outline& outline, const ByHandOptions& options) {
  return std::make_unique<ByHandSolver>(outline, options.steps_at_once);
}

}  // namespace stap
