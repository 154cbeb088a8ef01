#include "stap/core/seal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "core/descriptor.h"
#include "core/whole_file.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// A change of one byte leaves at least one of the two names readable: what has one of them had a
// seal.
constexpr std::string_view kName = "stap-seal", kLastName = "stap-seal-end";
constexpr std::size_t kLineBytes = 71;
constexpr std::size_t kJsonRest = kJsonSeal.size() + 8 + 2;  // behind checksum, quote and comma
constexpr std::size_t kChunk = std::size_t{1} << 20;

std::uint32_t checksum(std::string_view text, std::uint32_t before = 0) {
  return crc32c(std::as_bytes(std::span(text)), before);
}

std::string line_of(std::uint32_t crc, std::uint64_t bytes) {
  return fmt::format("# {}/1 crc32c={:08x} bytes={:020} {}\n", kName, crc, bytes, kLastName);
}

// An open file, to be read from its beginning or at a place.
class Input {
 public:
  // A pipe that nobody writes to would be waited for.
  explicit Input(const fs::path& path)
      : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_.number() < 0 || fstat(file_.number(), &about_) != 0) fail();
    if (!S_ISREG(about_.st_mode))
      throw Error(ErrorKind::data, fmt::format("{} is no regular file", path.string()));
  }

  const struct stat& about() const { return about_; }
  std::uint64_t size() const { return static_cast<std::uint64_t>(about_.st_size); }
  void read(std::uint64_t offset, std::span<char> bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = pread(file_.number(), bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail();
      if (n == 0) throw Error(ErrorKind::data, fmt::format("{} is cut off", path_.string()));
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(kind_of_read_error(errno, ErrorKind::data),
                fmt::format("cannot read {}: {}", path_.string(), std::strerror(errno)));
  }

  const fs::path& path_;
  Descriptor file_;
  struct stat about_ {};
};

std::uint32_t checksum(const Input& input, std::uint64_t bytes) {
  std::vector<char> chunk(std::min<std::uint64_t>(bytes, kChunk));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::span<char> part(chunk.data(), static_cast<std::size_t>(std::min<std::uint64_t>(
                                                 chunk.size(), bytes - done)));
    input.read(done, part);
    crc = crc32c(std::as_bytes(part), crc);
    done += part.size();
  }
  return crc;
}

// Files that were found whole, by what a change of them changes. A file is read in many small
// calls, each of which asks.
class KnownFiles {
 public:
  using Key = std::tuple<dev_t, ino_t, off_t, time_t, long, time_t, long>;
  static Key key(const struct stat& s) {
    return {s.st_dev,          s.st_ino,         s.st_size,        s.st_mtim.tv_sec,
            s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec};
  }
  // Clocks of file systems tick slowly: a file changed just now may change again unseen.
  static bool settled(const struct stat& s) {
    constexpr time_t kSettled = 2;  // seconds
    const time_t now = std::time(nullptr);
    return s.st_ctim.tv_sec + kSettled < now;
  }
  bool has(const Key& key) {
    const std::lock_guard lock(mutex_);
    return known_.contains(key);
  }
  void add(const Key& key) {
    const std::lock_guard lock(mutex_);
    if (known_.size() > 1000) known_.clear();
    known_.insert(key);
  }

 private:
  std::mutex mutex_;
  std::set<Key> known_;
};

KnownFiles& known_files() {
  static KnownFiles known;
  return known;
}

}  // namespace

void throw_damaged(const std::string& where) {
  throw Error(ErrorKind::data, where +
                                   " is damaged: its checksum does not fit ('stap fsck' tells "
                                   "what can be rebuilt)");
}

void throw_unsealed(const std::string& where) {
  throw Error(ErrorKind::data, where +
                                   " is damaged: it has no checksum, though it was written "
                                   "with one");
}

std::string seal_line(std::string_view content) {
  return line_of(checksum(content), content.size());
}

Seal take_seal(std::string& text, const std::string& where, Sealed sealed) {
  const std::size_t tail = text.size() - std::min(text.size(), 2 * kLineBytes);
  if (text.find(kName, tail) == std::string::npos) {
    if (sealed == Sealed::always) throw_unsealed(where);
    return Seal::none;
  }
  const std::size_t content = text.size() - std::min(text.size(), kLineBytes);
  if (text.substr(content) != seal_line(std::string_view(text).substr(0, content)))
    throw_damaged(where);
  text.resize(content);
  return Seal::whole;
}

void add_seal(int file, const fs::path& target) {
  const auto fail = [&] {
    throw Error(ErrorKind::storage,
                fmt::format("cannot write {}: {}", target.string(), std::strerror(errno)));
  };
  std::vector<char> chunk(kChunk);
  std::uint32_t crc = 0;
  std::uint64_t bytes = 0;
  for (;;) {
    const ssize_t n = pread(file, chunk.data(), chunk.size(), static_cast<off_t>(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    if (n == 0) break;
    crc = crc32c(std::as_bytes(std::span(chunk).first(static_cast<std::size_t>(n))), crc);
    bytes += static_cast<std::uint64_t>(n);
  }
  const std::string line = line_of(crc, bytes);
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n =
        pwrite(file, line.data() + done, line.size() - done, static_cast<off_t>(bytes + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    done += static_cast<std::size_t>(n);
  }
}

Seal check_seal(const fs::path& path, Sealed sealed) {
  const Input input(path);
  const KnownFiles::Key key = KnownFiles::key(input.about());
  if (known_files().has(key)) return Seal::whole;
  const std::uint64_t size = input.size();
  std::string tail(std::min<std::uint64_t>(size, 2 * kLineBytes), '\0');
  input.read(size - tail.size(), tail);
  if (tail.find(kName) == std::string::npos) {
    if (sealed == Sealed::always) throw_unsealed(path.string());
    return Seal::none;
  }
  const std::uint64_t content = size - std::min<std::uint64_t>(size, kLineBytes);
  if (!tail.ends_with(line_of(checksum(input, content), content))) throw_damaged(path.string());
  if (KnownFiles::settled(input.about())) known_files().add(key);
  return Seal::whole;
}

std::string seal_json(std::string_view object) {
  const std::string_view rest = object.substr(1);
  return fmt::format("{}{:08x}\",{}", kJsonSeal, checksum(rest), rest);
}

bool is_whole_json(std::string_view text) {
  return text.size() > kJsonRest && text.starts_with(kJsonSeal) &&
         text.substr(kJsonSeal.size(), kJsonRest - kJsonSeal.size()) ==
             fmt::format("{:08x}\",", checksum(text.substr(kJsonRest)));
}

Seal take_json_seal(std::string& text, const std::string& where, Sealed sealed) {
  if (is_whole_json(text)) {
    text.erase(1, kJsonRest - 1);
    return Seal::whole;
  }
  if (text.starts_with(kJsonSeal)) throw_damaged(where);
  if (sealed == Sealed::always) throw_unsealed(where);
  return Seal::none;
}

}  // namespace stap
