// Networks as golden files hold them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stap/data/store.h"
#include "stap/nn/fno.h"
#include "support/golden.h"

namespace stap::test {

/// The shape that the file's attributes and an array [rows, C, X...] state.
inline NetworkSpec golden_shape(const std::filesystem::path& path,
                                const std::vector<std::size_t>& states,
                                NetworkOptions::Target target) {
  FnoOptions options;
  options.modes.clear();
  for (double modes : read_attribute(path, "/", "n_modes").values)
    options.modes.push_back(static_cast<std::size_t>(modes));
  options.width = static_cast<std::size_t>(stated(path, "hidden_channels"));
  options.lifting = static_cast<std::size_t>(stated(path, "lifting_channels"));
  options.projection = static_cast<std::size_t>(stated(path, "projection_channels"));
  const std::vector<std::size_t> points(states.begin() + 2, states.end());
  return make_network(make_grid(states[1], points, std::vector<double>(points.size(), 1.0)),
                      {.target = target, .family = fno(options)});
}

/// All parameters of a network, from datasets prefix + name.
inline Parameters golden_parameters(const std::filesystem::path& path, const std::string& prefix,
                                    const NetworkSpec& shape) {
  Parameters parameters = parameter_shapes(shape);
  for (Tensor& t : parameters) {
    const Array<double> found = read_array(path, prefix + t.name);
    t.shape = found.shape;
    t.values.assign(found.values.begin(), found.values.end());
  }
  check_parameters(shape, parameters);
  return parameters;
}

inline States<float> golden_states(const Grid& grid, const Array<double>& array) {
  States<float> states(grid, array.shape.at(0));
  convert(array.values, states.values());
  return states;
}

}  // namespace stap::test
