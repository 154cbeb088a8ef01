// What is looked at after a run beside its errors. The folder may be in use.
#pragma once

#include <cstddef>
#include <vector>

#include "stap/folder/run_folder.h"
#include "stap/results/chosen_steps.h"
#include "stap/results/run_analysis.h"

namespace stap {

/// Seconds of the first `rounds` rounds.
std::vector<PhaseSeconds> times_of(const RunFolder& folder, std::size_t rounds);

/// What the plans of the first `rounds` rounds chose. Throws Error(data), also if one has none.
ChosenSteps chosen_steps(const RunFolder& folder, std::size_t rounds, std::size_t pool,
                         std::size_t steps);

/// Seconds of the solver for an answer that is ok: the median of the journal's answers, which a few
/// slow ones on a busy machine do not move, times the answers that it takes for one that is ok.
/// NaN: there are none. Throws Error(data).
double answer_seconds(const RunFolder& folder);

}  // namespace stap
