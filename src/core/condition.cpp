#include "stap/core/condition.h"

#include <algorithm>
#include <cmath>

namespace stap {
namespace {

double scaled(const ParameterDraw& draw, double value) {
  double least = draw.least(), greatest = draw.greatest();
  if (least == greatest) return 0.0;
  if (draw.kind == ParameterDraw::Kind::log) {
    least = std::log(least);
    greatest = std::log(greatest);
    value = std::log(value);
  }
  return 2.0 * (value - least) / (greatest - least) - 1.0;
}

}  // namespace

void ConditionInputs::tell(std::uint32_t step, std::span<const double> of_row, double* told) const {
  if (time) *told++ = static_cast<double>(step) / static_cast<double>(horizon);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto place = std::ranges::count_if(
        parameters, [&](const ParameterDraw& other) { return other.name < parameters[p].name; });
    told[place] = scaled(parameters[p], of_row[p]);
  }
}

}  // namespace stap
