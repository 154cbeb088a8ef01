#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stap/acquire/chooser.h"
#include "stap/acquire/plan.h"
#include "stap/acquire/selector.h"

namespace stap {

/// Wall-clock seconds of the two questions of a selection.
struct SelectionSeconds {
  double score = 0.0;   ///< which initial conditions; all of a method that asks both at once
  double choose = 0.0;  ///< which steps of each
};

/// One round's way through its candidates: every plan goes on behind the plans before it, so no
/// candidate is chosen twice.
class RoundPlans {
 public:
  virtual ~RoundPlans() = default;
  RoundPlans(const RoundPlans&) = delete;
  RoundPlans& operator=(const RoundPlans&) = delete;

  /// Plans for exactly `budget` solver steps; less only if the candidates run out, or by what pays
  /// for no step behind a warm-up (`unspent`).
  /// Throws Error(config) if the budget is 0, and Error(internal) if the method breaks a promise:
  /// a candidate that is not open or was chosen before, a pattern that is empty or of another
  /// length, a plan that does not account for its budget.
  Plan next(std::size_t budget);
  /// Goes on behind a plan that next() made in an earlier process.
  void pass_over(const Plan& plan);
  /// Of the last next().
  const SelectionSeconds& seconds() const { return seconds_; }

 protected:
  /// `method`: for messages. What the candidates view must outlive it.
  RoundPlans(std::string method, const Candidates& candidates);

  const std::string& method() const { return method_; }
  const Candidates& candidates() const { return candidates_; }
  /// Whether a plan before has this candidate of the pool.
  bool taken(std::size_t id) const { return fates_[id] == Fate::taken; }
  std::size_t taken_count() const { return taken_count_; }

 private:
  enum class Fate : char { closed, open, taken };

  /// Leaves `seconds` alone unless it can tell its two questions apart.
  virtual Plan make_plan(std::size_t budget, SelectionSeconds& seconds) = 0;
  void check(const Plan& plan, std::size_t budget) const;

  std::string method_;
  Candidates candidates_;
  std::vector<Fate> fates_;  // per pool id
  std::size_t taken_count_ = 0;
  SelectionSeconds seconds_;
};

/// A method: which steps of which initial conditions to buy.
class Planner {
 public:
  virtual ~Planner() = default;
  /// As a configuration names it, for messages.
  virtual std::string name() const = 0;
  /// Members the method needs at least (a committee of one has no spread).
  virtual int members_needed() const { return 1; }
  /// The longest trajectory, in steps, that the method can take.
  virtual std::size_t steps_most() const { return std::numeric_limits<std::size_t>::max(); }

  /// Begins a round; `rng` is its stream. This, the committee and what the candidates view must
  /// outlive it. Throws Error(config) if the method needs more members than the committee has, or
  /// trajectories are too long for it or have no steps.
  std::unique_ptr<RoundPlans> begin(Committee& committee, const Candidates& candidates,
                                    const Rng& rng) const;

 private:
  virtual std::unique_ptr<RoundPlans> start(Committee& committee, const Candidates& candidates,
                                            const Rng& rng) const = 0;
};

/// The selector's order with the chooser's patterns, the last one cut to its first steps that fit.
std::unique_ptr<Planner> make_two_part_planner(std::shared_ptr<const Selector> selector,
                                               std::shared_ptr<const StepChooser> chooser);

/// A method that chooses initial conditions and steps together. A configuration names it by
/// `method: NAME` or in the section `planner`, in the place of base and steps.
struct PlannerRow : config::Entry {
  std::function<std::unique_ptr<Planner>(const config::AnyOptions&, const MakeContext&)> make{};
};
/// None but what was added.
const config::Registry<PlannerRow>& planner_table();
/// As config::Registry::add says, and when; a selector of the same name is refused too.
void add_planner(PlannerRow row);

}  // namespace stap
