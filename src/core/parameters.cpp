#include "stap/core/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stap/core/hash64.h"

namespace stap {
namespace {

double drawn(const ParameterDraw& draw, const Rng& rng) {
  const std::vector<double>& values = draw.values;
  switch (draw.kind) {
    case ParameterDraw::Kind::list:
      return values[rng.below(0, values.size())];
    case ParameterDraw::Kind::log:  // rounding must not leave the range
      return std::clamp(std::exp(rng.uniform(0, std::log(values[0]), std::log(values[1]))),
                        values[0], values[1]);
    case ParameterDraw::Kind::uniform:
      break;
  }
  return std::clamp(rng.uniform(0, values[0], values[1]), values[0], values[1]);
}

}  // namespace

double ParameterDraw::least() const {
  return *std::ranges::min_element(values);
}

double ParameterDraw::greatest() const {
  return *std::ranges::max_element(values);
}

std::string_view to_string(ParameterDraw::Kind kind) {
  return kind == ParameterDraw::Kind::list  ? "list"
         : kind == ParameterDraw::Kind::log ? "log"
                                            : "uniform";
}

std::vector<double> draw_parameters(std::span<const ParameterDraw> draws, const Rng& stream,
                                    std::uint64_t index) {
  const Rng parameters = stream.split("parameter");
  std::vector<double> values;
  for (const ParameterDraw& draw : draws)
    values.push_back(drawn(draw, parameters.split(draw.name, index)));
  return values;
}

std::vector<std::string> names_of(std::span<const ParameterDraw> draws) {
  std::vector<std::string> names;
  for (const ParameterDraw& draw : draws) names.push_back(draw.name);
  return names;
}

std::uint64_t hash_of(std::span<const double> state, std::span<const double> parameters) {
  const std::uint64_t of_state = hash64(std::as_bytes(state));
  if (parameters.empty()) return of_state;
  const std::array both{of_state, hash64(std::as_bytes(parameters))};
  return hash64(std::as_bytes(std::span(both)));
}

}  // namespace stap
