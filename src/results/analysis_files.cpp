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
  write_text(file, config::json_text(value) + "\n");
}

}  // namespace

config::Value read_analysis(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "analysis.json";
  config::Value value = read_json(file);
  const auto text = [&](const char* key) {
    const config::Value* there = value.find(key);
    return there != nullptr && there->text() != nullptr ? *there->text() : std::string();
  };
  if (text("format") != kAnalysisFormat)
    throw Error(ErrorKind::data,
                fmt::format("{} is not of format {}: 'stap analyse' makes it again", file.string(),
                            kAnalysisFormat));
  if (text("kind") == "run" && value.find("run") != nullptr &&
      text("run") != RunFolder(folder).run())
    throw Error(ErrorKind::data,
                fmt::format("{} is the analysis of another run: 'stap analyse' makes it again",
                            file.string()));
  return value;
}

void write_analysis(const RunAnalysis& run) {
  write_arrays(run);
  write_json(run.result.folder / "analysis.json", to_value(run));
}

void write_analysis(const SweepAnalysis& sweep) {
  for (const RunAnalysis& run : sweep.runs) write_analysis(run);
  write_json(sweep.folder / "analysis.json", to_value(sweep));
}

}  // namespace stap
