// What the functions of stap/nn/engine.h and stap/nn/compute.h ask of each device.
#pragma once

#include <cstddef>
#include <string>

#include "stap/nn/network.h"

namespace stap {

/// Throws Error(config) unless an engine can have so many members.
void check_member_count(int members);

/// Name of the GPU that make_cuda_engine() would use; empty if there is none.
std::string cuda_name();

/// Bytes that an engine takes to train its members; about. `augmented`: with room for what stands
/// in the place of rows (augment.h). threads = 0: all cores.
std::size_t cpu_training_bytes(const NetworkSpec& spec, int members, bool augmented, int threads);
std::size_t cuda_training_bytes(const NetworkSpec& spec, int members, bool augmented);

}  // namespace stap
