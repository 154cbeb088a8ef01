// F of every equation: against plain twins on every instruction set, and against derivatives by
// hand.
#include "stap/core/right_hand_side.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "pde/burgers_kernels.h"
#include "pde/cns_kernels.h"
#include "pde/ins_tables.h"
#include "pde/lane_blocks.h"
#include "pde/line_rate_kernels.h"
#include "pde/line_solver.h"
#include "reference/burgers.h"
#include "reference/cns.h"
#include "reference/ins.h"
#include "reference/spectral_line.h"
#include "stap/core/error.h"
#include "stap/pde/burgers.h"
#include "stap/pde/cns.h"
#include "stap/pde/ins.h"
#include "stap/pde/kdv.h"
#include "stap/pde/ks.h"
#include "stap/pde/pde.h"
#include "support/gas.h"
#include "support/ins_flows.h"
#include "support/isas.h"
#include "support/order.h"
#include "support/right_hand_sides.h"
#include "support/solving.h"
#include "support/spectral_rows.h"

namespace stap {
namespace {

using std::numbers::pi;
using test::rate_of;
using Row = std::vector<double>;

double largest(const Row& row) {
  double result = 0;
  for (double value : row) result = std::max(result, std::abs(value));
  return result;
}

// max|a - b| / max|b|; infinite if a value is not finite.
double distance(const Row& a, const Row& b) {
  double result = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= result)) result = std::abs(a[i] - b[i]);
  return std::isfinite(result) ? result / largest(b) : std::numeric_limits<double>::infinity();
}

// Rows through a kernel, one thread.
template <class Rate>
std::vector<Row> by_kernel(LaneBlocks blocks, const std::vector<Row>& rows, const Rate& rate) {
  const Grid grid = make_grid(1, {blocks.values}, {1.0});
  States<double> states(grid, rows.size()), rates(grid, rows.size());
  for (std::size_t b = 0; b < rows.size(); ++b)
    std::copy(rows[b].begin(), rows[b].end(), states.row(b).begin());
  rates_in_lanes(blocks, std::as_const(states).view(), rates.view(), rate);
  std::vector<Row> result;
  for (std::size_t b = 0; b < rows.size(); ++b)
    result.emplace_back(rates.row(b).begin(), rates.row(b).end());
  return result;
}

// Rows with every mode of the grid in them.
std::vector<Row> noisy_rows(std::size_t values, std::size_t count) {
  std::vector<Row> rows(count, Row(values));
  for (std::size_t b = 0; b < count; ++b)
    for (std::size_t i = 0; i < values; ++i) rows[b][i] = Rng(b).normal(i);
  return rows;
}

// Tolerances of the twins: rounding of a few tens of operations and, in Fourier space, of sums over
// the grid, all relative to the largest rate.
constexpr double kRounding = 1e-13;

TEST(RightHandSide, OfBurgersAgreesWithThePlainTwin) {
  for (const std::size_t n : {4u, 5u, 17u, 32u})
    for (const double diffusion : {0.0, 0.02})
      for (const Isa isa : test::available_isas()) {
        const BurgersKernel& kernel = STAP_CHOOSE_ISA(isa, kBurgersKernel);
        const BurgersStep step{
            .points = n, .dx = 1.5 / static_cast<double>(n), .diffusion = diffusion};
        const std::vector<Row> rows = noisy_rows(n, 9);

        const std::vector<Row> got = by_kernel(
            {.lanes = kernel.lanes, .values = n, .margin = kBurgersGhosts}, rows,
            [&](double* u, double*) { kernel.rate(step, u - kBurgersGhosts * kernel.lanes); });

        for (std::size_t b = 0; b < rows.size(); ++b)
          EXPECT_LT(distance(got[b], reference::burgers_rate(rows[b], step.dx, diffusion)),
                    kRounding)
              << to_string(isa) << " " << n << " " << b;
      }
}

TEST(RightHandSide, OfALineAgreesWithThePlainTwin) {
  for (const std::size_t n : {8u, 10u, 22u, 32u})
    for (const Isa isa : test::available_isas()) {
      // Any numbers do for L, as long as a real field stays real.
      const reference::SpectralLine twin{
          n, 0.5L * static_cast<long double>(n),
          [](long double k) { return reference::Complex(k * k - 0.5L, 0.3L * k); }, true};
      const Grid grid = make_grid(1, {n}, {0.5 * static_cast<double>(n)});
      const FftPlan<double> plan(n, isa);
      Row table;
      for (std::size_t j = 0; j <= n / 2; ++j) {
        const double k = wave_number(grid, j), scale = 1.0 / static_cast<double>(n);
        table.insert(table.end(),
                     {scale * (k * k - 0.5), scale * 0.3 * k, 2 * j == n ? 0.0 : -0.5 * scale * k});
      }
      const LineRate line{line_fft(plan), table.data()};
      const LineRateKernel& kernel = STAP_CHOOSE_ISA(isa, kLineRateKernel);
      const std::vector<Row> rows = noisy_rows(n, 9);

      const std::vector<Row> got =
          by_kernel({.lanes = kernel.lanes, .values = n, .work = kernel.work(line.fft)}, rows,
                    [&](double* u, double* work) { kernel.rate(line, u, work); });

      for (std::size_t b = 0; b < rows.size(); ++b)
        EXPECT_LT(distance(got[b], twin.to_row(twin.rate(twin.to_modes(rows[b])))), kRounding)
            << to_string(isa) << " " << n << " " << b;
    }
}

TEST(RightHandSide, OfKdvAndKsAgreesWithThePlainTwin) {
  KdvOptions kdv;
  KsOptions ks;
  kdv.points = ks.points = 24;
  kdv.length = ks.length = 20;
  const reference::SpectralLine kdv_twin = reference::kdv_line(24, 20),
                                ks_twin = reference::ks_line(24, 20);
  for (const Row& row : noisy_rows(24, 5)) {
    EXPECT_LT(distance(rate_of(*make_kdv_rhs(kdv, 1), row),
                       kdv_twin.to_row(kdv_twin.rate(kdv_twin.to_modes(row)))),
              kRounding);
    EXPECT_LT(distance(rate_of(*make_ks_rhs(ks, 1), row),
                       ks_twin.to_row(ks_twin.rate(ks_twin.to_modes(row)))),
              kRounding);
  }
}

TEST(RightHandSide, OfInsAgreesWithThePlainTwin) {
  for (const auto& [nx, ny] : {std::pair(8u, 8u), std::pair(10u, 14u), std::pair(12u, 8u)})
    for (const auto scheme : {InsOptions::Scheme::crank_nicolson, InsOptions::Scheme::ifrk4}) {
      InsOptions options;
      options.points = {nx, ny};
      options.lengths = {1.0, 1.7};
      options.viscosity = 0.03;
      options.forcing = 0.4;
      options.forcing_rate = 0.3;
      options.mean_velocity = {0.2, -0.1};
      options.scheme = scheme;
      const reference::Ins twin(options);
      std::vector<Row> rows;
      for (std::uint64_t seed = 0; seed < 5; ++seed) rows.push_back(test::rough(options, seed));
      for (const double time : {-1.0, 0.0, 1.3})
        for (const Isa isa : test::available_isas()) {
          const InsTables tables(options, isa);
          const InsKernel& kernel = ins_kernel(isa);

          const std::vector<Row> got = by_kernel(
              {.lanes = kernel.lanes, .values = nx * ny, .work = kernel.work(tables.step)}, rows,
              [&](double* w, double* work) { kernel.rate(tables.step, time, w, work); });

          for (std::size_t b = 0; b < rows.size(); ++b)
            EXPECT_LT(distance(got[b], twin.derivative(rows[b], time)), kRounding)
                << to_string(isa) << " " << nx << " x " << ny << " " << b;
        }
    }
}

TEST(RightHandSide, OfCnsAgreesWithThePlainTwin) {
  for (const auto viscosity : {CnsOptions::Viscosity::dynamic, CnsOptions::Viscosity::kinematic})
    for (const bool rough : {false, true}) {
      CnsOptions options;
      options.points = {5, 9};
      options.lengths = {1.0, 2.5};
      options.viscosity = viscosity;
      options.bulk_viscosity = 0.02;
      const reference::CnsProblem problem{{5, 9},
                                          {0.2, 2.5 / 9},
                                          options.gamma,
                                          options.shear_viscosity,
                                          options.bulk_viscosity,
                                          viscosity == CnsOptions::Viscosity::kinematic};
      const CnsStep step{.points = {5, 9},
                         .dx = {problem.dx[0], problem.dx[1]},
                         .gamma = options.gamma,
                         .shear = options.shear_viscosity,
                         .bulk = options.bulk_viscosity,
                         .full_tensor = !problem.kinematic,
                         .floor = options.pressure_floor};
      std::vector<Row> rows;
      for (std::uint64_t seed = 0; seed < 9; ++seed)
        rows.push_back(test::random_gas(options, seed, rough));
      for (const Isa isa : test::available_isas()) {
        const CnsKernel& kernel = STAP_CHOOSE_ISA(isa, kCnsKernel);

        const std::vector<Row> got =
            by_kernel({.lanes = kernel.lanes, .values = 180, .work = kernel.work(5, 9)}, rows,
                      [&](double* state, double* work) { kernel.rate(step, state, work); });

        for (std::size_t b = 0; b < rows.size(); ++b) {
          reference::GasField field(45);
          for (std::size_t c = 0; c < 45; ++c)
            field[c] = {rows[b][c], {rows[b][45 + c], rows[b][90 + c]}, rows[b][135 + c]};
          Row expected(180);
          const reference::GasField by = reference::CnsTwin(problem, field).derivative();
          for (std::size_t c = 0; c < 45; ++c) {
            expected[c] = by[c].rho;
            expected[45 + c] = by[c].v[0];
            expected[90 + c] = by[c].v[1];
            expected[135 + c] = by[c].p;
          }
          EXPECT_LT(distance(got[b], expected), kRounding) << to_string(isa) << " " << b;
        }
      }
    }
}

// --- derivatives by hand ------------------------------------------------------------------------

// u = m + a sin(kx) on a spectral grid: nothing but rounding, of third and fourth derivatives.
TEST(RightHandSide, OfKdvAndKsDifferentiatesAWaveExactly) {
  const double length = 20, k = 2 * pi * 3 / length, m = 0.4, a = 0.7;
  KdvOptions kdv;
  KsOptions ks;
  kdv.points = ks.points = 32;
  kdv.length = ks.length = length;
  const auto wave = [&](double x) { return m + a * std::sin(k * x); };
  const auto of_kdv = [&](double x) {
    return -wave(x) * a * k * std::cos(k * x) + a * k * k * k * std::cos(k * x);
  };
  const auto of_ks = [&](double x) {
    return -wave(x) * a * k * std::cos(k * x) + a * (k * k - k * k * k * k) * std::sin(k * x);
  };

  const Row u = test::at_nodes(32, length, wave);

  EXPECT_LT(distance(rate_of(*make_kdv_rhs(kdv), u), test::at_nodes(32, length, of_kdv)), 1e-12);
  EXPECT_LT(distance(rate_of(*make_ks_rhs(ks), u), test::at_nodes(32, length, of_ks)), 1e-12);
}

// w = a cos(kx) + b cos(ly): psi = a cos(kx)/k^2 + b cos(ly)/l^2, v = (psi_y, -psi_x).
TEST(RightHandSide, OfInsDifferentiatesTwoWavesExactly) {
  InsOptions o;
  o.points = {16, 20};
  o.lengths = {1.0, 1.5};
  o.viscosity = 0.01;
  o.forcing = 0.3;
  o.forcing_rate = 0.7;
  o.mean_velocity = {0.5, -0.2};
  const double time = 0.9, a = 1.2, b = -0.8, k = 2 * pi, l = 2 * pi * 2 / 1.5;
  const auto wave = [&](double x, double y) { return a * std::cos(k * x) + b * std::cos(l * y); };
  const auto rate = [&](double x, double y) {
    const double u = 0.5 - b * std::sin(l * y) / l, v = -0.2 + a * std::sin(k * x) / k;
    const double wx = -a * k * std::sin(k * x), wy = -b * l * std::sin(l * y);
    const double laplace = -a * k * k * std::cos(k * x) - b * l * l * std::cos(l * y);
    const double p = 2 * pi * (x + y / 1.5 + 0.7 * time);
    return -u * wx - v * wy + 0.01 * laplace + 0.3 * (std::sin(p) + std::cos(p));
  };

  const Row got = rate_of(*make_ins_rhs(o), test::at_points(o, wave), time);

  EXPECT_LT(distance(got, test::at_points(o, rate)), 1e-12);
}

// The mean of |a - b|: limiters cut smooth extrema, where the scheme is locally of first order; in
// the mean those few cells weigh dx less. How much is cut depends on where an extremum lies between
// cells: grids of a multiple of 4 points have it at the same place.
double mean_distance(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

TEST(RightHandSide, OfBurgersIsOfSecondOrder) {
  const double m = 0.3, a = 0.8, k = 2 * pi, diffusion = 0.05;
  const auto wave = [&](double x) { return m + a * std::sin(k * x); };
  const auto rate = [&](double x) {
    return -wave(x) * a * k * std::cos(k * x) - diffusion * a * k * k * std::sin(k * x);
  };
  std::vector<double> dx, error;
  for (std::size_t n : {32u, 48u, 72u, 108u, 160u}) {
    const Row got = rate_of(*make_burgers_rhs(test::burgers_options(n, 1.0, diffusion, 0.1)),
                            test::at_cells(n, 1.0, wave));
    dx.push_back(1.0 / static_cast<double>(n));
    error.push_back(mean_distance(got, test::at_cells(n, 1.0, rate)));
  }

  EXPECT_NEAR(test::measured_order(dx, error), 2.0, 0.15);
}

// A plane wave: every field is a function of s = kx + ly alone. With ' = d/ds, V = k vx + l vy,
// D = k vx' + l vy' (the divergence) and K = k^2 + l^2:
//   rho_t = -V rho' - rho D
//   rho v_t = -rho V v' - (k, l) p' + eta K v'' + (zeta + eta/3) (k, l) D'
//   p_t = -V p' - gamma p D + (gamma - 1) (eta (K |v'|^2 + D^2) + (zeta - 2 eta/3) D^2)
TEST(RightHandSide, OfCnsIsOfSecondOrder) {
  const double k = 2 * pi, l = 2 * pi / 1.5, big = k * k + l * l;
  CnsOptions o;
  o.lengths = {1.0, 1.5};
  o.shear_viscosity = 0.03;
  o.bulk_viscosity = 0.05;
  const double eta = o.shear_viscosity, zeta = o.bulk_viscosity, gamma = o.gamma;
  const auto gas = [&](double x, double y) {
    const double s = k * x + l * y;
    return test::GasValues{1 + 0.2 * std::sin(s), 0.3 + 0.2 * std::cos(s), -0.1 + 0.3 * std::sin(s),
                           1 + 0.1 * std::cos(s)};
  };
  const auto rate = [&](double x, double y) {
    const double s = k * x + l * y, sin = std::sin(s), cos = std::cos(s);
    const auto [rho, vx, vy, p] = gas(x, y);
    const double rho1 = 0.2 * cos, vx1 = -0.2 * sin, vy1 = 0.3 * cos, p1 = -0.1 * sin;
    const double vx2 = -0.2 * cos, vy2 = -0.3 * sin;
    const double along = k * vx + l * vy, div = k * vx1 + l * vy1, div1 = k * vx2 + l * vy2;
    const double heat =
        eta * (big * (vx1 * vx1 + vy1 * vy1) + div * div) + (zeta - 2 * eta / 3) * div * div;
    return test::GasValues{
        -along * rho1 - rho * div,
        -along * vx1 + (-k * p1 + eta * big * vx2 + (zeta + eta / 3) * k * div1) / rho,
        -along * vy1 + (-l * p1 + eta * big * vy2 + (zeta + eta / 3) * l * div1) / rho,
        -along * p1 - gamma * p * div + (gamma - 1) * heat};
  };
  std::vector<double> dx, error;
  for (std::size_t n : {24u, 36u, 52u, 80u}) {
    o.points = {n, n};
    const Row got = rate_of(*make_cns_rhs(o), test::gas_at_cells(o, gas));
    dx.push_back(1.0 / static_cast<double>(n));
    error.push_back(mean_distance(got, test::gas_at_cells(o, rate)));
  }

  EXPECT_NEAR(test::measured_order(dx, error), 2.0, 0.15);
}

// --- contract -----------------------------------------------------------------------------------

TEST(RightHandSide, OfWhatIsNoGasIsNotANumber) {
  CnsOptions options;
  options.points = {4, 5};
  const auto rhs = make_cns_rhs(options, 1);
  const Row gas = test::random_gas(options, 1, false);
  for (const std::size_t value : {7u, 67u}) {  // a density, a pressure
    Row broken = gas;
    broken[value] = -0.1;

    const std::vector<Row> rates = test::rates_of(*rhs, {gas, broken, gas});

    for (double rate : rates[1]) EXPECT_TRUE(std::isnan(rate));
    EXPECT_EQ(rates[0], rate_of(*rhs, gas));
    EXPECT_EQ(rates[2], rates[0]);
  }
}

TEST(RightHandSide, RefusesRowsOfAnotherSize) {
  const auto rhs = make_ks_rhs({});
  States<double> rows(make_grid(1, {255}, {1.0}), 1), rates = rows;

  EXPECT_THROW(rhs->evaluate(0.0, std::as_const(rows).view(), rates.view()), Error);
}

TEST(RightHandSide, IsOfTheSolversGridAndDt) {
  const auto rows = test::offering_rhs(pde_table());
  ASSERT_FALSE(rows.empty());
  for (const PdeRow* row : rows) {
    const auto rhs = make_rhs({row, {}}, {.threads = 1}, "residual");

    EXPECT_EQ(rhs->grid(), row->make({}, {.threads = 1})->grid()) << row->name;
    EXPECT_EQ(rhs->dt(), row->make({}, {.threads = 1})->dt()) << row->name;
  }
}

// An equation without one is passed over by what walks the table, not failed.
TEST(RightHandSide, RowsWithoutOneArePassedOver) {
  std::vector<PdeRow> table(pde_table().begin(), pde_table().begin() + 3);
  table[1].make_rhs = nullptr;

  EXPECT_EQ(test::offering_rhs(table), (std::vector<const PdeRow*>{&table[0], &table[2]}));
}

TEST(RightHandSide, OfASolverWithoutOneIsAConfigurationError) {
  PdeRow without = pde_table()[0];
  without.name = "mine";
  without.make_rhs = nullptr;

  try {
    make_rhs({&without, {}}, {.threads = 1}, "residual");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_EQ(std::string(error.what()),
              "residual needs a solver that offers its right-hand side; burgers, kdv, ks, ins, cns "
              "do, mine does not: choose another base method or another equation");
  }
}

}  // namespace
}  // namespace stap
