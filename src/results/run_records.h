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

/// The journal's answers of the solver.
struct AnswerTotals {
  double seconds = 0;         ///< of all of them
  std::size_t delivered = 0;  ///< how many were ok
};
/// Throws Error(data).
AnswerTotals answer_totals(const RunFolder& folder);

}  // namespace stap
