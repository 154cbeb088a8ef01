#include "nn/cpu/fno/transform.h"

#include <algorithm>
#include <cstring>

namespace stap::cpu::fno {

Transform::Transform(const Grid& grid, const FnoOptions& options)
    : points_(grid.points), kept_(options.kept()) {
  for (std::size_t n : points_) axes_.emplace_back(n);
}

std::size_t Transform::scratch_size(std::size_t channels) const {
  std::size_t fft = 0;
  for (const Fft<float>& axis : axes_) fft = std::max(fft, axis.scratch_size());
  if (axes_.size() == 1) return fft;
  // Half-transformed field [x][ky][2][channels] and one column of it, [x][2][channels].
  return fft + 2 * channels * points_[0] * (kept_[1] + 1);
}

void Transform::forward(const float* field, std::size_t ld, std::size_t channels, SpectrumView to,
                        float* scratch) const {
  if (axes_.size() == 1) {
    axes_[0].real_forward(field, ld, to.data, to.data + to.part_stride, to.mode_stride, channels,
                          kept_[0], scratch);
    return;
  }
  const std::size_t nx = points_[0], ny = points_[1], kx = kept_[0], ky = kept_[1];
  const std::size_t pair = 2 * channels;
  float* half = scratch;
  float* column = half + nx * ky * pair;
  float* fft = column + nx * pair;
  for (std::size_t x = 0; x < nx; ++x)
    axes_[1].real_forward(field + x * ny * ld, ld, half + x * ky * pair,
                          half + x * ky * pair + channels, pair, channels, ky, fft);
  for (std::size_t y = 0; y < ky; ++y) {
    axes_[0].forward(half + y * pair, half + y * pair + channels, ky * pair, column,
                     column + channels, pair, channels, fft);
    for (std::size_t k = 0; k < kx; ++k) {  // k stands for wave number k - kx/2
      const float* from = column + (k + nx - kx / 2) % nx * pair;
      float* mode = to.data + (k * ky + y) * to.mode_stride;
      std::memcpy(mode, from, channels * sizeof(float));
      std::memcpy(mode + to.part_stride, from + channels, channels * sizeof(float));
    }
  }
}

void Transform::inverse(SpectrumView from, std::size_t channels, float* field, std::size_t ld,
                        float* scratch) const {
  if (axes_.size() == 1) {
    axes_[0].real_inverse(from.data, from.data + from.part_stride, from.mode_stride, field, ld,
                          channels, kept_[0], scratch);
    return;
  }
  const std::size_t nx = points_[0], ny = points_[1], kx = kept_[0], ky = kept_[1];
  const std::size_t pair = 2 * channels;
  float* half = scratch;
  float* column = half + nx * ky * pair;
  float* fft = column + nx * pair;
  std::memset(column, 0, nx * pair * sizeof(float));
  for (std::size_t y = 0; y < ky; ++y) {
    for (std::size_t k = 0; k < kx; ++k) {
      const float* mode = from.data + (k * ky + y) * from.mode_stride;
      float* to = column + (k + nx - kx / 2) % nx * pair;
      std::memcpy(to, mode, channels * sizeof(float));
      std::memcpy(to + channels, mode + from.part_stride, channels * sizeof(float));
    }
    axes_[0].inverse(column, column + channels, pair, half + y * pair, half + y * pair + channels,
                     ky * pair, channels, fft);
  }
  for (std::size_t x = 0; x < nx; ++x)
    axes_[1].real_inverse(half + x * ky * pair, half + x * ky * pair + channels, pair,
                          field + x * ny * ld, ld, channels, ky, fft);
}

float Transform::multiplicity(std::size_t mode) const {
  const std::size_t k = mode % kept_.back();
  return k == 0 || 2 * k == points_.back() ? 1.0f : 2.0f;
}

}  // namespace stap::cpu::fno
