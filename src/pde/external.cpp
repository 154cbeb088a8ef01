#include "stap/pde/external.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorKind::config, "external: " + text);
}

bool is_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, allowed);
}

void add_name(std::vector<std::string>& names, const std::string& name, const char* what) {
  if (!is_name(name))
    refuse(
        fmt::format("a {} is called '{}', expected letters, digits, '-', '_' and '.'", what, name));
  if (std::ranges::count(names, name) > 0)
    refuse(fmt::format("two {}s are called '{}'", what, name));
  names.push_back(name);
}

// One value a channel.
std::vector<double> spread(const std::vector<double>& values, std::size_t channels,
                           const char* key) {
  if (values.size() == 1) return std::vector<double>(channels, values[0]);
  if (!values.empty() && values.size() != channels)
    refuse(fmt::format("guard.{} has {} values, expected 1 or {}, one for each channel", key,
                       values.size(), channels));
  return values;
}

Parameter parameter_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  Parameter parameter;
  parameter.name = text.substr(0, equals);
  if (equals != std::string::npos) {
    const char *begin = text.data() + equals + 1, *end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(begin, end, parameter.value);
    if (failure == std::errc() && stop == end && std::isfinite(parameter.value)) return parameter;
  }
  refuse(fmt::format("a parameter is '{}', expected name=number", text));
}

}  // namespace

const config::Fields<ExternalOptions>& external_fields() {
  using O = ExternalOptions;
  using Guard = ExternalOptions::Guard;
  static const config::Fields<Guard> guard_fields{
      {"min", &Guard::min,
       "a state with a smaller value is refused: one value per channel, or one"},
      {"max", &Guard::max, "a state with a larger value is refused: one value per channel, or one"},
  };
  static const config::Fields<O> fields{
      {"label", &O::label,
       "name of the problem in tables, files and the cache; change it when the numbers change"},
      {"channels", &O::channels, "names of the channels", config::length(1, 64)},
      {"points", &O::points, "grid points per axis", config::between(1, 1 << 24).length(1, 2)},
      {"lengths", &O::lengths, "length of the domain per axis; none: 1", config::above(0),
       "length"},
      config::later<O>(
          {"walls", &O::walls,
           "how each axis ends: periodic, or between two walls with points at centres of cells "
           "(centres) or from wall to wall (points); none: all periodic",
           config::length(0, 2)}),
      config::later<O>({"mask", &O::mask,
                        ".npy file of the grid's points: 1 where there is a state, 0 in obstacles, "
                        "where nothing "
                        "counts",
                        config::Affects::source}),
      config::later<O>(
          {"fixed", &O::fixed,
           ".npy file [C, X...] of channels that never change (a coefficient, a forcing): networks "
           "are told them",
           config::Affects::source}),
      {"dt", &O::dt, "length of one learned step", config::above(0), "time"},
      {"guard", &O::guard, "states that the solver must not be asked about", guard_fields},
      {"parameters", &O::parameters,
       "numbers that the solver is told by name, and how those that vary are drawn"},
  };
  return fields;
}

Outline outline_of(const ExternalOptions& options) {
  constexpr std::array kTaken{"input", "output", "time", "dt",        "steps",
                              "here",  "index",  "seed", "parameters"};
  Outline outline;
  std::vector<std::string> label, names;
  add_name(label, options.label, "label");
  outline.name = options.label;
  for (const std::string& channel : options.channels)
    add_name(outline.channels, channel, "channel");
  std::vector<double> lengths = options.lengths;
  if (lengths.empty()) lengths.assign(options.points.size(), 1.0);
  outline.grid = make_grid(options.channels.size(), options.points, std::move(lengths));
  try {
    outline.grid = with_walls(std::move(outline.grid), options.walls);
  } catch (const Error& error) {
    refuse(fmt::format("walls: {}", error.what()));
  }
  outline.dt = options.dt;
  outline.guard_min = spread(options.guard.min, options.channels.size(), "min");
  outline.guard_max = spread(options.guard.max, options.channels.size(), "max");
  if (!outline.guard_min.empty() && !outline.guard_max.empty())
    for (std::size_t c = 0; c < options.channels.size(); ++c)
      if (!(outline.guard_min[c] <= outline.guard_max[c]))
        refuse(
            fmt::format("guard.min is {} and guard.max {} for the channel {}, so every state "
                        "would be refused",
                        outline.guard_min[c], outline.guard_max[c], options.channels[c]));
  std::vector<Parameter> parameters;
  for (const std::string& text : options.parameters.fixed) parameters.push_back(parameter_of(text));
  for (const ParameterDraw& draw : options.parameters.varied)
    parameters.push_back({.name = draw.name, .varies = true});
  for (const Parameter& parameter : parameters) {
    add_name(names, parameter.name, "parameter");
    if (std::ranges::count(kTaken, parameter.name) > 0)
      refuse(fmt::format("a parameter is called '{}', which has a meaning of its own in argv",
                         parameter.name));
    outline.parameters.push_back(parameter);
  }
  return outline;
}

}  // namespace stap
