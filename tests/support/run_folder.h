#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/run_id.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap::test {

/// The first files of a run of the demo, as a run of this format leaves them, with a test set of
/// this hash (empty: none); metrics.jsonl only where there are lines for it.
inline void write_run_folder(const std::filesystem::path& folder, const std::string& format,
                             const std::string& test_sha256, const std::string& metrics = "") {
  std::filesystem::create_directories(folder);
  const config::Value effective = make_study(load_config("demo")).effective;
  config::Value document;
  document.set("format", format);
  for (const auto& member : *effective.map()) document.set(member.key, member.value);
  Manifest manifest;
  manifest.identity = config::Value(config::Value::Map{});
  if (!test_sha256.empty()) manifest.identity.set("test_sha256", test_sha256);
  manifest.run = run_id(effective, manifest.identity);
  const RunFolder run(folder);
  run.write_manifest(manifest);
  std::ofstream(folder / "config.yaml") << config::yaml_text(document);
  if (format == kRunFormats.back()) run.write_config(effective);
  if (metrics.empty()) return;
  if (format != kRunFormats.back()) {
    std::ofstream(folder / "metrics.jsonl") << metrics;
    return;
  }
  std::vector<std::string> lines;
  std::istringstream in(metrics);
  for (std::string line; std::getline(in, line);)
    lines.push_back("{\"run\":\"" + manifest.run + "\"," + line.substr(1));
  run.write_metrics(lines);
}

}  // namespace stap::test
