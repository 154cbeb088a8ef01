// The Adam step of weights whose gradient a kernel holds.
#pragma once

#include <cstddef>

#include "nn/cuda/kernels.h"

namespace stap::cuda {

__device__ inline float root_fast(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// One Adam step of weight w with moments m and v. Root and quotient to two units in the last place,
// in a fifth of the instructions of the correctly rounded ones.
__device__ inline void adam(const BundleRows& rows, float gradient, float& m, float& v, float& w) {
  m = rows.beta1 * m + (1.0f - rows.beta1) * gradient;
  v = rows.beta2 * v + (1.0f - rows.beta2) * gradient * gradient;
  w -= rows.rate * __fdividef(m, root_fast(v) * rows.root_scale + rows.epsilon);
}
// Of kPieces pieces of four weights, `stride` apart; all are read before any is written, so that
// the reads overlap.
template <int kPieces>
__device__ inline void adam(const Net& net, const BundleRows& rows, std::size_t at,
                            std::size_t stride, const float4 (&gradient)[kPieces]) {
  float4 m[kPieces], v[kPieces], w[kPieces];
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    m[i] = *reinterpret_cast<const float4*>(net.moment1 + at + i * stride);
    v[i] = *reinterpret_cast<const float4*>(net.moment2 + at + i * stride);
    w[i] = *reinterpret_cast<const float4*>(net.weights + at + i * stride);
  }
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    adam(rows, gradient[i].x, m[i].x, v[i].x, w[i].x);
    adam(rows, gradient[i].y, m[i].y, v[i].y, w[i].y);
    adam(rows, gradient[i].z, m[i].z, v[i].z, w[i].z);
    adam(rows, gradient[i].w, m[i].w, v[i].w, w[i].w);
    *reinterpret_cast<float4*>(net.moment1 + at + i * stride) = m[i];
    *reinterpret_cast<float4*>(net.moment2 + at + i * stride) = v[i];
    *reinterpret_cast<float4*>(net.weights + at + i * stride) = w[i];
  }
}

}  // namespace stap::cuda
