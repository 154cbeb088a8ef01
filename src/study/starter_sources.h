// Files of templates/ and interfaces/, as they are in the source tree.
#pragma once

#include <span>
#include <string_view>

namespace stap {

struct StarterSource {
  std::string_view path;  ///< "templates/command/c/solver.c"
  std::string_view text;
};
/// cmake/StapTemplates.cmake makes it.
std::span<const StarterSource> starter_sources();

}  // namespace stap
