#include "couple/scratch.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "stap-scratch-";

[[noreturn]] void cannot_make(const fs::path& folder, int error) {
  throw Error(ErrorKind::storage,
              fmt::format("cannot make the folder {}: {}; solver.scratch names another place",
                          folder.string(), std::generic_category().message(error)));
}

// Folders of ours whose process is gone.
void remove_old(const fs::path& place) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    pid_t pid = 0;
    const char* digits = name.data() + kPrefix.size();
    const auto [end, failure] = std::from_chars(digits, name.data() + name.size(), pid);
    if (failure != std::errc() || *end != '-' || pid <= 0) continue;
    struct stat status {};
    const bool ours = lstat(entry.path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == geteuid();
    if (ours && kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), error);
  }
}

}  // namespace

Scratch::Scratch(const fs::path& place) {
  std::error_code error;
  const fs::path base = !place.empty() ? place : fs::temp_directory_path(error);
  make_folder(base);
  remove_old(base);
  std::string name = (base / fmt::format("{}{}-XXXXXX", kPrefix, getpid())).string();
  if (mkdtemp(name.data()) == nullptr) cannot_make(name, errno);
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path Scratch::make(const std::string& name) const {
  fs::path folder = path_ / name;
  if (mkdir(folder.c_str(), 0700) != 0) cannot_make(folder, errno);
  return folder;
}

std::string last_words(const fs::path& log) {
  constexpr std::streamoff kTail = 4096;
  constexpr std::size_t kMost = 200;
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  std::string text(static_cast<std::size_t>(std::min(size, kTail)), '\0');
  file.seekg(size - static_cast<std::streamoff>(text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  const auto is_space = [](unsigned char c) { return c <= ' '; };
  while (!text.empty() && is_space(static_cast<unsigned char>(text.back()))) text.pop_back();
  text.erase(0, text.find_last_of('\n') + 1);
  if (text.size() > kMost) text = "..." + text.substr(text.size() - kMost);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 127) c = '?';
  return text;
}

std::size_t files_below(const fs::path& folder, std::size_t most) {
  std::size_t count = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (!at->is_directory(error) && ++count > most) break;
  return count;
}

bool keep_bundle(const fs::path& folder, const fs::path& failures, std::size_t kept,
                 const config::Value& recipe, const Grid& grid, const Query& query, int attempt,
                 const std::string& reason, fs::path& bundle) {
  if (failures.empty() || kept == 0) return false;
  try {
    make_folder(failures);
    std::error_code error;
    const auto there = std::distance(fs::directory_iterator(failures, error), {});
    if (error || there >= static_cast<std::ptrdiff_t>(kept)) return false;
    config::Value about;
    about.set("format", "bundle/1");
    about.set("reason", reason);
    about.set("attempt", attempt);
    about.set("time", query.time);
    about.set("steps", query.steps);
    for (const char* section : {"pde", "solver"})
      if (const config::Value* value = recipe.find(section)) about.set(section, *value);
    std::vector<std::size_t> shape{grid.channels};
    shape.insert(shape.end(), grid.points.begin(), grid.points.end());
    write_npy(folder / "input.npy", shape, query.state, false);
    write_text(folder / "bundle.json", config::json_text(about) + "\n");
    for (std::size_t n = 1; n <= kept; ++n) {
      bundle = failures / fmt::format("{:03}", n);
      if (fs::exists(bundle)) continue;
      fs::rename(folder, bundle, error);
      if (error) {  // another file system
        fs::copy(folder, bundle, fs::copy_options::recursive);
        fs::remove_all(folder, error);
      }
      return true;
    }
  } catch (const std::exception&) {  // a full disk must not make it worse
  }
  return false;
}

}  // namespace stap
