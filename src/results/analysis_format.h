// The files of an analysis.
#pragma once

#include "stap/results/run_analysis.h"

namespace stap {

/// Puts analysis.h5 into the run's folder. Throws Error(storage).
void write_arrays(const RunAnalysis& analysis);

}  // namespace stap
