#include "nn/cpu/dilated/convolve.h"

#include "core/simd.h"
#include "nn/cpu/gelu.isa.h"
#include "nn/cpu/kernels.h"

namespace stap::STAP_ISA {
namespace {

using cpu::kPanel;
using cpu::dilated::Convolution;
using cpu::dilated::TapGradient;
using V = Vec<float>;
constexpr std::size_t L = kLanes<float>;

// Register tile: kRows x up to kCols registers of sums, a row of weights, one broadcast. Rows stand
// anywhere, so each takes a register for its address: more of them would not fit.
constexpr std::size_t kRows = 6;
constexpr std::size_t kCols = STAP_SIMD_REGISTERS == 32 ? 4 : 2;
// Points that go through all output channels together, so that they stay in the first cache.
constexpr std::size_t kChunk = 96;

inline std::size_t panel_offset(std::size_t o, std::size_t in) {
  return o / kPanel * in * kPanel + o % kPanel;
}

inline void finish(const Convolution& c, std::size_t point, std::size_t o, V v) {
  const std::size_t at = point * c.ldy + o;
  if (c.bias != nullptr) v = v + load(c.bias + o);
  if (c.slope != nullptr) {
    const Gelu g = gelu<true>(v);
    store(c.slope + at, g.slope);
    v = g.value;
  } else if (c.gelu) {
    v = gelu<false>(v).value;
  }
  if (c.factor != nullptr) v = v * load(c.factor + at);
  if (c.add != nullptr) v = v + load(c.add + at);
  store(c.y + at, v);
}

template <std::size_t Rows, std::size_t Cols>
inline void tile(const Convolution& c, std::size_t point, std::size_t o) {
  V sum[Rows][Cols];
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) sum[r][k] = V{};
  }
  for (std::size_t e = 0; e < c.entries; ++e) {
    const std::uint32_t* source = c.source + e * c.points + point;
    const float* x[Rows];
    bool none = true;
    STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      none = none && source[r] == c.points;
      x[r] = c.x + source[r] * c.ldx;
    }
    if (none) continue;
    const float* w[Cols];
    STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) {
      w[k] = c.weight + c.tap[e] * c.in * c.out_padded + panel_offset(o + k * L, c.in);
    }
    for (std::size_t i = 0; i < c.in; ++i) {
      V weight[Cols];
      STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) weight[k] = load(w[k] + i * kPanel);
      STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
        const V value = broadcast(x[r][i]);
        STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) sum[r][k] =
            fma(value, weight[k], sum[r][k]);
      }
    }
  }
  // Through memory, so that the activation is compiled once per tile shape, not once per register.
  alignas(64) float tile[Rows * Cols * L];
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) store(tile + (r * Cols + k) * L, sum[r][k]);
  }
  for (std::size_t r = 0; r < Rows; ++r)
    for (std::size_t k = 0; k < Cols; ++k)
      finish(c, point + r, o + k * L, load(tile + (r * Cols + k) * L));
}

template <std::size_t Cols>
inline void columns(const Convolution& c, std::size_t point, std::size_t end, std::size_t o) {
  for (; point + kRows <= end; point += kRows) tile<kRows, Cols>(c, point, o);
  for (; point + 2 <= end; point += 2) tile<2, Cols>(c, point, o);
  for (; point < end; ++point) tile<1, Cols>(c, point, o);
}

void convolve(const Convolution& c) {
  for (std::size_t first = 0; first < c.points; first += kChunk) {
    const std::size_t end = first + kChunk < c.points ? first + kChunk : c.points;
    std::size_t o = 0;
    if constexpr (kCols > 2)
      for (; o + kCols * L <= c.out_padded; o += kCols * L) columns<kCols>(c, first, end, o);
    for (; o + 2 * L <= c.out_padded; o += 2 * L) columns<2>(c, first, end, o);
    for (; o < c.out_padded; o += L) columns<1>(c, first, end, o);
  }
}

// --- gradients of weights ---

template <std::size_t Rows, std::size_t Cols>
inline void gradient_tile(const TapGradient& t, std::size_t tap, std::size_t first, std::size_t end,
                          std::size_t i, std::size_t o) {
  const std::uint32_t* source = t.source + tap * t.points;
  float* g[Cols];
  STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) {
    g[k] = t.gradient + tap * t.in * t.out_padded + panel_offset(o + k * L, t.in) + i * kPanel;
  }
  V sum[Rows][Cols];
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) sum[r][k] = load(g[k] + r * kPanel);
  }
  for (std::size_t p = first; p < end; ++p) {
    const float* x = t.x + source[p] * t.ldx + i;
    V d[Cols];
    STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) d[k] = load(t.d + p * t.ldd + o + k * L);
    STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
      const V value = broadcast(x[r]);
      STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) sum[r][k] = fma(value, d[k], sum[r][k]);
    }
  }
  STAP_UNROLL for (std::size_t r = 0; r < Rows; ++r) {
    STAP_UNROLL for (std::size_t k = 0; k < Cols; ++k) store(g[k] + r * kPanel, sum[r][k]);
  }
}

template <std::size_t Cols>
inline void gradient_columns(const TapGradient& t, std::size_t tap, std::size_t first,
                             std::size_t end, std::size_t o) {
  std::size_t i = 0;
  for (; i + kRows <= t.in; i += kRows) gradient_tile<kRows, Cols>(t, tap, first, end, i, o);
  for (; i + 2 <= t.in; i += 2) gradient_tile<2, Cols>(t, tap, first, end, i, o);
  for (; i < t.in; ++i) gradient_tile<1, Cols>(t, tap, first, end, i, o);
}

void tap_gradient(const TapGradient& t) {
  for (std::size_t first = 0; first < t.points; first += kChunk) {
    const std::size_t end = first + kChunk < t.points ? first + kChunk : t.points;
    for (std::size_t tap = 0; tap < t.taps; ++tap) {
      std::size_t o = 0;
      if constexpr (kCols > 2)
        for (; o + kCols * L <= t.out_padded; o += kCols * L)
          gradient_columns<kCols>(t, tap, first, end, o);
      for (; o + 2 * L <= t.out_padded; o += 2 * L) gradient_columns<2>(t, tap, first, end, o);
      for (; o < t.out_padded; o += L) gradient_columns<1>(t, tap, first, end, o);
    }
  }
}

}  // namespace

extern const cpu::dilated::Convolutions nn_convolutions;
const cpu::dilated::Convolutions nn_convolutions = {convolve, tap_gradient};

}  // namespace stap::STAP_ISA
