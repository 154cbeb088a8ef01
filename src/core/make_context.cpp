#include "stap/core/make_context.h"

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

const Grid& MakeContext::needed_grid() const {
  if (grid == nullptr) throw Error(ErrorKind::internal, "a maker asks for a grid, and has none");
  return *grid;
}

std::unique_ptr<RightHandSide> MakeContext::needed_rhs(std::string_view method) const {
  if (!rhs)
    throw Error(
        ErrorKind::config,
        fmt::format("{} needs the right-hand side of an equation, and there is none: choose "
                    "another method",
                    method));
  return rhs(method);
}

}  // namespace stap
