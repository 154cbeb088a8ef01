#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stap/core/committee.h"

namespace stap {

/// How far the members are apart after one step from each input:
/// (1/M) sum over members of the squared distance to the members' mean. Rows are worked on in
/// blocks; the result does not depend on the block. Throws Error(config) for a committee of one,
/// which has no spread.
std::vector<double> one_step_spreads(Committee& committee, StatesView<const float> inputs,
                                     ConditionsView conditions, std::size_t block = 512);

/// The smallest of `spreads` that at least the share `quantile`, in (0,1], of them do not pass: 1
/// gives the largest. What is not a number counts as infinite. Throws Error(internal) if there are
/// none.
double trust_limit(std::vector<double> spreads, double quantile);

}  // namespace stap
