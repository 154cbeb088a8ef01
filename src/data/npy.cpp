#include "stap/data/npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/pending_file.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "values are copied as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
// A header names a type and a shape: what is longer describes something else.
constexpr std::size_t kHeaderMost = 1 << 16;
constexpr std::size_t kAxesMost = 32;    // as many as NumPy can have
constexpr std::size_t kPiece = 1 << 16;  // values converted at a time
constexpr std::size_t kAlignment = 64;   // of the values in a file we write
constexpr std::string_view kWhiteSpace = " \t\r\n";

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return file_; }
  bool close() { return ::close(std::exchange(file_, -1)) == 0; }

 private:
  int file_;
};

// A file that is read from front to back.
class NpyInput {
 public:
  // Not blocking: what is no file may never be ready.
  explicit NpyInput(const fs::path& path)
      : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_.get() < 0) fail(errno == ENOENT ? "there is no such file" : std::strerror(errno));
    struct stat status;
    if (fstat(file_.get(), &status) != 0) fail(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) fail("is not a file");
    left_ = static_cast<std::uintmax_t>(status.st_size);
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::data, fmt::format("{}: {}", path_.string(), why));
  }

  std::uintmax_t left() const { return left_; }

  void read(void* to, std::size_t bytes, const char* what) {
    char* at = static_cast<char*>(to);
    for (std::size_t wanted = bytes; wanted > 0;) {
      const ssize_t got = ::read(file_.get(), at, wanted);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(std::strerror(errno));
      if (got == 0) fail(fmt::format("is cut short: it ends within {}", what));
      at += got;
      wanted -= static_cast<std::size_t>(got);
    }
    left_ -= std::min<std::uintmax_t>(bytes, left_);
  }

  template <class T>
  T read(const char* what) {
    T value;
    read(&value, sizeof value, what);
    return value;
  }

 private:
  fs::path path_;
  Descriptor file_;
  std::uintmax_t left_ = 0;
};

struct Header {
  std::string type;
  std::vector<std::size_t> shape;
};

// The header is the text of a Python dictionary. We know the few forms it can have and take nothing
// else.
class HeaderText {
 public:
  HeaderText(const NpyInput& input, std::string_view text) : input_(input), text_(text) {}

  Header read() {
    std::optional<std::string> type;
    std::optional<bool> fortran;
    std::optional<std::vector<std::size_t>> shape;
    expect('{');
    while (!next_is('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !type)
        type = this->type();
      else if (key == "fortran_order" && !fortran)
        fortran = truth();
      else if (key == "shape" && !shape)
        shape = tuple();
      else
        wrong();
      if (!next_is(',')) {
        expect('}');
        break;
      }
    }
    skip_white();
    if (at_ != text_.size() || !type || !fortran || !shape) wrong();
    if (*fortran)
      input_.fail(
          "holds its values in Fortran order, expected C order: save "
          "numpy.ascontiguousarray(values)");
    return {std::move(*type), std::move(*shape)};
  }

 private:
  [[noreturn]] void wrong() const {
    input_.fail("has a damaged header, expected descr, fortran_order and shape of a plain array");
  }
  void skip_white() { at_ = std::min(text_.find_first_not_of(kWhiteSpace, at_), text_.size()); }
  char peek() {
    skip_white();
    if (at_ == text_.size()) wrong();
    return text_[at_];
  }
  // Takes it if it is there.
  bool next_is(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!next_is(c)) wrong();
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') wrong();
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) wrong();
    std::string content(text_.substr(at_, end - at_));
    if (content.find('\\') != std::string::npos) wrong();
    at_ = end + 1;
    return content;
  }
  std::string type() {
    if (peek() == '[' || peek() == '(' || peek() == '{')
      input_.fail("holds a structured array, expected plain numbers");
    return quoted();
  }
  bool truth() {
    skip_white();
    for (const bool value : {false, true}) {
      const std::string_view name = value ? "True" : "False";
      if (text_.substr(at_, name.size()) != name) continue;
      at_ += name.size();
      return value;
    }
    wrong();
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> sizes;
    expect('(');
    while (!next_is(')')) {
      sizes.push_back(size());
      if (sizes.size() > kAxesMost) wrong();
      if (next_is(',')) continue;
      if (sizes.size() == 1) wrong();  // (3) is a number
      expect(')');
      break;
    }
    return sizes;
  }
  std::size_t size() {
    if (!is_digit(peek())) wrong();
    std::size_t number = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
      if (__builtin_mul_overflow(number, 10u, &number) ||
          __builtin_add_overflow(number, static_cast<std::size_t>(text_[at_] - '0'), &number))
        wrong();
    return number;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  const NpyInput& input_;
  std::string_view text_;
  std::size_t at_ = 0;
};

Header read_header(NpyInput& input) {
  char magic[kMagic.size()];
  if (input.left() < kMagic.size() + 2) input.fail("is too short to be a .npy file");
  input.read(magic, sizeof magic, "its header");
  if (std::string_view(magic, sizeof magic) != kMagic) input.fail("is not a .npy file");
  const auto major = input.read<std::uint8_t>("its header");
  const auto minor = input.read<std::uint8_t>("its header");
  if (major < 1 || major > 3 || minor != 0)
    input.fail(
        fmt::format("has version {}.{} of the format, expected 1.0, 2.0 or 3.0", major, minor));
  const std::size_t length = major == 1 ? input.read<std::uint16_t>("its header")
                                        : input.read<std::uint32_t>("its header");
  if (length > input.left()) input.fail("is cut short: it ends within its header");
  if (length > kHeaderMost)
    input.fail(fmt::format("has a header of {} bytes, expected a plain array", length));
  std::string text(length, '\0');
  input.read(text.data(), length, "its header");
  return HeaderText(input, text).read();
}

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

std::string header_text(std::string_view type, std::span<const std::size_t> shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 type, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = kMagic.size() + 2 + sizeof(std::uint16_t);
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
  std::string header(kMagic);
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
  if (expected != values.size() || shape.size() > kAxesMost)
    throw Error(ErrorKind::internal, fmt::format("{} values for an array of shape {}",
                                                 values.size(), shape_text(shape)));
  return {type, shape, std::as_bytes(values)};
}

}  // namespace

Array<double> read_npy(const fs::path& path, std::size_t values_most) {
  NpyInput input(path);
  Header header = read_header(input);
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
