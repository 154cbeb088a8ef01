// Laws of the discrete Fourier transform, over sizes and seeds drawn at random. Tolerances are
// relative L2, 10 eps log2(n) (two transforms and the arithmetic of the law itself).
#include "stap/core/fft.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "core/fft_rows.h"
#include "stap/core/rng.h"

namespace stap {
namespace {

using Signal = std::vector<std::complex<double>>;

Signal noise(std::size_t n, const Rng& rng) {
  Signal x(n);
  for (std::size_t j = 0; j < n; ++j) x[j] = {rng.normal(2 * j), rng.normal(2 * j + 1)};
  return x;
}

/// One column; sign -1 forward, +1 inverse.
Signal transform(const Signal& x, int sign) {
  const std::size_t n = x.size();
  const Fft<double> fft(n);
  std::vector<double> re(n), im(n), scratch(fft.scratch_size(), 3.0);  // scratch may hold anything
  for (std::size_t j = 0; j < n; ++j) {
    re[j] = x[j].real();
    im[j] = x[j].imag();
  }
  if (sign < 0)
    fft.forward(re.data(), im.data(), 1, re.data(), im.data(), 1, 1, scratch.data());
  else
    fft.inverse(re.data(), im.data(), 1, re.data(), im.data(), 1, 1, scratch.data());
  Signal y(n);
  for (std::size_t j = 0; j < n; ++j) y[j] = {re[j], im[j]};
  return y;
}

double norm(const Signal& x) {
  double sum = 0;
  for (const auto& value : x) sum += std::norm(value);
  return std::sqrt(sum);
}
double distance(Signal x, const Signal& y) {
  for (std::size_t j = 0; j < x.size(); ++j) x[j] -= y[j];
  return norm(x);
}
double tolerance(std::size_t n) {
  return 10 * std::numeric_limits<double>::epsilon() * std::log2(static_cast<double>(n) + 2);
}

/// Calls law(n, rng) for 120 sizes of 1 .. 700.
template <class Law>
void for_sizes(const char* name, Law law) {
  for (std::uint64_t i = 0; i < 120; ++i) {
    const Rng rng = Rng(2024).split(name, i);
    const std::size_t n = 1 + rng.below(0, 700);
    SCOPED_TRACE(testing::Message() << "n=" << n << " case " << i);
    law(n, rng.split("data"));
  }
}

// Mutation: twiddles conjugated in the stages of one radix.
TEST(FftLaws, InverseUndoesForward) {
  for_sizes("round trip", [](std::size_t n, const Rng& rng) {
    const Signal x = noise(n, rng);

    Signal y = transform(transform(x, -1), +1);

    for (auto& value : y) value /= static_cast<double>(n);
    EXPECT_LT(distance(y, x), tolerance(n) * norm(x));
  });
}

// Mutation: sin 60 degrees wrong in the last digits of the radix-3 butterfly (not unitary any
// more).
TEST(FftLaws, Parseval) {
  for_sizes("parseval", [](std::size_t n, const Rng& rng) {
    const Signal x = noise(n, rng);

    const double energy = norm(transform(x, -1));

    EXPECT_NEAR(energy, std::sqrt(static_cast<double>(n)) * norm(x), tolerance(n) * energy);
  });
}

// Mutation: one value of Bluestein's padding left as it was found in scratch (an affine map then).
TEST(FftLaws, Linearity) {
  for_sizes("linearity", [](std::size_t n, const Rng& rng) {
    const Signal x = noise(n, rng.split("x")), y = noise(n, rng.split("y"));
    const std::complex<double> a(rng.normal(0), rng.normal(1)), b(rng.normal(2), rng.normal(3));
    Signal sum(n);
    for (std::size_t j = 0; j < n; ++j) sum[j] = a * x[j] + b * y[j];

    const Signal left = transform(sum, -1);

    const Signal fx = transform(x, -1), fy = transform(y, -1);
    Signal right(n);
    for (std::size_t k = 0; k < n; ++k) right[k] = a * fx[k] + b * fy[k];
    EXPECT_LT(distance(left, right),
              tolerance(n) * (std::abs(a) * norm(fx) + std::abs(b) * norm(fy)));
  });
}

// Mutation: two outputs of a butterfly written in the wrong order.
TEST(FftLaws, AShiftTurnsThePhases) {
  for_sizes("shift", [](std::size_t n, const Rng& rng) {
    const Signal x = noise(n, rng);
    const std::size_t by = rng.below(5000, n);
    Signal shifted(n);
    for (std::size_t j = 0; j < n; ++j) shifted[(j + by) % n] = x[j];

    const Signal left = transform(shifted, -1);

    Signal right = transform(x, -1);
    for (std::size_t k = 0; k < n; ++k)
      right[k] *= std::polar(
          1.0, -2 * std::numbers::pi * static_cast<double>(k * by % n) / static_cast<double>(n));
    EXPECT_LT(distance(left, right), tolerance(n) * norm(right));
  });
}

// Mutation: the roots that join modes k and n/2 - k taken at n/4 - k.
TEST(FftLaws, RealRowsAreTheComplexTransformAndComeBack) {
  for_sizes("real", [](std::size_t n, const Rng& rng) {
    Signal x = noise(n, rng);
    std::vector<double> row(n), back(n);
    for (std::size_t j = 0; j < n; ++j) {
      row[j] = x[j].real();
      x[j] = row[j];
    }
    const RealFftRows<double> fft(n);
    std::vector<double> scratch(fft.scratch_size());
    Signal modes(fft.modes());

    fft.forward(row.data(), 1, modes.data(), scratch.data());
    fft.inverse(modes.data(), 1, back.data(), scratch.data());

    Signal full = transform(x, -1);
    const double size = norm(full);
    full.resize(modes.size());
    EXPECT_LT(distance(modes, full), tolerance(n) * size);
    EXPECT_LT(distance(Signal(back.begin(), back.end()), x), tolerance(n) * norm(x));
  });
}

}  // namespace
}  // namespace stap
