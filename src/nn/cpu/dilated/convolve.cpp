#include "nn/cpu/dilated/convolve.h"

#include "core/isa_choice.h"

namespace stap {

STAP_DECLARE_PER_ISA(cpu::dilated::Convolutions, nn_convolutions);

namespace cpu::dilated {

const Convolutions& convolutions(Isa isa) {
  return STAP_CHOOSE_ISA(isa, nn_convolutions);
}

}  // namespace cpu::dilated
}  // namespace stap
