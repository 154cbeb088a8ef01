#include "stap/core/warm_up.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/grouped_steps.h"
#include "stap/core/error.h"

namespace stap {
namespace {

constexpr double kRounding = 1e-9;   // lengths are written in decimals
constexpr double kMostSteps = 1e15;  // that a double counts

class WarmUpSolver final : public Solver {
 public:
  WarmUpSolver(std::shared_ptr<const Solver> solver, double length, std::size_t steps)
      : Solver(solver->name(), solver->grid(), length, groups_at_once(*solver, steps)),
        solver_(std::move(solver)),
        steps_(steps) {}

  std::vector<std::string> parameters() const override { return solver_->parameters(); }
  SharedFixedFields fixed() const override { return solver_->fixed(); }
  FailurePolicy failure_policy() const override { return solver_->failure_policy(); }
  bool expensive() const override { return solver_->expensive(); }

 private:
  std::string guard(const Query& query) const override { return solver_->refusal(query); }
  std::unique_ptr<SolverQueue> open_queue() const override {
    return make_grouped_queue(*solver_, {.size = steps_, .kept = 1});
  }

  std::shared_ptr<const Solver> solver_;
  std::size_t steps_;
};

}  // namespace

std::unique_ptr<Solver> make_warm_up_solver(std::shared_ptr<const Solver> solver, double length) {
  if (!(std::isfinite(length) && length > 0))
    throw Error(ErrorKind::config,
                fmt::format("a warm-up of {}, expected a finite length above 0", length));
  if (std::unique_ptr<Solver> own = solver->with_step(length)) return own;
  const double steps = std::round(length / solver->dt());
  if (!(steps >= 1 && steps < kMostSteps &&
        std::abs(steps * solver->dt() - length) <= kRounding * length))
    throw Error(ErrorKind::config,
                fmt::format("{}: a warm-up of {:g} is {:.6g} steps of {:g}, expected a whole "
                            "number: this solver makes no other steps",
                            solver->name(), length, length / solver->dt(), solver->dt()));
  return std::make_unique<WarmUpSolver>(std::move(solver), length, static_cast<std::size_t>(steps));
}

}  // namespace stap
