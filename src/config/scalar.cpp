#include "config/scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/utf8.h"

namespace stap::config {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

/// [-+]?[0-9]+, 0x[0-9a-f]+ or 0o[0-7]+, if it fits 64 bits.
std::optional<Value> resolve_integer(std::string_view text) {
  int base = 10;
  bool negative = false;
  if (text.starts_with("0x") || text.starts_with("0o")) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
  } else if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  // from_chars would take a second minus sign.
  if (text.empty() || text[0] == '-') return std::nullopt;
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!negative) return Value(magnitude);
  if (magnitude > std::uint64_t{1} << 63) return std::nullopt;
  return Value(static_cast<std::int64_t>(~magnitude + 1));
}

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? and .inf, .nan.
std::optional<double> resolve_real(std::string_view text) {
  if (is_any_of(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const double sign = negative ? -1.0 : 1.0;
  if (is_any_of(text, {".inf", ".Inf", ".INF"}))
    return sign * std::numeric_limits<double>::infinity();
  if (text.empty() ||
      !(is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1]))))
    return std::nullopt;
  double magnitude = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too small or too large? Zeros in front of the point or a negative exponent mean too small.
    const std::size_t exponent = text.find_first_of("eE");
    const bool small = exponent == std::string_view::npos
                           ? text.find_first_not_of('0') == text.find('.')
                           : text[exponent + 1] == '-';
    magnitude = small ? 0.0 : std::numeric_limits<double>::infinity();
  }
  return sign * magnitude;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = first_character(text.substr(at));
    if (length == 0)  // not UTF-8
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    else if (code == '"' || code == '\\')
      result += {'\\', static_cast<char>(code)};
    else if (code == '\n')
      result += "\\n";
    else if (code == '\t')
      result += "\\t";
    else if (code < 0x20 || (code >= 0x7f && code < 0xa0))  // control characters
      result += fmt::format("\\x{:02x}", code);
    else if (code == 0x2028 || code == 0x2029 || code == 0xfeff)  // line breaks, byte-order mark
      result += fmt::format("\\u{:04x}", code);
    else
      result += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

/// Words that need no quotes anywhere in our output: no YAML indicator, no blank at either end.
bool is_plain(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inner = [&](char c) {
    return letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == '+';
  };
  return !text.empty() && (letter(text[0]) || text[0] == '_' || text[0] == '/') &&
         std::ranges::all_of(text, inner) && resolve_plain(text).text() != nullptr;
}

std::string real_text(double number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

Value resolve_plain(std::string_view text) {
  if (text.empty() || is_any_of(text, {"~", "null", "Null", "NULL"})) return {};
  if (is_any_of(text, {"true", "True", "TRUE"})) return Value(true);
  if (is_any_of(text, {"false", "False", "FALSE"})) return Value(false);
  if (auto integer = resolve_integer(text)) return *std::move(integer);
  if (const auto real = resolve_real(text)) return Value(*real);
  return Value(text);
}

std::string scalar_text(const Value& scalar) {
  switch (scalar.kind()) {
    case Kind::boolean:
      return *scalar.boolean() ? "true" : "false";
    case Kind::integer:
      if (const auto number = scalar.integer<std::int64_t>()) return fmt::format("{}", *number);
      return fmt::format("{}", *scalar.integer<std::uint64_t>());
    case Kind::real:
      return real_text(*scalar.real());
    case Kind::text:
      return is_plain(*scalar.text()) ? *scalar.text()
                                      : fmt::format("\"{}\"", escaped(*scalar.text()));
    default:
      return "null";
  }
}

std::string shown(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
    case Kind::map:
      return std::string(to_string(value.kind()));
    case Kind::text: {
      // Long or strange text would hide the message it is quoted in.
      constexpr std::size_t most = 60;
      const std::string text = escaped(*value.text());
      return text.size() <= most ? fmt::format("'{}'", text)
                                 : fmt::format("a text of {} bytes", value.text()->size());
    }
    case Kind::list: {
      constexpr std::size_t most = 8;
      if (value.list()->size() > most) return fmt::format("a list of {}", value.list()->size());
      std::vector<std::string> items;
      for (const Value& item : *value.list())
        items.push_back(item.is_list() ? std::string(to_string(Kind::list)) : shown(item));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    default:
      return scalar_text(value);
  }
}

std::size_t first_bad_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = first_character(text.substr(at));
    const bool control = (code < 0x20 && code != '\t' && code != '\n' && code != '\r') ||
                         (code >= 0x7f && code < 0xa0 && code != 0x85);
    if (length == 0 || control) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace stap::config
