#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/run_id.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap::test {

/// The first files of a run of the demo, or of another document, as a run leaves them, with a test
/// set of this hash (empty: none); metrics.jsonl only where there are lines for it.
inline void write_run_folder(
    const std::filesystem::path& folder, const std::string& test_sha256,
    const std::string& metrics = "",
    const config::Value& document = make_study(load_config("demo")).effective) {
  std::filesystem::create_directories(folder);
  Manifest manifest;
  manifest.identity = config::Value(config::Value::Map{});
  if (!test_sha256.empty()) manifest.identity.set("test_sha256", test_sha256);
  manifest.run = run_id(document, manifest.identity);
  const RunFolder run(folder);
  run.write_manifest(manifest);
  run.write_config(document);
  if (metrics.empty()) return;
  std::vector<std::string> lines;
  std::istringstream in(metrics);
  for (std::string line; std::getline(in, line);)
    lines.push_back("{\"run\":\"" + manifest.run + "\"," + line.substr(1));
  run.write_metrics(lines);
}

}  // namespace stap::test
