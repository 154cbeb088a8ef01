#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stap/core/committee.h"
#include "stap/data/transitions.h"
#include "stap/eval/metrics.h"
#include "stap/eval/principal.h"

namespace stap {

/// Principal directions of the committee's sketched hidden activations on states of test
/// trajectories, and where these and the inputs of all bought transitions lie along them.
struct ActivationMap {
  PrincipalComponents components{};
  std::size_t trajectories = 0;  ///< the first ones of the test set
  std::size_t states_each = 0;
  std::vector<double> full{};                     ///< [trajectories * states_each, K]
  std::vector<double> bought{};                   ///< [n, K]
  std::vector<Provenance> origins{};              ///< [n]; acquisition 0: initial trajectories
  double full_variance = 0, bought_variance = 0;  ///< of the features; bought: acquisitions >= 1
  std::string absent{};                           ///< why there is none; empty if there is
};

/// Of a committee whose states are clusters of test.cluster of the test set's.
ActivationMap map_activations(Committee& committee, const TrajectoriesView& test,
                              const TransitionSet& transitions);

}  // namespace stap
