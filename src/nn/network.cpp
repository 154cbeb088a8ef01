#include "stap/nn/network.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/parallel.h"
#include "core/sizes.h"
#include "nn/body_points.h"
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
  const Grid grid = spec.body_grid();
  if (grid.points_total() > kMaxPoints)
    throw Error(ErrorKind::config,
                fmt::format("the grid {} has {} points{}, expected at most {} for "
                            "a network",
                            grid.shape_text(), grid.points_total(),
                            grid == spec.grid ? "" : " with its padding", kMaxPoints));
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

constexpr std::pair<std::string_view, Padding::Kind> kPaddings[] = {
    {"blended", Padding::Kind::blended},
    {"zero", Padding::Kind::zero},
    {"odd", Padding::Kind::odd},
    {"even", Padding::Kind::even},
    {"conv-zero", Padding::Kind::conv_zero},
    {"conv-mirror", Padding::Kind::conv_mirror}};
constexpr double kPaddingShare = 0.25;  // eight cells of 32 halve the error of a cavity

Padding::Kind padding_kind(const std::string& word) {
  for (const auto& [name, kind] : kPaddings)
    if (word == name) return kind;
  throw Error(
      ErrorKind::config,
      fmt::format("network.padding.kind has '{}', expected blended, zero, odd, even, conv-zero or "
                  "conv-mirror",
                  word));
}

// What is asked for on each axis; those that are periodic have none.
std::vector<Padding> padding_of(const Grid& grid, const NetworkOptions::PaddingOptions& options) {
  const auto& [share, kind] = options;
  const auto check = [&](const char* key, std::size_t values) {
    if (values > 1 && values != grid.axes())
      throw Error(ErrorKind::config,
                  fmt::format("network.padding.{} has {} values, expected one, or one for each of "
                              "the {} axes",
                              key, values, grid.axes()));
    if (values > 0 && !grid.walled())
      throw Error(ErrorKind::config,
                  fmt::format("network.padding.{} is given, but all axes are periodic: say in "
                              "pde.walls which have walls, or leave it out",
                              key));
  };
  check("share", share.size());
  check("kind", kind.size());
  std::vector<Padding> padding(grid.walled() ? grid.axes() : 0);
  for (std::size_t axis = 0; axis < padding.size(); ++axis) {
    const auto of = [&](const auto& values) { return values[values.size() == 1 ? 0 : axis]; };
    Padding& one = padding[axis];
    if (!kind.empty()) one.kind = padding_kind(of(kind));
    if (!share.empty()) one.share = of(share);
    if (!(one.share >= 0 && one.share <= 1))
      throw Error(ErrorKind::config,
                  fmt::format("network.padding.share is {}, expected 0 to 1", one.share));
    if (grid.end(axis) != Boundary::periodic) {
      if (share.empty() && !one.convolved()) one.share = kPaddingShare;
      if (one.convolved() && one.share > 0)
        throw Error(ErrorKind::config,
                    fmt::format("network.padding.share is {} for axis {}, where convolutions pad "
                                "({}): expected 0, or one value per axis",
                                one.share, axis + 1, of(kind)));
    } else if (share.size() > 1 && one.share > 0) {
      throw Error(ErrorKind::config,
                  fmt::format("network.padding.share is {} for axis {}, which is periodic: "
                              "expected 0, as only walls are padded",
                              one.share, axis + 1));
    } else {
      one = {};
    }
  }
  return padding;
}

}  // namespace

std::size_t NetworkSpec::padded(std::size_t axis) const {
  if (padding.empty()) return 0;
  return static_cast<std::size_t>(
      std::lround(padding[axis].share * static_cast<double>(grid.points[axis])));
}

Grid NetworkSpec::body_grid() const {
  Grid body{grid.channels, grid.points, grid.lengths};
  for (std::size_t axis = 0; axis < grid.axes(); ++axis) {
    body.points[axis] += padded(axis);
    body.lengths[axis] = grid.spacing(axis) * static_cast<double>(body.points[axis]);
  }
  return grid.walled() ? body : grid;
}

NetworkOptions::PaddingOptions NetworkSpec::padding_options() const {
  NetworkOptions::PaddingOptions options;
  for (const Padding& one : padding) {
    options.share.push_back(one.share);
    options.kind.emplace_back(kPaddings[static_cast<std::size_t>(one.kind)].first);
  }
  return options;
}

bool NetworkSpec::operator==(const NetworkSpec& other) const {
  return grid == other.grid && inputs == other.inputs && target == other.target &&
         conserved == other.conserved && horizon == other.horizon && padding == other.padding &&
         parameters == other.parameters && equal(fixed, other.fixed) &&
         family.row == other.family.row && family.options.value() == other.family.options.value();
}

NetworkSpec make_network(Grid grid, const NetworkOptions& options,
                         std::span<const std::string> channels, std::size_t steps,
                         std::vector<ParameterDraw> parameters, SharedFixedFields fixed) {
  NetworkSpec spec{.grid = std::move(grid),
                   .inputs = {options.time_input, options.position_input,
                              options.parameter_input == NetworkOptions::ParameterInput::shifts},
                   .target = options.target,
                   .parameters = std::move(parameters),
                   .fixed = std::move(fixed),
                   .family = options.family};
  spec.padding = padding_of(spec.grid, options.padding);
  if (!spec.family) spec.family.row = family_table().find(network_family().preset);
  const FamilyRow& row = *spec.family.row;
  if (spec.shifts() > 0 && !row.shifts)
    throw Error(ErrorKind::config,
                fmt::format("network.parameter_input is shifts, but networks of the family {} take "
                            "parameters as channels only",
                            row.name));
  for (std::size_t axis = 0; axis < spec.padding.size() && !row.pads; ++axis)
    if (spec.padding[axis].convolved())
      throw Error(ErrorKind::config,
                  fmt::format("network.padding.kind is {} for axis {}, but networks of the family "
                              "{} take rings only: choose blended, zero, odd or even, or "
                              "network.name: dilated",
                              spec.padding_options().kind[axis], axis + 1, row.name));
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

// Where point i of the body's axis lies on its ring. Half a cell before the first centre is a wall,
// half a cell behind the last one the other: the padding has the whole cells of the other half.
static double ring_angle(const NetworkSpec& spec, std::size_t axis, std::size_t i) {
  const auto n = static_cast<double>(spec.grid.points[axis]), at = static_cast<double>(i);
  const auto padded = static_cast<double>(spec.padded(axis));
  const Boundary end = spec.grid.end(axis);
  if (end == Boundary::periodic) return 2.0 * std::numbers::pi * at / n;
  const bool centres = end == Boundary::centres;
  const double half = centres ? 0.5 : 0.0, cells = centres ? n : n - 1;
  if (at < n) return std::numbers::pi * (at + half) / cells;
  return std::numbers::pi * (1.0 + (at - cells + half) / (centres ? padded : padded + 1));
}

std::vector<float> position_inputs(const NetworkSpec& spec) {
  std::vector<float> channels;
  const Grid body = spec.body_grid();
  const std::size_t points = body.points_total();
  std::size_t behind = points;  // points of the axes behind this one
  for (std::size_t axis = 0; spec.inputs.position && axis < body.axes(); ++axis) {
    const std::size_t n = body.points[axis];
    behind /= n;
    for (const bool sine : {true, false})
      for (std::size_t p = 0; p < points; ++p) {
        const double angle = ring_angle(spec, axis, p / behind % n);
        channels.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
      }
  }
  if (spec.fixed_channels() == 0) return channels;
  std::vector<float> fixed(spec.fixed->mask.begin(), spec.fixed->mask.end());
  fixed.insert(fixed.end(), spec.fixed->channels.begin(), spec.fixed->channels.end());
  const std::vector<BodyPoint> table = body_points(spec);
  if (table.empty()) channels.insert(channels.end(), fixed.begin(), fixed.end());
  for (std::size_t first = 0; first < fixed.size(); first += spec.grid.points_total())
    for (const BodyPoint& point : table) {
      float sum = 0.0f;
      for (std::int32_t s = 0; s < point.sources; ++s)
        sum += std::abs(point.weight[s]) * fixed[first + static_cast<std::size_t>(point.from[s])];
      channels.push_back(sum);
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
