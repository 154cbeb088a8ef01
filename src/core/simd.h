// One SIMD register as a value, for kernels (*.isa.cpp) that are compiled once per instruction set.
//
// Everything here lives in namespace stap::STAP_ISA, so that the linker can never merge a function
// compiled for one set with its namesake of another. For the same reason kernel files include as
// little of the standard library as they can.
#pragma once

#ifndef STAP_ISA
#error "simd.h is for *.isa.cpp files only: they are compiled with -DSTAP_ISA=..."
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define STAP_SIMD_BYTES 64
#define STAP_SIMD_REGISTERS 32
#elif defined(__AVX2__)
#define STAP_SIMD_BYTES 32
#define STAP_SIMD_REGISTERS 16
#else
#define STAP_SIMD_BYTES 16
#define STAP_SIMD_REGISTERS 16
#endif

// Loops over register tiles must be unrolled before the optimiser turns arrays of registers into
// scalars; without this GCC keeps the tile on the stack (half the speed, measured).
#define STAP_UNROLL _Pragma("GCC unroll 32")

namespace stap::STAP_ISA {

template <class T>
struct VecOf;
template <>
struct VecOf<float> {
  typedef float type __attribute__((vector_size(STAP_SIMD_BYTES)));
  typedef std::int32_t mask __attribute__((vector_size(STAP_SIMD_BYTES)));
};
template <>
struct VecOf<double> {
  typedef double type __attribute__((vector_size(STAP_SIMD_BYTES)));
  typedef std::int64_t mask __attribute__((vector_size(STAP_SIMD_BYTES)));
};

/// A register of T: a GCC vector, so + - * / < and ?: work lane by lane.
template <class T>
using Vec = typename VecOf<T>::type;
template <class T>
inline constexpr std::size_t kLanes = STAP_SIMD_BYTES / sizeof(T);

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store(T* p, Vec<T> v) {
  std::memcpy(p, &v, sizeof v);
}
template <class T>
inline Vec<T> broadcast(T x) {
  return x - Vec<T>{};  // x - 0 is x, so this is one instruction; 0 + x is not (think of -0)
}

// Where one of both is not a number, smaller and larger give b.
inline Vec<double> smaller(Vec<double> a, Vec<double> b) {
  return a < b ? a : b;
}
inline Vec<double> larger(Vec<double> a, Vec<double> b) {
  return a > b ? a : b;
}
inline Vec<double> magnitude(Vec<double> a) {
  return larger(a, -a);
}

// a*b + c and c - a*b, rounded once where the set has it (portable: twice).
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__)
  return (Vec<float>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Vec<float>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
#if defined(__AVX512F__)
  return (Vec<double>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (Vec<double>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}
inline Vec<float> fnma(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__)
  return (Vec<float>)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Vec<float>)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return c - a * b;
#endif
}
inline Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) {
#if defined(__AVX512F__)
  return (Vec<double>)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (Vec<double>)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return c - a * b;
#endif
}

}  // namespace stap::STAP_ISA
