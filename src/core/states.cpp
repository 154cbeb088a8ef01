#include "stap/core/states.h"

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

template <class From, class To>
void convert_values(std::span<const From> from, std::span<To> to) {
  if (from.size() != to.size())
    throw Error(ErrorKind::internal,
                fmt::format("convert: {} values into {}", from.size(), to.size()));
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(from[i]);
}

}  // namespace

void convert(std::span<const double> from, std::span<float> to) {
  convert_values(from, to);
}
void convert(std::span<const float> from, std::span<double> to) {
  convert_values(from, to);
}

}  // namespace stap
