#include "report/html.h"

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

}  // namespace stap
