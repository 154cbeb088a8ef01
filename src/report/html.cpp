#include "report/html.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace stap {
namespace {

// Bytes of the character at the beginning of `text`; 0 if that is none of XML's, or no UTF-8.
std::size_t character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const std::size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < n) return 0;
  std::uint32_t code = first & (0x7fU >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (at(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  // C1 controls are legal in XML 1.0 but show as nothing.
  if (code < kLeast[n] || code > 0x10ffff || surrogate || code == 0xfffe || code == 0xffff ||
      code < 0xa0)
    return 0;
  return n;
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

}  // namespace stap
