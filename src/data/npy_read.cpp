#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "data/npy_file.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 1 << 16;  // values converted at a time

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1f)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

// Values as they lie in the file, piece by piece.
template <class T, class Convert>
void read_values(NpyInput& input, std::span<double> to, Convert convert) {
  std::vector<T> piece(std::min(to.size(), kPiece));
  for (std::size_t first = 0; first < to.size(); first += piece.size()) {
    piece.resize(std::min(piece.size(), to.size() - first));
    input.read(piece.data(), piece.size() * sizeof(T), "its values");
    std::ranges::transform(piece, to.begin() + static_cast<std::ptrdiff_t>(first), convert);
  }
}

using Reader = void (*)(NpyInput&, std::span<double>);

template <class T>
void read_numbers(NpyInput& input, std::span<double> to) {
  read_values<T>(input, to, [](T value) { return static_cast<double>(value); });
}

void read_doubles(NpyInput& input, std::span<double> to) {
  input.read(to.data(), to.size_bytes(), "its values");
}

void read_halves(NpyInput& input, std::span<double> to) {
  read_values<std::uint16_t>(input, to, half_to_double);
}

void read_booleans(NpyInput& input, std::span<double> to) {
  read_values<std::uint8_t>(input, to, [&](std::uint8_t value) {
    if (value > 1) input.fail(fmt::format("holds {} as a boolean, expected 0 or 1", value));
    return static_cast<double>(value);
  });
}

struct Type {
  std::string_view name;  // without the order of its bytes
  std::size_t bytes;
  Reader read;
};
constexpr Type kTypes[] = {
    {"f8", 8, read_doubles},
    {"f4", 4, read_numbers<float>},
    {"f2", 2, read_halves},
    {"i8", 8, read_numbers<std::int64_t>},
    {"i4", 4, read_numbers<std::int32_t>},
    {"i2", 2, read_numbers<std::int16_t>},
    {"i1", 1, read_numbers<std::int8_t>},
    {"u8", 8, read_numbers<std::uint64_t>},
    {"u4", 4, read_numbers<std::uint32_t>},
    {"u2", 2, read_numbers<std::uint16_t>},
    {"u1", 1, read_numbers<std::uint8_t>},
    {"b1", 1, read_booleans},
};

const Type& find_type(const NpyInput& input, const std::string& name) {
  const std::string_view kind =
      std::string_view(name).substr(std::min<std::size_t>(1, name.size()));
  if (kind.starts_with('O')) input.fail("holds Python objects, which are not read");
  for (const Type& type : kTypes) {
    if (type.name != kind) continue;
    if (name[0] == '<' || (type.bytes == 1 && name[0] == '|')) return type;
    if (name[0] == '>') input.fail("is big-endian, expected little-endian: save it as '<f8'");
  }
  input.fail(
      fmt::format("holds values of type '{}', expected real numbers, integers or booleans of "
                  "at most 8 bytes, as '<f8'",
                  name));
}

}  // namespace

Array<double> read_npy(const fs::path& path, std::size_t values_most) {
  NpyInput input(path);
  NpyHeader header = read_npy_header(input);
  const Type& type = find_type(input, header.type);
  std::size_t values = 1, bytes = 0;
  bool impossible = false;
  for (std::size_t size : header.shape) impossible |= __builtin_mul_overflow(values, size, &values);
  if (impossible || __builtin_mul_overflow(values, type.bytes, &bytes))
    input.fail(fmt::format("has the impossible shape {}", shape_text(header.shape)));
  if (bytes != input.left())
    input.fail(fmt::format("{}: {} values of type '{}' take {} bytes, but {} are there",
                           bytes < input.left() ? "has more behind its array" : "is cut short",
                           shape_text(header.shape), header.type, bytes, input.left()));
  if (values_most != 0 && values > values_most)
    input.fail(fmt::format("holds {} values ({}), expected at most {}", values,
                           shape_text(header.shape), values_most));
  Array<double> array{std::move(header.shape), std::vector<double>(values)};
  type.read(input, array.values);
  return array;
}

}  // namespace stap
