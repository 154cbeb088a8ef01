#include "nn/cpu/kernels.h"

namespace stap {

namespace portable {
extern const cpu::Kernels nn_kernels;
}
#if defined(STAP_X86_ISAS)
namespace avx2 {
extern const cpu::Kernels nn_kernels;
}
namespace avx512 {
extern const cpu::Kernels nn_kernels;
}
#endif

namespace cpu {

const Kernels& kernels(Isa isa) {
#if defined(STAP_X86_ISAS)
  if (isa == Isa::avx512) return avx512::nn_kernels;
  if (isa == Isa::avx2) return avx2::nn_kernels;
#endif
  (void)isa;
  return portable::nn_kernels;
}

}  // namespace cpu
}  // namespace stap
