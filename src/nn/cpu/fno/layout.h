// Where each weight of an FNO stands in the one packed array that the kernels read (kernels.h
// says how each is laid out), and back.
#pragma once

#include <cstddef>
#include <vector>

#include "nn/cpu/kernels.h"
#include "stap/nn/fno.h"

namespace stap::cpu::fno {

struct Layout {
  Layout(const NetworkSpec& spec, const FnoOptions& options);

  std::size_t in, out, width, lifting, projection, layers;
  std::size_t shifts;         ///< NetworkSpec::shifts()
  std::size_t points, modes;  ///< grid points; kept complex modes in all
  std::size_t width_padded, lifting_padded, projection_padded;

  // Offsets into the packed array: first the dense part, then the spectral weights.
  std::size_t lift1, lift1_bias, lift2, lift2_bias;
  std::vector<std::size_t> skip, bias;  ///< per layer
  std::vector<std::size_t> shift;       ///< likewise, [shifts][padded width]
  std::size_t project1, project1_bias, project2, project2_bias;
  std::size_t dense_size;
  std::vector<std::size_t> spectral;  ///< per layer
  std::size_t mode_size;              ///< one mode's weight: 2 x width x padded width
  std::size_t size;

  // Offsets into the array of transposed dense weights that the backward pass reads.
  std::size_t lift2_t, project1_t;
  std::vector<std::size_t> skip_t;
  std::size_t transposed_size;

  void pack(const Parameters& parameters, float* packed) const;
  void unpack(const float* packed, Parameters& parameters) const;
};

}  // namespace stap::cpu::fno
