#include "nn/cpu/kernels.h"

#include "core/simd.h"
#include "nn/cpu/gelu.isa.h"

namespace stap::STAP_ISA {
namespace {

using cpu::Dense;
using cpu::kPanel;
using V = Vec<float>;
constexpr std::size_t L = kLanes<float>;

// Register tile of a matrix product: kRows x kCols registers of sums, one row of weights, one
// broadcast.
constexpr std::size_t kRows = STAP_SIMD_REGISTERS == 32 ? 12 : 6;
constexpr std::size_t kCols = 2;

// Address of the register that holds output channels o .. o+L-1 of input channel 0 in a panelled
// weight; input channel i lies i * kPanel further.
inline std::size_t panel_offset(std::size_t o, std::size_t in) {
  return o / kPanel * in * kPanel + o % kPanel;
}

enum class Act { none, gelu, gelu_slope };

template <bool Bias, bool Add, bool Mul, Act A>
inline void finish(const Dense& d, std::size_t point, std::size_t o, V v) {
  const std::size_t at = point * d.ldy + o;
  if constexpr (Bias) v = v + load(d.bias + o);
  if constexpr (Add) v = v + load(d.add + at);
  if constexpr (Mul) v = v * load(d.factor + at);
  if constexpr (A == Act::none) {
    store(d.y + at, v);
  } else {
    const Gelu g = gelu<A == Act::gelu_slope>(v);
    store(d.y + at, g.value);
    if constexpr (A == Act::gelu_slope) store(d.slope + at, g.slope);
  }
}

template <std::size_t Rows, std::size_t Cols, bool Bias, bool Add, bool Mul, Act A>
inline void dense_tile(const Dense& d, std::size_t point, std::size_t o) {
  V sum[Rows][Cols];
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) sum[r][c] = V{};
  }
  const float* x = d.x + point * d.ldx;
  const float* w[Cols];
  STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) w[c] =
      d.weight + panel_offset(o + c * L, d.in);
  for (std::size_t i = 0; i < d.in; ++i) {
    V weight[Cols];
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) weight[c] = load(w[c] + i * kPanel);
    STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      const V value = broadcast(x[r * d.ldx + i]);
      STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) sum[r][c] =
          fma(value, weight[c], sum[r][c]);
    }
  }
  // Through memory, so that the activation is compiled once per tile shape, not once per register.
  alignas(64) float tile[Rows * Cols * L];
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) store(tile + (r * Cols + c) * L, sum[r][c]);
  }
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t c = 0; c < Cols; ++c)
      finish<Bias, Add, Mul, A>(d, point + r, o + c * L, load(tile + (r * Cols + c) * L));
}

template <std::size_t Rows, bool Bias, bool Add, bool Mul, Act A>
inline void dense_rows(const Dense& d, std::size_t point) {
  std::size_t o = 0;
  for (; o + kCols * L <= d.out_padded; o += kCols * L)
    dense_tile<Rows, kCols, Bias, Add, Mul, A>(d, point, o);
  for (; o < d.out_padded; o += L) dense_tile<Rows, 1, Bias, Add, Mul, A>(d, point, o);
}

template <bool Bias, bool Add, bool Mul, Act A>
void dense(const Dense& d) {
  std::size_t point = 0;
  for (; point + kRows <= d.points; point += kRows) dense_rows<kRows, Bias, Add, Mul, A>(d, point);
  for (; point + 2 <= d.points; point += 2) dense_rows<2, Bias, Add, Mul, A>(d, point);
  for (; point < d.points; ++point) dense_rows<1, Bias, Add, Mul, A>(d, point);
}

// --- gradients of dense weights ---

template <std::size_t Rows, std::size_t Cols>
inline void outer_tile(std::size_t points, std::size_t in, const float* x, std::size_t ldx,
                       const float* d, std::size_t ldd, std::size_t i, std::size_t o,
                       float* gradient) {
  float* g[Cols];
  STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
    g[c] = gradient + panel_offset(o + c * L, in) + i * kPanel;
  }
  V sum[Rows][Cols];
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) sum[r][c] = load(g[c] + r * kPanel);
  }
  for (std::size_t p = 0; p < points; ++p) {
    V value[Cols];
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) value[c] = load(d + p * ldd + o + c * L);
    STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      const V a = broadcast(x[p * ldx + i + r]);
      STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) sum[r][c] = fma(a, value[c], sum[r][c]);
    }
  }
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) store(g[c] + r * kPanel, sum[r][c]);
  }
}

template <std::size_t Cols>
inline void outer_columns(std::size_t points, std::size_t in, const float* x, std::size_t ldx,
                          const float* d, std::size_t ldd, std::size_t o, float* gradient) {
  std::size_t i = 0;
  for (; i + kRows <= in; i += kRows)
    outer_tile<kRows, Cols>(points, in, x, ldx, d, ldd, i, o, gradient);
  for (; i + 2 <= in; i += 2) outer_tile<2, Cols>(points, in, x, ldx, d, ldd, i, o, gradient);
  for (; i < in; ++i) outer_tile<1, Cols>(points, in, x, ldx, d, ldd, i, o, gradient);
}

void outer(std::size_t points, std::size_t in, std::size_t out_padded, const float* x,
           std::size_t ldx, const float* d, std::size_t ldd, float* gradient) {
  std::size_t o = 0;
  for (; o + kCols * L <= out_padded; o += kCols * L)
    outer_columns<kCols>(points, in, x, ldx, d, ldd, o, gradient);
  for (; o < out_padded; o += L) outer_columns<1>(points, in, x, ldx, d, ldd, o, gradient);
}

void column_sums(std::size_t points, std::size_t out_padded, const float* d, std::size_t ldd,
                 float* sums) {
  for (std::size_t o = 0; o < out_padded; o += L) {
    V sum = load(sums + o);
    for (std::size_t p = 0; p < points; ++p) sum = sum + load(d + p * ldd + o);
    store(sums + o, sum);
  }
}

void transpose(std::size_t in, std::size_t out, const float* weight, float* transposed) {
  const std::size_t in_padded = cpu::padded(in);
  for (std::size_t i = 0; i < in_padded; ++i) {
    float* row = transposed + panel_offset(i, out);
    if (i < in) {
      for (std::size_t o = 0; o < out; ++o)
        row[o * kPanel] = weight[panel_offset(o, in) + i * kPanel];
    } else {
      for (std::size_t o = 0; o < out; ++o) row[o * kPanel] = 0.0f;
    }
  }
}

// --- projection ---

inline float sum_lanes(V v) {
  float lanes[L];
  store(lanes, v);
  for (std::size_t n = L / 2; n > 0; n /= 2)
    for (std::size_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  return lanes[0];
}

void project(std::size_t points, std::size_t hidden_padded, std::size_t channels,
             const float* hidden, std::size_t ld, const float* weight, const float* bias,
             float* out) {
  for (std::size_t p = 0; p < points; ++p)
    for (std::size_t c = 0; c < channels; ++c) {
      const float* h = hidden + p * ld;
      const float* w = weight + c * hidden_padded;
      V a{}, b{};  // two chains hide the latency of the sum
      std::size_t o = 0;
      for (; o + 2 * L <= hidden_padded; o += 2 * L) {
        a = fma(load(h + o), load(w + o), a);
        b = fma(load(h + o + L), load(w + o + L), b);
      }
      for (; o < hidden_padded; o += L) a = fma(load(h + o), load(w + o), a);
      out[p * channels + c] = sum_lanes(a + b) + bias[c];
    }
}

void project_back(std::size_t points, std::size_t hidden_padded, std::size_t channels,
                  const float* d_out, const float* weight, const float* hidden, float* slope,
                  std::size_t ld, float* d_weight) {
  for (std::size_t o = 0; o < hidden_padded; o += L) {
    for (std::size_t c = 0; c < channels; ++c) {
      V sum = load(d_weight + c * hidden_padded + o);
      for (std::size_t p = 0; p < points; ++p)
        sum = fma(broadcast(d_out[p * channels + c]), load(hidden + p * ld + o), sum);
      store(d_weight + c * hidden_padded + o, sum);
    }
    for (std::size_t p = 0; p < points; ++p) {
      V d{};
      for (std::size_t c = 0; c < channels; ++c)
        d = fma(broadcast(d_out[p * channels + c]), load(weight + c * hidden_padded + o), d);
      store(slope + p * ld + o, d * load(slope + p * ld + o));
    }
  }
}

// --- one mode of a spectral layer: complex products, real and imaginary parts apart ---

constexpr std::size_t kModeRows = STAP_SIMD_REGISTERS == 32 ? 5 : 2;

template <std::size_t Rows, std::size_t Cols>
inline void mode_tile(std::size_t in_width, std::size_t in_padded, std::size_t out_padded,
                      const float* in, const float* weight, V scale, std::size_t o, float* out) {
  V re[Rows][Cols], im[Rows][Cols];
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) re[r][c] = im[r][c] = V{};
  }
  const float* weight_im = weight + in_width * out_padded;
  for (std::size_t i = 0; i < in_width; ++i) {
    V wr[Cols], wi[Cols];
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      wr[c] = load(weight + i * out_padded + o + c * L);
      wi[c] = load(weight_im + i * out_padded + o + c * L);
    }
    STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      const V a = broadcast(in[r * 2 * in_padded + i]);
      const V b = broadcast(in[r * 2 * in_padded + in_padded + i]);
      STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
        re[r][c] = fma(a, wr[c], re[r][c]);
        im[r][c] = fma(a, wi[c], im[r][c]);
      }
      STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
        re[r][c] = fnma(b, wi[c], re[r][c]);
        im[r][c] = fma(b, wr[c], im[r][c]);
      }
    }
  }
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      store(out + r * 2 * out_padded + o + c * L, re[r][c] * scale);
      store(out + r * 2 * out_padded + out_padded + o + c * L, im[r][c] * scale);
    }
  }
}

template <std::size_t Cols>
inline void mode_columns(std::size_t rows, std::size_t in_width, std::size_t in_padded,
                         std::size_t out_padded, const float* in, const float* weight, V scale,
                         std::size_t o, float* out) {
  std::size_t r = 0;
  for (; r + kModeRows <= rows; r += kModeRows)
    mode_tile<kModeRows, Cols>(in_width, in_padded, out_padded, in + r * 2 * in_padded, weight,
                               scale, o, out + r * 2 * out_padded);
  for (; r < rows; ++r)
    mode_tile<1, Cols>(in_width, in_padded, out_padded, in + r * 2 * in_padded, weight, scale, o,
                       out + r * 2 * out_padded);
}

void mode_product(std::size_t rows, std::size_t in_width, std::size_t in_padded,
                  std::size_t out_padded, const float* in, const float* weight, float scale,
                  float* out) {
  const V s = broadcast(scale);
  std::size_t o = 0;
  for (; o + kCols * L <= out_padded; o += kCols * L)
    mode_columns<kCols>(rows, in_width, in_padded, out_padded, in, weight, s, o, out);
  for (; o < out_padded; o += L)
    mode_columns<1>(rows, in_width, in_padded, out_padded, in, weight, s, o, out);
}

template <std::size_t Rows, std::size_t Cols>
inline void mode_gradient_tile(std::size_t rows, std::size_t in_width, std::size_t in_padded,
                               std::size_t out_padded, const float* in, const float* d, V scale,
                               std::size_t i, std::size_t o, float* gradient) {
  V re[Rows][Cols], im[Rows][Cols];
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) re[r][c] = im[r][c] = V{};
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const float* x = in + row * 2 * in_padded + i;
    const float* y = d + row * 2 * out_padded + o;
    V dr[Cols], di[Cols];
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      dr[c] = load(y + c * L);
      di[c] = load(y + out_padded + c * L);
    }
    STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      const V a = broadcast(x[r]);
      const V b = broadcast(x[in_padded + r]);
      STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
        re[r][c] = fma(a, dr[c], re[r][c]);
        im[r][c] = fma(a, di[c], im[r][c]);
      }
      STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
        re[r][c] = fma(b, di[c], re[r][c]);
        im[r][c] = fnma(b, dr[c], im[r][c]);
      }
    }
  }
  float* gradient_im = gradient + in_width * out_padded;
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t c = 0; c < Cols; ++c) {
      store(gradient + (i + r) * out_padded + o + c * L, re[r][c] * scale);
      store(gradient_im + (i + r) * out_padded + o + c * L, im[r][c] * scale);
    }
  }
}

template <std::size_t Cols>
inline void mode_gradient_columns(std::size_t rows, std::size_t in_width, std::size_t in_padded,
                                  std::size_t out_padded, const float* in, const float* d, V scale,
                                  std::size_t o, float* gradient) {
  std::size_t i = 0;
  for (; i + kModeRows <= in_width; i += kModeRows)
    mode_gradient_tile<kModeRows, Cols>(rows, in_width, in_padded, out_padded, in, d, scale, i, o,
                                        gradient);
  for (; i < in_width; ++i)
    mode_gradient_tile<1, Cols>(rows, in_width, in_padded, out_padded, in, d, scale, i, o,
                                gradient);
}

void mode_gradient(std::size_t rows, std::size_t in_width, std::size_t in_padded,
                   std::size_t out_padded, const float* in, const float* d, float scale,
                   float* gradient) {
  const V s = broadcast(scale);
  std::size_t o = 0;
  for (; o + kCols * L <= out_padded; o += kCols * L)
    mode_gradient_columns<kCols>(rows, in_width, in_padded, out_padded, in, d, s, o, gradient);
  for (; o < out_padded; o += L)
    mode_gradient_columns<1>(rows, in_width, in_padded, out_padded, in, d, s, o, gradient);
}

void mode_adjoint(std::size_t in_width, std::size_t out_width, const float* weight,
                  float* adjoint) {
  const std::size_t in_padded = cpu::padded(in_width), out_padded = cpu::padded(out_width);
  for (std::size_t part = 0; part < 2; ++part) {
    const float sign = part == 0 ? 1.0f : -1.0f;
    const float* from = weight + part * in_width * out_padded;
    float* to = adjoint + part * out_width * in_padded;
    // 16 x 16 squares keep both sides in cache lines that are used whole.
    for (std::size_t o0 = 0; o0 < out_width; o0 += kPanel)
      for (std::size_t i0 = 0; i0 < in_padded; i0 += kPanel)
        for (std::size_t o = o0; o < out_width && o < o0 + kPanel; ++o)
          for (std::size_t i = i0; i < i0 + kPanel; ++i)
            to[o * in_padded + i] = i < in_width ? sign * from[i * out_padded + o] : 0.0f;
  }
}

// --- Adam ---

inline V square_root(V v) {
#if defined(__AVX512F__)
  return (V)_mm512_maskz_sqrt_ps(0xffff, (__m512)v);
#elif defined(__AVX2__)
  return (V)_mm256_sqrt_ps((__m256)v);
#else
  STAP_UNROLL for (std::size_t i = 0; i < L; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
#endif
}

void adam(std::size_t n, const cpu::AdamStep& step, const float* gradient, float* weight,
          float* moment1, float* moment2) {
  const V beta1 = broadcast(step.beta1), rest1 = broadcast(1.0f - step.beta1);
  const V beta2 = broadcast(step.beta2), rest2 = broadcast(1.0f - step.beta2);
  const V rate = broadcast(step.rate), scale = broadcast(step.root_scale);
  const V epsilon = broadcast(step.epsilon);
  for (std::size_t i = 0; i < n; i += L) {
    const V g = load(gradient + i);
    const V m = fma(rest1, g, beta1 * load(moment1 + i));
    const V v = fma(rest2 * g, g, beta2 * load(moment2 + i));
    store(moment1 + i, m);
    store(moment2 + i, v);
    const V denominator = fma(square_root(v), scale, epsilon);
    store(weight + i, fnma(rate, m / denominator, load(weight + i)));
  }
}

void gelu_values(std::size_t n, const float* x, float* y, float* slope) {
  for (std::size_t i = 0; i < n; i += L) {
    const Gelu g = gelu<true>(load(x + i));
    store(y + i, g.value);
    if (slope != nullptr) store(slope + i, g.slope);
  }
}

}  // namespace

extern const cpu::Kernels nn_kernels;
const cpu::Kernels nn_kernels = {
    dense<false, false, false, Act::none>,
    dense<true, false, false, Act::none>,
    dense<true, false, false, Act::gelu>,
    dense<true, false, false, Act::gelu_slope>,
    dense<true, true, false, Act::none>,
    dense<true, true, false, Act::gelu>,
    dense<true, true, false, Act::gelu_slope>,
    dense<false, true, false, Act::none>,
    dense<false, true, true, Act::none>,
    dense<false, false, true, Act::none>,
    outer,
    column_sums,
    transpose,
    project,
    project_back,
    mode_product,
    mode_gradient,
    mode_adjoint,
    adam,
    gelu_values,
};

}  // namespace stap::STAP_ISA
