#pragma once

// Golden files of the compressible solver: one learned step from every stored state, compared with
// the next stored one, channel by channel.

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stap/pde/cns.h"
#include "support/golden.h"

namespace stap::test {

/// Values of density, velocity x, velocity y, pressure: the solver's order.
using PerChannel = std::array<double, 4>;
inline constexpr std::array<const char*, 4> kGasChannels = {"density", "velocity x", "velocity y",
                                                            "pressure"};

/// Place of each of the solver's channels in a file.
using ChannelPlaces = std::array<std::size_t, 4>;

/// From a text such as "rho, vx, vy, p": names between commas, or else between blanks.
inline ChannelPlaces places_from_text(const std::string& text) {
  const std::string separators = text.find_first_of(",;") != std::string::npos ? ",;" : " \t\n";
  std::vector<std::string> names(1);
  for (char c : text) {
    if (separators.find(c) != std::string::npos) {
      if (!names.back().empty()) names.emplace_back();
    } else if (std::isalnum(static_cast<unsigned char>(c))) {
      names.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (names.back().empty()) names.pop_back();
  const std::vector<std::string> known[4] = {{"rho", "density", "d"},
                                             {"vx", "velocityx", "ux", "u"},
                                             {"vy", "velocityy", "uy", "v"},
                                             {"p", "pressure"}};
  ChannelPlaces places;
  for (std::size_t c = 0; c < 4; ++c) {
    const auto found =
        std::find_first_of(names.begin(), names.end(), known[c].begin(), known[c].end());
    if (names.size() != 4 || found == names.end())
      throw std::runtime_error("cannot tell the channels from '" + text + "'");
    places[c] = static_cast<std::size_t>(found - names.begin());
  }
  return places;
}

/// The `channels` text if there is one; else, where `tolerance` has a value per channel, the loose
/// ones are the velocities; else density, velocities, pressure.
inline ChannelPlaces channel_places(const std::filesystem::path& file) {
  const ChannelPlaces usual = {0, 1, 2, 3}, pressure_first = {0, 2, 3, 1};
  if (has_attribute(file, "/", "channels"))
    return places_from_text(read_text_attribute(file, "/", "channels"));
  if (!has_attribute(file, "/", "tolerance")) return usual;
  const std::vector<double> t = read_attribute(file, "/", "tolerance").values;
  return t.size() == 4 && t[3] > t[1] ? pressure_first : usual;
}

/// An attribute with one value, or one per channel of the file, in the solver's order.
inline PerChannel per_channel(const std::filesystem::path& file, const std::string& name,
                              const ChannelPlaces& places, const PerChannel& otherwise) {
  if (!has_attribute(file, "/", name)) return otherwise;
  const std::vector<double> values = read_attribute(file, "/", name).values;
  if (values.size() != 1 && values.size() != 4)
    throw std::runtime_error(
        fmt::format("{}: {} has {} values, expected 1 or 4", file.string(), name, values.size()));
  PerChannel result;
  for (std::size_t c = 0; c < 4; ++c) result[c] = values[values.size() == 1 ? 0 : places[c]];
  return result;
}

/// The first of these attributes that the file has.
inline double stated_as(const std::filesystem::path& file, const std::vector<std::string>& names,
                        double otherwise) {
  for (const std::string& name : names)
    if (has_attribute(file, "/", name)) return stated(file, name);
  return otherwise;
}

inline CnsOptions cns_file_options(const std::filesystem::path& file,
                                   const std::vector<std::size_t>& shape) {
  if (shape.size() != 5 || shape[2] != 4 || shape[1] < 2)
    throw std::runtime_error(file.string() + ": expected a trajectory [B, T, 4, x, y]");
  CnsOptions options;
  options.points = {shape[3], shape[4]};
  options.lengths.assign(2, stated_or(file, "domain_length", 1.0));
  options.viscosity = CnsOptions::Viscosity::kinematic;
  options.gamma = stated_or(file, "gamma", 5.0 / 3.0);
  options.shear_viscosity = stated_as(file, {"eta", "shear_viscosity", "viscosity"}, 0.005);
  options.bulk_viscosity = stated_as(file, {"zeta", "bulk_viscosity"}, 0.005);
  options.dt = stated(file, "dt");
  return options;
}

struct CnsFileErrors {
  PerChannel worst{}, mean{};  ///< relative L2 over all steps; infinite if the solver says no
};

inline CnsFileErrors cns_file_errors(const std::filesystem::path& file) {
  const Array<double> trajectory = read_array(file, "trajectory");
  const auto solver = make_cns(cns_file_options(file, trajectory.shape));
  const ChannelPlaces places = channel_places(file);
  const std::size_t cells = solver->grid().points_total(), times = trajectory.shape[1];
  const std::size_t count = trajectory.shape[0] * times;
  std::vector<std::vector<double>> states(count);
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t c = 0; c < 4; ++c) {
      const auto from =
          trajectory.values.begin() + static_cast<std::ptrdiff_t>((s * 4 + places[c]) * cells);
      states[s].insert(states[s].end(), from, from + static_cast<std::ptrdiff_t>(cells));
    }
  std::vector<Query> queries;
  for (std::size_t s = 0; s < count; ++s)
    if ((s + 1) % times != 0) queries.push_back({.id = s, .state = states[s]});
  std::vector<Answer> answers(queries.size());
  solver->solve(queries, answers);

  CnsFileErrors errors;
  for (std::size_t q = 0; q < queries.size(); ++q)
    for (std::size_t c = 0; c < 4; ++c) {
      double error = std::numeric_limits<double>::infinity();
      if (answers[q].status == Answer::Status::ok) {
        double difference = 0, norm = 0;
        for (std::size_t i = c * cells; i < (c + 1) * cells; ++i) {
          const double expected = states[queries[q].id + 1][i];
          difference += std::pow(answers[q].states[i] - expected, 2);
          norm += expected * expected;
        }
        error = std::sqrt(difference / norm);
      }
      if (!(error <= errors.worst[c])) errors.worst[c] = error;  // a NaN is the worst of all
      errors.mean[c] += error / static_cast<double>(queries.size());
    }
  return errors;
}

/// What is wrong with our solver according to the file, in words; empty if nothing.
inline std::string cns_file_complaints(const std::filesystem::path& file) {
  const ChannelPlaces places = channel_places(file);
  const double any = std::numeric_limits<double>::infinity();
  const PerChannel every = per_channel(file, "tolerance", places, {0.005, 0.06, 0.06, 0.005});
  const PerChannel mean = per_channel(file, "tolerance_mean", places, {any, 0.03, 0.03, any});
  const CnsFileErrors errors = cns_file_errors(file);
  std::string text;
  for (std::size_t c = 0; c < 4; ++c) {
    if (!(errors.worst[c] <= every[c]))
      text += fmt::format("{}: worst {} error {:.3g}, allowed {:g}\n", file.filename().string(),
                          kGasChannels[c], errors.worst[c], every[c]);
    if (!(errors.mean[c] <= mean[c]))
      text += fmt::format("{}: mean {} error {:.3g}, allowed {:g}\n", file.filename().string(),
                          kGasChannels[c], errors.mean[c], mean[c]);
  }
  return text;
}

}  // namespace stap::test
