// The cost analysis of runs and sweeps: from what folders say to a verdict.
#pragma once

#include "stap/results/sweep_analysis.h"

namespace stap {

/// Of a run alone: its seconds, and a verdict if the efficiency is given.
CostAnalysis judge_run(const RunAnalysis& run, const AnalysisOptions& options);
/// Finds every method's baseline and fills in its verdict.
void judge_methods(SweepAnalysis& sweep, const AnalysisOptions& options);

}  // namespace stap
