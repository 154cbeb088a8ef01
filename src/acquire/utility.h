#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "acquire/kept_prefixes.h"
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

/// Floats that the states of one search may take (512 MiB): bounds the candidates searched together
/// and the states kept for each.
inline constexpr std::size_t kValuesAtATime = std::size_t{1} << 27;

/// a(u0,S) = mean over pairs of R(a,b,S) = sum over steps of |u_a - u_b|^2 - |u_a - u_bSa|^2, for
/// several candidates at a time, each with a pattern of its own on trial. A trial starts where its
/// prefix was never rolled out before (prefixes of ones are a's rollout, of zeros b's) and goes on
/// by single steps, so that it can be given up as soon as its bound says so. Sums run as if nothing
/// was kept.
class Utility {
 public:
  /// Takes about `values` floats of the committee's memory, and as many as two patterns of every
  /// candidate need if that is more.
  Utility(Committee& committee, const Candidates& candidates, std::span<const std::size_t> ids,
          std::vector<ModelPair> pairs, std::size_t values = kValuesAtATime);

  /// How many candidates fit into `values` floats of the committee's memory, at least 1.
  static std::size_t fitting(std::size_t values, const Committee& committee, std::size_t steps,
                             std::span<const ModelPair> pairs);

  std::size_t candidates() const { return kept_.size(); }
  std::size_t steps() const { return steps_; }
  std::span<const ModelPair> pairs() const { return pairs_; }
  /// |u_a - u_b|^2 of a pair after a step (0-based).
  double pair_distance(std::size_t candidate, std::size_t pair, std::size_t step) const {
    return pair_distances_[(candidate * pairs_.size() + pair) * steps_ + step];
  }
  /// Where u_a of a pair is: a row of rows().
  std::size_t target_row(std::size_t candidate, std::size_t pair, std::size_t step) const {
    return rollout_row(candidate, model_a_[pair], step);
  }
  RowsId rows() const { return rows_; }

  /// Puts a pattern on trial, in place of the candidate's last one. At first that is all ones.
  void begin(std::size_t candidate, const Pattern& pattern);
  /// No less than a(u0,S) of the trial, from the steps known so far: distances are not negative.
  /// NaN if one that is known is not finite, and then a(u0,S) is NaN or minus infinity.
  double bound(std::size_t candidate) const;
  /// Whether all steps of the trial are known.
  bool complete(std::size_t candidate) const;
  /// a(u0,S) of a complete trial; not finite if some rollout is not.
  double value(std::size_t candidate) const;
  /// Makes one more step of the trial of each of these candidates, none of them complete: of one
  /// pair after the other, since that finds out soonest what is hopeless, or of several at once
  /// where candidates are too few for a good batch. One advance() and at most one distance2().
  void step(std::span<const std::size_t> candidates);

 private:
  struct OnTrial {
    Pattern pattern;
    std::vector<std::size_t> prefixes;  // of 1 .. L steps
    std::vector<std::size_t> known;     // [pair]: steps whose distance is known
  };

  struct NewRow {
    std::size_t candidate, pair, step;
    bool measured;  // else its distance is known already
  };

  void roll_out(const Candidates& candidates, std::span<const std::size_t> ids);
  void measure_pairs(std::size_t candidates);
  void keep_rollouts(std::size_t candidate);
  std::vector<NewRow> next_rows(std::span<const std::size_t> candidates);

  // Rows of a candidate: the models' rollouts, then those of mixed ones.
  std::size_t rollout_row(std::size_t candidate, std::size_t model, std::size_t step) const {
    return candidate * stride_ + model * steps_ + step;
  }

  Committee& committee_;
  std::size_t steps_;
  std::vector<ModelPair> pairs_;
  std::vector<int> models_;                     // all that occur in pairs, without repetition
  std::vector<std::size_t> model_a_, model_b_;  // of each pair, as positions in models_
  std::size_t room_, stride_;                   // rows of a candidate: for mixed rollouts, all
  ResidentRows rows_;
  std::vector<double> pair_distances_;  // |u_a - u_b|^2 [candidate][pair][step]
  std::vector<KeptPrefixes> kept_;
  std::vector<OnTrial> trials_;
};

}  // namespace stap
