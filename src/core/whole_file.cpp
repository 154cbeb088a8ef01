#include "core/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/descriptor.h"
#include "core/shortage.h"

namespace stap {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{1} << 16;

// Reads what there is, up to one byte more than `most`. Empty, or why it cannot be done; `error`,
// if it is the system that says so.
std::string read_up_to(int file, std::size_t most, std::string& text, int& error) {
  struct stat status {};
  if (fstat(file, &status) != 0) return std::strerror(error = errno);
  if (S_ISDIR(status.st_mode)) return "it is a folder, expected a file";
  if (!S_ISREG(status.st_mode)) return "it is no regular file";
  const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  if (size > most) return fmt::format("it has {} bytes, expected at most {}", size, most);
  for (;;) {  // what the system makes up (/proc) has no size beforehand
    const std::size_t before = text.size();
    text.resize(before +
                (before < size ? size - before : std::min(kReadAtOnce, most + 1 - before)));
    const ssize_t n = read(file, text.data() + before, text.size() - before);
    const int failed = n < 0 ? errno : 0;
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && failed != EINTR) return std::strerror(error = failed);
    if (text.size() > most) return fmt::format("it has more than {} bytes", most);
    if (n == 0) return {};
  }
}

}  // namespace

ErrorKind kind_of_read_error(int error, ErrorKind otherwise) {
  if (error == EIO) return ErrorKind::storage;
  return is_shortage(error) ? ErrorKind::unavailable : otherwise;
}

std::string read_whole_file(const std::filesystem::path& path, std::size_t most, ErrorKind kind) {
  // Not to be waited for: a pipe without a writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  int error = errno;
  std::string text;
  const std::string problem =
      file.number() < 0 ? std::strerror(error) : read_up_to(file.number(), most, text, error);
  if (!problem.empty())
    throw Error(kind_of_read_error(error, kind),
                fmt::format("cannot read {}: {}", path.string(), problem));
  return text;
}

}  // namespace stap
