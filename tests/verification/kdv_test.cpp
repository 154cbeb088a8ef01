// KdV against exact solutions and invariants (K1 to K3 of the project's verification list).
#include "stap/pde/kdv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "stap/ic/sines.h"
#include "support/order.h"
#include "support/solving.h"
#include "support/spectral_rows.h"

namespace stap {
namespace {

using std::numbers::pi;
using test::at_nodes;
using test::relative_error;
using test::solve_row;
using Scheme = KdvOptions::Scheme;

KdvOptions options_of(std::size_t points, double length, double dt, Scheme scheme) {
  KdvOptions options;
  options.points = points;
  options.length = length;
  options.dt = dt;
  options.scheme = scheme;
  options.atol = 1e-10;
  options.rtol = 1e-10;
  options.step = 0.005;
  return options;
}

// 3c sech^2(sqrt(c)/2 (x - ct - x0)), nearest image; its tail falls as exp(-sqrt(c) |x|).
double soliton(double c, double x, double length) {
  x -= length * std::round(x / length);
  return 3 * c / std::pow(std::cosh(0.5 * std::sqrt(c) * x), 2);
}

// K1. The tails meet at exp(-20): what a periodic soliton differs by. Error control adds up to its
// tolerance in each of some thousand steps.
TEST(KdvExact, K1SolitonKeepsItsShapeAndSpeed) {
  const double c = 1.0, length = 40.0, time = 8.0, x0 = 12.0;
  for (Scheme scheme : {Scheme::dopri5, Scheme::etdrk4}) {
    const auto solver = make_kdv(options_of(128, length, time, scheme));
    const auto at = [&](double t) {
      return at_nodes(128, length, [&](double x) { return soliton(c, x - x0 - c * t, length); });
    };

    const std::vector<double> u = solve_row(*solver, at(0));

    EXPECT_LT(relative_error(u, at(time)), 1e-7);
    // Speed from the first mode's angle, amplitude from the tallest point, which is a grid point
    // after 8 units of time (dx = 5/16, x0 + 8 = 64 dx).
    const double angle =
        std::arg(test::mode(at(0), 1) / test::mode(u, 1)) / (2 * pi) * length;  // in -20 .. 20
    EXPECT_NEAR(angle / time, c, 1e-7);
    EXPECT_NEAR(*std::max_element(u.begin(), u.end()), 3 * c, 1e-6);
  }
}

// u = 12 (ln F)_xx, F = 1 + e1 + e2 + ((k1-k2)/(k1+k2))^2 e1 e2, ei = exp(ki x - ki^3 t).
double two_solitons(double k1, double k2, double x, double t) {
  const double e1 = std::exp(k1 * x - k1 * k1 * k1 * t), e2 = std::exp(k2 * x - k2 * k2 * k2 * t);
  const double a = std::pow((k1 - k2) / (k1 + k2), 2) * e1 * e2;
  const double f = 1 + e1 + e2 + a;
  const double f1 = k1 * e1 + k2 * e2 + (k1 + k2) * a;
  const double f2 = k1 * k1 * e1 + k2 * k2 * e2 + (k1 + k2) * (k1 + k2) * a;
  return 12 * (f * f2 - f1 * f1) / (f * f);
}

// K2. The fast soliton overtakes the slow one and is ahead afterwards by (2/k1)
// ln((k1+k2)/(k1-k2)).
TEST(KdvExact, K2CollisionOfTwoSolitons) {
  const double k1 = 1.2, k2 = 0.7, length = 100.0, time = 20.0;
  const std::size_t points = 256;
  const auto at = [&](double t) {  // x runs over -50 .. 50 and the collision is at x = 0, t = 0
    return at_nodes(points, length, [&](double x) { return two_solitons(k1, k2, x - 50, t); });
  };
  for (Scheme scheme : {Scheme::dopri5, Scheme::etdrk4}) {
    const auto solver = make_kdv(options_of(points, length, time, scheme));

    const std::vector<double> u = solve_row(*solver, at(-10));

    EXPECT_LT(relative_error(u, at(10)), 1e-6);
    // The tallest point has moved by k1^2 t and the shift; without the shift it would lie 2.2
    // short.
    const auto place = [&](const std::vector<double>& row) {
      const auto top = std::max_element(row.begin(), row.end());
      const double left = *(top - 1), right = *(top + 1);  // parabola through three points
      return (static_cast<double>(top - row.begin()) +
              0.5 * (left - right) / (left - 2 * *top + right)) *
             length / points;
    };
    const double shift = 2 / k1 * std::log((k1 + k2) / (k1 - k2));
    EXPECT_NEAR(place(u) - place(at(-10)), k1 * k1 * time + shift, 0.02);
  }
}

// K3. Mean u, mean u^2, mean (u_x^2/2 - u^3/6).
struct Invariants {
  double mean = 0, square = 0, energy = 0;
  Invariants(const std::vector<double>& u, double length) {
    const std::vector<double> slope = test::derivative(u, length, 1);
    for (std::size_t i = 0; i < u.size(); ++i) {
      mean += u[i];
      square += u[i] * u[i];
      energy += slope[i] * slope[i] / 2 - u[i] * u[i] * u[i] / 6;
    }
    for (double* sum : {&mean, &square, &energy}) *sum /= static_cast<double>(u.size());
  }
};

TEST(KdvExact, K3Invariants) {
  SinesOptions sines;
  sines.terms = 10;
  sines.max_wave_number = 2;
  sines.amplitude_low = -0.5;
  sines.amplitude_high = 0.5;
  const auto sampler = make_sines(sines, make_grid(1, {256}, {128.0}));
  for (Scheme scheme : {Scheme::dopri5, Scheme::etdrk4}) {
    KdvOptions options;  // the benchmark's own grid and tolerances
    options.dt = 12;
    options.scheme = scheme;
    const auto solver = make_kdv(options);
    for (std::uint64_t i = 0; i < 2; ++i) {
      std::vector<double> u(256);
      sampler->draw(Rng(5), i, u);
      const Invariants before(u, 128.0);

      u = solve_row(*solver, u);

      const Invariants after(u, 128.0);
      EXPECT_NEAR(after.mean, before.mean, 1e-12);
      // Error control leaves noise of 1e-4 of u in the highest modes: its square, 1e-8, is in mean
      // u^2 and, times kappa^2 = 39, in the energy. Exponential steps leave their own error.
      const double noise = scheme == Scheme::dopri5 ? 1e-5 : 1e-9;
      EXPECT_NEAR(after.square, before.square, noise * before.square);
      EXPECT_NEAR(after.energy, before.energy, 39 * noise * before.square);
    }
  }
}

// The soliton's modes fall as exp(-pi k / sqrt(c)), so the error on N points falls as
// exp(-pi (pi N / X) / sqrt(c)): a straight line in N with that slope.
TEST(KdvExact, SpectralConvergenceInSpace) {
  const double c = 1.0, length = 40.0, time = 1.0;
  std::vector<double> n, log_error;
  for (std::size_t points : {40u, 48u, 56u, 64u, 72u, 80u}) {
    const auto solver = make_kdv(options_of(points, length, time, Scheme::etdrk4));
    const auto at = [&](double t) {
      return at_nodes(points, length, [&](double x) { return soliton(c, x - 20 - c * t, length); });
    };

    const std::vector<double> u = solve_row(*solver, at(0));

    n.push_back(std::exp(static_cast<double>(points)));  // so that the fit's log h is N
    log_error.push_back(relative_error(u, at(time)));
  }
  EXPECT_NEAR(test::measured_order(n, log_error), -pi * pi / length, 0.2 * pi * pi / length);
  EXPECT_LT(log_error.back(), 1e-6);
}

TEST(KdvExact, ExponentialStepsAreOfFourthOrder) {
  // The tails meet at exp(-30), below the error of the finest step (3e-11).
  const double c = 1.0, length = 60.0, time = 4.0;
  const std::size_t points = 192;
  const auto at = [&](double t) {
    return at_nodes(points, length, [&](double x) { return soliton(c, x - 20 - c * t, length); });
  };
  std::vector<double> h, error;
  for (double step : {0.02, 0.01, 0.005, 0.0025}) {
    KdvOptions options = options_of(points, length, time, Scheme::etdrk4);
    options.step = step;

    const std::vector<double> u = solve_row(*make_kdv(options), at(0));

    h.push_back(step);
    error.push_back(relative_error(u, at(time)));
  }
  EXPECT_NEAR(test::measured_order(h, error), 4.0, 0.2);
}

// Two schemes that share nothing but the transforms, on rows of the benchmark.
TEST(KdvExact, SchemesAgreeAtTightTolerances) {
  SinesOptions sines;
  sines.terms = 10;
  sines.max_wave_number = 3;
  const auto sampler = make_sines(sines, make_grid(1, {256}, {128.0}));
  KdvOptions warm_up, tight, exponential;
  warm_up.dt = 20;
  warm_up.scheme = exponential.scheme = Scheme::etdrk4;
  tight.atol = 1e-9;
  tight.rtol = 1e-11;
  for (std::uint64_t i = 0; i < 4; ++i) {
    std::vector<double> u(256);
    sampler->draw(Rng(6), i, u);
    u = solve_row(*make_kdv(warm_up), u);

    const std::vector<double> a = solve_row(*make_kdv(tight), u);
    const std::vector<double> b = solve_row(*make_kdv(exponential), u);

    EXPECT_LT(relative_error(a, b), 1e-5) << i;
  }
}

// u(x - ct, t) + c solves the equation where u does; c dt is a whole number of cells.
TEST(KdvExact, GalileanShift) {
  const std::size_t points = 128, cells = 9;
  const double length = 40.0, time = 2.0;
  const double c = static_cast<double>(cells) * length / points / time;
  const auto wave = at_nodes(points, length, [&](double x) {
    return std::sin(2 * pi * x / length) + 0.5 * std::cos(4 * pi * x / length + 1);
  });
  for (Scheme scheme : {Scheme::dopri5, Scheme::etdrk4}) {
    const auto solver = make_kdv(options_of(points, length, time, scheme));
    std::vector<double> lifted = wave;
    for (double& value : lifted) value += c;

    std::vector<double> expected = solve_row(*solver, wave);
    const std::vector<double> got = solve_row(*solver, lifted);

    std::rotate(expected.begin(), expected.end() - static_cast<std::ptrdiff_t>(cells),
                expected.end());
    for (double& value : expected) value += c;
    EXPECT_LT(test::largest_difference(got, expected), 1e-6);
  }
}

}  // namespace
}  // namespace stap
