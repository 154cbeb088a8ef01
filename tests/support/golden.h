#pragma once

// Files of values from independent programs. The directory is STAP_GOLDEN_DIR in the environment,
// else the project's own copy.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "stap/data/store.h"

namespace stap::test {

inline std::filesystem::path golden_folder() {
  const char* chosen = std::getenv("STAP_GOLDEN_DIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : STAP_TEST_GOLDEN_DIR;
}

/// The .h5 files of a folder whose name starts with `prefix`, sorted; none if there is no folder.
inline std::vector<std::filesystem::path> files_of_case(const std::filesystem::path& folder,
                                                        const std::string& prefix) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".h5" && entry.path().filename().string().starts_with(prefix))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<std::filesystem::path> golden_files(const std::string& prefix) {
  return files_of_case(golden_folder(), prefix);
}

/// A number that the file states about itself.
inline double stated(const std::filesystem::path& file, const std::string& name) {
  return read_attribute(file, "/", name).values.at(0);
}
inline double stated_or(const std::filesystem::path& file, const std::string& name,
                        double otherwise) {
  return has_attribute(file, "/", name) ? stated(file, name) : otherwise;
}

}  // namespace stap::test
