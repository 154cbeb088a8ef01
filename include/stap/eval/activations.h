#pragma once

#include <span>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/states.h"

namespace stap {

/// Sketched last hidden activations of every state, all members together: [n, kSketchSize]. All
/// states go through the same random map (that of step 0), so their distances can be compared
/// whatever step they come from.
std::vector<double> sketched_states(Committee& committee, StatesView<const float> states,
                                    ConditionsView conditions);

}  // namespace stap
