#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "acquire/kept_prefixes.h"
#include "acquire/model_pairs.h"
#include "stap/acquire/pool.h"
#include "stap/core/pattern.h"
#include "stap/core/resident_rows.h"

namespace stap {

/// Floats that the states of one search may take (512 MiB): bounds the candidates searched together
/// and the states kept for each.
inline constexpr std::size_t kValuesAtATime = std::size_t{1} << 27;
/// Patterns of one candidate on trial at the same time.
inline constexpr std::size_t kTrialsMost = 8;

/// A pattern whose utility is being found out for the candidate of a place.
struct Trial {
  std::size_t place = 0;
  Pattern pattern;
  std::vector<std::size_t> prefixes;  ///< of 1 .. L steps, as KeptPrefixes numbers them
  std::vector<std::size_t> known;     ///< [pair]: steps whose distance is known
};

/// a(u0,S) = mean over pairs of R(a,b,S) = sum over steps of |u_a - u_b|^2 - |u_a - u_bSa|^2, for
/// several candidates at a time, each in a place of its own. One that enters is first rolled out by
/// every model; then patterns are put on trial. A trial starts where its prefix was never rolled
/// out before (prefixes of ones are a's rollout, of zeros b's) and goes on by single steps, so that
/// it can be given up as soon as its bound says so. Sums run as if nothing was kept.
class Utility {
 public:
  /// Takes about `values` floats of the committee's memory, and as many as two patterns in every
  /// place need if that is more.
  Utility(Committee& committee, const Candidates& candidates, std::size_t places,
          std::vector<ModelPair> pairs, std::size_t values = kValuesAtATime);

  /// How many places fit into `values` floats of the committee's memory, at least 1.
  static std::size_t fitting(std::size_t values, const Committee& committee, std::size_t steps,
                             std::span<const ModelPair> pairs);

  const Committee& committee() const { return committee_; }
  std::size_t places() const { return places_.size(); }
  std::size_t steps() const { return steps_; }
  std::size_t warm_up() const { return warm_up_; }
  /// A utility by what its pattern of `cost` steps costs, the candidate's warm-up included.
  double per_step(double utility, std::size_t cost) const {
    return utility / static_cast<double>(cost + warm_up_);
  }
  std::span<const ModelPair> pairs() const { return pairs_; }
  RowsId rows() const { return rows_; }

  /// A candidate of the pool takes a place; what was there before is forgotten.
  void enter(std::size_t place, std::size_t id);
  /// Whether the models' rollouts are made; what follows asks for that, step() apart.
  bool rolled_out(std::size_t place) const { return places_[place].rolled_out == steps_; }
  /// |u_a - u_b|^2 of a pair after a step (0-based).
  double pair_distance(std::size_t place, std::size_t pair, std::size_t step) const {
    return places_[place].pair_distances[pair * steps_ + step];
  }
  /// Where u_a of a pair is: a row of rows().
  std::size_t target_row(std::size_t place, std::size_t pair, std::size_t step) const {
    return rollout_row(place, model_a_[pair], step);
  }

  Trial begin(std::size_t place, const Pattern& pattern);
  /// No less than a(u0,S) of the trial, from the steps known so far: distances are not negative.
  /// NaN if one that is known is not finite, and then a(u0,S) is NaN or minus infinity.
  double bound(const Trial& trial) const;
  /// Whether all steps of the trial are known.
  bool complete(const Trial& trial) const;
  /// a(u0,S) of a complete trial; not finite if some rollout is not.
  double value(const Trial& trial) const;
  /// Makes one more step of all models' rollouts in the places `entering`, and of each trial, of
  /// one pair after the other: that finds out soonest what is hopeless. A place has kTrialsMost
  /// trials at most. One advance() and at most one distance2().
  void step(std::span<const std::size_t> entering, std::span<Trial* const> trials);

 private:
  struct Place {
    KeptPrefixes kept;
    std::size_t rolled_out;              // steps
    std::vector<double> pair_distances;  // |u_a - u_b|^2 [pair][step]
    std::vector<std::size_t> in_making;  // prefixes of which this step makes a state
  };

  // A state to make: of which pair, after which step.
  struct NewState {
    Trial* trial;
    std::size_t pair, step;
    bool measured;  // else its distance is known already
  };

  std::vector<NewState> next_states(std::span<Trial* const> trials);
  void look_up(Trial& trial) const;
  void keep_rollouts(std::size_t place);

  // Rows of a place: the initial state, the models' rollouts, then those of mixed ones.
  std::size_t initial_row(std::size_t place) const { return place * stride_; }
  std::size_t rollout_row(std::size_t place, std::size_t model, std::size_t step) const {
    return place * stride_ + 1 + model * steps_ + step;
  }

  Committee& committee_;
  StatesView<const float> pool_;
  ConditionsView conditions_;
  std::size_t steps_, warm_up_;
  std::vector<ModelPair> pairs_;
  std::vector<int> models_;                     // all that occur in pairs, without repetition
  std::vector<std::size_t> model_a_, model_b_;  // of each pair, as positions in models_
  std::size_t room_, stride_;                   // rows of a place: for mixed rollouts, all
  ResidentRows rows_;
  std::vector<Place> places_;
};

}  // namespace stap
