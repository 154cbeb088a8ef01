#include "stap/journal/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"

// A line: {"crc":"0123abcd",REST where REST is the rest of a JSON object and the checksum is
// REST's.
namespace stap {
namespace {

std::uint32_t crc32c(std::string_view text) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0u);
      entries[i] = c;
    }
    return entries;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (char c : text) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

constexpr std::string_view kStart = "{\"crc\":\"";
constexpr std::size_t kRest = kStart.size() + 8 + 2;  // behind the checksum, its quote and a comma

std::string to_text(std::uint64_t sequence, std::string_view type, const config::Value& body) {
  const std::string rest = fmt::format("\"seq\":{},\"type\":\"{}\",\"body\":{}}}", sequence, type,
                                       config::json_text(body, 0));
  return fmt::format("{}{:08x}\",{}\n", kStart, crc32c(rest), rest);
}

// False if the checksum does not fit, as in a line that was cut off.
bool intact(std::string_view line) {
  return line.size() > kRest && line.starts_with(kStart) &&
         line.substr(kStart.size(), 8) == fmt::format("{:08x}", crc32c(line.substr(kRest)));
}

JournalLine parse(std::string_view line, const std::string& source) {
  config::Value value = config::parse_json(line, source);
  const config::Value* sequence = value.find("seq");
  const config::Value* type = value.find("type");
  config::Value* body = value.find("body");
  if (sequence == nullptr || !sequence->integer<std::uint64_t>() || type == nullptr ||
      type->text() == nullptr || body == nullptr)
    throw Error(ErrorKind::data, source + " is not a line of a journal");
  return {*sequence->integer<std::uint64_t>(), *type->text(), std::move(*body)};
}

// Empties the text under a key. Quotes inside of texts are escaped, so nothing else looks like one.
std::string without_text(std::string_view line, std::string_view key) {
  const std::string start = fmt::format("\"{}\":\"", key);
  const std::size_t begin = line.find(start);
  if (begin == std::string_view::npos) return std::string(line);
  std::size_t end = begin + start.size();
  while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
  return std::string(line.substr(0, begin + start.size()))
      .append(line.substr(std::min(end, line.size())));
}

// Whole, intact lines from the start, less the texts under `without`, if that is not empty; `good`
// becomes the number of their bytes.
std::vector<JournalLine> parse_lines(const std::string& text, const std::filesystem::path& path,
                                     std::string_view without, std::size_t& good) {
  std::vector<JournalLine> lines;
  good = 0;
  while (good < text.size()) {
    const std::size_t end = text.find('\n', good);
    const std::string_view line = std::string_view(text).substr(good, end - good);
    const std::string source = fmt::format("{}, line {}", path.string(), lines.size() + 1);
    if (end == std::string::npos || !intact(line)) {
      if (end != std::string::npos && end + 1 < text.size())
        throw Error(ErrorKind::data,
                    fmt::format("{} is damaged: its checksum does not fit", source));
      break;
    }
    lines.push_back(without.empty() ? parse(line, source)
                                    : parse(without_text(line, without), source));
    if (lines.back().sequence != lines.size() - 1)
      throw Error(ErrorKind::data, fmt::format("{} has number {}, expected {}", source,
                                               lines.back().sequence, lines.size() - 1));
    good = end + 1;
  }
  return lines;
}

// All of it, in large pieces.
std::string rest_of(std::ifstream& in) {
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

}  // namespace

Journal::Journal(std::filesystem::path path) : path_(std::move(path)) {
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail(errno);
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    close(std::exchange(file_, -1));
    if (error != EWOULDBLOCK) fail(error);
    throw Error(ErrorKind::storage,
                fmt::format("{} is in use: another process works in this folder", path_.string()));
  }
  try {
    read();
  } catch (...) {
    close(file_);
    throw;
  }
}

void Journal::fail(int error) const {
  throw Error(ErrorKind::storage,
              fmt::format("cannot write {}: {}", path_.string(), std::strerror(error)));
}

// Reads all whole lines and cuts off what is left of one that was being written.
void Journal::read() {
  std::ifstream in(path_, std::ios::binary);
  const std::string text = rest_of(in);
  std::size_t good = 0;
  lines_ = parse_lines(text, path_, {}, good);
  if (ftruncate(file_, static_cast<off_t>(good)) != 0 || lseek(file_, 0, SEEK_END) < 0) fail(errno);
}

std::vector<JournalLine> read_journal(const std::filesystem::path& path, std::string_view without) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorKind::data, fmt::format("cannot read {}", path.string()));
  const std::string text = rest_of(in);
  std::size_t good = 0;
  return parse_lines(text, path, without, good);
}

Journal::~Journal() {
  if (file_ >= 0) close(file_);
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)), file_(other.file_), lines_(std::move(other.lines_)) {
  other.file_ = -1;
}

void Journal::append(std::string_view type, config::Value body) {
  const std::string line = to_text(lines_.size(), type, body);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = write(file_, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno);
    written += static_cast<std::size_t>(n);
  }
  if (fsync(file_) != 0) fail(errno);
  lines_.push_back({lines_.size(), std::string(type), std::move(body)});
}

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encode_doubles(const std::vector<double>& values) {
  const std::size_t bytes = values.size() * sizeof(double);
  const auto* data = reinterpret_cast<const unsigned char*>(values.data());
  auto byte = [&](std::size_t i) { return i < bytes ? std::uint32_t{data[i]} : 0u; };
  std::string text;
  text.reserve((bytes + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes; i += 3) {
    const std::uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k > bytes ? '=' : kDigits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

std::vector<double> decode_doubles(std::string_view text) {
  auto bad = [] { return Error(ErrorKind::data, "text that should hold numbers is damaged"); };
  while (text.ends_with('=')) text.remove_suffix(1);
  const std::size_t bytes = text.size() * 6 / 8;
  if (bytes % sizeof(double) != 0) throw bad();
  std::vector<double> values(bytes / sizeof(double));
  auto* data = reinterpret_cast<unsigned char*>(values.data());
  std::uint32_t bits = 0;
  int held = 0;
  std::size_t next = 0;
  for (char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) throw bad();
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    if (next < bytes) data[next++] = static_cast<unsigned char>(bits >> held & 0xff);
  }
  return values;
}

}  // namespace stap
