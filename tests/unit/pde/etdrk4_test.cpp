#include "pde/etdrk4.h"

#include <gtest/gtest.h>

#include "reference/spectral_line.h"

namespace stap {
namespace {

using Complex = std::complex<double>;

// The circle's mean against series and recursion in long double, from z = 0 through small values,
// where the closed forms lose every digit, to the largest of the benchmarks.
TEST(Etdrk4Coefficients, AgreeWithPhiFunctions) {
  const double h = 0.25;
  for (const Complex z :
       {Complex(0), Complex(1e-9), Complex(-1e-4, 0), Complex(0, 1e-3), Complex(0.06),
        Complex(-0.3), Complex(0, 0.7), Complex(-1), Complex(0, -1.5), Complex(-7.3),
        Complex(0, 12), Complex(-300), Complex(-16320), Complex(0, 250), Complex(-2, 5)}) {
    const Etdrk4Coefficients c = etdrk4_coefficients(z, h);

    const reference::Complex zl(z.real(), z.imag()), hl = h;
    const reference::Phi f = reference::phi(zl), half = reference::phi(zl / 2.0L);
    const auto expect_near = [&](Complex got, reference::Complex expected, const char* name) {
      // A mean of 32 values of size up to 8 (of e^z, where that is large).
      const long double scale = h * std::max(1.0L, std::abs(std::exp(zl)));
      EXPECT_LT(std::abs(reference::Complex(got) - expected), 1e-14L * scale)
          << name << " at " << z;
    };
    expect_near(c.full, std::exp(zl), "full");
    expect_near(c.half, std::exp(zl / 2.0L), "half");
    expect_near(c.stage, hl / 2.0L * half.one, "stage");
    expect_near(c.first, hl * (f.one - 3.0L * f.two + 4.0L * f.three), "first");
    expect_near(c.middle, hl * (f.two - 2.0L * f.three), "middle");
    expect_near(c.last, hl * (4.0L * f.three - f.two), "last");
  }
}

}  // namespace
}  // namespace stap
