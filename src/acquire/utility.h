#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stap/acquire/pool.h"
#include "stap/core/pattern.h"
#include "stap/core/resident_rows.h"

namespace stap {

/// R(a,b,S) asks how much closer to a's rollout b's comes when a makes the steps of S. A model is a
/// member or kMean.
struct ModelPair {
  int a = 0, b = 0;
};
/// All ordered pairs of different members (for a = b, R is 0).
std::vector<ModelPair> ordered_pairs(int members);
/// The mean model with every member.
std::vector<ModelPair> mean_field_pairs(int members);

/// Floats that the states of one search may take (1 GiB): bounds the candidates searched together.
inline constexpr std::size_t kValuesAtATime = std::size_t{1} << 28;

/// A pattern of one candidate, by its position in the utility.
struct Trial {
  std::size_t candidate = 0;
  Pattern pattern;
};

/// a(u0,S) = mean over pairs of R(a,b,S) = sum over steps of |u_a - u_b|^2 - |u_a - u_bSa|^2, for
/// several candidates at a time. Every candidate stands at a pattern (all ones at first), whose
/// states are kept: a trial is rolled out from the first step where it leaves the standing one, or
/// where it stops being all ones (a's rollout) or all zeros (b's). Sums run as if nothing was kept.
class Utility {
 public:
  Utility(Committee& committee, const Candidates& candidates, std::span<const std::size_t> ids,
          std::vector<ModelPair> pairs);

  /// How many candidates fit into `values` floats of the committee's memory, at least 1.
  static std::size_t fitting(std::size_t values, const Committee& committee, std::size_t steps,
                             std::span<const ModelPair> pairs);

  std::size_t candidates() const { return standing_.size(); }
  std::size_t steps() const { return steps_; }
  std::span<const ModelPair> pairs() const { return pairs_; }
  /// |u_a - u_b|^2 of a pair after a step (0-based).
  double pair_distance(std::size_t candidate, std::size_t pair, std::size_t step) const {
    return pair_distances_[candidate * pairs_.size() * steps_ + at(pair, step)];
  }
  /// Where u_a of a pair is: a row of rows().
  std::size_t target_row(std::size_t candidate, std::size_t pair, std::size_t step) const {
    return rollout_row(candidate, model_a_[pair], step);
  }
  RowsId rows() const { return rows_; }
  /// a(u0,S) of the pattern it stands at; not finite if some rollout is not.
  double standing_value(std::size_t candidate) const { return standing_[candidate].value; }
  const Pattern& standing(std::size_t candidate) const { return standing_[candidate].pattern; }

  /// No less than a(u0,S), from what is known without a rollout: distances are not negative.
  double bound(const Trial& trial) const;
  /// a(u0,S) of each trial, at most one per candidate.
  std::vector<double> evaluate(std::span<const Trial> trials);
  /// The candidate's trial in the last evaluate() becomes the pattern it stands at.
  void accept(std::size_t candidate);

 private:
  // Where a pattern's mixed rollouts are and how far they are from a's: [pair][step].
  struct Path {
    Pattern pattern;
    std::vector<std::size_t> rows;
    std::vector<double> distances;
    double value = 0.0;
  };

  void roll_out(const Candidates& candidates, std::span<const std::size_t> ids);
  void measure_pairs();
  std::size_t first_new_step(const Trial& trial) const;
  std::size_t prepare(const Trial& trial);
  double sum(std::size_t candidate, const Path& path) const;

  // Rows of a candidate: the models' rollouts, then two places for each pair and step.
  std::size_t rollout_row(std::size_t candidate, std::size_t model, std::size_t step) const {
    return candidate * stride_ + model * steps_ + step;
  }
  std::size_t own_row(std::size_t candidate, std::size_t pair, std::size_t step) const {
    return candidate * stride_ + models_.size() * steps_ + 2 * at(pair, step);
  }
  std::size_t at(std::size_t pair, std::size_t step) const { return pair * steps_ + step; }

  Committee& committee_;
  std::size_t steps_;
  std::vector<ModelPair> pairs_;
  std::vector<int> models_;                     // all that occur in pairs, without repetition
  std::vector<std::size_t> model_a_, model_b_;  // of each pair, as positions in models_
  std::size_t stride_;
  ResidentRows rows_;
  std::vector<double> pair_distances_;  // |u_a - u_b|^2 [candidate][pair][step]
  std::vector<Path> standing_, trial_;
};

}  // namespace stap
