#include "pde/etdrk4.h"

#include <numbers>

#include "pde/line_solver.h"
#include "stap/core/isa.h"

namespace stap {

namespace {

using Complex = std::complex<double>;

void put(double* row, Etdrk4Column column, Complex value) {
  row[column] = value.real();
  row[column + 1] = value.imag();
}

}  // namespace

Etdrk4Coefficients etdrk4_coefficients(Complex z, double h) {
  // The closed forms lose all digits near 0. They are entire functions, so each is its mean over a
  // circle around z, of a radius that keeps it away from 0. The error of n points falls as
  // radius^n / n!: 32 are more than enough.
  constexpr int kPoints = 32;
  const double radius = std::abs(std::abs(z) - 1.0) < 0.5 ? 2.0 : 1.0;
  Complex stage = 0, first = 0, middle = 0, last = 0;
  for (int j = 0; j < kPoints; ++j) {
    const Complex r = z + std::polar(radius, 2.0 * std::numbers::pi * (j + 0.5) / kPoints);
    const Complex e = std::exp(r), cube = r * r * r;
    stage += (std::exp(r / 2.0) - 1.0) / r;
    first += (-4.0 - r + e * (4.0 - 3.0 * r + r * r)) / cube;
    middle += (2.0 + r + e * (r - 2.0)) / cube;
    last += (-4.0 - 3.0 * r - r * r + e * (4.0 - r)) / cube;
  }
  const double weight = h / kPoints;
  return {std::exp(z),    std::exp(z / 2.0), weight * stage,
          weight * first, weight * middle,   weight * last};
}

std::vector<double> etdrk4_table(const Grid& grid, const std::vector<Complex>& linear, double h) {
  const std::size_t n = grid.points[0];
  std::vector<double> table((n / 2 + 1) * kEtdColumns);
  for (std::size_t j = 0; j <= n / 2; ++j) {
    const Etdrk4Coefficients c = etdrk4_coefficients(h * linear[j], h);
    // -(u^2/2)_x from the squares' transform, which is not normalised.
    const Complex slope(0.0,
                        2 * j == n ? 0.0 : -0.5 * wave_number(grid, j) / static_cast<double>(n));
    double* const row = table.data() + j * kEtdColumns;
    put(row, kEtdHalf, c.half);
    put(row, kEtdStage, slope * c.stage);
    put(row, kEtdFull, c.full);
    put(row, kEtdFirst, slope * c.first);
    put(row, kEtdMiddle, 2.0 * slope * c.middle);
    put(row, kEtdLast, slope * c.last);
  }
  return table;
}

Etdrk4::Etdrk4(const Grid& grid, const std::vector<Complex>& linear, double h, std::size_t steps,
               double bound)
    : plan_(grid.points[0], active_isa()),
      table_(etdrk4_table(grid, linear, h)),
      kernel_(&STAP_CHOOSE_ISA(active_isa(), kEtdrk4Kernel)) {
  step_ = {.fft = line_fft(plan_), .table = table_.data(), .steps = steps, .bound = bound};
}

void Etdrk4::advance(const LaneBlock& block) const {
  kernel_->advance(step_, block.queries.size(), block.state, block.work, block.ends);
}

void Etdrk4::advance(const LaneBlock& block, std::span<const double* const> tables) const {
  const std::size_t count = lanes();
  double* const own = block.work + (work() + kAlignment - 1) / kAlignment * kAlignment;
  for (std::size_t lane = 0; lane < count; ++lane) {
    const double* const from = tables[lane < tables.size() ? lane : 0];
    for (std::size_t i = 0; i < table_.size(); ++i) own[i * count + lane] = from[i];
  }
  Etdrk4Step step = step_;
  step.table = own;
  step.per_lane = true;
  kernel_->advance(step, block.queries.size(), block.state, block.work, block.ends);
}

}  // namespace stap
