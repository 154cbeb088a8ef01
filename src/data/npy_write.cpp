#include <fcntl.h>

#include <cerrno>
#include <cstring>
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

void write_all(int file, const void* from, std::size_t bytes, const fs::path& path) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t put = ::write(file, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      throw Error(ErrorKind::storage,
                  fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
}

// What an array in memory becomes.
struct Content {
  std::string_view type;
  std::span<const std::size_t> shape;
  std::span<const std::byte> values;
};

// All that stands before the values.
std::string header_of(const Content& content) {
  const std::string text = header_text(content.type, content.shape);
  const auto length = static_cast<std::uint16_t>(text.size());
  std::string header(kNpyMagic);
  header += std::string_view("\x01\x00", 2);
  header.append(reinterpret_cast<const char*>(&length), sizeof length);
  return header + text;
}

void write_to(const fs::path& path, const Content& content) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const auto fail = [&] {
    throw Error(ErrorKind::storage,
                fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
  };
  if (file.get() < 0) fail();
  const std::string header = header_of(content);
  write_all(file.get(), header.data(), header.size(), path);
  write_all(file.get(), content.values.data(), content.values.size(), path);
  if (!file.close()) fail();
}

void write_aside(const fs::path& path, const Content& content) {
  PendingFile pending(path);
  pending.write(header_of(content));
  pending.write({reinterpret_cast<const char*>(content.values.data()), content.values.size()});
  pending.commit();
}

template <class T>
Content content_of(std::string_view type, std::span<const std::size_t> shape,
                   std::span<const T> values) {
  std::size_t expected = 1;
  for (std::size_t size : shape) expected *= size;
  if (expected != values.size() || shape.size() > kNpyAxesMost)
    throw Error(ErrorKind::internal, fmt::format("{} values for an array of shape {}",
                                                 values.size(), shape_text(shape)));
  return {type, shape, std::as_bytes(values)};
}

}  // namespace

void write_npy(const fs::path& path, std::span<const std::size_t> shape,
               std::span<const double> values, bool aside) {
  const Content content = content_of("<f8", shape, values);
  if (aside)
    write_aside(path, content);
  else
    write_to(path, content);
}

void write_npy(const fs::path& path, std::span<const std::size_t> shape,
               std::span<const std::int64_t> values) {
  write_aside(path, content_of("<i8", shape, values));
}

void write_npy_booleans(const fs::path& path, std::span<const std::size_t> shape,
                        std::span<const std::uint8_t> values) {
  write_aside(path, content_of("|b1", shape, values));
}

}  // namespace stap
