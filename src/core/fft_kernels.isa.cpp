// Fourier kernels: one register holds one value of kLanes columns, a block of columns goes through
// all stages in scratch that stays in the first-level cache, and every lane sees the same
// operations whatever the other lanes hold. Columns that do not fill a block are padded in scratch
// and take the same path, so a column's bits do not depend on where it stands.
#include "core/fft_kernels.h"

#include "core/simd.h"

namespace stap::STAP_ISA {
namespace {

// Register arrays need all of this inlined; under the sanitizers that would take minutes to
// compile.
#if defined(__SANITIZE_ADDRESS__)
#define STAP_FFT_FORCE_INLINE
#else
#define STAP_FFT_FORCE_INLINE __attribute__((always_inline))
#endif
#define STAP_FFT_INLINE STAP_FFT_FORCE_INLINE inline

/// A load that stays one load: GCC otherwise folds it into each of the instructions that use the
/// value and reads memory twice.
template <class T>
STAP_FFT_INLINE Vec<T> load_once(const T* p) {
  Vec<T> v = load(p);
#if defined(__AVX2__)
  __asm__("" : "+v"(v));
#endif
  return v;
}

template <class T>
struct Complex {
  Vec<T> re, im;
};

template <class T>
STAP_FFT_INLINE Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
STAP_FFT_INLINE Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
STAP_FFT_INLINE Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {fnma(a.im, b.im, a.re * b.re), fma(a.re, b.im, a.im * b.re)};
}
/// a - i b and a + i b.
template <class T>
STAP_FFT_INLINE Complex<T> minus_i(Complex<T> a, Complex<T> b) {
  return {a.re + b.im, a.im - b.re};
}
template <class T>
STAP_FFT_INLINE Complex<T> plus_i(Complex<T> a, Complex<T> b) {
  return {a.re - b.im, a.im + b.re};
}
/// a + s b and a - s b for a real s.
template <class T>
STAP_FFT_INLINE Complex<T> plus(Complex<T> a, Vec<T> s, Complex<T> b) {
  return {fma(s, b.re, a.re), fma(s, b.im, a.im)};
}
template <class T>
STAP_FFT_INLINE Complex<T> minus(Complex<T> a, Vec<T> s, Complex<T> b) {
  return {fnma(s, b.re, a.re), fnma(s, b.im, a.im)};
}

// --- where a block's values lie: element j of a strided pair of planes, or packed in scratch
// ------

template <class T>
struct Planes {
  T* re;
  T* im;
  std::size_t stride;
};
template <class T>
struct Packed {
  T* base;
};

template <class T>
STAP_FFT_INLINE Complex<T> get(Planes<const T> v, std::size_t j) {
  return {load_once(v.re + j * v.stride), load_once(v.im + j * v.stride)};
}
template <class T>
STAP_FFT_INLINE void put(Planes<T> v, std::size_t j, Complex<T> x) {
  store(v.re + j * v.stride, x.re);
  store(v.im + j * v.stride, x.im);
}
template <class T>
STAP_FFT_INLINE Complex<T> get(Packed<T> v, std::size_t j) {
  const T* p = v.base + 2 * kLanes<T> * j;
  return {load_once(p), load_once(p + kLanes<T>)};
}
template <class T>
STAP_FFT_INLINE void put(Packed<T> v, std::size_t j, Complex<T> x) {
  T* p = v.base + 2 * kLanes<T> * j;
  store(p, x.re);
  store(p + kLanes<T>, x.im);
}
template <class T>
STAP_FFT_INLINE Complex<T> root(const T* pair) {
  return {broadcast(pair[0]), broadcast(pair[1])};
}

template <class T>
Planes<const T> as_input(T* packed) {
  return {packed, packed + kLanes<T>, 2 * kLanes<T>};
}
template <class T>
Planes<T> as_output(T* packed) {
  return {packed, packed + kLanes<T>, 2 * kLanes<T>};
}

// --- short transforms in registers
// ----------------------------------------------------------------

template <class T, int R>
struct Short;

template <class T>
struct Short<T, 2> {
  STAP_FFT_INLINE static void dft(Complex<T>* x) {
    const Complex<T> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  }
};

template <class T>
struct Short<T, 3> {
  STAP_FFT_INLINE static void dft(Complex<T>* x) {
    const Vec<T> half = broadcast(T(0.5));
    const Vec<T> s = broadcast(T(0.866025403784438646763723170752936183L));
    const Complex<T> sum = x[1] + x[2], difference = x[1] - x[2];
    const Complex<T> m = minus(x[0], half, sum);
    x[0] = x[0] + sum;
    x[1] = {fma(s, difference.im, m.re), fnma(s, difference.re, m.im)};
    x[2] = {fnma(s, difference.im, m.re), fma(s, difference.re, m.im)};
  }
};

template <class T>
struct Short<T, 4> {
  STAP_FFT_INLINE static void dft(Complex<T>* x) {
    const Complex<T> a = x[0] + x[2], b = x[0] - x[2];
    const Complex<T> c = x[1] + x[3], d = x[1] - x[3];
    x[0] = a + c;
    x[1] = minus_i(b, d);
    x[2] = a - c;
    x[3] = plus_i(b, d);
  }
};

template <class T>
struct Short<T, 5> {
  STAP_FFT_INLINE static void dft(Complex<T>* x) {
    const Vec<T> c1 = broadcast(T(0.309016994374947424102293417182819059L));
    const Vec<T> c2 = broadcast(T(-0.809016994374947424102293417182819059L));
    const Vec<T> s1 = broadcast(T(0.951056516295153572116439333379382143L));
    const Vec<T> s2 = broadcast(T(0.587785252292473129168705954639072769L));
    const Complex<T> p = x[1] + x[4], q = x[2] + x[3];
    const Complex<T> d = x[1] - x[4], e = x[2] - x[3];
    const Complex<T> a = plus(plus(x[0], c1, p), c2, q);
    const Complex<T> b = plus(plus(x[0], c2, p), c1, q);
    const Complex<T> u = {fma(s1, d.re, s2 * e.re), fma(s1, d.im, s2 * e.im)};
    const Complex<T> v = {fnma(s1, e.re, s2 * d.re), fnma(s1, e.im, s2 * d.im)};
    x[0] = x[0] + (p + q);
    x[1] = minus_i(a, u);
    x[2] = minus_i(b, v);
    x[3] = plus_i(b, v);
    x[4] = plus_i(a, u);
  }
};

template <class T>
struct Short<T, 8> {
  STAP_FFT_INLINE static void dft(Complex<T>* x) {
    const Vec<T> h = broadcast(T(0.707106781186547524400844362104849039L));
    Complex<T> even[4] = {x[0], x[2], x[4], x[6]};
    Complex<T> odd[4] = {x[1], x[3], x[5], x[7]};
    Short<T, 4>::dft(even);
    Short<T, 4>::dft(odd);
    // sqrt(2) times the odd values times exp(-i pi/4) and exp(-3 i pi/4)
    const Complex<T> a = {odd[1].re + odd[1].im, odd[1].im - odd[1].re};
    const Complex<T> b = {odd[3].im - odd[3].re, odd[3].re + odd[3].im};
    x[0] = even[0] + odd[0];
    x[1] = plus(even[1], h, a);
    x[2] = minus_i(even[2], odd[2]);
    x[3] = {fma(h, b.re, even[3].re), fnma(h, b.im, even[3].im)};
    x[4] = even[0] - odd[0];
    x[5] = minus(even[1], h, a);
    x[6] = plus_i(even[2], odd[2]);
    x[7] = {fnma(h, b.re, even[3].re), fma(h, b.im, even[3].im)};
  }
};

// --- stages
// ---------------------------------------------------------------------------------------

template <class T, int R, class In, class Out>
STAP_FFT_INLINE void butterfly(In in, std::size_t from, std::size_t in_step, Out out,
                               std::size_t to, std::size_t out_step) {
  Complex<T> x[R];
  STAP_UNROLL
  for (std::size_t k = 0; k < R; ++k) x[k] = get(in, from + k * in_step);
  Short<T, R>::dft(x);
  STAP_UNROLL
  for (std::size_t k = 0; k < R; ++k) put(out, to + k * out_step, x[k]);
}

/// The same with twiddles behind it; `w` gives the k-th.
template <class T, int R, class In, class Out, class Twiddle>
STAP_FFT_INLINE void butterfly(In in, std::size_t from, std::size_t in_step, Out out,
                               std::size_t to, std::size_t out_step, Twiddle w) {
  Complex<T> x[R];
  STAP_UNROLL
  for (std::size_t k = 0; k < R; ++k) x[k] = get(in, from + k * in_step);
  Short<T, R>::dft(x);
  put(out, to, x[0]);
  STAP_UNROLL
  for (std::size_t k = 1; k < R; ++k) put(out, to + k * out_step, x[k] * w(k));
}

template <class T, int R, class In, class Out>
void run_stage(const FftStage& stage, const T* twiddles, In in, Out out) {
  const std::size_t s = stage.span, m = stage.count;
  const T* w = twiddles + stage.twiddles;
  const auto from_memory = [&w](std::size_t k)
                               STAP_FFT_FORCE_INLINE { return root(w + 2 * (k - 1)); };
  for (std::size_t q = 0; q < s; ++q) butterfly<T, R>(in, q, s * m, out, q, s);
  if (s == 1) {
    for (std::size_t p = 1; p < m; ++p, w += 2 * (R - 1))
      butterfly<T, R>(in, p, m, out, R * p, 1, from_memory);
    return;
  }
  for (std::size_t p = 1; p < m; ++p, w += 2 * (R - 1)) {
    if constexpr (R <= 4) {  // the twiddles fit in registers beside the data
      Complex<T> v[R - 1];
      STAP_UNROLL
      for (std::size_t k = 1; k < R; ++k) v[k - 1] = from_memory(k);
      for (std::size_t q = 0; q < s; ++q)
        butterfly<T, R>(in, q + s * p, s * m, out, q + s * R * p, s,
                        [&v](std::size_t k) STAP_FFT_FORCE_INLINE { return v[k - 1]; });
    } else {
      for (std::size_t q = 0; q < s; ++q)
        butterfly<T, R>(in, q + s * p, s * m, out, q + s * R * p, s, from_memory);
    }
  }
}

template <class T, class In, class Out>
void run_stage(const FftStage& stage, const T* twiddles, In in, Out out) {
  switch (stage.radix) {
    case 2:
      return run_stage<T, 2>(stage, twiddles, in, out);
    case 3:
      return run_stage<T, 3>(stage, twiddles, in, out);
    case 4:
      return run_stage<T, 4>(stage, twiddles, in, out);
    case 5:
      return run_stage<T, 5>(stage, twiddles, in, out);
    default:
      return run_stage<T, 8>(stage, twiddles, in, out);
  }
}

/// The smooth transform of plan.m points. The stages write to a, b, a, ... (packed) and the last
/// one to out. `out` may be `in`: the first stage reads all of it before the last one writes, and a
/// single stage is a single butterfly.
template <class T>
void run_stages(const FftComplexPlan<T>& plan, Planes<const T> in, Planes<T> out, Packed<T> a,
                Packed<T> b) {
  const std::size_t count = plan.stage_count;
  if (count == 0) return put(out, 0, get(in, 0));
  if (count == 1) return run_stage<T>(plan.stages[0], plan.twiddles, in, out);
  run_stage<T>(plan.stages[0], plan.twiddles, in, a);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    run_stage<T>(plan.stages[i], plan.twiddles, a, b);
    const Packed<T> swap = a;
    a = b;
    b = swap;
  }
  run_stage<T>(plan.stages[count - 1], plan.twiddles, a, out);
}

/// Bluestein: with jk = (j^2 + k^2 - (k - j)^2) / 2 the sum is a convolution with a chirp.
template <class T>
void run_bluestein(const FftComplexPlan<T>& plan, Planes<const T> in, Planes<T> out, T* work) {
  const std::size_t n = plan.n, m = plan.m;
  const Packed<T> a{work}, b{work + 2 * kLanes<T> * m};
  T* data = work + 4 * kLanes<T> * m;
  const Packed<T> packed{data};
  for (std::size_t j = 0; j < n; ++j) put(packed, j, get(in, j) * root(plan.chirp + 2 * j));
  for (std::size_t j = n; j < m; ++j) put(packed, j, Complex<T>{Vec<T>{}, Vec<T>{}});
  run_stages(plan, as_input(data), as_output(data), a, b);
  for (std::size_t k = 0; k < m; ++k) {
    const Complex<T> y = get(packed, k) * root(plan.chirp_spectrum + 2 * k);
    put(packed, k, Complex<T>{y.im, y.re});  // swapped: the inverse transform
  }
  run_stages(plan, as_input(data), as_output(data), a, b);
  for (std::size_t k = 0; k < n; ++k) {
    const Complex<T> y = get(packed, k);
    put(out, k, Complex<T>{y.im, y.re} * root(plan.chirp + 2 * k));
  }
}

/// One block of kLanes columns. work: block_work(plan) values.
template <class T>
void transform_block(const FftComplexPlan<T>& plan, Planes<const T> in, Planes<T> out, T* work) {
  if (plan.chirp != nullptr) return run_bluestein(plan, in, out, work);
  run_stages(plan, in, out, Packed<T>{work}, Packed<T>{work + 2 * kLanes<T> * plan.m});
}

// To and from a packed buffer, which then serves as one of the two that the stages alternate
// between: what a block touches should fit in the first-level cache.
template <class T>
void transform_to_packed(const FftComplexPlan<T>& plan, Planes<const T> in, T* packed, T* work) {
  if (plan.chirp != nullptr) return run_bluestein(plan, in, as_output(packed), work);
  const bool work_first = plan.stage_count % 2 == 0;  // so that the last stage reads `work`
  run_stages(plan, in, as_output(packed), Packed<T>{work_first ? work : packed},
             Packed<T>{work_first ? packed : work});
}
template <class T>
void transform_from_packed(const FftComplexPlan<T>& plan, T* packed, Planes<T> out, T* work) {
  if (plan.chirp != nullptr) return run_bluestein(plan, as_input(packed), out, work);
  run_stages(plan, as_input(packed), out, Packed<T>{work}, Packed<T>{packed});
}

template <class T>
std::size_t block_work(const FftComplexPlan<T>& plan) {
  return (plan.chirp == nullptr ? 4 : 6) * kLanes<T> * plan.m;
}

// --- real columns
// ---------------------------------------------------------------------------------

/// in: [n] real. packed: 2 kLanes * half->n values. All of `in` is read before `out` is written.
template <class T>
void real_forward_block(const FftRealPlan<T>& plan, const T* in, std::size_t in_stride,
                        Planes<T> out, std::size_t kept, T* packed, T* work) {
  const std::size_t h = plan.half->n;
  const Packed<T> z{packed};
  if (h == plan.n) {  // odd
    for (std::size_t j = 0; j < h; ++j) put(z, j, Complex<T>{load(in + j * in_stride), Vec<T>{}});
    transform_block(*plan.half, as_input(packed), as_output(packed), work);
    put(out, 0, Complex<T>{get(z, 0).re, Vec<T>{}});
    for (std::size_t k = 1; k < kept; ++k) put(out, k, get(z, k));
    return;
  }
  transform_to_packed(*plan.half, Planes<const T>{in, in + in_stride, 2 * in_stride}, packed, work);
  // With E and O the transforms of the even and odd samples, Z = E + i O and X = E + w O.
  const Complex<T> zero = get(z, 0);
  put(out, 0, Complex<T>{zero.re + zero.im, Vec<T>{}});
  if (kept > h) put(out, h, Complex<T>{zero.re - zero.im, Vec<T>{}});
  const Vec<T> half = broadcast(T(0.5));
  const T* roots = plan.forward_roots;
  const auto join = [&](std::size_t k, Complex<T>& mean, Complex<T>& turned) STAP_FFT_FORCE_INLINE {
    const Complex<T> a = get(z, k), b = get(z, h - k);
    mean = {half * (a.re + b.re), half * (a.im - b.im)};
    turned = Complex<T>{a.re - b.re, a.im + b.im} * root(roots + 2 * k);
  };
  std::size_t k = 1;
  for (; k <= h / 2 && k < kept && h - k >= kept; ++k) {
    Complex<T> mean, turned;
    join(k, mean, turned);
    put(out, k, mean + turned);
  }
  for (; k <= h / 2 && k < kept; ++k) {
    Complex<T> mean, turned;
    join(k, mean, turned);
    const Complex<T> mirror = mean - turned;
    put(out, h - k, Complex<T>{mirror.re, -mirror.im});
    put(out, k, mean + turned);
  }
}

/// out: [n] real. packed: 2 kLanes * half->n values. All of `in` is read before `out` is written.
template <class T>
void real_inverse_block(const FftRealPlan<T>& plan, Planes<const T> in, T* out,
                        std::size_t out_stride, std::size_t kept, T* packed, T* work) {
  const std::size_t h = plan.half->n;
  const Packed<T> z{packed};
  const Complex<T> nothing{Vec<T>{}, Vec<T>{}};
  // In `packed` real and imaginary part are swapped: the forward transform is then the inverse.
  if (h == plan.n) {  // odd
    put(z, 0, Complex<T>{Vec<T>{}, load(in.re)});
    for (std::size_t k = 1; k <= h / 2; ++k) {
      const Complex<T> x = k < kept ? get(in, k) : nothing;
      put(z, k, Complex<T>{x.im, x.re});
      put(z, h - k, Complex<T>{-x.im, x.re});
    }
    transform_block(*plan.half, as_input(packed), as_output(packed), work);
    for (std::size_t j = 0; j < h; ++j) store(out + j * out_stride, get(z, j).im);
    return;
  }
  const Vec<T> first = load(in.re);
  const Vec<T> last = kept > h ? load(in.re + h * in.stride) : Vec<T>{};
  put(z, 0, Complex<T>{first - last, first + last});
  const T* roots = plan.inverse_roots;
  std::size_t k = 1;
  for (; k <= h / 2 && k < kept; ++k) {
    const Complex<T> a = get(in, k), b = h - k < kept ? get(in, h - k) : nothing;
    const Complex<T> sum = {a.re + b.re, a.im - b.im};
    const Complex<T> turned = Complex<T>{a.re - b.re, a.im + b.im} * root(roots + 2 * k);
    const Complex<T> mirror = sum - turned, direct = sum + turned;
    put(z, h - k, Complex<T>{-mirror.im, mirror.re});
    put(z, k, Complex<T>{direct.im, direct.re});
  }
  for (; k <= h / 2; ++k) {
    put(z, k, nothing);
    put(z, h - k, nothing);
  }
  transform_from_packed(*plan.half, packed, Planes<T>{out + out_stride, out, 2 * out_stride}, work);
}

// --- all columns
// ----------------------------------------------------------------------------------

/// The last columns: `count` < kLanes values of each of n elements, padded with zeros.
template <class T>
void gather(const T* from, std::size_t stride, std::size_t n, std::size_t count, T* to,
            std::size_t to_stride) {
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t c = 0; c < kLanes<T>; ++c)
      to[j * to_stride + c] = c < count ? from[j * stride + c] : T(0);
}
template <class T>
void scatter(const T* from, std::size_t from_stride, std::size_t n, std::size_t count, T* to,
             std::size_t stride) {
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t c = 0; c < count; ++c) to[j * stride + c] = from[j * from_stride + c];
}

/// Registers in scratch should not straddle cache lines: the first address in it that does not.
template <class T>
T* align(T* scratch) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(scratch) % 64;
  return past == 0 ? scratch : scratch + (64 - past) / sizeof(T);
}

template <class T>
std::size_t scratch_size(const FftComplexPlan<T>& complex, const FftRealPlan<T>& real) {
  constexpr std::size_t w = kLanes<T>;
  const std::size_t for_complex = block_work(complex) + 2 * w * complex.n;
  const std::size_t for_real =
      block_work(*real.half) + 2 * w * real.half->n + 2 * w * (real.n / 2 + 1);
  return (for_complex > for_real ? for_complex : for_real) + 64 / sizeof(T);
}

template <class T>
void forward(const FftComplexPlan<T>& plan, const T* in_re, const T* in_im, std::size_t in_stride,
             T* out_re, T* out_im, std::size_t out_stride, std::size_t columns, T* scratch) {
  constexpr std::size_t w = kLanes<T>;
  T* work = align(scratch);
  std::size_t c = 0;
  for (; c + w <= columns; c += w)
    transform_block(plan, Planes<const T>{in_re + c, in_im + c, in_stride},
                    Planes<T>{out_re + c, out_im + c, out_stride}, work);
  if (c == columns) return;
  T* tail = work + block_work(plan);
  gather(in_re + c, in_stride, plan.n, columns - c, tail, 2 * w);
  gather(in_im + c, in_stride, plan.n, columns - c, tail + w, 2 * w);
  transform_block(plan, as_input(tail), as_output(tail), work);
  scatter(tail, 2 * w, plan.n, columns - c, out_re + c, out_stride);
  scatter(tail + w, 2 * w, plan.n, columns - c, out_im + c, out_stride);
}

template <class T>
void real_forward(const FftRealPlan<T>& plan, const T* in, std::size_t in_stride, T* out_re,
                  T* out_im, std::size_t out_stride, std::size_t columns, std::size_t kept,
                  T* scratch) {
  constexpr std::size_t w = kLanes<T>;
  T* work = align(scratch);
  T* packed = work + block_work(*plan.half);
  std::size_t c = 0;
  for (; c + w <= columns; c += w)
    real_forward_block(plan, in + c, in_stride, Planes<T>{out_re + c, out_im + c, out_stride}, kept,
                       packed, work);
  if (c == columns) return;
  T* tail = packed + 2 * w * plan.half->n;
  gather(in + c, in_stride, plan.n, columns - c, tail, w);
  // The modes may take the place of the samples: those have been read by then.
  real_forward_block(plan, tail, w, as_output(tail), kept, packed, work);
  scatter(tail, 2 * w, kept, columns - c, out_re + c, out_stride);
  scatter(tail + w, 2 * w, kept, columns - c, out_im + c, out_stride);
}

template <class T>
void real_inverse(const FftRealPlan<T>& plan, const T* in_re, const T* in_im, std::size_t in_stride,
                  T* out, std::size_t out_stride, std::size_t columns, std::size_t kept,
                  T* scratch) {
  constexpr std::size_t w = kLanes<T>;
  T* work = align(scratch);
  T* packed = work + block_work(*plan.half);
  std::size_t c = 0;
  for (; c + w <= columns; c += w)
    real_inverse_block(plan, Planes<const T>{in_re + c, in_im + c, in_stride}, out + c, out_stride,
                       kept, packed, work);
  if (c == columns) return;
  T* tail = packed + 2 * w * plan.half->n;
  gather(in_re + c, in_stride, kept, columns - c, tail, 2 * w);
  gather(in_im + c, in_stride, kept, columns - c, tail + w, 2 * w);
  real_inverse_block(plan, as_input(tail), tail, w, kept, packed, work);
  scatter(tail, w, plan.n, columns - c, out + c, out_stride);
}

// --- rows <-> columns
// -----------------------------------------------------------------------------

/// Step D of a transposition: lanes with bit D of row i change places with those without of i + D.
template <class T, std::size_t D>
STAP_FFT_INLINE void exchange(Vec<T>* x) {
  typename VecOf<T>::mask low{}, high{};
  using Lane = decltype(low[0] + 0);
  constexpr std::size_t w = kLanes<T>;
  STAP_UNROLL
  for (std::size_t l = 0; l < w; ++l) {
    low[l] = Lane((l & D) ? w + l - D : l);
    high[l] = Lane((l & D) ? w + l : l + D);
  }
  STAP_UNROLL
  for (std::size_t i = 0; i < w; ++i) {
    if (i & D) continue;
    const Vec<T> a = x[i], b = x[i + D];
    x[i] = __builtin_shuffle(a, b, low);
    x[i + D] = __builtin_shuffle(a, b, high);
  }
}
template <class T, std::size_t D = kLanes<T> / 2>
STAP_FFT_INLINE void transpose(Vec<T>* x) {
  exchange<T, D>(x);
  if constexpr (D > 1) transpose<T, D / 2>(x);
}

template <class T>
void rows_to_columns(const T* in, std::size_t row_stride, std::size_t rows, std::size_t n,
                     T* columns, std::size_t column_stride) {
  constexpr std::size_t w = kLanes<T>;
  const T* row[w];
  for (std::size_t r = 0; r < w; ++r) row[r] = in + (r < rows ? r * row_stride : 0);
  if (n < w) {
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t r = 0; r < w; ++r) columns[j * column_stride + r] = row[r][j];
    return;
  }
  for (std::size_t at = 0; at < n; at += w) {
    const std::size_t j = at + w <= n ? at : n - w;  // the last square may overlap its neighbour
    Vec<T> x[w];
    STAP_UNROLL
    for (std::size_t r = 0; r < w; ++r) x[r] = load(row[r] + j);
    transpose<T>(x);
    STAP_UNROLL
    for (std::size_t r = 0; r < w; ++r) store(columns + (j + r) * column_stride, x[r]);
  }
}

template <class T>
void columns_to_rows(const T* columns, std::size_t column_stride, std::size_t n, T* out,
                     std::size_t row_stride, std::size_t rows, T scale) {
  constexpr std::size_t w = kLanes<T>;
  const Vec<T> factor = broadcast(scale);
  if (n < w) {
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t r = 0; r < rows; ++r)
        out[r * row_stride + j] = columns[j * column_stride + r] * scale;
    return;
  }
  for (std::size_t at = 0; at < n; at += w) {
    const std::size_t j = at + w <= n ? at : n - w;
    Vec<T> x[w];
    STAP_UNROLL
    for (std::size_t r = 0; r < w; ++r) x[r] = load(columns + (j + r) * column_stride) * factor;
    transpose<T>(x);
    if (rows == w) {
      STAP_UNROLL
      for (std::size_t r = 0; r < w; ++r) store(out + r * row_stride + j, x[r]);
    } else {
      STAP_UNROLL
      for (std::size_t r = 0; r < w; ++r)
        if (r < rows) store(out + r * row_stride + j, x[r]);
    }
  }
}

template <class T>
void interleave(const T* re, const T* im, std::size_t n, T* pairs) {
  constexpr std::size_t w = kLanes<T>;
  typename VecOf<T>::mask low{}, high{};
  using Lane = decltype(low[0] + 0);
  STAP_UNROLL
  for (std::size_t l = 0; l < w; ++l) {
    low[l] = Lane(l / 2 + (l % 2) * w);
    high[l] = Lane((w + l) / 2 + (l % 2) * w);
  }
  std::size_t j = 0;
  for (; j + w <= n; j += w) {
    const Vec<T> a = load(re + j), b = load(im + j);
    store(pairs + 2 * j, (Vec<T>)__builtin_shuffle(a, b, low));
    store(pairs + 2 * j + w, (Vec<T>)__builtin_shuffle(a, b, high));
  }
  for (; j < n; ++j) {
    pairs[2 * j] = re[j];
    pairs[2 * j + 1] = im[j];
  }
}

template <class T>
void deinterleave(const T* pairs, std::size_t n, T* re, T* im) {
  constexpr std::size_t w = kLanes<T>;
  typename VecOf<T>::mask even{}, odd{};
  using Lane = decltype(even[0] + 0);
  STAP_UNROLL
  for (std::size_t l = 0; l < w; ++l) {
    even[l] = Lane(2 * l);
    odd[l] = Lane(2 * l + 1);
  }
  std::size_t j = 0;
  for (; j + w <= n; j += w) {
    const Vec<T> a = load(pairs + 2 * j), b = load(pairs + 2 * j + w);
    store(re + j, (Vec<T>)__builtin_shuffle(a, b, even));
    store(im + j, (Vec<T>)__builtin_shuffle(a, b, odd));
  }
  for (; j < n; ++j) {
    re[j] = pairs[2 * j];
    im[j] = pairs[2 * j + 1];
  }
}

template <class T>
constexpr FftKernels<T> kKernels = {
    kLanes<T>,          scratch_size<T>,    forward<T>,    real_forward<T>, real_inverse<T>,
    rows_to_columns<T>, columns_to_rows<T>, interleave<T>, deinterleave<T>,
};

}  // namespace

const FftKernels<float>& fft_kernels_float() {
  return kKernels<float>;
}
const FftKernels<double>& fft_kernels_double() {
  return kKernels<double>;
}

}  // namespace stap::STAP_ISA
