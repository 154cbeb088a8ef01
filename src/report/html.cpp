#include "report/html.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "core/utf8.h"

namespace stap {
namespace {

// Bytes of the character at the beginning of `text`; 0 if that is none of XML's, or no UTF-8.
std::size_t character_bytes(std::string_view text) {
  const auto [code, bytes] = first_character(text);
  if (code < 0x80) return code >= 0x20 || code == '\t' || code == '\n' || code == '\r' ? bytes : 0;
  // C1 controls are legal in XML 1.0 but show as nothing.
  return code == 0xfffe || code == 0xffff || code < 0xa0 ? 0 : bytes;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = character_bytes(text);
    switch (n == 1 ? text[0] : '\0') {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (n == 0)
          out += "\xef\xbf\xbd";
        else
          out += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::string prose_html(std::string_view text) {
  constexpr std::array<std::string_view, 9> kUnits{"%", "s", "ms", "µs", "h", "kB", "MB", "±", "×"};
  std::string tied;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i + 1);
    const auto begins = [&](std::string_view unit) {
      if (!rest.starts_with(unit)) return false;
      const std::size_t end = unit.size();
      return end == rest.size() || std::isalnum(static_cast<unsigned char>(rest[end])) == 0;
    };
    const bool number = i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0;
    if (text[i] == ' ' && number && std::ranges::any_of(kUnits, begins))
      tied += "\u00a0";
    else
      tied += text[i];
  }
  return escaped(tied);
}

}  // namespace stap
