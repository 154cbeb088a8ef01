#include "stap/nn/network.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/parallel.h"
#include "core/sizes.h"
#include "stap/core/error.h"
#include "stap/nn/family.h"

namespace stap {
namespace {

std::size_t size_of(const std::vector<std::size_t>& shape) {
  std::size_t size = 1;
  for (std::size_t n : shape) size = product_of({size, n});
  return size;
}

std::vector<TensorPlan> plan(const NetworkSpec& spec) {
  return spec.family.row->tensors(spec);
}

// Beyond these no computer that we know of trains a network, and sizes in bytes could overflow.
void check_size(const NetworkSpec& spec) {
  constexpr std::size_t kMaxPoints = std::size_t{1} << 30, kMaxWeights = std::size_t{1} << 32;
  if (spec.grid.points_total() > kMaxPoints)
    throw Error(ErrorKind::config,
                fmt::format("the grid {} has {} points, expected at most {} for "
                            "a network",
                            spec.grid.shape_text(), spec.grid.points_total(), kMaxPoints));
  if (parameter_count(spec) > kMaxWeights)
    throw Error(ErrorKind::config,
                fmt::format("the network has more than {} weights: choose a smaller one, by "
                            "network.width say",
                            kMaxWeights));
}

// The channels of these names, in every state of a cluster.
std::vector<std::size_t> channels_called(std::span<const std::string> names,
                                         std::span<const std::string> channels, std::size_t count) {
  std::vector<std::size_t> called;
  for (std::size_t c = 0; c < count; ++c)
    if (!channels.empty() && std::ranges::find(names, channels[c % channels.size()]) != names.end())
      called.push_back(c);
  for (const std::string& name : names)
    if (std::ranges::find(channels, name) == channels.end())
      throw Error(ErrorKind::config,
                  fmt::format("network.conserve: '{}' is no channel, expected some of [{}]", name,
                              fmt::join(channels, ", ")));
  return called;
}

}  // namespace

bool NetworkSpec::operator==(const NetworkSpec& other) const {
  return grid == other.grid && inputs == other.inputs && target == other.target &&
         conserved == other.conserved && horizon == other.horizon &&
         parameters == other.parameters && family.row == other.family.row &&
         family.options.value() == other.family.options.value();
}

NetworkSpec make_network(Grid grid, const NetworkOptions& options,
                         std::span<const std::string> channels, std::size_t steps,
                         std::vector<ParameterDraw> parameters) {
  NetworkSpec spec{.grid = std::move(grid),
                   .inputs = {options.time_input, options.position_input,
                              options.parameter_input == NetworkOptions::ParameterInput::shifts},
                   .target = options.target,
                   .parameters = std::move(parameters),
                   .family = options.family};
  if (!spec.family) spec.family.row = family_table().find(network_family().preset);
  const FamilyRow& row = *spec.family.row;
  if (spec.shifts() > 0 && !row.shifts)
    throw Error(ErrorKind::config,
                fmt::format("network.parameter_input is shifts, but networks of the family {} take "
                            "parameters as channels only",
                            row.name));
  config::AnyOptions& own = spec.family.options;
  if (own.of(*row.fields) == nullptr) own = {*row.fields, row.fields->make()};
  if (row.fitted) own = row.fitted(spec);
  if (spec.inputs.time) spec.horizon = steps;
  spec.conserved = channels_called(options.conserve, channels, spec.grid.channels);
  check_size(spec);
  return spec;
}

std::vector<float> told_rows(const NetworkSpec& spec, ConditionsView conditions, std::size_t rows) {
  const ConditionInputs told = spec.told();
  std::vector<double> row(told.channels());
  std::vector<float> all;
  for (std::size_t r = 0; !row.empty() && r < rows; ++r) {
    told.tell(conditions.step(r), conditions.parameters_of(r), row.data());
    for (const double value : row) all.push_back(static_cast<float>(value));
  }
  return all;
}

std::vector<float> position_inputs(const NetworkSpec& spec) {
  std::vector<float> channels;
  if (!spec.inputs.position) return channels;
  const std::size_t points = spec.grid.points_total();
  std::size_t behind = points;  // points of the axes behind this one
  for (const std::size_t n : spec.grid.points) {
    behind /= n;
    for (const bool sine : {true, false})
      for (std::size_t p = 0; p < points; ++p) {
        const double angle =
            2.0 * std::numbers::pi * static_cast<double>(p / behind % n) / static_cast<double>(n);
        channels.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
      }
  }
  return channels;
}

Parameters parameter_shapes(const NetworkSpec& spec) {
  Parameters parameters;
  for (TensorPlan& t : plan(spec))
    parameters.push_back({std::move(t.name), std::move(t.shape), {}});
  return parameters;
}

std::size_t parameter_count(const NetworkSpec& spec) {
  std::size_t count = 0;
  for (const TensorPlan& t : plan(spec)) count = sum_of({count, size_of(t.shape)});
  return count;
}

Parameters zero_parameters(const NetworkSpec& spec) {
  Parameters parameters = parameter_shapes(spec);
  for (Tensor& t : parameters) t.values.resize(size_of(t.shape));
  return parameters;
}

Parameters initial_parameters(const NetworkSpec& spec, const Rng& rng) {
  Parameters parameters = zero_parameters(spec);
  const std::vector<TensorPlan> plans = plan(spec);
  for (std::size_t t = 0; t < parameters.size(); ++t) {
    const Rng stream = rng.split(parameters[t].name);
    const double size = plans[t].size;
    const bool uniform = plans[t].draw == TensorPlan::Draw::uniform;
    std::vector<float>& values = parameters[t].values;
    const auto draw = [&](std::size_t i) {
      return uniform ? stream.uniform(i, -size, size) : size * stream.normal(i);
    };
    // Tens of millions of draws for the largest networks: a device waits for them in every round.
    constexpr std::size_t kAtATime = 1 << 16;
    parallel_for(thread_count(0), (values.size() + kAtATime - 1) / kAtATime,
                 [&](std::size_t task, int) {
                   const std::size_t end = std::min(values.size(), (task + 1) * kAtATime);
                   for (std::size_t i = task * kAtATime; i < end; ++i)
                     values[i] = static_cast<float>(draw(i));
                 });
  }
  return parameters;
}

void check_parameters(const NetworkSpec& spec, const Parameters& parameters) {
  const std::vector<TensorPlan> plans = plan(spec);
  if (plans.size() != parameters.size())
    throw Error(ErrorKind::data, fmt::format("this network has {} tensors, found {}", plans.size(),
                                             parameters.size()));
  for (std::size_t t = 0; t < plans.size(); ++t) {
    const Tensor& found = parameters[t];
    const std::size_t size = size_of(plans[t].shape);
    if (found.name != plans[t].name || found.shape != plans[t].shape || found.values.size() != size)
      throw Error(ErrorKind::data,
                  fmt::format("expected tensor {} [{}], found {} [{}] with {} values",
                              plans[t].name, fmt::join(plans[t].shape, ", "), found.name,
                              fmt::join(found.shape, ", "), found.values.size()));
  }
}

Scaling unit_scaling(std::size_t channels) {
  return {std::vector<float>(channels, 0.0f), std::vector<float>(channels, 1.0f)};
}

}  // namespace stap
