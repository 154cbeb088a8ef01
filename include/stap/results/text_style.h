#pragma once

#include <cstddef>

namespace stap {

/// Where text for people goes. The default is that of files and pipes, whose readers may be
/// anything.
struct TextStyle {
  std::size_t columns = 80;
  bool colour = false;  ///< ANSI escapes: bold, dim, green, red
};

}  // namespace stap
