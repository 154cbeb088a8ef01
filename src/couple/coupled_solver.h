// What all kinds of solver that are not ours have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "couple/slot_queue.h"
#include "couple/spool_queue.h"
#include "stap/couple/solver_table.h"

namespace stap {

/// Throws Error(config) unless argv names a program that can be started, and env is right. Behind a
/// launcher it is that which must be there; a program without a '/' may be elsewhere.
void check_program(const SolverOptions& options);
/// The names of "NAME=value".
std::vector<std::string> names_in(const std::vector<std::string>& env);

/// What kinds of solver have in common: the outline's guard, policies, and where queries run.
class CoupledSolver : public Solver {
 protected:
  CoupledSolver(const SolverOptions& options, Outline outline, CoupleContext context)
      : Solver(outline.name, outline.grid, outline.dt, options.steps_at_once),
        outline_(std::move(outline)),
        context_(std::move(context)),
        policy_{options.on_failure == SolverOptions::OnFailure::abort, options.breaker,
                options.stragglers},
        rules_{slots_of(options),
               options.on_failure == SolverOptions::OnFailure::retry ? options.retries : 0,
               options.limits, options.grace},
        spool_(options.spool) {}

  std::vector<std::string> channels() const override { return outline_.channels; }
  std::vector<std::string> parameters() const override { return varied_names(outline_); }
  SharedFixedFields fixed() const override { return outline_.fixed; }
  FailurePolicy failure_policy() const override { return policy_; }
  bool expensive() const override { return true; }

  const Outline& outline() const { return outline_; }
  const CoupleContext& context() const { return context_; }
  const SlotRules& rules() const { return rules_; }

 private:
  std::string guard(const Query& query) const override {
    return guard_refusal(outline_, query.state);
  }
  std::unique_ptr<SolverQueue> open_queue() const final {
    if (spool_.empty()) return open_slots();
    const std::filesystem::path& failures = context_.failures;
    return make_spool_queue(
        spool_, rules_.limits.server,
        {outline_, context_.recipe, failures.empty() ? failures : absolute(failures)});
  }
  /// A queue over slots of this machine.
  virtual std::unique_ptr<SolverQueue> open_slots() const = 0;

  Outline outline_;
  CoupleContext context_;
  FailurePolicy policy_;
  SlotRules rules_;
  std::filesystem::path spool_;
};

}  // namespace stap
