#pragma once

#include <ostream>
#include <vector>

#include "stap/core/isa.h"

namespace stap {

/// For GoogleTest.
inline void PrintTo(Isa isa, std::ostream* out) {
  *out << to_string(isa);
}

}  // namespace stap

namespace stap::test {

/// The instruction sets this machine can run: every kernel is tested on each.
inline std::vector<Isa> available_isas() {
  std::vector<Isa> isas = {Isa::portable};
  for (Isa isa : {Isa::avx2, Isa::avx512})
    if (cpu_has(isa)) isas.push_back(isa);
  return isas;
}

}  // namespace stap::test
