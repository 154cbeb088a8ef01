#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/data/store.h"

// Apart from the rest of store.h, for those who do without HDF5.
namespace stap {

std::string shape_text(std::span<const std::size_t> shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, " x "));
}

}  // namespace stap
