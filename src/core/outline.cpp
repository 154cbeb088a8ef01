#include "stap/core/outline.h"

#include <fmt/format.h>

namespace stap {

std::vector<std::string> varied_names(const Outline& outline) {
  std::vector<std::string> names;
  for (const Parameter& parameter : outline.parameters)
    if (parameter.varies) names.push_back(parameter.name);
  return names;
}

std::vector<Parameter> parameters_of(const Outline& outline, const Query& query) {
  std::vector<Parameter> all = outline.parameters;
  auto value = query.params.begin();
  for (Parameter& parameter : all)
    if (parameter.varies) parameter.value = *value++;
  return all;
}

std::string guard_refusal(const Outline& outline, const std::vector<double>& state) {
  const std::size_t points = outline.grid.points_total();
  for (std::size_t c = 0; c < outline.channels.size(); ++c)
    for (std::size_t i = c * points; i < (c + 1) * points; ++i) {
      const double value = state[i];
      if (!outline.guard_min.empty() && value < outline.guard_min[c])
        return fmt::format("{} is {:g} at point {}, below the guard of {:g}", outline.channels[c],
                           value, i - c * points, outline.guard_min[c]);
      if (!outline.guard_max.empty() && value > outline.guard_max[c])
        return fmt::format("{} is {:g} at point {}, above the guard of {:g}", outline.channels[c],
                           value, i - c * points, outline.guard_max[c]);
    }
  return {};
}

}  // namespace stap
