#include "stap/config/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "core/descriptor.h"
#include "core/pending_file.h"
#include "core/whole_file.h"
#include "stap/core/error.h"

namespace stap {

namespace fs = std::filesystem;

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return;
  std::error_code ignored;
  const fs::path leads_to = fs::read_symlink(path, ignored);
  const bool dangling = !leads_to.empty() && !fs::exists(path, ignored);
  throw Error(ErrorKind::storage,
              fmt::format("cannot make {}: {}", path.string(),
                          dangling ? fmt::format("it is a link to {}, which is not there",
                                                 leads_to.string())
                                   : error.message()));
}

void write_text(const fs::path& path, const std::string& text, bool forced) {
  PendingFile pending(path);
  pending.write(text);
  pending.commit(forced);
}

void write_sealed(const fs::path& path, const std::string& yaml) {
  write_text(path, yaml + seal_line(yaml));
}

void write_sealed_json(const fs::path& path, const std::string& object) {
  write_text(path, seal_json(object));
}

void remove_leftovers(const fs::path& folder,
                      const std::function<bool(const fs::path& file)>& ours) {
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string target = pending_target(entry->path().filename().string());
    if (!target.empty() && ours(entry->path().lexically_relative(folder).parent_path() / target))
      leftovers.push_back(entry->path());
  }
  std::error_code ignored;
  for (const fs::path& path : leftovers) fs::remove(path, ignored);
}

std::string read_text_file(const fs::path& path, std::size_t most) {
  return read_whole_file(path, most, ErrorKind::data);
}

config::Value read_yaml(const fs::path& path, Sealed sealed) {
  std::string text = read_text_file(path, 2 * config::kMaxYamlBytes);
  take_seal(text, path.string(), sealed);
  try {
    return config::parse_yaml(text, path.string());
  } catch (const Error& e) {  // a user's mistake elsewhere, damage here
    throw Error(ErrorKind::data, e.what());
  }
}

config::Value read_json(const fs::path& path, Sealed sealed) {
  std::string text = read_text_file(path, kMaxJsonBytes);
  take_json_seal(text, path.string(), sealed);
  return config::parse_json(text, path.string());
}

config::Value read_sealed_json(const fs::path& path, std::string_view format) {
  std::string text = read_text_file(path, kMaxJsonBytes);
  const Seal seal = take_json_seal(text, path.string());
  config::Value value = config::parse_json(text, path.string());
  check_format(field<std::string>(value, "format", path), format, path);
  if (seal == Seal::none) throw_unsealed(path.string());
  return value;
}

void check_format(std::string_view found, std::string_view expected, const fs::path& where,
                  ErrorKind kind) {
  if (found == expected) return;
  const std::string_view family = expected.substr(0, expected.find('/') + 1);
  const bool is_earlier = found.starts_with(family) && found < expected;
  throw Error(kind,
              fmt::format("{} has the format {}, expected {}{}", where.string(), found, expected,
                          is_earlier ? ": an earlier version of stap made it, and commit "
                                       "98ee7af is the last one that reads it"
                                     : ""));
}

std::vector<JsonLine> read_json_lines(const fs::path& path, bool last_may_be_cut, Sealed sealed) {
  std::vector<JsonLine> lines;
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (error)  // it may be there all the same
      throw Error(kind_of_read_error(error.value(), ErrorKind::data),
                  fmt::format("cannot read {}: {}", path.string(), error.message()));
    return lines;
  }
  const std::string text = read_text_file(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string where = fmt::format("{}, line {}", path.string(), lines.size() + 1);
    if (end == std::string::npos) {
      // What is whole but for its line break was not cut off.
      if (last_may_be_cut &&
          !is_whole_json(std::string_view(text).substr(begin, text.size() - begin - 1)))
        break;
      throw Error(ErrorKind::data, where + " is cut off");
    }
    std::string line = text.substr(begin, end - begin);
    const bool whole = take_json_seal(line, where, sealed) == Seal::whole;
    config::Value value = config::parse_json(line, where);
    if (!value.is_map())
      throw Error(ErrorKind::data,
                  fmt::format("{} is {}, expected an object", where, to_string(value.kind())));
    lines.push_back({std::move(line), std::move(value), where, whole});
    begin = end + 1;
  }
  return lines;
}

namespace {

[[noreturn]] void cannot_write(const fs::path& path) {
  throw Error(ErrorKind::storage,
              fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
}

// Links are not ours, and a pipe would be waited for until somebody reads it.
Descriptor open_to_write(const fs::path& path, int flags) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0666));
  const int error = errno;
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw Error(ErrorKind::storage,
                fmt::format("cannot write {}: it is not a file: remove it", path.string()));
  errno = error;
  if (file.number() < 0) cannot_write(path);
  return file;
}

}  // namespace

void append_lines(const fs::path& path, const std::string& text) {
  const Descriptor file = open_to_write(path, O_CREAT | O_APPEND);
  ssize_t written = 0;
  do written = write(file.number(), text.data(), text.size());
  while (written < 0 && errno == EINTR);
  if (written >= 0 && static_cast<std::size_t>(written) != text.size()) errno = ENOSPC;
  if (static_cast<std::size_t>(written) != text.size()) cannot_write(path);
}

void force_to_disk(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (fsync(open_to_write(path, 0).number()) != 0) cannot_write(path);
}

void cut_torn_line(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  const std::string text = read_text_file(path);
  const std::size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
  if (whole == text.size()) return;
  if (ftruncate(open_to_write(path, 0).number(), static_cast<off_t>(whole)) != 0)
    cannot_write(path);
}

void throw_bad_field(const char* key, const fs::path& path) {
  throw Error(ErrorKind::data,
              fmt::format("{}: {} is missing or of another type", path.string(), key));
}

}  // namespace stap
