#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "core/whole_file.h"
#include "data/npy_file.h"
#include "stap/core/error.h"

namespace stap {

// Not blocking: what is no file may never be ready.
NpyInput::NpyInput(const std::filesystem::path& path)
    : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_.number() < 0) fail_for(errno);
  struct stat status;
  if (fstat(file_.number(), &status) != 0) fail_for(errno);
  if (!S_ISREG(status.st_mode)) fail("is not a file");
  left_ = static_cast<std::uintmax_t>(status.st_size);
}

void NpyInput::fail(const std::string& why) const {
  throw Error(ErrorKind::data, fmt::format("{}: {}", path_.string(), why));
}

void NpyInput::fail_for(int error) const {
  throw Error(kind_of_read_error(error, ErrorKind::data),
              fmt::format("{}: {}", path_.string(),
                          error == ENOENT ? "there is no such file" : std::strerror(error)));
}

void NpyInput::read(void* to, std::size_t bytes, const char* what) {
  char* at = static_cast<char*>(to);
  for (std::size_t wanted = bytes; wanted > 0;) {
    const ssize_t got = ::read(file_.number(), at, wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_for(errno);
    if (got == 0) fail(fmt::format("is cut short: it ends within {}", what));
    at += got;
    wanted -= static_cast<std::size_t>(got);
  }
  left_ -= std::min<std::uintmax_t>(bytes, left_);
}

namespace {

// A header names a type and a shape: what is longer describes something else.
constexpr std::size_t kHeaderMost = 1 << 16;
constexpr std::string_view kWhiteSpace = " \t\r\n";

// The header is the text of a Python dictionary. We know the few forms it can have and take nothing
// else.
class HeaderText {
 public:
  HeaderText(const NpyInput& input, std::string_view text) : input_(input), text_(text) {}

  NpyHeader read() {
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
      if (sizes.size() > kNpyAxesMost) wrong();
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

}  // namespace

NpyHeader read_npy_header(NpyInput& input) {
  char magic[kNpyMagic.size()];
  if (input.left() < kNpyMagic.size() + 2) input.fail("is too short to be a .npy file");
  input.read(magic, sizeof magic, "its header");
  if (std::string_view(magic, sizeof magic) != kNpyMagic) input.fail("is not a .npy file");
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

}  // namespace stap
