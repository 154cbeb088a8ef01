#include "couple/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/descriptor.h"
#include "couple/launcher_log.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_make(const fs::path& folder, int error) {
  throw Error(ErrorKind::storage,
              fmt::format("cannot make the folder {}: {}; solver.scratch names another place",
                          folder.string(), std::generic_category().message(error)));
}

// What was opened must be a file: opening a pipe would wait for somebody to write.
Descriptor open_file(const fs::path& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  const bool is_file = fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? std::move(file) : Descriptor();
}

// The last bytes of a file.
std::string tail(const fs::path& path, std::size_t most) {
  const Descriptor file = open_file(path);
  if (file.number() < 0) return {};
  const off_t size = lseek(file.number(), 0, SEEK_END);
  std::string text(std::min(static_cast<std::size_t>(std::max<off_t>(size, 0)), most), '\0');
  const off_t from = size - static_cast<off_t>(text.size());
  const ssize_t n = text.empty() ? 0 : pread(file.number(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

// Makes a folder fit to be kept: no pipes and sockets, nothing huge. What was left out.
std::vector<std::string> cut_down(const fs::path& folder) {
  constexpr std::uintmax_t kFileMost = 64 << 20;
  constexpr std::size_t kLogMost = 1 << 20;
  std::vector<fs::path> unfit;
  std::error_code error;
  if (const fs::path log = folder / "log.txt"; fs::is_regular_file(log, error)) {
    const std::uintmax_t size = fs::file_size(log, error);
    if (!error && size > kLogMost)
      write_text(log, fmt::format("[{} bytes before are left out]\n", size - kLogMost) +
                          tail(log, kLogMost));
  }
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unknown;
    const fs::file_type type = at->symlink_status(unknown).type();
    const bool fit = type == fs::file_type::directory || type == fs::file_type::symlink ||
                     (type == fs::file_type::regular && at->file_size(unknown) <= kFileMost);
    if (!fit) unfit.push_back(at->path());
  }
  std::vector<std::string> names;
  for (const fs::path& path : unfit) {
    fs::remove(path, error);
    names.push_back(path.lexically_relative(folder).string());
  }
  return names;
}

// Moves a folder to a name; false: that is taken. Throws what copying to another file system does.
bool move_to(const fs::path& folder, const fs::path& name) {
  std::error_code error;
  fs::rename(folder, name, error);
  if (!error) return true;
  if (error != std::errc::cross_device_link) return false;
  fs::path aside = name;
  aside += fmt::format(".tmp-{}", getpid());
  try {
    fs::copy(folder, aside, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::rename(aside, name, error);
  } catch (...) {
    remove_folder(aside);
    throw;
  }
  remove_folder(error ? aside : folder);
  return !error;
}

}  // namespace

fs::path Scratch::make(const std::string& name) const {
  fs::path folder = path() / name;
  if (mkdir(folder.c_str(), 0700) != 0) cannot_make(folder, errno);
  return folder;
}

std::string last_words(const fs::path& log) {
  constexpr std::size_t kTail = 4096, kMost = 200;
  const auto says_something = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  std::istringstream lines(tail(log, kTail));
  std::string text, launchers, crash, why;
  const char* remedy = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (!std::ranges::any_of(line, says_something)) continue;  // rulers around a message
    if (!is_of_launcher(line))
      text = line;
    else if (line.find("error: ") != std::string::npos)  // else it tells how it works
      launchers = line;
    if (crash.empty() && tells_crash(line)) crash = line;
    if (const char* known = remedy_for(line); known != nullptr && remedy == nullptr) {
      why = line.substr(0, line.find_last_not_of(", ") + 1);
      remedy = known;
    }
  }
  if (remedy != nullptr) return why + remedy;
  // A launcher has the last word, but what it says of a crash is all that there is to know of it.
  if (text.empty())
    text = crash.empty() ? launchers : crash;
  else if (!crash.empty())
    text = fmt::format("{} ({})", text, crash);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.pop_back();
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
    const auto there = std::count_if(
        fs::directory_iterator(failures, error), fs::directory_iterator(),
        [](const auto& entry) { return !entry.path().filename().string().starts_with('.'); });
    if (error || there >= static_cast<std::ptrdiff_t>(kept)) return false;
    make_folder(folder);
    unlock_folder(folder);
    const std::vector<std::string> left_out = cut_down(folder);
    config::Value about;
    about.set("format", query.params.empty() ? "bundle/1" : "bundle/2");
    about.set("reason", reason);
    about.set("attempt", attempt);
    about.set("time", query.time);
    about.set("steps", query.steps);
    if (!query.params.empty()) about.set("parameters", config::list_of(query.params));
    if (!left_out.empty()) {
      config::Value::List names(left_out.begin(), left_out.end());
      about.set("left_out", config::Value(std::move(names)));
    }
    for (const char* section : {"pde", "solver"})
      if (const config::Value* value = recipe.find(section)) about.set(section, *value);
    std::vector<std::size_t> shape{grid.channels};
    shape.insert(shape.end(), grid.points.begin(), grid.points.end());
    fs::remove(folder / "input.npy", error);  // what is there now may be a link
    write_npy(folder / "input.npy", shape, query.state, false);
    write_text(folder / "bundle.json", config::json_text(about) + "\n");
    for (std::size_t n = 1; n <= kept; ++n) {
      bundle = failures / fmt::format("{:03}", n);
      if (!fs::exists(bundle) && move_to(folder, bundle)) return true;
    }
  } catch (const std::exception&) {  // a full disk must not make it worse
  }
  return false;
}

}  // namespace stap
