#include "couple/spool_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "couple/frames.h"
#include "stap/core/sha256.h"

namespace stap {
namespace {

static_assert(std::endian::native == std::endian::little, "files are copied in memory order");

constexpr std::string_view kMagic = "STAPSPL1";
constexpr std::uint32_t kQuery = 1, kAnswer = 2;
constexpr std::size_t kParametersMost = 1000, kStepsMost = 1000000;

// In front of the numbers of either kind of file; no bytes between its members.
struct Header {
  char magic[8];
  std::uint32_t kind;
  std::uint32_t checksum;  // of all that follows
  char key[kKeyDigits];
  std::uint64_t steps;   // a query's; or the states of an answer
  std::uint64_t values;  // of a state
  std::uint64_t others;  // parameters behind a query's state; bytes of an answer's reason
  double number;         // time, or seconds
  std::uint32_t status, attempts;
};
static_assert(sizeof(Header) == 16 + kKeyDigits + 40);
constexpr std::size_t kChecked = offsetof(Header, key);

class Digest {
 public:
  template <class Number>
  Digest& number(Number value) {
    sha256_.add(std::as_bytes(std::span(&value, 1)));
    return *this;
  }
  Digest& numbers(std::span<const double> values) {
    number<std::uint64_t>(values.size());
    sha256_.add(std::as_bytes(values));
    return *this;
  }
  Digest& text(std::string_view text) {
    number<std::uint64_t>(text.size());
    sha256_.add(std::as_bytes(std::span(text)));
    return *this;
  }
  std::string digits(std::size_t count) const { return sha256_.hex().substr(0, count); }

 private:
  Sha256 sha256_;
};

std::vector<std::byte> file_of(Header header, const std::string& key,
                               std::span<const std::byte> first,
                               std::span<const std::byte> second) {
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  std::memcpy(header.key, key.data(), kKeyDigits);
  std::vector<std::byte> bytes(sizeof header + first.size() + second.size());
  auto end = std::ranges::copy(std::as_bytes(std::span(&header, 1)), bytes.begin()).out;
  end = std::ranges::copy(first, end).out;
  std::ranges::copy(second, end);
  const std::uint32_t checksum = crc32c(std::span(bytes).subspan(kChecked));
  std::memcpy(&bytes[offsetof(Header, checksum)], &checksum, sizeof checksum);
  return bytes;
}

// What is wrong with the beginning of a file, or nothing and the header.
std::string read_header(std::span<const std::byte> file, std::uint32_t kind, const std::string& key,
                        Header& header) {
  if (file.size() < sizeof header) return fmt::format("it has only {} bytes", file.size());
  std::memcpy(&header, file.data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kMagic || header.kind != kind)
    return "it is no such file";
  if (crc32c(file.subspan(kChecked)) != header.checksum) return "its checksum does not fit";
  if (std::string_view(header.key, kKeyDigits) != key) return "it is another one's";
  return {};
}

std::vector<double> numbers_at(std::span<const std::byte> file, std::size_t from,
                               std::size_t count) {
  std::vector<double> numbers(count);
  if (count > 0) std::memcpy(numbers.data(), &file[from], count * sizeof(double));
  return numbers;
}

}  // namespace

std::string problem_id(const Outline& outline) {
  Digest digest;
  digest.text(outline.name).number<std::uint64_t>(outline.grid.channels);
  for (const std::string& channel : outline.channels) digest.text(channel);
  digest.number<std::uint64_t>(outline.grid.points.size());
  for (const std::size_t points : outline.grid.points) digest.number<std::uint64_t>(points);
  digest.numbers(outline.grid.lengths).number(outline.dt);
  for (const std::string& end : wall_names(outline.grid)) digest.text(end);
  digest.numbers(outline.guard_min).numbers(outline.guard_max);
  for (const Parameter& parameter : outline.parameters) {
    digest.text(parameter.name).number(parameter.value);
    if (parameter.varies) digest.text("varies");
  }
  return digest.digits(kProblemDigits);
}

std::string spool_key(const std::string& problem, const Query& query) {
  Digest digest;
  digest.text(problem).number<std::uint64_t>(query.steps).number(query.time);
  digest.numbers(query.params).numbers(query.state);
  return problem + digest.digits(kKeyDigits - kProblemDigits);
}

bool is_spool_key(std::string_view name) {
  return name.size() == kKeyDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::byte> query_bytes(const std::string& key, const Query& query) {
  Header header{};
  header.kind = kQuery;
  header.steps = query.steps;
  header.values = query.state.size();
  header.others = query.params.size();
  header.number = query.time;
  return file_of(header, key, std::as_bytes(std::span<const double>(query.state)),
                 std::as_bytes(std::span<const double>(query.params)));
}

std::vector<std::byte> answer_bytes(const std::string& key, const Answer& answer) {
  Header header{};
  header.kind = kAnswer;
  header.steps = 1;  // the states are one row: how long each is the reader knows
  header.values = answer.states.size();
  const std::string_view reason = std::string_view(answer.reason).substr(0, kSpoolTextMost);
  header.others = reason.size();
  header.number = answer.seconds;
  header.status = static_cast<std::uint32_t>(answer.status);
  header.attempts = static_cast<std::uint32_t>(std::max(answer.attempts, 0));
  return file_of(header, key, std::as_bytes(std::span<const double>(answer.states)),
                 std::as_bytes(std::span(reason)));
}

std::size_t query_bytes_most(const Outline& outline) {
  return sizeof(Header) + sizeof(double) * (outline.grid.values() + kParametersMost);
}

std::size_t answer_bytes_most(const Grid& grid, std::size_t steps) {
  return sizeof(Header) + sizeof(double) * grid.values() * steps + kSpoolTextMost;
}

std::string read_query(std::span<const std::byte> file, const std::string& key,
                       const Outline& outline, Query& query) {
  Header header;
  if (std::string flaw = read_header(file, kQuery, key, header); !flaw.empty()) return flaw;
  // Numbers first: a count that is not the one expected never becomes a size.
  if (header.values != outline.grid.values() || header.others > kParametersMost ||
      header.steps == 0 || header.steps > kStepsMost ||
      file.size() != sizeof header + sizeof(double) * (header.values + header.others))
    return fmt::format("its state has {} values, that of the problem {}", header.values,
                       outline.grid.values());
  if (const std::size_t varied = varied_names(outline).size(); header.others != varied)
    return fmt::format("it has {} parameters, expected {}", header.others, varied);
  query.time = header.number;
  query.steps = header.steps;
  query.state = numbers_at(file, sizeof header, header.values);
  query.params = numbers_at(file, sizeof header + sizeof(double) * header.values, header.others);
  return {};
}

std::string read_answer(std::span<const std::byte> file, const std::string& key, const Grid& grid,
                        std::size_t steps, Answer& answer) {
  Header header;
  if (std::string flaw = read_header(file, kAnswer, key, header); !flaw.empty()) return flaw;
  if (header.values % grid.values() != 0 || header.values > steps * grid.values() ||
      header.others > kSpoolTextMost || header.status > 2 || header.attempts > 1000000000 ||
      file.size() != sizeof header + sizeof(double) * header.values + header.others)
    return fmt::format("it has {} values, expected at most {}", header.values,
                       steps * grid.values());
  answer.status = static_cast<Answer::Status>(header.status);
  answer.states = numbers_at(file, sizeof header, header.values);
  answer.reason = plain_text(file.subspan(file.size() - header.others));
  answer.seconds = std::isfinite(header.number) ? header.number : 0.0;
  answer.attempts = static_cast<int>(header.attempts);
  return {};
}

}  // namespace stap
