#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stap/core/outline.h"
#include "stap/data/transitions.h"

// A run's training set for other programs. docs/how-to/your-data.md says what the files hold.
namespace stap {

/// How a state came about. The numbers are in exported files.
enum class StateSource : std::uint8_t {
  unknown = 0,     ///< not in the training set
  initial = 1,     ///< an initial condition, as it is in the pool
  solver = 2,      ///< made by the solver, of the state before it
  mean_model = 3,  ///< synthetic: made by the mean model of the round it was bought in
};

/// A candidate's way, as far as the training set has it.
struct WalkedTrajectory {
  std::size_t acquisition = 0, candidate = 0;
  std::vector<std::size_t> rows;     ///< of its transitions, by step
  std::vector<StateSource> sources;  ///< [T], of single states
};

/// The training set of a run, and which of its states are synthetic.
struct TrainingData {
  std::string problem;
  std::vector<std::string> channels;  ///< names, of single states
  std::vector<Parameter> parameters;  ///< numbers of the problem that do not vary
  Grid grid;                          ///< of single states
  std::size_t steps = 0;              ///< L of a trajectory
  TransitionSet set;
  std::vector<std::uint8_t> synthetic;         ///< 1 where the mean model made the input: [n]
  std::vector<WalkedTrajectory> trajectories;  ///< in the order of their first purchase

  /// T = k + L: the first k states are the initial cluster.
  std::size_t times() const { return set.cluster + steps; }
  /// Of state t: that of state k - 1 is 0.
  double time(std::size_t t) const;
  /// State t, [C, X...]; empty where it is not known.
  std::span<const double> state_of(const WalkedTrajectory& trajectory, std::size_t t) const;
  /// Its values of the parameters that vary (set.parameters.names).
  std::span<const double> parameters_of(const WalkedTrajectory& trajectory) const {
    return set.parameters.row(trajectory.rows.front());
  }
  /// All of them, [T, C, X...]; NaN where a state is not known.
  std::vector<double> states_of(const WalkedTrajectory& trajectory) const;
};

/// Reads it from a run's folder, which may be in use. Throws Error(data) if there is none yet, or
/// it is damaged.
TrainingData read_training_data(const std::filesystem::path& run);
/// The parts of it that follow from the transitions: `synthetic` and `trajectories`. Throws
/// Error(data) for steps that such trajectories do not have.
void put_together(TrainingData& data);

/// One file of trajectories in the layout of The Well, with the scalars `state_source` [B, T],
/// `candidate`, `round` and every parameter that varies [B]. Throws Error(storage), as the others
/// do.
void export_well(const TrainingData& data, const std::filesystem::path& file);
/// A folder with the transitions: inputs.npy, outputs.npy, candidate.npy, step.npy, round.npy,
/// synthetic.npy, parameters.npy where some vary, and README.txt. Throws Error(config) if it is
/// there and neither empty nor the very same, which one finds who was stopped after its last byte.
void export_npy(const TrainingData& data, const std::filesystem::path& folder);
/// A text file that ParaView opens, and beside it, with the ending .h5, the states it points to.
/// Throws Error(config) if `file` has another ending than .xdmf or .xmf.
void export_xdmf(const TrainingData& data, const std::filesystem::path& file);
std::filesystem::path xdmf_values(const std::filesystem::path& file);
/// What such a text begins with.
constexpr std::string_view kXdmfBegin = "<?xml version=\"1.0\"?>\n<!-- state_source:";

}  // namespace stap
