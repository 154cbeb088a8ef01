#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stap {

/// Where text for people goes. The default is that of files and pipes, whose readers may be
/// anything.
struct TextStyle {
  std::size_t columns = 80;
  bool colour = false;  ///< ANSI escapes: bold, dim, green, red
};

/// Columns that UTF-8 text takes, if each of its characters takes one.
std::size_t width_of(std::string_view text);
/// Lines of at most `columns`, all but the first indented by `hang`; broken between words, or
/// within one that is longer than a line. Ends with a line break.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t hang = 0);

}  // namespace stap
