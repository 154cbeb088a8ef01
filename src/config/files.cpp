#include "stap/config/files.h"

#include <fstream>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "stap/core/error.h"

namespace stap {

namespace fs = std::filesystem;

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    throw Error(ErrorKind::storage,
                fmt::format("cannot make {}: {}", path.string(), error.message()));
}

void write_text(const fs::path& path, const std::string& text) {
  PendingFile pending(path);
  std::ofstream out(pending.temporary(), std::ios::binary);
  out << text;
  out.close();
  if (!out) throw Error(ErrorKind::storage, fmt::format("cannot write {}", path.string()));
  pending.commit();
}

void remove_leftovers(const fs::path& folder) {
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().filename().string().find(".tmp-") != std::string::npos)
      leftovers.push_back(entry.path());
  std::error_code ignored;
  for (const fs::path& path : leftovers) fs::remove(path, ignored);
}

std::string read_text_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorKind::data, fmt::format("cannot read {}", path.string()));
  return {std::istreambuf_iterator<char>(in), {}};
}

config::Value read_document(const fs::path& path) {
  const std::string text = read_text_file(path);
  try {
    return config::parse_yaml(text, path.string());
  } catch (const Error& e) {  // a user's mistake elsewhere, damage here
    throw Error(ErrorKind::data, e.what());
  }
}

void throw_bad_field(const char* key, const fs::path& path) {
  throw Error(ErrorKind::data,
              fmt::format("{}: {} is missing or of another type", path.string(), key));
}

}  // namespace stap
