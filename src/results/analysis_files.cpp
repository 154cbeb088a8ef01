#include <fmt/format.h>

#include "core/pending_file.h"
#include "results/analysis_format.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/results/sweep_analysis.h"

namespace stap {
namespace {

void write_json(const std::filesystem::path& file, const config::Value& value) {
  remove_leftovers_of(file);
  write_sealed_json(file, config::json_text(value));
}

Sealed seal_of(const config::Value& analysis) {
  return config::text_at(analysis, "format") == kAnalysisFormat ? Sealed::always : Sealed::maybe;
}

}  // namespace

config::Value read_analysis(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "analysis.json";
  config::Value value = read_json(file);
  const std::string format = config::text_at(value, "format");
  if (format != kAnalysisFormat && format != "analysis/1")
    throw Error(ErrorKind::data,
                fmt::format("{} is not of format {}: 'stap analyse' makes it again", file.string(),
                            kAnalysisFormat));
  if (seal_of(value) == Sealed::always) read_json(file, Sealed::always);
  if (config::text_at(value, "kind") == "run" && value.find("run") != nullptr &&
      config::text_at(value, "run") != RunFolder(folder).run())
    throw Error(ErrorKind::data,
                fmt::format("{} is the analysis of another run: 'stap analyse' makes it again",
                            file.string()));
  return value;
}

std::filesystem::path analysis_arrays(const std::filesystem::path& folder,
                                      const config::Value& analysis) {
  std::filesystem::path file = folder / "analysis.h5";
  check_seal(file, seal_of(analysis));
  return file;
}

void write_analysis(const RunAnalysis& run) {
  write_arrays(run);
  if (run.shared) RunFolder(run.result.folder).write_extracts(*run.shared, kSharedExtracts);
  write_json(run.result.folder / "analysis.json", to_value(run));
}

void write_analysis(const SweepAnalysis& sweep) {
  for (const RunAnalysis& run : sweep.runs) write_analysis(run);
  write_json(sweep.folder / "analysis.json", to_value(sweep));
}

}  // namespace stap
