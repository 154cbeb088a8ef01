#include "couple/spool_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "couple/connection.h"
#include "couple/spool_format.h"
#include "couple/spool_problem.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/shown_text.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char* kAbout = "spool.json";
constexpr std::size_t kAboutMost = std::size_t{16} << 20;  // bytes of it, and of a problem's file
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
// Of what is made here, whatever the umask: nobody else is to put a query, an answer or a program
// there.
constexpr mode_t kFolderMode = 0777 & ~kOthersWrite, kFileMode = 0666 & ~kOthersWrite;
constexpr const char* kFolders[] = {"problems", "queries", "claimed", "answers",
                                    "servers",  "askers",  "aside"};

[[noreturn]] void cannot_write(const fs::path& file, int error) {
  throw Error(ErrorKind::storage, fmt::format("cannot write {}: {}", file.string(),
                                              std::generic_category().message(error)));
}

[[noreturn]] void cannot_read(const fs::path& file, int error) {
  throw Error(ErrorKind::data, fmt::format("cannot read {}: {}", file.string(),
                                           std::generic_category().message(error)));
}

// The whole of an open file; empty: it is no regular file, or longer.
template <class Bytes>
std::optional<Bytes> read_all(int in, std::size_t most) {
  struct stat status {};
  if (fstat(in, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > most)
    return std::nullopt;
  Bytes bytes(static_cast<std::size_t>(status.st_size), {});
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t n = read(in, bytes.data() + filled, bytes.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    filled += static_cast<std::size_t>(n);
  }
  bytes.resize(filled);
  return bytes;
}

// Looks at what is open, in whose place nothing can be put any more.
struct stat status_of(const fs::path& path, int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) cannot_read(path, errno);
  return status;
}

void check_owner(const fs::path& path, int file) {
  const uid_t owner = status_of(path, file).st_uid;
  if (owner == geteuid() || owner == 0) return;
  throw Error(ErrorKind::config,
              fmt::format("{} belongs to user {}, and you are user {}: a server starts the program "
                          "that its folder names, so it takes folders of your own; with "
                          "--trust-folder that of whoever you trust to run programs as you",
                          path.string(), owner, geteuid()));
}

void check_rights(const fs::path& path, int file) {
  mode_t mode = status_of(path, file).st_mode;
  if ((mode & kOthersWrite) != 0) {
    // NFS may remember what was before the run took the rights away, but not of what we touch.
    futimens(file, nullptr);
    mode = status_of(path, file).st_mode;
  }
  if ((mode & kOthersWrite) == 0) return;
  throw Error(ErrorKind::config,
              fmt::format("group or others may write in {} (mode {:o}), and so choose the program "
                          "that a server starts: use 'chmod go-w {}', or give --trust-folder if "
                          "you trust them to run programs as you",
                          path.string(), mode & 07777, shell_quoted(path.string())));
}

// What a folder has below it, opened; no number: there is nothing.
Descriptor open_below(const fs::path& folder, const fs::path& below, Whose whose) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  const bool checked = whose == Whose::ours;
  std::vector<std::pair<fs::path, Descriptor>> way;
  int next = open(folder.c_str(), kFlags | O_DIRECTORY), error = errno;
  way.emplace_back(folder, next);
  for (auto part = below.begin(); next >= 0 && part != below.end(); ++part) {
    next = openat(next, part->c_str(), checked ? kFlags | O_NOFOLLOW : kFlags);
    error = errno;
    way.emplace_back(way.back().first / *part, next);
  }
  auto& [path, opened] = way.back();
  if (next < 0) {
    if (checked && error == ELOOP)
      throw Error(ErrorKind::config,
                  fmt::format("{} is a link, which a spool that a run has made does not have: give "
                              "solver.spool a new folder, or serve it with --trust-folder",
                              path.string()));
    if (error != ENOENT) cannot_read(path, error);
    if (checked && way.size() > 1) check_owner(folder, way.front().second.number());
    return {};
  }
  if (checked)
    for (const auto& [name, one] : way) check_owner(name, one.number());
  if (checked)  // last: a run that makes a spool takes rights away before anything is there
    for (const auto& [name, one] : way) check_rights(name, one.number());
  return std::move(opened);
}

// The text of a file below a folder; empty: there is none.
std::optional<std::string> text_below(const fs::path& folder, const fs::path& file, Whose whose) {
  const Descriptor opened = open_below(folder, file, whose);
  if (opened.number() < 0) return std::nullopt;
  auto text = read_all<std::string>(opened.number(), kAboutMost);
  if (!text)
    throw Error(ErrorKind::data,
                fmt::format("{} is no file, or a large one", (folder / file).string()));
  return text;
}

// For what a server acts on.
void put_own(const fs::path& file, const std::string& text) {
  rmdir(file.c_str());  // an empty folder of that name, which nobody of us makes
  remove_leftovers_of(file);
  PendingFile pending(file, kFileMode);
  pending.write(text);
  pending.commit();
}

// A folder that a user has made may be open to a group. Where the rights cannot be set, servers say
// so.
void take_rights_away(const fs::path& path) {
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() < 0) return;
  const struct stat status = status_of(path, folder.number());
  if (status.st_uid == geteuid() && (status.st_mode & kOthersWrite) != 0)
    fchmod(folder.number(), status.st_mode & 07777 & ~kOthersWrite);
}

std::string about_text() {
  Value about;
  about.set("format", kSpoolFormat);
  return sealed_text(about);
}

}  // namespace

void SpoolFolder::keep_about() const {
  if (text_below(path_, kAbout, whose_) != about_text()) put_own(path_ / kAbout, about_text());
}

SpoolFolder SpoolFolder::make(const fs::path& path) {
  make_folder(path);
  std::error_code error;
  if (!fs::exists(path / kAbout, error)) {
    for (const std::string& name : names_in(path, false))
      if (std::ranges::find(kFolders, name) == std::end(kFolders) && !name.starts_with(kAbout))
        throw Error(ErrorKind::config,
                    fmt::format("{} holds {} and is no spool: give a new or empty folder",
                                path.string(), name));
    take_rights_away(path);
    take_rights_away(path / "problems");
  }
  for (const char* name : kFolders) {  // some tidy away what is empty
    mkdir((path / name).c_str(), kFolderMode);
    make_folder(path / name);  // says why it could not be made
  }
  if (!fs::exists(path / kAbout, error)) put_own(path / kAbout, about_text());  // then it is whole
  return *open(path);
}

std::optional<SpoolFolder> SpoolFolder::open(const fs::path& path, Whose whose) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    throw Error(
        ErrorKind::data,
        fmt::format("{} is no folder: give the one that solver.spool names", path.string()));
  const auto text = text_below(path, kAbout, whose);
  if (!text) {
    for (const std::string& name : names_in(path, true))
      if (std::ranges::find(kFolders, name) == std::end(kFolders) && !name.starts_with(kAbout))
        throw Error(ErrorKind::data,
                    fmt::format("{} is no spool: there is no {}", path.string(), kAbout));
    return std::nullopt;
  }
  try {
    sealed_value(*text, path / kAbout);
  } catch (const Error& error_of_it) {
    throw Error(error_of_it.kind(),
                fmt::format("{}; give solver.spool a new folder", error_of_it.what()));
  }
  open_below(path, "problems", whose);  // said before a query comes
  return SpoolFolder(fs::absolute(path), whose);
}

std::optional<std::string> SpoolFolder::problem_text(const std::string& id) const {
  return text_below(path_, fs::path("problems") / (id + ".json"), whose_);
}

void SpoolFolder::put_problem(const std::string& id, const std::string& text) const {
  put_own(problem(id), text);
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
  // Never what is there, which may be a link to something else.
  const auto made = [&] {
    return ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  };
  int out = made();
  if (out < 0 && errno == EEXIST && unlink(aside.c_str()) == 0) out = made();
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
  const Descriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in.number() < 0) return std::nullopt;
  return read_all<std::vector<std::byte>>(in.number(), most);
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
