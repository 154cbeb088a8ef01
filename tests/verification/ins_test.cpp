// The incompressible solver against exact solutions (N1 to N4 of the project's verification list)
// and orders measured over at least four steps or grids.
#include "stap/pde/ins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <vector>

#include "reference/ins.h"
#include "support/ins_flows.h"
#include "support/order.h"

namespace stap {
namespace {

using Scheme = InsOptions::Scheme;
using std::numbers::pi;
using test::at_points;
using test::Field;
using test::largest_difference;
using test::solve_field;

const std::complex<double> kI(0.0, 1.0);

InsOptions unforced(std::size_t points, double viscosity, double dt, Scheme scheme, double step) {
  InsOptions options;
  options.points = {points, points};
  options.viscosity = viscosity;
  options.forcing = 0.0;
  options.dt = dt;
  options.scheme = scheme;
  options.step = step;
  return options;
}

// Order in the internal step: the exponent of max|w - exact| over the given steps.
double order_in_time(InsOptions options, const std::vector<double>& steps, const Field& initial,
                     const Field& exact) {
  std::vector<double> error;
  for (double step : steps) {
    options.step = step;
    error.push_back(largest_difference(solve_field(*make_ins(options), initial), exact));
  }
  return test::measured_order(steps, error);
}

// N1, Taylor-Green: psi = sin kx sin ky exp(-2 nu k^2 t), w = 2 k^2 psi. Nothing is advected.
Field taylor_green(const InsOptions& options, double time) {
  const double k = 2 * pi;
  return at_points(options, [&](double x, double y) {
    // N2: carried along by the mean velocity.
    const double left = x - options.mean_velocity[0] * time;
    const double below = y - options.mean_velocity[1] * time;
    return 2 * k * k * 0.05 * std::sin(k * left) * std::sin(k * below) *
           std::exp(-2 * options.viscosity.value * k * k * time);
  });
}

TEST(InsExact, N1TaylorGreenDecays) {
  // The decay is exact in ifrk4: rounding of values of 4 is left.
  const InsOptions fast = unforced(16, 0.01, 1.0, Scheme::ifrk4, 0.05);
  EXPECT_LT(largest_difference(solve_field(*make_ins(fast), taylor_green(fast, 0)),
                               taylor_green(fast, 1.0)),
            1e-13);

  // In crank_nicolson it is of second order: at the benchmark's steps its error is (2 nu k^2 h)^3
  // / 12 a step, 4e-8 of the values for this viscosity.
  const InsOptions slow = unforced(16, 0.01, 1.0, Scheme::crank_nicolson, 1e-3);
  EXPECT_LT(largest_difference(solve_field(*make_ins(slow), taylor_green(slow, 0)),
                               taylor_green(slow, 1.0)),
            2e-7);
  EXPECT_NEAR(order_in_time(slow, {0.1, 0.05, 0.025, 0.0125}, taylor_green(slow, 0),
                            taylor_green(slow, 1.0)),
              2.0, 0.02);
}

// N2: the same carried along by a mean velocity: the explicit part at work.
TEST(InsExact, N2TravellingTaylorGreen) {
  InsOptions options = unforced(16, 0.01, 0.5, Scheme::ifrk4, 0.0);
  options.mean_velocity = {0.6, -0.35};
  const Field initial = taylor_green(options, 0), exact = taylor_green(options, 0.5);

  EXPECT_NEAR(order_in_time(options, {0.02, 0.01, 0.005, 0.0025}, initial, exact), 4.0, 0.1);
  options.step = 0.0025;
  EXPECT_LT(largest_difference(solve_field(*make_ins(options), initial), exact), 1e-7);

  options.scheme = Scheme::crank_nicolson;
  EXPECT_NEAR(order_in_time(options, {4e-3, 2e-3, 1e-3, 5e-4}, initial, exact), 1.0, 0.05);
}

// N3: the paper's forcing from rest, w = f / (8 pi^2 nu) (1 - exp(-8 pi^2 nu t)).
Field forced_from_rest(const InsOptions& options) {
  const double rate = 8 * pi * pi * options.viscosity.value;
  return at_points(options, [&](double x, double y) {
    const double p = 2 * pi * (x + y);
    return options.forcing.value * (std::sin(p) + std::cos(p)) * -std::expm1(-rate * options.dt) /
           rate;
  });
}

TEST(InsExact, N3ForcedFromRest) {
  InsOptions paper;  // viscosity 2e-4, forcing 0.1, h = 1e-3
  paper.dt = 2.0;
  const Field rest(32 * 32, 0.0);
  // (8 pi^2 nu h)^2 / 12 is 2e-11.
  EXPECT_LT(largest_difference(solve_field(*make_ins(paper), rest), forced_from_rest(paper)),
            1e-11);

  InsOptions viscous = paper;
  viscous.viscosity = 0.05;
  viscous.dt = 1.0;
  const Field exact = forced_from_rest(viscous);
  EXPECT_NEAR(order_in_time(viscous, {0.1, 0.05, 0.025, 0.0125}, rest, exact), 2.0, 0.05);
  viscous.scheme = Scheme::ifrk4;
  EXPECT_NEAR(order_in_time(viscous, {0.1, 0.05, 0.025, 0.0125}, rest, exact), 4.0, 0.1);
}

// Turning forcing a (sin p + cos p) = Re a (1 - i) e^{i(k.x + omega t)} on one plane wave, which
// does not advect itself: w = Re c(t) e^{ik.x} with c' = -nu kappa^2 c + a (1 - i) e^{i omega t}.
// From rest at t = -0.4, where the forcing stands still until t = 0, on a rectangle.
TEST(InsExact, TurningForcingAfterAWarmUp) {
  InsOptions options;
  options.points = {12, 16};
  options.lengths = {1.0, 2.0};
  options.viscosity = 0.04;
  options.forcing = 0.3;
  options.forcing_rate = 0.45;
  const double omega = 2 * pi * options.forcing_rate;
  const double rate = options.viscosity.value * 4 * pi * pi * (1.0 + 0.25);
  const std::complex<double> push = options.forcing.value * (1.0 - kI);
  const std::complex<double> at_zero = push / rate * -std::expm1(-rate * 0.4);
  const std::complex<double> at_end =
      at_zero * std::exp(-rate * 0.8) +
      push / (rate + kI * omega) * (std::exp(kI * omega * 0.8) - std::exp(-rate * 0.8));
  const auto wave = [&](std::complex<double> c) {
    return at_points(options, [&](double x, double y) {
      return std::real(c * std::exp(kI * 2.0 * pi * (x / 1.0 + y / 2.0)));
    });
  };
  const Field rest(12 * 16, 0.0);
  const auto order = [&](Scheme scheme, const std::vector<double>& steps) {
    options.scheme = scheme;
    std::vector<double> error;
    for (double step : steps) {
      options.step = step;
      options.dt = 0.4;
      const Field warm = solve_field(*make_ins(options), rest, -0.4);
      options.dt = 0.8;
      error.push_back(largest_difference(solve_field(*make_ins(options), warm, 0.0), wave(at_end)));
      EXPECT_LT(largest_difference(warm, wave(at_zero)), error.back());
    }
    EXPECT_LT(error.back(), scheme == Scheme::ifrk4 ? 1e-6 : 1e-2);
    return test::measured_order(steps, error);
  };

  EXPECT_NEAR(order(Scheme::crank_nicolson, {0.04, 0.02, 0.01, 0.005}), 1.0, 0.05);
  EXPECT_NEAR(order(Scheme::ifrk4, {0.2, 0.1, 0.05, 0.025}), 4.0, 0.15);
}

// The product at work: eddies that deform each other. The order is that of the differences between
// runs with h and h/2; no exact solution is needed for it.
TEST(InsOrder, InterplayOfEddies) {
  const auto order = [](Scheme scheme, const std::vector<double>& steps) {
    InsOptions options = unforced(24, 1e-3, 0.4, scheme, 0.0);
    const Field initial = test::eddies(options, 7, 3.0);
    std::vector<Field> ends;
    for (double step : steps) {
      options.step = step;
      ends.push_back(solve_field(*make_ins(options), initial));
    }
    EXPECT_GT(largest_difference(ends.back(), initial), 0.3);
    std::vector<double> difference;
    for (std::size_t i = 1; i < ends.size(); ++i)
      difference.push_back(largest_difference(ends[i], ends[i - 1]));
    return test::measured_order(std::span(steps).subspan(1), difference);
  };

  EXPECT_NEAR(order(Scheme::crank_nicolson, {8e-3, 4e-3, 2e-3, 1e-3, 5e-4}), 1.0, 0.05);
  EXPECT_NEAR(order(Scheme::ifrk4, {0.04, 0.02, 0.01, 0.005, 0.0025}), 4.0, 0.15);
}

// Both schemes go to the same limit: crank_nicolson extrapolated to h = 0 is ifrk4's answer.
TEST(InsOrder, SchemesShareTheirLimit) {
  InsOptions options = unforced(16, 1e-3, 0.2, Scheme::ifrk4, 0.0025);
  const Field initial = test::eddies(options, 8, 3.0);
  const Field expected = solve_field(*make_ins(options), initial);
  options.scheme = Scheme::crank_nicolson;
  options.step = 4e-4;
  const Field coarse = solve_field(*make_ins(options), initial);
  options.step = 2e-4;
  const Field fine = solve_field(*make_ins(options), initial);

  Field limit(fine.size());
  for (std::size_t i = 0; i < fine.size(); ++i) limit[i] = 2 * fine[i] - coarse[i];

  // First-order parts cancel; second-order ones, smaller by some h, are left.
  const double error = largest_difference(fine, expected);
  EXPECT_LT(largest_difference(limit, expected), 5e-3 * error);
}

// N4: without viscosity and forcing, energy and enstrophy of the truncated equations are constant;
// what is left is the time error, of fourth order at least. Without the cut of the product it would
// not go away with h.
TEST(InsExact, N4EnergyAndEnstrophyStay) {
  const std::vector<double> steps = {0.05, 0.025, 0.0125, 0.00625};
  InsOptions options = unforced(16, 0.0, 1.0, Scheme::ifrk4, 0.0);
  const reference::Ins exact(options);
  const Field initial = test::eddies(options, 9, 6.0);  // |k| <= 3, and the product keeps 5
  std::vector<double> energy, enstrophy;
  for (double step : steps) {
    options.step = step;

    const Field w = solve_field(*make_ins(options), initial);

    energy.push_back(std::abs(exact.energy(w) / exact.energy(initial) - 1));
    enstrophy.push_back(std::abs(exact.enstrophy(w) / exact.enstrophy(initial) - 1));
    EXPECT_GT(largest_difference(w, initial), 0.5);
  }

  EXPECT_GT(test::measured_order(steps, energy), 3.8);
  EXPECT_GT(test::measured_order(steps, enstrophy), 3.8);
  EXPECT_LT(energy.back(), 1e-10);
  EXPECT_LT(enstrophy.back(), 1e-9);
}

// Space: an oblique shear layer w = g(x + y) moves nothing by itself, a mean velocity carries it:
// w = g(x + y - (U + V) t) for any g. With modes r^|k| the error is that of the first mode the
// product does not keep, r^(K + 1): geometric in K.
TEST(InsExact, SpectralAccuracyInSpace) {
  const double r = 0.25, time = 0.3, u = 0.7, v = 0.4;
  const auto layer = [&](double s) {
    return (1 - r * r) / (1 - 2 * r * std::cos(2 * pi * s) + r * r) - 1;
  };
  std::vector<double> kept, error;  // exp(K), so that a power of it is geometric in K
  for (std::size_t points : {12u, 16u, 18u, 22u, 24u, 28u}) {
    InsOptions options = unforced(points, 0.0, time, Scheme::ifrk4, 0.0025);
    options.mean_velocity = {u, v};

    const Field got = solve_field(
        *make_ins(options), at_points(options, [&](double x, double y) { return layer(x + y); }));

    const Field exact =
        at_points(options, [&](double x, double y) { return layer(x + y - (u + v) * time); });
    kept.push_back(std::exp(static_cast<double>(points / 3)));
    error.push_back(largest_difference(got, exact));
  }

  EXPECT_NEAR(test::measured_order(kept, error), std::log(r), 0.15 * std::abs(std::log(r)));
  EXPECT_LT(error.back(), 1e-4);
}

}  // namespace
}  // namespace stap
