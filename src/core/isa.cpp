#include "stap/core/isa.h"

#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

Isa choose() {
  constexpr Isa best_first[] = {Isa::avx512, Isa::avx2, Isa::portable};
  if (const char* wish = std::getenv("STAP_ISA"); wish != nullptr && *wish != '\0') {
    for (Isa isa : best_first) {
      if (to_string(isa) != wish) continue;
      if (!cpu_has(isa))
        throw Error(
            ErrorKind::unavailable,
            fmt::format("STAP_ISA={} asks for instructions this CPU or build does not have", wish));
      return isa;
    }
    throw Error(ErrorKind::config,
                fmt::format("STAP_ISA={}, expected portable, avx2 or avx512", wish));
  }
  for (Isa isa : best_first)
    if (cpu_has(isa)) return isa;
  return Isa::portable;
}

}  // namespace

bool cpu_has(Isa isa) {
#if defined(STAP_X86_ISAS)
  switch (isa) {
    case Isa::portable:
      return true;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  }
#endif
  return isa == Isa::portable;
}

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "unknown";
}

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace stap
