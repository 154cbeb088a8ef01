// k-in, k-out surrogates written down from the definition: lists of single states, one solver step
// after the other, nothing stacked. The oracle for clusters.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "reference/metrics.h"
#include "stap/core/pattern.h"

namespace stap::reference {

/// One state, [channel][point].
using Field = std::vector<std::vector<double>>;
/// k states in a row, the earliest first.
using Cluster = std::vector<Field>;
/// One call of a surrogate; time of the last input state in [0,1] over the trajectory.
using ClusterModel = std::function<Cluster(const Cluster&, double time)>;
/// One solver step at a time in the problem's unit.
using SingleStep = std::function<Field(const Field&, double time)>;

/// The L single states that L/k calls make.
inline Rollout unrolled(const ClusterModel& model, Cluster cluster, std::size_t calls) {
  Rollout states;
  for (std::size_t i = 0; i < calls; ++i) {
    cluster = model(cluster, static_cast<double>(i) / static_cast<double>(calls));
    for (const Field& state : cluster) states.push_back(state);
  }
  return states;
}

struct ClusterPurchase {
  std::vector<std::size_t> at;  ///< pattern bit of each transition
  std::vector<std::pair<Cluster, Cluster>> transitions;
  std::size_t solver_steps = 0;
};

/// Walks a pattern of L/k bits to its last 1.
inline ClusterPurchase purchase(const Pattern& pattern, Cluster cluster, double dt,
                                const SingleStep& solver, const ClusterModel& mean) {
  ClusterPurchase result;
  const std::size_t k = cluster.size();
  std::size_t last = 0;
  for (std::size_t i = 0; i < pattern.steps(); ++i)
    if (pattern[i]) last = i + 1;
  for (std::size_t i = 0; i < last; ++i) {
    Cluster next;
    if (pattern[i]) {
      Field state = cluster[k - 1];
      for (std::size_t s = 0; s < k; ++s) {
        state = solver(state, static_cast<double>(i * k + s) * dt);
        next.push_back(state);
        ++result.solver_steps;
      }
      result.at.push_back(i);
      result.transitions.emplace_back(cluster, next);
    } else {
      next = mean(cluster, static_cast<double>(i) / static_cast<double>(pattern.steps()));
    }
    cluster = next;
  }
  return result;
}

}  // namespace stap::reference
