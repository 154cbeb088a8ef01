#include "nn/cpu/kernels.h"

#include "core/isa_choice.h"

namespace stap {

STAP_DECLARE_PER_ISA(cpu::Kernels, nn_kernels);

namespace cpu {

const Kernels& kernels(Isa isa) {
  return STAP_CHOOSE_ISA(isa, nn_kernels);
}

}  // namespace cpu
}  // namespace stap
