// Trajectories as points: what distance-based selectors (lcmd, core-set) compare.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "stap/acquire/selector.h"

namespace stap {

/// Sketched features of some trajectories of the pool, [id][kSketchSize]: the last hidden
/// activations of every member at every step. Rows are worked on in blocks; the result does not
/// depend on them.
std::vector<double> sketched_features(Committee& committee, const Candidates& candidates,
                                      std::span<const std::size_t> ids);

/// The pool as points: candidates whose features are finite, by rising id, and the centres there
/// are already, the trajectories that are not open any more.
struct FeatureSpace {
  std::vector<std::size_t> ids;
  std::vector<double> points;   ///< [candidate][kSketchSize]
  std::vector<double> centres;  ///< [centre][kSketchSize], finite ones only
  std::size_t not_finite = 0;   ///< candidates left out

  std::span<const double> point(std::size_t c) const;
};
FeatureSpace make_feature_space(Committee& committee, const Candidates& candidates);

/// Squared distance of two points.
double feature_distance2(std::span<const double> a, std::span<const double> b);

/// Every candidate with its nearest centre; candidates become centres one by one.
class NearestCentres {
 public:
  explicit NearestCentres(const FeatureSpace& space);

  std::size_t size() const { return taken_.size(); }  ///< candidates, taken ones too
  std::size_t centres() const { return centres_; }
  bool taken(std::size_t c) const { return taken_[c] != 0; }
  /// Of a candidate that is not taken; there must be a centre.
  double distance2(std::size_t c) const { return distance2_[c]; }
  std::size_t centre(std::size_t c) const { return centre_[c]; }
  /// Makes candidate c a centre.
  void take(std::size_t c);

 private:
  void add(std::span<const double> centre);

  const FeatureSpace& space_;
  std::size_t centres_ = 0;
  std::vector<double> distance2_;
  std::vector<std::size_t> centre_;
  std::vector<char> taken_;
};

/// The open candidate farthest from its centre, of those for which which(candidate) holds; the
/// first of equal ones.
template <class Which>
std::size_t farthest(const NearestCentres& nearest, const Which& which) {
  std::size_t best = 0;
  double largest = -1.0;
  for (std::size_t c = 0; c < nearest.size(); ++c)
    if (!nearest.taken(c) && nearest.distance2(c) > largest && which(c)) {
      largest = nearest.distance2(c);
      best = c;
    }
  return best;
}

/// LCMD's choice: the farthest candidate of the heaviest cluster, a cluster's weight being the sum
/// of the squared distances of its candidates to their centre.
std::size_t farthest_of_heaviest(const NearestCentres& nearest);

/// Takes candidates one by one, `at_most` of them: the first, if there is no centre yet, is the one
/// of largest norm; then pick(nearest) says which. Equal values: the smaller id.
Order take_greedily(const FeatureSpace& space, std::size_t at_most,
                    const std::function<std::size_t(const NearestCentres&)>& pick);

}  // namespace stap
