#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "stap/core/committee.h"
#include "stap/eval/hybrid.h"

namespace stap {

/// A trajectory whose turn is the surrogate's, and which is at its base.
struct Draft {
  HybridTurns* turns = nullptr;
  std::span<const float> from{};  ///< state turns->base()
  std::span<const double> parameters{};
};
/// Drafts of many trajectories side by side, each until it is done or the solver's turn. `visit`
/// gets every state that was accepted (`step` + 1 of trajectory `draft`), with its error bar.
using DraftVisitor = std::function<void(std::size_t draft, std::size_t step,
                                        std::span<const float> state, double bar)>;
void make_drafts(Committee& committee, std::span<const Draft> drafts, std::span<const double> floor,
                 const DraftVisitor& visit);

/// One trajectory for a program that drives its own time loop:
///
///   HybridLoop loop(committee, bars, {.tolerance = 0.01, .steps = 100}, u0);
///   while (loop.next() == Turn::solver) loop.solved(my_step(loop.state(loop.step())));
///   use(loop.state(100), loop.bar(100));
class HybridLoop {
 public:
  /// `initial`: [C, X...]; `parameters` as the committee is told them. Committee and bars must
  /// outlive it. Throws Error(config) as HybridTurns does, Error(data) for a state of another size,
  /// and for networks that make several steps at once.
  HybridLoop(Committee& committee, const ErrorBars& bars, const HybridRules& rules,
             std::span<const double> initial, std::span<const double> parameters = {});

  /// Drafts as far as the surrogate may go. `solver`: make the step after state(step()).
  Turn next();
  std::size_t step() const { return turns_.step(); }
  void solved(std::span<const double> state);
  void give_up() { turns_.give_up(); }

  /// Of times 0 .. L, as far as they were made.
  std::span<const double> state(std::size_t time) const { return states_.at(time); }
  /// The bound on its error; 0 where the solver made it from its own states.
  double bar(std::size_t time) const { return bars_.at(time); }
  bool by_solver(std::size_t time) const { return time > 0 && time <= turns_.base(); }
  bool beyond() const { return turns_.beyond(); }

 private:
  void keep(std::size_t time, std::span<const double> state, double bar);

  Committee& committee_;
  HybridTurns turns_;
  std::vector<double> floor_, parameters_;
  std::vector<std::vector<double>> states_;
  std::vector<double> bars_;
};

}  // namespace stap
