#include "core/pending_file.h"
#include "results/analysis_format.h"
#include "stap/config/files.h"
#include "stap/results/sweep_analysis.h"

namespace stap {
namespace {

void write_json(const std::filesystem::path& file, const config::Value& value) {
  remove_leftovers_of(file);
  write_text(file, config::json_text(value) + "\n");
}

}  // namespace

void write_analysis(const RunAnalysis& run) {
  write_arrays(run);
  write_json(run.result.folder / "analysis.json", to_value(run));
}

void write_analysis(const SweepAnalysis& sweep) {
  for (const RunAnalysis& run : sweep.runs) write_analysis(run);
  write_json(sweep.folder / "analysis.json", to_value(sweep));
}

}  // namespace stap
