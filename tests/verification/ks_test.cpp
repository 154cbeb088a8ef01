// KS against exact answers (S1 to S3 of the project's verification list).
#include "stap/pde/ks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "support/order.h"
#include "support/solving.h"
#include "support/spectral_rows.h"

namespace stap {
namespace {

using std::numbers::pi;
using test::at_nodes;
using test::solve_row;
using test::solve_rows;

KsOptions options_of(std::size_t points, double length, double dt, double step) {
  KsOptions options;
  options.points = points;
  options.length = length;
  options.dt = dt;
  options.step = step;
  return options;
}

// A state on the attractor of length 16 pi: 60 units of time from a long wave.
std::vector<double> attractor_state(std::size_t points) {
  const double length = 16 * pi;
  const auto start = at_nodes(points, length, [](double x) {
    return std::cos(x / 8) * (1 + std::sin(x / 8)) + 0.1 * std::sin(x / 4 + 1);
  });
  return solve_row(*make_ks(options_of(points, length, 60, 0.05)), start);
}

// S1. Small waves grow as exp((k^2 - k^4) t), the Nyquist mode too. At amplitude 1e-8 the nonlinear
// term is 1e-8 of them; the steps' exponentials are exact.
TEST(KsExact, S1LinearGrowthOfEveryMode) {
  const std::size_t points = 32;
  const double length = 8 * pi, time = 1.5, amplitude = 1e-8;
  const auto solver = make_ks(options_of(points, length, time, 0.25));
  for (std::size_t j : {1u, 2u, 3u, 4u, 5u, 7u, 9u, 16u}) {  // k = j / 4
    const double k = static_cast<double>(j) / 4;
    const auto wave =
        at_nodes(points, length, [&](double x) { return amplitude * std::cos(k * x); });

    const std::vector<double> u = solve_row(*solver, wave);

    const double growth = std::abs(test::mode(u, j)) / std::abs(test::mode(wave, j));
    const double expected = std::exp((k * k - k * k * k * k) * time);
    // 1e-7 of it, and 1e-16 where it has all but vanished (k = 4: exp(-360)).
    EXPECT_NEAR(growth, expected, 1e-7 * expected + 1e-7) << "k = " << k;
  }
}

// S1 with a hyperviscosity of its own for each row: exp((k^2 - nu k^4) t), each of the modes in a
// row of its own and all rows in one call.
TEST(KsExact, S1LinearGrowthWithAHyperviscosityOfEachRow) {
  const std::size_t points = 32;
  const double length = 8 * pi, time = 1.5, amplitude = 1e-8;
  KsOptions options = options_of(points, length, time, 0.25);
  options.hyperviscosity.draw = ParameterDraw{{}, ParameterDraw::Kind::uniform, {0.1, 4}};
  std::vector<Query> queries;
  std::vector<double> expected;
  std::vector<std::size_t> modes;
  for (double hyperviscosity : {0.25, 0.5, 1.0, 2.0, 4.0})
    for (std::size_t j : {1u, 3u, 4u, 7u, 16u}) {  // k = j / 4
      const double k = static_cast<double>(j) / 4;
      queries.push_back(
          {.id = queries.size(),
           .state = at_nodes(points, length, [&](double x) { return amplitude * std::cos(k * x); }),
           .params = {hyperviscosity}});
      expected.push_back(std::exp((k * k - hyperviscosity * k * k * k * k) * time));
      modes.push_back(j);
    }
  std::vector<Answer> answers(queries.size());

  make_ks(options)->solve(queries, answers);

  for (std::size_t r = 0; r < queries.size(); ++r) {
    ASSERT_EQ(answers[r].status, Answer::Status::ok) << answers[r].reason;
    const double growth = std::abs(test::mode(answers[r].states, modes[r])) /
                          std::abs(test::mode(queries[r].state, modes[r]));
    // As in S1.
    EXPECT_NEAR(growth, expected[r], 1e-7 * expected[r] + 1e-7)
        << "hyperviscosity " << queries[r].params[0] << ", mode " << modes[r];
  }
}

// S2. c + (15/19) sqrt(11/19) (11 T^3 - 9 T), T = tanh(K (x - ct)), K = sqrt(11/19)/2. It is not
// periodic: far from the front the profile is led back by a smooth wall, whose waves do not come
// near within one unit of time (fourth-order diffusion: exp(-50) at that distance).
TEST(KsExact, S2Front) {
  const std::size_t points = 512;
  const double length = 240.0, c = 0.7, time = 1.0, slope = 0.5 * std::sqrt(11.0 / 19.0);
  const auto front = [&](double x, double t) {
    const double tanh = std::tanh(slope * (x - 120.0 - c * t));
    return c + 15.0 / 19.0 * std::sqrt(11.0 / 19.0) * (11 * tanh * tanh * tanh - 9 * tanh);
  };
  const double low = front(0, 0), high = front(length, 0);
  const auto start = at_nodes(points, length, [&](double x) {
    // The wall stands at x = 0 and falls from `high` to `low`.
    const double left = 0.5 * (1 - std::tanh(x / 4)),
                 right = 0.5 * (1 - std::tanh((x - length) / 4));
    return front(x, 0) + (high - low) * (left - (1 - right));
  });
  const auto error = [&](double step) {
    const std::vector<double> u =
        solve_row(*make_ks(options_of(points, length, time, step)), start);
    double largest = 0;
    for (std::size_t i = 0; i < points; ++i) {
      const double x = static_cast<double>(i) * length / points;
      if (x > 90 && x < 150) largest = std::max(largest, std::abs(u[i] - front(x, time)));
    }
    return largest;
  };

  // A front that stood still would be off by 0.6.
  EXPECT_LT(error(0.25), 1e-3);
  EXPECT_LT(error(1.0 / 64), 2e-7);
}

// S3. The mean is conserved and, by the equation, (mean u^2 / 2)' = mean u_x^2 - mean u_xx^2. The
// integral of the right side is taken by Simpson's rule over steps of 0.02, where its own error is
// 1e-9.
TEST(KsExact, S3MeanAndEnergyBalance) {
  const double length = 16 * pi, time = 0.01;
  const auto solver = make_ks(options_of(128, length, time, 0.0025));
  const auto balance = [&](const std::vector<double>& u) {
    double sum = 0;
    const auto first = test::derivative(u, length, 1), second = test::derivative(u, length, 2);
    for (std::size_t i = 0; i < u.size(); ++i) sum += first[i] * first[i] - second[i] * second[i];
    return sum / static_cast<double>(u.size());
  };
  const auto energy = [](const std::vector<double>& u) {
    double sum = 0;
    for (double value : u) sum += value * value;
    return 0.5 * sum / static_cast<double>(u.size());
  };
  std::vector<double> u = attractor_state(128);
  const double before = energy(u), mean = test::mean(u);
  double expected = 0;

  for (int pair = 0; pair < 50; ++pair) {
    const std::vector<double> middle = solve_row(*solver, u), end = solve_row(*solver, middle);
    expected += time / 3 * (balance(u) + 4 * balance(middle) + balance(end));
    u = end;
  }

  EXPECT_NEAR(test::mean(u), mean, 1e-12);
  EXPECT_NEAR(energy(u) - before, expected, 1e-7);
  EXPECT_GT(std::abs(expected), 1e-2);
}

// S3. u(x - ct, t) + c solves the equation where u does; c dt is a whole number of cells.
TEST(KsExact, S3GalileanShift) {
  const std::size_t points = 128, cells = 7;
  const double length = 16 * pi, time = 1.0;
  const double c = static_cast<double>(cells) * length / points / time;
  const auto solver = make_ks(options_of(points, length, time, 0.005));
  const std::vector<double> u = attractor_state(points);
  std::vector<double> lifted = u;
  for (double& value : lifted) value += c;

  std::vector<double> expected = solve_row(*solver, u);
  const std::vector<double> got = solve_row(*solver, lifted);

  std::rotate(expected.begin(), expected.end() - static_cast<std::ptrdiff_t>(cells),
              expected.end());
  for (double& value : expected) value += c;
  EXPECT_LT(test::largest_difference(got, expected), 1e-7);
}

// On the attractor, against a run with far shorter steps. Fourth order shows where h L is small for
// all modes that matter; at the benchmark's h = 1/4 the scheme is in the stiff regime, where its
// order is nearer to 3 (a known property of Runge-Kutta schemes of this kind).
TEST(KsExact, StepsAreOfFourthOrder) {
  const std::size_t points = 48;
  const std::vector<double> u = attractor_state(points);
  const auto after = [&](double step) {
    return solve_row(*make_ks(options_of(points, 16 * pi, 1.0, step)), u);
  };
  const std::vector<double> expected = after(1.0 / 4096);
  std::vector<double> h, error;
  for (double steps : {64.0, 128.0, 256.0, 512.0}) {
    h.push_back(1.0 / steps);
    error.push_back(test::relative_error(after(h.back()), expected));
  }

  EXPECT_NEAR(test::measured_order(h, error), 4.0, 0.2);
  EXPECT_LT(test::relative_error(after(0.25), expected), 2e-4);
}

// S3. Length 22: the distance of neighbouring states grows on average as exp(0.045 t). Published
// values lie between 0.043 and 0.048; the mean of 16 runs over 3800 units of time has a standard
// error of 0.0009, of which five are allowed.
TEST(KsExact, S3LeadingLyapunovExponent) {
  const std::size_t points = 32, runs = 16, renewals = 2000;
  const double length = 22.0, time = 2.0, distance = 1e-6;
  const auto solver = make_ks(options_of(points, length, time, 0.25), 1);
  std::vector<std::vector<double>> rows;
  for (std::size_t r = 0; r < runs; ++r) {
    rows.push_back(test::random_waves(points, r));
    const double mean = test::mean(rows.back());
    for (double& value : rows.back()) value -= mean;
    rows.push_back(rows.back());
    rows.back()[0] += distance;
    rows.back()[1] -= distance;
  }
  std::vector<double> growth(runs, 0.0);
  for (std::size_t renewal = 0; renewal < renewals; ++renewal) {
    const std::vector<Answer> answers = solve_rows(*solver, rows);
    for (std::size_t r = 0; r < runs; ++r) {
      const std::vector<double>& base = answers[2 * r].states;
      std::vector<double> near = answers[2 * r + 1].states;
      double norm = 0;
      for (std::size_t i = 0; i < points; ++i) norm += std::pow(near[i] - base[i], 2);
      norm = std::sqrt(norm);
      if (renewal >= 100) growth[r] += std::log(norm / distance);
      for (std::size_t i = 0; i < points; ++i)
        near[i] = base[i] + (near[i] - base[i]) * distance / norm;
      rows[2 * r] = base;
      rows[2 * r + 1] = near;
    }
  }

  double mean = 0;
  for (double g : growth) mean += g / (time * (renewals - 100)) / runs;
  EXPECT_NEAR(mean, 0.045, 0.003 + 5 * 0.0009);
}

}  // namespace
}  // namespace stap
