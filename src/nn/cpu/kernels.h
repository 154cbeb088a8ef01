// The arithmetic of bodies on a CPU, one table of functions per instruction set.
//
// Layouts (all float; "padded" means rounded up to a multiple of kPanel, the pad holding zeros):
//  - a field of one sample is channels-last, [points][ld], ld >= padded channels (field_stride());
//  - a dense weight [in, out] is stored in panels: [padded out / kPanel][in][kPanel];
//  - the projection's second weight is [C][padded projection], its bias [C];
//  - spectra are [mode][row][2][padded width], the 2 being real and imaginary part;
//  - a spectral weight is [mode][2][width in][padded width out].
// Every sum runs in one fixed order per output element (input channel, row or point ascending), so
// that an element does not depend on tiles, blocks or threads.
#pragma once

#include <cstddef>

#include "stap/core/isa.h"

namespace stap::cpu {

inline constexpr std::size_t kPanel = 16;

/// Rounded up to whole panels.
constexpr std::size_t padded(std::size_t channels) {
  return (channels + kPanel - 1) / kPanel * kPanel;
}

/// Distance of two points of a field: an odd number of cache lines, so that a column of a field
/// does not fall into a few sets of the cache.
constexpr std::size_t field_stride(std::size_t channels) {
  const std::size_t lines = padded(channels) / kPanel;
  return (lines + 1 - lines % 2) * kPanel;
}

/// y = act(x W + bias + add) * factor for a run of points; null pointers leave their part out.
/// `add`, `factor`, `y` and `slope` have stride ldy; `y` may be `add` or `factor`, never `x`.
struct Dense {
  std::size_t points, in, out_padded;
  const float* x;
  std::size_t ldx;
  const float* weight;
  const float* bias;
  const float* add;
  const float* factor;
  float* y;
  float* slope;  ///< of GELU at its argument
  std::size_t ldy;
};

struct AdamStep {
  float rate;  ///< learning rate / (1 - beta1^t)
  float beta1, beta2;
  float root_scale;  ///< 1 / sqrt(1 - beta2^t)
  float epsilon;
};

struct Kernels {
  // --- dense layers; the name says which parts of Dense are used ---
  void (*dense)(const Dense&);                  // x W
  void (*dense_bias)(const Dense&);             // x W + bias
  void (*dense_bias_gelu)(const Dense&);        // gelu(x W + bias)
  void (*dense_bias_gelu_slope)(const Dense&);  // ... and its slope
  void (*dense_bias_add)(const Dense&);         // x W + bias + add
  void (*dense_bias_add_gelu)(const Dense&);
  void (*dense_bias_add_gelu_slope)(const Dense&);
  void (*dense_add)(const Dense&);      // x W + add
  void (*dense_add_mul)(const Dense&);  // (x W + add) * factor
  void (*dense_mul)(const Dense&);      // x W * factor

  /// gradient panels += x^T d, over points in order.
  void (*outer)(std::size_t points, std::size_t in, std::size_t out_padded, const float* x,
                std::size_t ldx, const float* d, std::size_t ldd, float* gradient);
  /// sums[o] += sum over points of d.
  void (*column_sums)(std::size_t points, std::size_t out_padded, const float* d, std::size_t ldd,
                      float* sums);
  /// Panels of [in, out] -> panels of [out, in].
  void (*transpose)(std::size_t in, std::size_t out, const float* weight, float* transposed);

  // --- projection to the few output channels ---
  /// out[x][C] = hidden W^T + bias.
  void (*project)(std::size_t points, std::size_t hidden_padded, std::size_t channels,
                  const float* hidden, std::size_t ld, const float* weight, const float* bias,
                  float* out);
  /// slope[x][h] *= sum_c d_out[x][c] weight[c][h]; d_weight[c][h] += sum_x d_out[x][c]
  /// hidden[x][h].
  void (*project_back)(std::size_t points, std::size_t hidden_padded, std::size_t channels,
                       const float* d_out, const float* weight, const float* hidden, float* slope,
                       std::size_t ld, float* d_weight);

  // --- one mode of a spectral layer ---
  /// out[r] = scale * in[r] W for complex rows.
  void (*mode_product)(std::size_t rows, std::size_t in_width, std::size_t in_padded,
                       std::size_t out_padded, const float* in, const float* weight, float scale,
                       float* out);
  /// gradient = scale * sum over rows of conj(in[r])^T d[r].
  void (*mode_gradient)(std::size_t rows, std::size_t in_width, std::size_t in_padded,
                        std::size_t out_padded, const float* in, const float* d, float scale,
                        float* gradient);
  /// The conjugate transpose of one mode's weight, [2][out][padded in].
  void (*mode_adjoint)(std::size_t in_width, std::size_t out_width, const float* weight,
                       float* adjoint);

  /// One Adam update of n values (n a multiple of kPanel).
  void (*adam)(std::size_t n, const AdamStep& step, const float* gradient, float* weight,
               float* moment1, float* moment2);
  /// y = gelu(x) and, unless null, its slope; n a multiple of kPanel; y may be x. Absolute errors
  /// below 1e-6.
  void (*gelu)(std::size_t n, const float* x, float* y, float* slope);
};

const Kernels& kernels(Isa isa);

}  // namespace stap::cpu
