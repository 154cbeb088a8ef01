#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stap/core/grid.h"
#include "stap/core/parameters.h"
#include "stap/core/states.h"
#include "stap/data/transitions.h"

namespace stap {

/// Initial conditions to choose from: row i is candidate i, a cluster of k states. [pool, k C,
/// X...]
struct Pool {
  States<double> states;
  std::string sha256;          ///< of the values as little-endian doubles, and of the parameters
  RowParameters parameters{};  ///< of each candidate
};
/// Trajectories with which surrogates are measured. [test, T, C, X...]: state t of trajectory b is
/// row b * T + t; T = k + steps, the first k states being the initial cluster.
struct TestSet {
  States<double> states;
  std::size_t times = 0;  ///< T
  std::string sha256;
  RowParameters parameters{};  ///< of each trajectory

  std::size_t trajectories() const { return times == 0 ? 0 : states.count() / times; }
};

/// Initial conditions as a pool has them, `grid` being that of clusters of k states; values that
/// are not finite are handed on. Throws Error(data).
States<double> read_initial(const std::filesystem::path& file, const Grid& grid,
                            std::size_t cluster);

/// Throws Error(data), saying row and channel, for the first value that is not finite as networks
/// take it; `what`: whose states these are.
void check_initial(const States<double>& states, const std::string& what);

/// Those of the first `rows` rows, in the order of `names`, whatever that of the file is. Throws
/// Error(data) if the file has others or fewer, values that are not finite, or some where there
/// are no names.
RowParameters read_parameters(const std::filesystem::path& file,
                              const std::vector<std::string>& names, std::size_t rows);

/// Throws Error(data) naming the first value of a row that is outside its range.
void check_ranges(const std::filesystem::path& file, const RowParameters& parameters,
                  std::span<const ParameterDraw> draws);

/// Reads a pool of states of `grid`, or of clusters of them, from `states` or the first times of
/// `trajectory`; the first `count`, or all where that is 0. A `.npy` file holds [B, k C, X...], or
/// [B, X...] of one channel. `parameters`: names of those that vary. Throws Error(data), also if
/// there are fewer or a value is not finite.
Pool read_pool(const std::filesystem::path& file, const Grid& grid, std::size_t cluster,
               std::size_t count, const std::vector<std::string>& parameters = {});
/// The same for trajectories, `trajectory`; a `.npy` file holds [B, T, C, X...], or [B, T, X...] of
/// one channel. Of longer ones the first `times` times are taken; 0: all.
TestSet read_test_set(const std::filesystem::path& file, const Grid& grid, std::size_t times,
                      std::size_t count, const std::vector<std::string>& parameters = {});

/// Transitions that one has before a study begins, for trajectories of `steps` steps of clusters.
/// Their trajectories count as candidates `pool`, `pool` + 1, ... behind the pool. Longer ones are
/// cut into several, or, where `keep_times` (networks that know the time), what is behind `steps`
/// is left out. `sha256` is of inputs, outputs and parameters. Throws Error(data), also for another
/// grid or cluster, other parameters, none left, or a value that is not finite.
struct FirstTransitions {
  TransitionSet set;
  std::string sha256;
  std::size_t left_out = 0;
};
FirstTransitions read_first(const std::filesystem::path& file, const Grid& grid,
                            std::size_t cluster, std::size_t steps, std::size_t pool,
                            bool keep_times, const std::vector<std::string>& parameters = {});

}  // namespace stap
