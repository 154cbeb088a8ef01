// A journal of which single bytes were changed.
#include <optional>

#include <fmt/format.h>

#include "core/lease.h"
#include "core/mend.h"
#include "journal/append_file.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/seal.h"
#include "stap/journal/journal.h"

namespace stap {
namespace {

// A line break that is gone has joined two lines.
std::optional<std::string> split(std::string_view line) {
  for (std::size_t at = line.find(kJsonSeal, 1); at != line.npos; at = line.find(kJsonSeal, at + 1))
    if (is_whole_json(line.substr(0, at - 1)))
      return fmt::format("{}\n{}", line.substr(0, at - 1), line.substr(at));
  return std::nullopt;
}

// A line break too many has cut one.
std::optional<std::string> joined(std::string_view first, std::string_view second) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string line = fmt::format("{}{}{}", first, static_cast<char>(byte), second);
    if (is_whole_json(line)) return line;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> mended_journal(std::string text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t stop = text.find('\n', begin);
    const std::size_t end = stop == text.npos ? text.size() : stop;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (is_whole_json(line)) {
      begin = end + 1;
      continue;
    }
    const std::size_t next = stop == text.npos ? text.npos : text.find('\n', end + 1);
    const bool followed = next != text.npos;
    const std::string_view behind =
        std::string_view(text).substr(followed ? end + 1 : 0, followed ? next - end - 1 : 0);
    if (line.ends_with('\r') && is_whole_json(line.substr(0, line.size() - 1))) {
      text.erase(end - 1, 1);
    } else if (std::optional<std::string> two = split(line)) {
      text.replace(begin, line.size(), *two);
    } else if (std::optional<std::string> one = mended_json(line)) {
      text.replace(begin, line.size(), *one);
    } else if (std::optional<std::string> whole = followed ? joined(line, behind) : std::nullopt) {
      text.replace(begin, line.size() + 1 + behind.size(), *whole);
    } else if (stop != text.npos && line.empty()) {  // of an editor's
      text.erase(begin, 1);
    } else if (stop == text.npos && !line.empty() &&
               is_whole_json(line.substr(0, line.size() - 1))) {
      text.back() = '\n';
    } else if (stop == text.npos) {
      return text;  // cut off by a crash: not our business
    } else {
      return std::nullopt;
    }
  }
  return text;
}

bool mend_journal(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  // Who has it open does not read it again, and would go on with what is not there any more.
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  AppendFile file(path);
  if (!file.lock()) throw InUse(in_use_text(folder));
  const auto lock = lock_folder(folder);
  const std::string text = read_text_file(path);
  const std::optional<std::string> mended = mended_journal(text);
  if (!mended || *mended == text) return false;
  write_text(path, *mended);
  return true;
}

}  // namespace stap
