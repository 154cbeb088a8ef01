#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "stap/core/committee.h"
#include "stap/core/states.h"

namespace stap {

/// The same of several models at once: one view for each, of the same rows (rollout.h).
using ModelsVisitor = std::function<void(std::size_t step, std::size_t first,
                                         std::span<const StatesView<const float>> models)>;

/// roll_out() of several models (members, kMean) side by side, so that what they make of a state
/// can be compared without keeping it. Bits are those of each model rolled out by itself.
void roll_out_models(Committee& committee, StatesView<const float> initial,
                     std::span<const int> models, std::size_t steps, std::size_t block,
                     const ModelsVisitor& visit, ConditionsView conditions = {});

}  // namespace stap
