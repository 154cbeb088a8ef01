// States in HDF5 files, for commands with `format: hdf5`. In a source of its own: the program
// stap-serve is linked with no_hdf5.cpp in its place, so that a node that serves needs no HDF5.
#pragma once

#include <filesystem>

#include "stap/core/outline.h"
#include "stap/core/solver.h"
#include "stap/data/npy.h"

namespace stap {

/// Throws Error(config) in a program without HDF5.
void check_hdf5();
/// The query's state as dataset `state`; time, steps, dt and parameters as attributes. Throws
/// Error(storage).
void write_state_hdf5(const std::filesystem::path& file, const Outline& outline,
                      const Query& query);
/// The dataset `state`. Throws Error(data).
Array<double> read_states_hdf5(const std::filesystem::path& file);

}  // namespace stap
