// Parameters of the trajectories of a foreign file.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "data/import_layout.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap::foreign {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> own_names(const fs::path& file) {
  std::vector<std::string> names;
  if (is_npy(file) || !has_attribute(file, "/", kParameterNames)) return names;
  std::istringstream text(read_text_attribute(file, "/", kParameterNames));
  for (std::string name; std::getline(text, name, ',');) names.push_back(name);
  return names;
}

// A column of our dataset, or a scalar of each trajectory.
std::vector<double> column(const fs::path& file, const std::vector<std::string>& own,
                           const std::string& name, std::size_t rows) {
  const std::vector<std::string> datasets =
      is_npy(file) ? std::vector<std::string>() : list_datasets(file);
  const auto has = [&](const std::string& one) { return std::ranges::count(datasets, one) > 0; };
  const auto at = static_cast<std::size_t>(std::ranges::find(own, name) - own.begin());
  if (at < own.size() && has(kParameters)) {
    const Array<double> all = read_array(file, kParameters);
    if (all.shape != std::vector<std::size_t>{rows, own.size()})
      fail(file, fmt::format("has '{}' of {}, expected {} x {}", kParameters, shape_text(all.shape),
                             rows, own.size()));
    std::vector<double> values;
    for (std::size_t row = 0; row < rows; ++row)
      values.push_back(all.values[row * own.size() + at]);
    return values;
  }
  for (const std::string& dataset : {"scalars/" + name, name})
    if (has(dataset) && read_shape(file, dataset) == std::vector<std::size_t>{rows})
      return read_array(file, dataset).values;
  throw Error(ErrorKind::config,
              fmt::format("{} has no number '{}' for each of its {} trajectories: give them as "
                          "--parameter {}=FILE.npy, or one for all as {}=VALUE",
                          file.string(), name, rows, name, name));
}

// A number for all, or a column of a file.
std::vector<double> given_column(const std::string& text, std::size_t rows) {
  double value = 0.0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && stop == text.data() + text.size())
    return std::vector<double>(rows, value);
  const fs::path file = text;
  Array<double> array = read_npy(file);
  if (array.values.size() != rows || array.shape.empty() || array.shape[0] != rows)
    fail(file, fmt::format("has shape {}, expected {}: a number for each trajectory",
                           shape_text(array.shape), rows));
  return std::move(array.values);
}

}  // namespace

RowParameters parameters_of(const fs::path& file, const ImportOptions& options,
                            std::size_t trajectories) {
  const std::vector<std::string> own = own_names(file);
  RowParameters parameters;
  std::vector<std::vector<double>> columns;
  for (const std::string& text : options.parameters.empty() ? own : options.parameters) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (std::ranges::count(parameters.names, name) > 0 || name.empty() ||
        name.find(',') != std::string::npos)
      throw Error(ErrorKind::config,
                  fmt::format("--parameter is '{}', expected NAME, NAME=VALUE or NAME=FILE.npy "
                              "with another name each",
                              text));
    columns.push_back(equals == std::string::npos
                          ? column(file, own, name, trajectories)
                          : given_column(text.substr(equals + 1), trajectories));
    const auto bad =
        std::ranges::find_if(columns.back(), [](double v) { return !std::isfinite(v); });
    if (bad != columns.back().end())
      fail(file,
           fmt::format("has {} = {} for trajectory {}", name, *bad, bad - columns.back().begin()));
    parameters.names.push_back(name);
  }
  for (std::size_t row = 0; row < trajectories && !columns.empty(); ++row)
    for (const std::vector<double>& one : columns) parameters.values.push_back(one[row]);
  return parameters;
}

}  // namespace stap::foreign
