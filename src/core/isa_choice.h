// One name per instruction set: how code outside the kernels (*.isa.cpp) picks theirs.
#pragma once

#include "stap/core/isa.h"

/// Declares `name` of `type` in the namespace of every instruction set; put it into namespace stap.
#define STAP_DECLARE_PER_ISA(type, name) \
  namespace portable {                   \
  extern const type name;                \
  }                                      \
  namespace avx2 {                       \
  extern const type name;                \
  }                                      \
  namespace avx512 {                     \
  extern const type name;                \
  }                                      \
  static_assert(true)

/// The one of a set that this build has (every set up to active_isa() is one).
#if defined(STAP_X86_ISAS)
#define STAP_CHOOSE_ISA(isa, name)             \
  ((isa) == ::stap::Isa::avx512 ? avx512::name \
   : (isa) == ::stap::Isa::avx2 ? avx2::name   \
                                : portable::name)
#else
#define STAP_CHOOSE_ISA(isa, name) (static_cast<void>(isa), portable::name)
#endif
