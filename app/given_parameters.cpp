#include "given_parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/config/complaints.h"
#include "stap/core/error.h"
#include "stap/study/data_files.h"

namespace stap::app {
namespace {

// By the place of their names; empty: not given.
std::vector<std::optional<double>> values_of(const std::vector<std::string>& given,
                                             const std::vector<std::string>& names) {
  std::vector<std::optional<double>> values(names.size());
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    if (at == names.size())
      throw Error(
          ErrorKind::config,
          names.empty()
              ? fmt::format("--parameter {}: these networks take no parameters", text)
              : fmt::format("--parameter {}: the networks take {}{}", text, fmt::join(names, ", "),
                            config::hint(name, names, "parameters")));
    if (values[at])
      throw Error(ErrorKind::config, fmt::format("--parameter {} is given twice", name));
    double value = 0.0;
    const char *begin = text.data() + std::min(text.size(), equals + 1),
               *end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(begin, end, value);
    if (equals == std::string::npos || failure != std::errc() || stop != end ||
        !std::isfinite(value))
      throw Error(ErrorKind::config,
                  fmt::format("--parameter is '{}', expected NAME=VALUE, for example {}=0.01", text,
                              names[at]));
    values[at] = value;
  }
  return values;
}

}  // namespace

RowParameters given_parameters(const std::vector<std::string>& given,
                               std::span<const ParameterDraw> draws,
                               const std::filesystem::path& file, std::size_t rows) {
  const std::vector<std::string> names = names_of(draws);
  const std::vector<std::optional<double>> values = values_of(given, names);
  RowParameters parameters;
  if (std::ranges::all_of(values, [](const auto& value) { return value.has_value(); }) &&
      !names.empty()) {
    parameters = {names, std::vector<double>(rows * names.size())};
  } else {
    try {
      parameters = read_parameters(file, names, rows);
    } catch (const Error& error) {
      if (names.empty()) throw;
      throw Error(error.kind(), fmt::format("{}; or say --parameter {}=VALUE for all rows",
                                            error.what(), fmt::join(names, "=VALUE --parameter ")));
    }
  }
  for (std::size_t i = 0; i < parameters.values.size(); ++i)
    if (const auto& value = values[i % names.size()]) parameters.values[i] = *value;
  for (std::size_t i = 0; i < parameters.values.size(); ++i) {
    const ParameterDraw& draw = draws[i % draws.size()];
    const double value = parameters.values[i];
    const bool log = draw.kind == ParameterDraw::Kind::log;
    if (!std::isfinite(value) || (log && value <= 0.0))
      throw Error(
          values[i % names.size()] ? ErrorKind::config : ErrorKind::data,
          fmt::format("{} is {:g} in row {}, expected a number{}", draw.name, value,
                      i / draws.size(), log ? " above 0: networks are told its logarithm" : ""));
  }
  return parameters;
}

std::vector<std::string> outside_ranges(const RowParameters& parameters,
                                        std::span<const ParameterDraw> draws) {
  std::vector<std::string> texts;
  for (std::size_t p = 0; p < draws.size(); ++p) {
    const double least = draws[p].least(), greatest = draws[p].greatest();
    std::size_t outside = 0, rows = parameters.values.size() / draws.size();
    for (std::size_t row = 0; row < rows; ++row) {
      const double value = parameters.row(row)[p];
      outside += value < least || value > greatest ? 1 : 0;
    }
    if (outside > 0)
      texts.push_back(fmt::format("{} of {} of {} rows is outside {:g} to {:g}", draws[p].name,
                                  outside, rows, least, greatest));
  }
  return texts;
}

}  // namespace stap::app
