#include "stap/core/fft.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/fft_plan.h"
#include "core/fft_rows.h"
#include "reference/dft.h"
#include "stap/core/error.h"
#include "stap/core/rng.h"

namespace stap {
namespace {

using Wide = std::complex<long double>;

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all;
  for (std::size_t n = 1; n <= 64; ++n) all.push_back(n);
  for (std::size_t n : {97u, 100u, 128u, 243u, 256u, 500u, 1009u}) all.push_back(n);
  return all;
}

/// Every set of kernels that this CPU can run.
std::vector<Isa> isas() {
  std::vector<Isa> sets;
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512})
    if (isa <= active_isa()) sets.push_back(isa);
  return sets;
}

/// Relative L2 error of a stable FFT: of the order eps log2(n) in the worst case, sqrt of that on
/// average; 3 leaves room for Bluestein, which transforms twice over more than twice the points.
template <class T>
double tolerance(std::size_t n) {
  return 3 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
         std::log2(static_cast<double>(n) + 2);
}

double relative_error(const std::vector<Wide>& got, const std::vector<Wide>& expected) {
  long double error = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::norm(got[i] - expected[i]);
    size += std::norm(expected[i]);
  }
  return static_cast<double>(std::sqrt(error / size));
}

/// Two planes [n][stride] of noise; what lies beyond the columns must neither count nor change.
template <class T>
struct Data {
  Data(std::size_t n_, std::size_t columns_, std::size_t stride_, std::uint64_t seed)
      : n(n_), columns(columns_), stride(stride_), re(n * stride), im(n * stride) {
    const Rng rng(seed);
    for (std::size_t i = 0; i < re.size(); ++i) {
      re[i] = static_cast<T>(rng.normal(2 * i));
      im[i] = static_cast<T>(rng.normal(2 * i + 1));
    }
  }

  std::vector<Wide> column(std::size_t c, std::size_t count) const {
    std::vector<Wide> values;
    for (std::size_t j = 0; j < count; ++j)
      values.emplace_back(re[j * stride + c], im[j * stride + c]);
    return values;
  }
  std::vector<Wide> column(std::size_t c) const { return column(c, n); }

  std::size_t n, columns, stride;
  std::vector<T> re, im;
};

std::vector<Wide> only_real(std::vector<Wide> values) {
  for (Wide& value : values) value = value.real();
  return values;
}

template <class T>
class FftTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FftTest, Types);

TYPED_TEST(FftTest, ComplexAgreesWithTheDirectTransform) {
  using T = TypeParam;
  for (Isa isa : isas()) {
    for (std::size_t n : sizes()) {
      SCOPED_TRACE(testing::Message() << to_string(isa) << " n=" << n);
      const FftPlan<T> fft(n, isa);
      std::vector<T> scratch(fft.scratch_size());
      const std::size_t columns = n % 2 == 0 ? 9 : 17;
      const Data<T> in(n, columns, columns + 2, n);
      Data<T> forward(n, columns, columns + 5, 1), inverse(n, columns, columns, 2);

      fft.forward(in.re.data(), in.im.data(), in.stride, forward.re.data(), forward.im.data(),
                  forward.stride, columns, scratch.data());
      fft.inverse(in.re.data(), in.im.data(), in.stride, inverse.re.data(), inverse.im.data(),
                  inverse.stride, columns, scratch.data());

      for (std::size_t c : {std::size_t{0}, columns / 2, columns - 1}) {
        EXPECT_LT(relative_error(forward.column(c), reference::dft(in.column(c), -1)),
                  tolerance<T>(n));
        EXPECT_LT(relative_error(inverse.column(c), reference::dft(in.column(c), +1)),
                  tolerance<T>(n));
      }
    }
  }
}

TYPED_TEST(FftTest, RealForwardGivesTheKeptModes) {
  using T = TypeParam;
  for (Isa isa : isas()) {
    for (std::size_t n : sizes()) {
      const FftPlan<T> fft(n, isa);
      std::vector<T> scratch(fft.scratch_size());
      const std::size_t columns = 17;
      const Data<T> in(n, columns, columns + 1, n);
      const std::vector<Wide> expected = reference::dft(only_real(in.column(16)), -1);
      for (std::size_t kept : {std::size_t{1}, n / 4 + 1, n / 3 + 1, n / 2 + 1}) {
        SCOPED_TRACE(testing::Message() << to_string(isa) << " n=" << n << " kept=" << kept);
        Data<T> out(kept, columns, columns + 3, 1);

        fft.real_forward(in.re.data(), in.stride, out.re.data(), out.im.data(), out.stride, columns,
                         kept, scratch.data());

        // Against the size of the whole spectrum: one mode alone may be small by chance.
        std::vector<Wide> got = expected;
        for (std::size_t k = 0; k < kept; ++k) got[k] = out.column(16)[k];
        EXPECT_LT(relative_error(got, expected), tolerance<T>(n));
        EXPECT_EQ(got[0].imag(), 0.0L);
        if (2 * (kept - 1) == n) {
          EXPECT_EQ(got[n / 2].imag(), 0.0L);
        }
      }
    }
  }
}

TYPED_TEST(FftTest, RealInverseTakesMissingModesAsZeroAndIgnoresLoneImaginaryParts) {
  using T = TypeParam;
  for (Isa isa : isas()) {
    for (std::size_t n : sizes()) {
      const FftPlan<T> fft(n, isa);
      std::vector<T> scratch(fft.scratch_size());
      const std::size_t columns = 17;
      for (std::size_t kept : {std::size_t{1}, n / 4 + 1, n / 3 + 1, n / 2 + 1}) {
        SCOPED_TRACE(testing::Message() << to_string(isa) << " n=" << n << " kept=" << kept);
        const Data<T> in(kept, columns, columns + 1, n);  // noise: lone imaginary parts are not 0
        Data<T> out(n, columns, columns + 3, 1);

        fft.real_inverse(in.re.data(), in.im.data(), in.stride, out.re.data(), out.stride, columns,
                         kept, scratch.data());

        for (std::size_t c : {std::size_t{2}, columns - 1}) {
          std::vector<Wide> expected;
          for (long double value : reference::real_inverse(in.column(c), n))
            expected.emplace_back(value);
          EXPECT_LT(relative_error(only_real(out.column(c)), expected), tolerance<T>(n));
        }
      }
    }
  }
}

/// Bits of a column: position, neighbours and their number must not change them, and what lies
/// beyond the columns must stay.
TYPED_TEST(FftTest, AColumnDependsOnNoOtherColumn) {
  using T = TypeParam;
  for (Isa isa : isas()) {
    for (std::size_t n : {1u, 2u, 7u, 12u, 15u, 32u, 60u, 128u, 97u, 194u}) {
      const FftPlan<T> fft(n, isa);
      std::vector<T> scratch(fft.scratch_size());
      const std::size_t modes = n / 2 + 1;
      const Data<T> lone(n, 1, 1, 11);
      Data<T> complex(n, 1, 1, 1), forward(modes, 1, 1, 2), inverse(n, 1, 1, 3);
      fft.forward(lone.re.data(), lone.im.data(), 1, complex.re.data(), complex.im.data(), 1, 1,
                  scratch.data());
      fft.real_forward(lone.re.data(), 1, forward.re.data(), forward.im.data(), 1, 1, modes,
                       scratch.data());
      fft.real_inverse(lone.re.data(), lone.im.data(), 1, inverse.re.data(), 1, 1, modes,
                       scratch.data());
      for (std::size_t columns : {1u, 7u, 8u, 9u, 17u, 64u}) {
        for (std::size_t at : {std::size_t{0}, columns / 2, columns - 1}) {
          SCOPED_TRACE(testing::Message()
                       << to_string(isa) << " n=" << n << " columns=" << columns << " at=" << at);
          Data<T> in(n, columns, columns + 3, 100 + at);
          const T hostile = std::numeric_limits<T>::quiet_NaN();
          for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t c = 0; c < in.stride; ++c)
              if (c % 2 != at % 2) in.re[j * in.stride + c] = in.im[j * in.stride + c] = hostile;
            in.re[j * in.stride + at] = lone.re[j];
            in.im[j * in.stride + at] = lone.im[j];
          }
          Data<T> a(n, columns, columns + 1, 4), b(modes, columns, columns + 2, 5),
              d(n, columns, columns + 1, 6);
          const Data<T> a0 = a, b0 = b, d0 = d;

          fft.forward(in.re.data(), in.im.data(), in.stride, a.re.data(), a.im.data(), a.stride,
                      columns, scratch.data());
          fft.real_forward(in.re.data(), in.stride, b.re.data(), b.im.data(), b.stride, columns,
                           modes, scratch.data());
          fft.real_inverse(in.re.data(), in.im.data(), in.stride, d.re.data(), d.stride, columns,
                           modes, scratch.data());

          EXPECT_EQ(a.column(at), complex.column(0));
          EXPECT_EQ(b.column(at), forward.column(0));
          EXPECT_EQ(only_real(d.column(at)), only_real(inverse.column(0)));
          EXPECT_EQ(a.column(columns), a0.column(columns));
          EXPECT_EQ(b.column(columns), b0.column(columns));
          EXPECT_EQ(d.column(columns), d0.column(columns));
        }
      }
    }
  }
}

TYPED_TEST(FftTest, InPlaceGivesTheSameBits) {
  using T = TypeParam;
  for (Isa isa : isas()) {
    for (std::size_t n : sizes()) {
      SCOPED_TRACE(testing::Message() << to_string(isa) << " n=" << n);
      const FftPlan<T> fft(n, isa);
      std::vector<T> scratch(fft.scratch_size());
      Data<T> in(n, 19, 20, n), out(n, 19, 20, 1);

      fft.forward(in.re.data(), in.im.data(), 20, out.re.data(), out.im.data(), 20, 19,
                  scratch.data());
      fft.forward(in.re.data(), in.im.data(), 20, in.re.data(), in.im.data(), 20, 19,
                  scratch.data());

      for (std::size_t c = 0; c < 19; ++c) EXPECT_EQ(in.column(c), out.column(c));
    }
  }
}

TYPED_TEST(FftTest, ScratchIsNotExceededAndMayLieAnywhere) {
  using T = TypeParam;
  for (Isa isa : isas()) {
    for (std::size_t n : {1u, 2u, 6u, 15u, 32u, 97u, 194u, 256u}) {
      const FftPlan<T> fft(n, isa);
      for (std::size_t offset = 0; offset < 64 / sizeof(T); ++offset) {
        SCOPED_TRACE(testing::Message() << to_string(isa) << " n=" << n << " offset=" << offset);
        std::vector<T> scratch(offset + fft.scratch_size() + 1, T(-7));
        const std::size_t modes = n / 2 + 1;
        Data<T> in(n, 3, 3, n), out(n, 3, 3, 1);

        fft.real_forward(in.re.data(), 3, out.re.data(), out.im.data(), 3, 3, modes,
                         scratch.data() + offset);
        fft.real_inverse(in.re.data(), in.im.data(), 3, out.re.data(), 3, 3, modes,
                         scratch.data() + offset);
        fft.forward(in.re.data(), in.im.data(), 3, out.re.data(), out.im.data(), 3, 3,
                    scratch.data() + offset);

        EXPECT_EQ(scratch.back(), T(-7));
        for (std::size_t i = 0; i < offset; ++i) EXPECT_EQ(scratch[i], T(-7));
      }
    }
  }
}

TYPED_TEST(FftTest, RowsAndColumnsAreTransposesOfEachOther) {
  using T = TypeParam;
  for (Isa isa : isas()) {
    const FftKernels<T>& kernels = fft_kernels<T>(isa);
    const std::size_t w = kernels.lanes;
    for (std::size_t n : {std::size_t{1}, w - 1, w, w + 1, 3 * w + 2}) {
      for (std::size_t rows : {std::size_t{1}, w - 1, w}) {
        SCOPED_TRACE(testing::Message() << to_string(isa) << " n=" << n << " rows=" << rows);
        const std::size_t row_stride = n + 1, column_stride = w + 3;
        std::vector<T> in(rows * row_stride), columns(n * column_stride), pairs(2 * n), re(n),
            im(n);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(i);
        std::vector<T> back(in.size(), T(-1));

        kernels.rows_to_columns(in.data(), row_stride, rows, n, columns.data(), column_stride);
        kernels.columns_to_rows(columns.data(), column_stride, n, back.data(), row_stride, rows,
                                T(2));
        kernels.interleave(in.data(), columns.data(), n, pairs.data());
        kernels.deinterleave(pairs.data(), n, re.data(), im.data());

        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t r = 0; r < w; ++r)
            ASSERT_EQ(columns[j * column_stride + r], in[(r < rows ? r : 0) * row_stride + j]);
          for (std::size_t r = 0; r < rows; ++r)
            ASSERT_EQ(back[r * row_stride + j], 2 * in[r * row_stride + j]);
          ASSERT_EQ(pairs[2 * j], in[j]);
          ASSERT_EQ(pairs[2 * j + 1], columns[j]);
          ASSERT_EQ(re[j], in[j]);
          ASSERT_EQ(im[j], columns[j]);
        }
        for (std::size_t r = 0; r < rows; ++r) EXPECT_EQ(back[r * row_stride + n], T(-1));
      }
    }
  }
}

TYPED_TEST(FftTest, RowsAgreeWithTheDirectTransform) {
  using T = TypeParam;
  for (std::size_t n : {1u, 2u, 5u, 8u, 30u, 32u, 100u, 97u, 256u}) {
    for (std::size_t count : {1u, 7u, 8u, 9u, 33u}) {
      SCOPED_TRACE(testing::Message() << "n=" << n << " count=" << count);
      const RealFftRows<T> fft(n);
      const std::size_t m = fft.modes();
      std::vector<T> scratch(fft.scratch_size());
      const Data<T> in(count, n, n, n);  // a row of `re` is a row of samples
      std::vector<std::complex<T>> modes(count * m), noise(count * m);
      std::vector<T> samples(count * n);
      const Rng rng(3);
      for (std::size_t i = 0; i < noise.size(); ++i)
        noise[i] = {static_cast<T>(rng.normal(2 * i)), static_cast<T>(rng.normal(2 * i + 1))};

      fft.forward(in.re.data(), count, modes.data(), scratch.data());
      fft.inverse(noise.data(), count, samples.data(), scratch.data());

      for (std::size_t r : {std::size_t{0}, count / 2, count - 1}) {
        std::vector<Wide> row(in.re.begin() + static_cast<std::ptrdiff_t>(r * n),
                              in.re.begin() + static_cast<std::ptrdiff_t>((r + 1) * n));
        std::vector<Wide> expected = reference::dft(row, -1);
        std::vector<Wide> got = expected;
        for (std::size_t k = 0; k < m; ++k) got[k] = Wide(modes[r * m + k]);
        EXPECT_LT(relative_error(got, expected), tolerance<T>(n));

        std::vector<Wide> spectrum, expected_row, got_row;
        for (std::size_t k = 0; k < m; ++k) spectrum.emplace_back(noise[r * m + k]);
        for (long double value : reference::real_inverse(spectrum, n))
          expected_row.emplace_back(value / static_cast<long double>(n));
        for (std::size_t j = 0; j < n; ++j) got_row.emplace_back(samples[r * n + j]);
        EXPECT_LT(relative_error(got_row, expected_row), tolerance<T>(n));
      }
    }
  }
}

/// The direct transform along y, then along x.
template <class T>
std::vector<Wide> direct_2d(const T* state, std::size_t nx, std::size_t ny) {
  std::vector<Wide> half(nx * ny);
  for (std::size_t x = 0; x < nx; ++x) {
    const std::vector<Wide> row = reference::dft({state + x * ny, state + (x + 1) * ny}, -1);
    for (std::size_t k = 0; k < ny; ++k) half[x * ny + k] = row[k];
  }
  std::vector<Wide> full(nx * ny);
  for (std::size_t k = 0; k < ny; ++k) {
    std::vector<Wide> column;
    for (std::size_t x = 0; x < nx; ++x) column.push_back(half[x * ny + k]);
    column = reference::dft(column, -1);
    for (std::size_t x = 0; x < nx; ++x) full[x * ny + k] = column[x];
  }
  return full;
}

TYPED_TEST(FftTest, TwoDimensionsAgreeWithTheDirectTransformAndComeBack) {
  using T = TypeParam;
  // The last one has so many modes along y that states are not grouped.
  constexpr std::array<std::array<std::size_t, 2>, 7> grids = {
      {{1, 1}, {3, 8}, {8, 6}, {32, 32}, {12, 7}, {9, 20}, {4, 260}}};
  for (const auto& [nx, ny] : grids) {
    for (std::size_t count : {1u, 3u, 9u}) {
      SCOPED_TRACE(testing::Message() << nx << "x" << ny << " count=" << count);
      const RealFft2<T> fft(nx, ny);
      const std::size_t m = ny / 2 + 1;
      std::vector<T> scratch(fft.scratch_size());
      const Data<T> in(count * nx, ny, ny, nx);
      std::vector<std::complex<T>> modes(count * nx * m);
      std::vector<T> back(in.re.size());

      fft.forward(in.re.data(), count, modes.data(), scratch.data());
      fft.inverse(modes.data(), count, back.data(), scratch.data());

      for (std::size_t b : {std::size_t{0}, count - 1}) {
        const std::vector<Wide> expected = direct_2d(in.re.data() + b * nx * ny, nx, ny);
        std::vector<Wide> got = expected;
        for (std::size_t x = 0; x < nx; ++x)
          for (std::size_t k = 0; k < m; ++k) got[x * ny + k] = Wide(modes[(b * nx + x) * m + k]);
        EXPECT_LT(relative_error(got, expected), 2 * tolerance<T>(nx * ny));
      }
      EXPECT_LT(relative_error({back.begin(), back.end()}, {in.re.begin(), in.re.end()}),
                4 * tolerance<T>(nx * ny));
    }
  }
}

/// An inverse of modes that belong to no real state: what the definition in fft_rows.h says.
TYPED_TEST(FftTest, TwoDimensionalInverseIgnoresWhatNoRealStateHas) {
  using T = TypeParam;
  constexpr std::size_t nx = 6, ny = 8, m = ny / 2 + 1;
  const Data<T> noise(nx * m, 1, 1, 5);
  std::vector<std::complex<T>> modes(nx * m);
  for (std::size_t i = 0; i < modes.size(); ++i) modes[i] = {noise.re[i], noise.im[i]};
  const RealFft2<T> fft(nx, ny);
  std::vector<T> scratch(fft.scratch_size()), state(nx * ny);

  fft.inverse(modes.data(), 1, state.data(), scratch.data());

  std::vector<std::vector<Wide>> along_y(nx, std::vector<Wide>(m));
  for (std::size_t k = 0; k < m; ++k) {
    std::vector<Wide> column;
    for (std::size_t x = 0; x < nx; ++x) column.emplace_back(modes[x * m + k]);
    column = reference::dft(column, +1);
    for (std::size_t x = 0; x < nx; ++x) along_y[x][k] = column[x];
  }
  std::vector<Wide> expected;
  for (std::size_t x = 0; x < nx; ++x)
    for (long double value : reference::real_inverse(along_y[x], ny))
      expected.emplace_back(value / static_cast<long double>(nx * ny));
  EXPECT_LT(relative_error({state.begin(), state.end()}, expected), tolerance<T>(nx * ny));
}

TYPED_TEST(FftTest, ARowDependsOnNoOtherRow) {
  using T = TypeParam;
  constexpr std::size_t nx = 6, ny = 10, n = nx * ny, m = ny / 2 + 1, count = 19;
  Data<T> in(count, n, n, 5);
  in.re[4 * n + 3] = std::numeric_limits<T>::quiet_NaN();
  in.re[5 * n + 7] = std::numeric_limits<T>::infinity();
  const RealFftRows<T> rows(n);
  const RealFft2<T> planes(nx, ny);
  std::vector<T> scratch(std::max(rows.scratch_size(), planes.scratch_size()));
  std::vector<std::complex<T>> modes(count * rows.modes()), lone(rows.modes()),
      modes2(count * nx * m), lone2(nx * m);
  std::vector<T> back(count * n), lone_back(n), back2(count * n), lone_back2(n);

  rows.forward(in.re.data(), count, modes.data(), scratch.data());
  rows.inverse(modes.data(), count, back.data(), scratch.data());
  planes.forward(in.re.data(), count, modes2.data(), scratch.data());
  planes.inverse(modes2.data(), count, back2.data(), scratch.data());

  for (std::size_t r = 0; r < count; ++r) {
    if (r == 4 || r == 5) continue;
    rows.forward(in.re.data() + r * n, 1, lone.data(), scratch.data());
    rows.inverse(lone.data(), 1, lone_back.data(), scratch.data());
    planes.forward(in.re.data() + r * n, 1, lone2.data(), scratch.data());
    planes.inverse(lone2.data(), 1, lone_back2.data(), scratch.data());
    EXPECT_TRUE(std::equal(lone.begin(), lone.end(), modes.data() + r * rows.modes())) << r;
    EXPECT_TRUE(std::equal(lone_back.begin(), lone_back.end(), back.data() + r * n)) << r;
    EXPECT_TRUE(std::equal(lone2.begin(), lone2.end(), modes2.data() + r * nx * m)) << r;
    EXPECT_TRUE(std::equal(lone_back2.begin(), lone_back2.end(), back2.data() + r * n)) << r;
  }
  EXPECT_TRUE(std::isnan(modes[4 * rows.modes()].real()));
}

TEST(Fft, ThePublicClassUsesTheActiveSet) {
  const Fft<double> fft(30);
  const FftPlan<double> plan(30, active_isa());
  std::vector<double> scratch(fft.scratch_size());
  const Data<double> in(30, 5, 5, 1);
  Data<double> a(30, 5, 5, 2), b(30, 5, 5, 3);

  fft.inverse(in.re.data(), in.im.data(), 5, a.re.data(), a.im.data(), 5, 5, scratch.data());
  plan.inverse(in.re.data(), in.im.data(), 5, b.re.data(), b.im.data(), 5, 5, scratch.data());

  EXPECT_EQ(fft.size(), 30u);
  EXPECT_EQ(fft.scratch_size(), plan.scratch_size());
  EXPECT_EQ(a.re, b.re);
  EXPECT_EQ(a.im, b.im);
}

TEST(Fft, ImpossibleValuesAreRefused) {
  const Fft<float> fft(8);
  std::vector<float> scratch(fft.scratch_size()), data(64);
  float* p = data.data();

  EXPECT_THROW(Fft<float>(0), Error);
  EXPECT_THROW(RealFftRows<float>(0), Error);
  EXPECT_THROW(RealFft2<float>(4, 0), Error);
  EXPECT_THROW(fft.forward(p, p, 2, p, p, 4, 3, scratch.data()), Error);
  EXPECT_THROW(fft.real_forward(p, 1, p, p, 1, 1, 0, scratch.data()), Error);
  EXPECT_THROW(fft.real_forward(p, 1, p, p, 1, 1, 6, scratch.data()), Error);
  EXPECT_THROW(fft.real_inverse(p, p, 1, p, 1, 1, 6, scratch.data()), Error);
}

}  // namespace
}  // namespace stap
