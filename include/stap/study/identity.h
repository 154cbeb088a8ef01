#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/grid.h"

namespace stap {

/// What a problem is, in words and as hashes. Every run keeps it, so that results can be looked at
/// without the problem, and another problem under the same folder is refused.
struct Identity {
  std::string name;                       ///< of the solver
  std::vector<std::string> channels;      ///< their names
  Grid grid;                              ///< of single states
  double dt = 0.0;                        ///< of one learned step
  std::size_t steps = 0;                  ///< L of a trajectory
  std::size_t cluster = 1;                ///< k: states of an initial condition
  std::vector<std::string> parameters{};  ///< names of those that vary
  std::string pool_sha256;                ///< of the values as little-endian doubles
  std::string test_sha256;                ///< empty: there is no test set
  std::size_t test_trajectories = 0;
  std::string pool_file, test_file;  ///< where they were read; empty: they are in the cache
  std::string first_sha256{};        ///< of transitions there were before; empty: none
  std::string first_file{};
  std::string fixed_sha256{};  ///< of the fixed fields; empty: none
  std::string data_key;        ///< their name there; empty if nothing was made
};
config::Value to_value(const Identity& identity);

}  // namespace stap
