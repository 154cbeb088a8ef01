#pragma once

#include <string_view>

namespace stap {

/// Instruction sets that kernels are compiled for. Results are bit-equal within one set only.
enum class Isa { portable, avx2, avx512 };

std::string_view to_string(Isa isa);

/// Whether this CPU and this build have it.
bool cpu_has(Isa isa);

/// The best set this CPU has, or the one the environment variable STAP_ISA names. Read once.
/// Throws Error(config) for an unknown name, Error(unavailable) for a set the CPU does not have.
Isa active_isa();

}  // namespace stap
