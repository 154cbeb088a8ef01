#include "pde/ins_tables.h"

#include <cmath>
#include <numbers>

namespace stap {
namespace {

// 2 pi k / length for k = 0, 1, ..., -1 as a transform orders them; `count` of them.
std::vector<double> wave_numbers(std::size_t points, double length, std::size_t count) {
  std::vector<double> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double k = static_cast<double>(i) - (2 * i > points ? static_cast<double>(points) : 0.0);
    result[i] = 2.0 * std::numbers::pi * k / length;
  }
  return result;
}

}  // namespace

double ins_largest_step(const InsOptions& options) {
  if (options.step > 0.0) return options.step;
  return options.scheme == InsOptions::Scheme::crank_nicolson ? 1e-3 : 0.05;
}

double ins_steps(const InsOptions& options) {
  const double quotient = options.dt / ins_largest_step(options), whole = std::round(quotient);
  if (whole >= 1.0 && std::abs(quotient - whole) <= 1e-9 * whole) return whole;
  return std::ceil(quotient);
}

const InsKernel& ins_kernel(Isa isa) {
  return STAP_CHOOSE_ISA(isa, kInsKernel);
}

std::vector<double> ins_factors(const InsOptions& options, double h, double viscosity) {
  std::vector<double> factors;
  const std::size_t ny = options.points[1];
  for (const auto& kappa : {wave_numbers(options.points[0], options.lengths[0], options.points[0]),
                            wave_numbers(ny, options.lengths[1], ny / 2 + 1)}) {
    double weight = 0.5 * h * viscosity;
    for (std::size_t level = 0; level <= kInsLevels; ++level, weight *= 0.5)
      for (double k : kappa) factors.push_back(std::exp(-weight * k * k));
  }
  return factors;
}

InsTables::InsTables(const InsOptions& options, Isa isa)
    : along_x_(options.points[0], isa), along_y_(options.points[1], isa) {
  const std::size_t nx = options.points[0], ny = options.points[1], my = ny / 2 + 1;
  step.nx = nx;
  step.ny = ny;
  step.box_x = nx / 3;
  step.box_y = ny / 3;
  step.fft = &along_x_.kernels();
  step.along_x = &along_x_.complex();
  step.along_y = &along_y_.real();
  step.velocity_x = options.mean_velocity[0];
  step.velocity_y = options.mean_velocity[1];
  step.forcing_rate = options.forcing_rate;
  step.bound = options.max_abs;
  step.steps = static_cast<std::size_t>(ins_steps(options));
  step.h = options.dt / static_cast<double>(step.steps);
  step.courant = kInsCourant;
  step.max_steps = options.max_steps;

  const std::vector<double> kappa_x = wave_numbers(nx, options.lengths[0], nx);
  const std::vector<double> kappa_y = wave_numbers(ny, options.lengths[1], my);
  slope_x_ = kappa_x;
  slope_y_ = kappa_y;
  slope_x_[nx / 2] = 0.0;
  slope_y_[ny / 2] = 0.0;
  step.slope_x = slope_x_.data();
  step.slope_y = slope_y_.data();
  const auto over_modes = [&](std::vector<double>& table, auto value) {
    for (double y : kappa_y)
      for (double x : kappa_x) table.push_back(value(x * x + y * y));
    return table.data();
  };
  step.inverse = over_modes(inverse_, [](double k2) { return k2 > 0.0 ? 1.0 / k2 : 0.0; });
  if (options.scheme == InsOptions::Scheme::crank_nicolson) {
    const double half = 0.5 * step.h * options.viscosity.value;
    step.decay = over_modes(decay_, [=](double k2) { return (1 - half * k2) / (1 + half * k2); });
    step.gain = over_modes(gain_, [=, this](double k2) { return step.h / (1 + half * k2); });
    if (options.viscosity.draw) step.square = over_modes(square_, [](double k2) { return k2; });
    return;
  }
  factors = ins_factors(options, step.h, options.viscosity.value);
}

}  // namespace stap
