#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace stap::test {

/// Every file below a folder that must not depend on how it came about, with its name. Answers,
/// timings and losses come in the order of time; the status, the lock and the reserve are those of
/// now.
inline std::string lasting_bytes(const std::string& folder) {
  namespace fs = std::filesystem;
  constexpr std::array passing{"journal.jsonl", "answers.bin", "timings.jsonl", "losses.jsonl",
                               "status.json",   "lock.json",   "reserve"};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() &&
        std::ranges::find(passing, entry.path().filename().string()) == passing.end())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string bytes;
  for (const fs::path& file : files)
    bytes += fs::relative(file, folder).string() + "\n" + content(file) + "\n";
  return bytes;
}

}  // namespace stap::test
