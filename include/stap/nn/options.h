#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stap/config/registry.h"

namespace stap {

struct FamilyRow;

/// What a network is, whatever its family (the section `network`).
struct NetworkOptions {
  enum class Target { delta, state };
  enum class ParameterInput { channels, shifts };
  /// Of axes with walls: one value per axis of the grid, or one for all; none: the default.
  struct PaddingOptions {
    std::vector<double> share{};
    std::vector<std::string> kind{};
  };

  Target target = Target::delta;  ///< what the network predicts
  bool time_input = false;        ///< NetworkInputs
  bool position_input = false;
  ParameterInput parameter_input = ParameterInput::channels;  ///< where the problem has some
  /// Names of channels whose mean over the grid no step changes; NetworkSpec::conserved are the
  /// channels.
  std::vector<std::string> conserve{};
  PaddingOptions padding{};  ///< Padding
  /// The family with its own options (stap/nn/family.h); nothing: what sections mean that name
  /// none.
  config::Choice<FamilyRow> family{};
};

/// How a network is trained on transitions.
struct FitOptions {
  enum class Schedule { cosine, linear, constant };
  enum class Loss { scaled, physical };

  int epochs = 100;
  int steps = 0;                         ///< gradient steps in the place of epochs; 0: epochs count
  std::size_t batch = 32;                ///< rows per step, at most 32
  double learning_rate = 1e-3;           ///< at the start
  Schedule schedule = Schedule::cosine;  ///< along which it falls to 0, or does not
  double beta1 = 0.9;                    ///< Adam: decay of the mean gradient
  double beta2 = 0.999;                  ///< Adam: decay of the mean squared gradient
  double epsilon = 1e-8;                 ///< Adam: added to the root of the mean squared gradient
  double average = 0.0;                  ///< decay of the running average of the weights; 0: none
  /// Standard deviation of the noise on every value that a training step is given, drawn anew for
  /// each, in units of Scaling::deviation of its channel. Targets stay as they are. 0: none.
  double noise = 0.0;
  /// Symmetries of the problem as text (parse_symmetry()); FitJob::symmetries are the maps of them.
  std::vector<std::string> symmetries{};
  /// What errors are counted in: units of their channel, or of the data; and what the squared
  /// errors of a state's channels weigh (empty: 1 each). FitJob::loss_factors are what comes of
  /// both.
  Loss loss = Loss::scaled;
  std::vector<double> channel_weights{};
};

/// How long a training on so many rows is. An epoch goes once through them; where steps count, the
/// last one ends with the last step.
struct FitLength {
  std::int64_t steps_per_epoch, steps;
  int epochs;

  /// Steps made when so many epochs are done, and back.
  std::int64_t steps_after(int epochs_done) const;
  int epochs_after(std::int64_t steps_done) const;
};
FitLength fit_length(const FitOptions& options, std::size_t rows);

/// Of every family; `family` is no field.
const config::Fields<NetworkOptions>& network_fields();
const config::Fields<FitOptions>& fit_fields();

}  // namespace stap
