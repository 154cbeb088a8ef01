#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "stap/acquire/pool.h"

namespace stap {

/// The best single step of a candidate.
struct BestStep {
  std::size_t step = 0;
  double key = -std::numeric_limits<double>::infinity();
};

/// What steps of a candidate are compared by: a function of its id, a step and the utility
/// a(u0,{step}) that never falls as the utility rises, and is NaN only where that is.
using StepKey = std::function<double(std::size_t id, std::size_t step, double utility)>;

/// For each of the ids the step i of largest key, a(u0,{i}) being STAP's utility (utility.h) of the
/// pattern that buys step i alone; of equals the last one. Utilities are those of the patterns, bit
/// for bit. Step 0 and minus infinity where rollouts are not finite, and where no key reaches
/// `least`: only candidates that can reach it are rolled out to the end.
std::vector<BestStep> best_single_steps(Committee& committee, const Candidates& candidates,
                                        std::span<const std::size_t> ids, const StepKey& key,
                                        double least = -std::numeric_limits<double>::infinity());

}  // namespace stap
