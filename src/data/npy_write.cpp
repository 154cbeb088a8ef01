#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/pending_file.h"
#include "data/npy_file.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAlignment = 64;  // of the values

std::string header_text(std::string_view type, std::span<const std::size_t> shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 type, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = kNpyMagic.size() + 2 + sizeof(std::uint16_t);
  const std::size_t end = before + text.size() + 1;  // a line feed is last
  text.resize(text.size() + (kAlignment - end % kAlignment) % kAlignment, ' ');
  return text + '\n';
}

// All that stands before the values.
std::string header_of(std::string_view type, std::span<const std::size_t> shape) {
  const std::string text = header_text(type, shape);
  const auto length = static_cast<std::uint16_t>(text.size());
  std::string header(kNpyMagic);
  header += std::string_view("\x01\x00", 2);
  header.append(reinterpret_cast<const char*>(&length), sizeof length);
  return header + text;
}

template <class T>
void write_values(const fs::path& path, std::string_view type, std::span<const std::size_t> shape,
                  std::span<const T> values, bool forced = true) {
  std::size_t expected = 1;
  for (std::size_t size : shape) expected *= size;
  if (expected != values.size() || shape.size() > kNpyAxesMost)
    throw Error(ErrorKind::internal, fmt::format("{} values for an array of shape {}",
                                                 values.size(), shape_text(shape)));
  PendingFile pending(path);
  pending.write(header_of(type, shape));
  pending.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  pending.commit(forced);
}

}  // namespace

void write_npy(const fs::path& path, std::span<const std::size_t> shape,
               std::span<const double> values, bool forced) {
  write_values(path, "<f8", shape, values, forced);
}

void write_npy(const fs::path& path, std::span<const std::size_t> shape,
               std::span<const std::int64_t> values) {
  write_values(path, "<i8", shape, values);
}

void write_npy_booleans(const fs::path& path, std::span<const std::size_t> shape,
                        std::span<const std::uint8_t> values) {
  write_values(path, "|b1", shape, values);
}

}  // namespace stap
