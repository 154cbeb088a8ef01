#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "stap/acquire/methods.h"
#include "stap/acquire/pool.h"

namespace stap {

/// The best single step of a candidate, and its utility.
struct BestStep {
  std::size_t step = 0;
  double utility = -std::numeric_limits<double>::infinity();
};

/// For each of the ids the step i of largest a(u0,{i}), STAP's utility (utility.h) of the pattern
/// that buys step i alone; of equals the last one. Utilities are those of the patterns, bit for
/// bit. Step 0 and minus infinity where rollouts are not finite.
///
/// Search::quick needs a fraction of the states: steps are rolled out and given up by what they are
/// likely to be worth, so that it may be another step than the best. After one state of every step
/// is known, each candidate's most promising step goes on by one state at a time; it ends when that
/// is known to its end. A candidate's answer depends on nothing but itself.
///
/// With D(t) = sum over pairs of |u_a - u_b|^2, and D_i(t), N_i(t) those of |u_a - u_i|^2 and
/// |u_b - u_i|^2, u_i being the mixed rollout of step i, known up to time s:
///
///     likely(i) = sum_{t<=s} (D - D_i)(t) + sum_{t>s} D(t) (2 a A(t) - n A(t)^2)
///     a = a_i(s) = (1 - D_i(s)/D(s) + n) / 2, n = N_i(s)/D(s)
///     A(t) = prod_{s<k<=t} c_k, c_k = 1 - a_k(k) within [0, 1]
///
/// a is the part of the members' difference that step i has made, and c_k the part of it after step
/// k that was there before: step i makes up less of it as later steps add their own.
std::vector<BestStep> best_single_steps(Committee& committee, const Candidates& candidates,
                                        std::span<const std::size_t> ids,
                                        StapOneOptions::Search search);

}  // namespace stap
