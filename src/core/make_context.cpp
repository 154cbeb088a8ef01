#include "stap/core/make_context.h"

#include "stap/core/error.h"

namespace stap {

const Grid& MakeContext::needed_grid() const {
  if (grid == nullptr) throw Error(ErrorKind::internal, "a maker asks for a grid, and has none");
  return *grid;
}

}  // namespace stap
