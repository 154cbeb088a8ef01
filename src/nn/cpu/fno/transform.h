// The Fourier transforms of one sample's field, channels in the SIMD lanes, kept modes only.
#pragma once

#include <cstddef>
#include <vector>

#include "stap/core/fft.h"
#include "stap/nn/fno.h"

namespace stap::cpu::fno {

/// A spectrum addressed by mode: value of (mode, part, channel) at data[mode * mode_stride +
/// part * part_stride + channel].
struct SpectrumView {
  float* data;
  std::size_t mode_stride, part_stride;
};

class Transform {
 public:
  Transform(const Grid& grid, const FnoOptions& options);

  /// Values of scratch a call needs for this many channels (a multiple of kPanel).
  std::size_t scratch_size(std::size_t channels) const;
  /// Real field [points][ld] -> kept modes. Unnormalised.
  void forward(const float* field, std::size_t ld, std::size_t channels, SpectrumView to,
               float* scratch) const;
  /// Kept modes -> real field: complex inverse along the first axis of two, then complex to real
  /// along the last, which ignores the imaginary part of its zero and Nyquist modes. Unnormalised.
  void inverse(SpectrumView from, std::size_t channels, float* field, std::size_t ld,
               float* scratch) const;
  /// How often mode m counts in the real field: 2, or 1 for the last axis' zero and Nyquist modes.
  float multiplicity(std::size_t mode) const;

 private:
  std::vector<std::size_t> points_, kept_;
  std::vector<Fft<float>> axes_;
};

}  // namespace stap::cpu::fno
