#pragma once

#include <string>
#include <string_view>

namespace stap {

/// Text for HTML and XML, between tags or in quotes: `&`, `<`, `>`, `"` and `'` become entities;
/// what is no UTF-8 or no character of XML becomes U+FFFD.
std::string escaped(std::string_view text);
/// The same of a sentence: numbers and their units stay on one line.
std::string prose_html(std::string_view text);

}  // namespace stap
