#include "stap/ic/gas_waves.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ic/window.h"
#include "stap/core/error.h"
#include "stap/pde/cns.h"
#include "support/fake_solver.h"
#include "support/sampling.h"

namespace stap {
namespace {

const Grid kGas = make_grid(4, {16, 12}, {1.0, 2.0});

// 0 if nothing is thrown.
template <class Act>
int kind_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return static_cast<int>(error.kind());
  }
  return 0;
}

TEST(GasWaves, RefusesGridsAndOptionsThatDoNotFit) {
  const int config = static_cast<int>(ErrorKind::config);
  const auto with = [](auto change) {
    return kind_of([&] {
      GasWavesOptions options;
      change(options);
      make_gas_waves(options, kGas);
    });
  };

  EXPECT_EQ(with([](auto&) {}), 0);
  EXPECT_EQ(kind_of([] { make_gas_waves({}, make_grid(4, {16}, {1})); }), config);
  EXPECT_EQ(kind_of([] { make_gas_waves({}, make_grid(3, {16, 16}, {1, 1})); }), config);
  EXPECT_EQ(with([](auto& o) { o.max_wave_number = 0; }), config);
  EXPECT_EQ(with([](auto& o) { o.gamma = 1; }), config);
  EXPECT_EQ(with([](auto& o) { o.density_low = 0; }), config);
  EXPECT_EQ(with([](auto& o) { o.density_low = 11; }), config);
  EXPECT_EQ(with([](auto& o) { o.temperature_high = 0.05; }), config);
  EXPECT_EQ(with([](auto& o) { o.density_contrast_high = 1; }), config);
  EXPECT_EQ(with([](auto& o) { o.density_contrast_low = 0.3; }), config);
  EXPECT_EQ(with([](auto& o) { o.pressure_contrast_high = 0.03; }), config);
  EXPECT_EQ(with([](auto& o) { o.mach_low = 2; }), config);
  EXPECT_EQ(with([](auto& o) { o.window_probability = 1.5; }), config);
  EXPECT_EQ(with([](auto& o) { o.window_width = 0; }), config);
  EXPECT_EQ(with([](auto& o) { o.warm_up = -1; }), config);
}

// The benchmark page's values.
TEST(GasWaves, DefaultsAreThoseOfTheBenchmark) {
  EXPECT_EQ(make_gas_waves({}, kGas)->warm_up(), 0.235);
  EXPECT_EQ(make_gas_waves({}, kGas)->name(), "gas-waves");
}

// A range of one value is allowed and gives it: the state's means are known.
TEST(GasWaves, MeansAreTheDrawnValues) {
  GasWavesOptions options;
  options.density_low = options.density_high = 3.0;
  options.temperature_low = options.temperature_high = 0.5;
  const auto sampler = make_gas_waves(options, kGas);
  std::vector<double> state(kGas.values());

  sampler->draw(Rng(5), 8, state);

  const std::size_t cells = kGas.points_total();
  double rho = 0, p = 0;
  for (std::size_t i = 0; i < cells; ++i) {
    rho += state[i] / static_cast<double>(cells);
    p += state[3 * cells + i] / static_cast<double>(cells);
  }
  EXPECT_NEAR(rho, 3.0, 1e-12);  // waves have no mean on the grid but rounding
  EXPECT_NEAR(p, 1.5, 1e-12);
}

// Drawn states can be evolved by the solver they are for.
TEST(GasWaves, StatesAreOnesTheSolverTakes) {
  GasWavesOptions options;
  options.warm_up = 0.001;
  options.window_probability = 0.5;
  CnsOptions solver_options;
  solver_options.points = kGas.points;
  solver_options.lengths = kGas.lengths;
  solver_options.dt = options.warm_up;
  const auto solver = make_cns(solver_options);
  const auto sampler = make_gas_waves(options, kGas);

  for (std::uint64_t i = 0; i < 8; ++i)
    EXPECT_EQ(test::ask(*solver, {.state = test::drawn(*sampler, i, 1)}).reason, "") << i;
}

// Half-way at both edges, 1 between, 0 outside; tanh 1 = 0.7615941559557649.
TEST(Window, HasTheStatedShape) {
  EXPECT_NEAR(window(0.2, 0.2, 0.7, 0.01), 0.5, 1e-15);
  EXPECT_NEAR(window(0.7, 0.2, 0.7, 0.01), 0.5, 1e-15);
  EXPECT_NEAR(window(0.21, 0.2, 0.7, 0.01), 0.5 * (1 + 0.7615941559557649), 1e-14);
  EXPECT_NEAR(window(0.45, 0.2, 0.7, 0.01), 1.0, 1e-15);
  EXPECT_NEAR(window(0.0, 0.2, 0.7, 0.01), 0.0, 1e-15);
}

}  // namespace
}  // namespace stap
