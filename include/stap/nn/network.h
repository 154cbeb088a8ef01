#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stap/core/condition.h"
#include "stap/core/fixed_fields.h"
#include "stap/core/grid.h"
#include "stap/core/rng.h"
#include "stap/nn/options.h"

namespace stap {

/// What a network is told beside state and parameters: a channel or more each.
struct NetworkInputs {
  bool time = false;      ///< one, constant in space, holding time in [0,1]
  bool position = false;  ///< two an axis, saying where a point is: position_inputs()
  bool shifts = false;    ///< parameters are no channels, but shift the layers of the body

  bool operator==(const NetworkInputs&) const = default;
};

/// How an axis with walls goes on behind its end until it begins again, since bodies take axes for
/// rings: the end's value blended into that of the beginning, zero, or the field's mirror image in
/// each wall, one blended into the other, with the other sign (odd) or the same (even). Or no ring
/// is made and the body's convolutions (FamilyRow::pads) read zeros or mirror images there.
struct Padding {
  enum class Kind { blended, zero, odd, even, conv_zero, conv_mirror };

  double share = 0.0;  ///< of the axis's points; they are rounded
  Kind kind = Kind::blended;

  bool convolved() const { return kind == Kind::conv_zero || kind == Kind::conv_mirror; }
  bool operator==(const Padding&) const = default;
};

/// A network: what surrounds it, and the family that it is of.
struct NetworkSpec {
  Grid grid;  ///< of the states that it takes and makes
  NetworkInputs inputs{};
  NetworkOptions::Target target{};
  /// Channels of the grid whose mean a step keeps: it is shifted so, once it is made, wherever
  /// networks are used. Training knows nothing of it. Rising.
  std::vector<std::size_t> conserved{};
  /// Steps over which the time input runs from 0 to 1; 0: there is none, or an older file does not
  /// say.
  std::size_t horizon = 0;
  /// Those of the problem that vary, with the ranges that they are told by: not by data, so no
  /// member has its own.
  std::vector<ParameterDraw> parameters{};
  std::vector<Padding> padding{};  ///< per axis; empty where no axis has walls
  SharedFixedFields fixed{};       ///< of the problem: inputs, and where outputs count
  /// With its own options; what follows from the grid is in them.
  config::Choice<FamilyRow> family{};

  /// The state's channels, then what a row is told of its condition but for shifts, then positions,
  /// then fixed fields.
  std::size_t in_channels() const {
    return grid.channels + told_channels() - shifts() + placed_channels();
  }
  /// Of what a row is told the last so many shift the body's layers.
  std::size_t shifts() const { return inputs.shifts ? parameters.size() : 0; }
  std::size_t told_channels() const { return (inputs.time ? 1 : 0) + parameters.size(); }
  /// Those that say what is at a point: position_inputs().
  std::size_t placed_channels() const { return position_channels() + fixed_channels(); }
  std::size_t position_channels() const { return inputs.position ? 2 * grid.axes() : 0; }
  /// The mask, if there is one, and the static channels.
  std::size_t fixed_channels() const {
    return fixed == nullptr ? 0 : (fixed->mask.empty() ? 0 : 1) + fixed->count(grid);
  }
  std::size_t out_channels() const { return grid.channels; }
  /// Points of padding behind an axis.
  std::size_t padded(std::size_t axis) const;
  /// What a body works on: the grid with its padding, a ring in every axis that its convolutions do
  /// not pad.
  Grid body_grid() const;
  NetworkOptions::PaddingOptions padding_options() const;  ///< that `padding` follows from
  /// What a row is told of its condition: channels that are constant in space.
  ConditionInputs told() const { return {inputs.time, horizon, parameters}; }

  bool operator==(const NetworkSpec& other) const;
};

/// A checked network; options.conserve becomes `conserved`, by the names of a state's `channels`,
/// of which the grid may have several one after the other (clusters). `steps`: of a trajectory,
/// which a time input runs over; `parameters`: of the problem that vary. Throws Error(config) for
/// options that do not fit the grid or each other, and for what is conserved and no channel.
NetworkSpec make_network(Grid grid, const NetworkOptions& options,
                         std::span<const std::string> channels = {}, std::size_t steps = 0,
                         std::vector<ParameterDraw> parameters = {}, SharedFixedFields fixed = {});

/// What rows in these conditions are told, [rows][told_channels()]: TransitionsView::told.
std::vector<float> told_rows(const NetworkSpec& spec, ConditionsView conditions, std::size_t rows);

/// Channels [placed_channels][points of the body's grid], positions before fixed fields. Per axis
/// the sine and the cosine of an angle that goes once round its ring and tells all points apart. On
/// a periodic axis of N points it is 2 pi i / N; on one of length L with walls it is pi x / L at x
/// in [0, L], the other half of the ring is the padding's. Fixed fields are continued there as
/// states are, but never with another sign, and are 0 under the mask.
std::vector<float> position_inputs(const NetworkSpec& spec);

/// A named array, as it stands in a model file.
struct Tensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;

  bool operator==(const Tensor&) const = default;
};

/// All weights of one network, in a fixed order.
using Parameters = std::vector<Tensor>;

/// The names and shapes of a network's parameters, without values; and how many values those are.
Parameters parameter_shapes(const NetworkSpec& spec);
std::size_t parameter_count(const NetworkSpec& spec);
/// Parameters of the right names and shapes, all zero.
Parameters zero_parameters(const NetworkSpec& spec);
/// Fresh weights, each a function of (rng, its name, its index).
Parameters initial_parameters(const NetworkSpec& spec, const Rng& rng);
/// Throws Error(data) naming the first tensor whose name or shape is not that of the network.
void check_parameters(const NetworkSpec& spec, const Parameters& parameters);

/// What stands around the network: u + s N((u - m)/s) or m + s N((u - m)/s) per channel.
struct Scaling {
  std::vector<float> mean, deviation;  ///< [C]; deviation above 0
  bool operator==(const Scaling&) const = default;
};
/// Mean 0, deviation 1.
Scaling unit_scaling(std::size_t channels);

}  // namespace stap
