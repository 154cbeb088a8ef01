#include "results/analysis_format.h"
#include "stap/config/files.h"
#include "stap/results/sweep_analysis.h"

namespace stap {

void write_analysis(const RunAnalysis& run) {
  write_arrays(run);
  write_text(run.result.folder / "analysis.json", config::json_text(to_value(run)) + "\n");
}

void write_analysis(const SweepAnalysis& sweep) {
  for (const RunAnalysis& run : sweep.runs) write_analysis(run);
  write_text(sweep.folder / "analysis.json", config::json_text(to_value(sweep)) + "\n");
}

}  // namespace stap
