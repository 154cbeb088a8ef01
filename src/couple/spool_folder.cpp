#include "couple/spool_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "couple/spool_format.h"
#include "stap/config/files.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char* kAbout = "spool.json";
constexpr const char* kFolders[] = {"problems", "queries", "claimed", "answers",
                                    "servers",  "askers",  "aside"};

[[noreturn]] void cannot_write(const fs::path& file, int error) {
  throw Error(ErrorKind::storage, fmt::format("cannot write {}: {}", file.string(),
                                              std::generic_category().message(error)));
}

}  // namespace

SpoolFolder SpoolFolder::make(const fs::path& path) {
  make_folder(path);
  std::error_code error;
  if (!fs::exists(path / kAbout, error)) {
    for (const std::string& name : names_in(path, false))
      if (std::ranges::find(kFolders, name) == std::end(kFolders) && !name.starts_with(kAbout))
        throw Error(ErrorKind::config,
                    fmt::format("{} holds {} and is no spool: give a new or empty folder",
                                path.string(), name));
  }
  for (const char* name : kFolders) make_folder(path / name);  // some tidy away what is empty
  if (!fs::exists(path / kAbout, error)) {
    Value about;
    about.set("format", kSpoolFormat);
    write_text(path / kAbout, config::json_text(about) + "\n", false);  // last: then it is whole
  }
  return *open(path);
}

std::optional<SpoolFolder> SpoolFolder::open(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    throw Error(
        ErrorKind::data,
        fmt::format("{} is no folder: give the one that solver.spool names", path.string()));
  if (!fs::exists(path / kAbout, error)) {
    for (const std::string& name : names_in(path, true))
      if (std::ranges::find(kFolders, name) == std::end(kFolders) && !name.starts_with(kAbout))
        throw Error(ErrorKind::data,
                    fmt::format("{} is no spool: there is no {}", path.string(), kAbout));
    return std::nullopt;
  }
  const Value about = read_json(path / kAbout);
  if (const auto format = field<std::string>(about, "format", path / kAbout);
      format != kSpoolFormat)
    throw Error(ErrorKind::data, fmt::format("{}: the format is '{}', expected '{}'",
                                             (path / kAbout).string(), format, kSpoolFormat));
  return SpoolFolder(fs::absolute(path));
}

fs::path SpoolFolder::problem(const std::string& id) const {
  return path_ / "problems" / (id + ".json");
}

fs::path SpoolFolder::claim(const std::string& key, const std::string& server) const {
  return path_ / "claimed" / (key + "." + server);
}

void SpoolFolder::put(const fs::path& file, std::span<const std::byte> bytes,
                      const std::string& who, bool forced) const {
  const fs::path aside = path_ / "aside" / who;
  const int out = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0) cannot_write(file, errno);
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t n = write(out, bytes.data(), bytes.size());
    if (n > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR)
      error = n == 0 ? ENOSPC : errno;
  }
  if (error == 0 && forced && fsync(out) != 0) error = errno;
  if (close(out) != 0 && error == 0) error = errno;  // where a full disk of another machine shows
  const auto in_place = [&] { return std::rename(aside.c_str(), file.c_str()) == 0; };
  if (error == 0 && !in_place() && !(errno == EISDIR && remove_file(file) && in_place()))
    error = errno;
  if (error == 0) return;
  unlink(aside.c_str());
  cannot_write(file, error);
}

std::vector<std::string> names_in(const fs::path& folder, bool fresh) {
  // Of a folder that this machine itself has changed, NFS does not keep an old listing.
  if (fresh) utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);
  std::vector<std::string> names;
  DIR* open_folder = opendir(folder.c_str());
  if (open_folder == nullptr) return names;
  while (const dirent* entry = readdir(open_folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(open_folder);
  return names;
}

std::vector<SpoolClaim> claims_in(const SpoolFolder& folder) {
  std::vector<SpoolClaim> claims;
  for (const std::string& name : names_in(folder.folder("claimed"), true))
    if (name.size() > kKeyDigits + 1 && name[kKeyDigits] == '.' &&
        is_spool_key(std::string_view(name).substr(0, kKeyDigits)))
      claims.push_back({name.substr(0, kKeyDigits), name.substr(kKeyDigits + 1)});
  return claims;
}

std::optional<std::vector<std::byte>> bytes_of(const fs::path& file, std::size_t most) {
  const int in = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (in < 0) return std::nullopt;
  struct stat status {};
  std::optional<std::vector<std::byte>> bytes;
  if (fstat(in, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::uint64_t>(status.st_size) <= most) {
    bytes.emplace(static_cast<std::size_t>(status.st_size));
    std::size_t filled = 0;
    while (filled < bytes->size()) {
      const ssize_t n = read(in, bytes->data() + filled, bytes->size() - filled);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      filled += static_cast<std::size_t>(n);
    }
    bytes->resize(filled);
  }
  close(in);
  return bytes;
}

// Where the network loses a reply, the file system tries again and finds nothing to move: whether
// it was moved is then to be seen at the other end.
bool move_file(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return true;
  return errno == ENOENT && access(to.c_str(), F_OK) == 0;
}

bool is_there(const fs::path& file) {
  return access(file.c_str(), F_OK) == 0 || errno != ENOENT;
}

bool remove_file(const fs::path& file) {
  return unlink(file.c_str()) == 0 || (errno == EISDIR && rmdir(file.c_str()) == 0);
}

}  // namespace stap
