#include "core/proc.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>

#include <fmt/format.h>

namespace stap {

std::optional<std::string> proc_text(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? std::optional<std::string>("") : std::nullopt;
  std::string text;
  std::array<char, 1 << 12> bytes;
  ssize_t n = 0;
  while ((n = read(file, bytes.data(), bytes.size())) > 0)
    text.append(bytes.data(), static_cast<std::size_t>(n));
  const int error = errno;
  close(file);
  if (n < 0) return error == ESRCH ? std::optional<std::string>("") : std::nullopt;
  return text;
}

std::optional<ProcessStat> process_stat(long process) {
  const std::optional<std::string> text = proc_text(fmt::format("/proc/{}/stat", process));
  if (!text) return std::nullopt;
  ProcessStat stat;
  const std::size_t name_end = text->rfind(')');  // names may have any character
  if (name_end == std::string::npos) return stat;
  std::istringstream rest(text->substr(name_end + 1));
  std::string state, word;
  rest >> state >> stat.parent >> stat.group >> stat.session;
  if (state == "Z" || state == "X") return stat;  // it has ended, and nobody has taken note
  for (int field = 7; field <= 22; ++field) rest >> word;
  stat.start = word;
  return stat;
}

}  // namespace stap
