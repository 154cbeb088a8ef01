#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "stap/core/committee.h"
#include "stap/core/states.h"
#include "stap/core/symmetry.h"

namespace stap {

/// Rows first, first + 1, ... of a rollout as step `step` (0 .. L-1) has left them: their states
/// `step` + 1. Valid during the call.
using RolloutVisitor =
    std::function<void(std::size_t step, std::size_t first, StatesView<const float> states)>;

/// Applies a member (or kMean) `steps` times to every initial state and shows each result: block
/// after block of rows, and step after step in each, from the rows' `conditions`. With `images`,
/// maps that do not turn time round, every step is the mean over the images of the state: each is
/// advanced and taken back, so that the rollout has the symmetries exactly. Throws Error(internal)
/// if `block` is 0, the states are not of the committee's grid or the conditions do not fit; what
/// `visit` throws ends the rollout. `threads` (0: all cores) make the images; results do not depend
/// on them.
void roll_out(Committee& committee, StatesView<const float> initial, int member, std::size_t steps,
              std::size_t block, const RolloutVisitor& visit, ConditionsView conditions = {},
              std::span<const StateMap> images = {}, int threads = 1);

}  // namespace stap
