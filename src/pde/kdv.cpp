#include "stap/pde/kdv.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "pde/etdrk4.h"
#include "pde/kdv_kernels.h"
#include "pde/line_solver.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"

namespace stap {
namespace {

Grid grid_of(const KdvOptions& options) {
  return make_grid(1, {options.points}, {options.length});
}

std::vector<std::complex<double>> kdv_linear(const Grid& grid) {
  std::vector<std::complex<double>> linear(grid.points[0] / 2 + 1);  // 0 at Nyquist
  for (std::size_t j = 0; j + 1 < linear.size(); ++j)
    linear[j] = {0.0, std::pow(wave_number(grid, j), 3)};
  return linear;
}

class KdvDopri5 {
 public:
  KdvDopri5(const Grid& grid, const KdvOptions& options)
      : plan_(options.points, active_isa()),
        table_(2 * (options.points / 2 + 1)),
        kernel_(&STAP_CHOOSE_ISA(active_isa(), kKdvKernel)) {
    const std::size_t n = options.points;
    for (std::size_t j = 0; j < n / 2; ++j) {  // 0 at Nyquist
      const double k = wave_number(grid, j);
      table_[2 * j] = 0.5 * k / static_cast<double>(n);
      table_[2 * j + 1] = k * k * k;
    }
    step_ = {.fft = line_fft(plan_),
             .table = table_.data(),
             .dt = options.dt,
             .atol = options.atol,
             .rtol = options.rtol,
             .bound = options.max_abs,
             .max_steps = options.max_steps};
  }

  std::size_t lanes() const { return kernel_->lanes; }
  std::size_t work() const { return kernel_->work(step_.fft); }
  void advance(const LaneBlock& block) const {
    kernel_->advance(step_, block.queries.size(), block.state, block.work, block.ends);
  }

 private:
  FftPlan<double> plan_;
  std::vector<double> table_;
  KdvStep step_;
  const KdvKernel* kernel_;
};

}  // namespace

const config::Fields<KdvOptions>& kdv_fields() {
  using O = KdvOptions;
  static const config::Fields<O> fields{
      {"points", &O::points, "grid points, an even number",
       config::between(8, 1 << 24).multiple_of(2)},
      {"length", &O::length, "length of the periodic interval", config::above(0), "length"},
      {"dt", &O::dt, "length of one learned step", config::above(0), "time"},
      {"scheme", &O::scheme, "error-controlled Runge-Kutta, or fixed exponential steps (faster)",
       config::choices<O::Scheme>({{"dopri5", O::Scheme::dopri5}, {"etdrk4", O::Scheme::etdrk4}})},
      {"atol", &O::atol, "dopri5: error of an internal step allowed at a point, absolute",
       config::above(0), "length/time"},
      {"rtol", &O::rtol, "dopri5: the same, relative to |u|", config::at_least(0)},
      {"step", &O::step, "etdrk4: largest internal step; dt is cut into equal ones",
       config::above(0), "time"},
      {"max_abs", &O::max_abs, "a state with a larger |u| is refused, a step that makes one fails",
       config::above(0), "length/time"},
      {"max_steps", &O::max_steps,
       "internal steps, rejected ones too, after which a learned step fails",
       config::between(1, 1e12)},
  };
  return fields;
}

std::unique_ptr<Solver> make_kdv(const KdvOptions& options, int threads) {
  // The field table is the one place that states ranges.
  const auto& fields = kdv_fields();
  const KdvOptions o = config::read(fields, config::to_value(fields, options), "kdv");
  const Grid grid = grid_of(o);
  if (o.scheme == KdvOptions::Scheme::dopri5)
    return std::make_unique<LineSolver<KdvDopri5, KdvOptions>>("kdv", grid, o, make_kdv, threads,
                                                               grid, o);

  const double steps = std::ceil(o.dt / o.step);
  if (!(steps <= static_cast<double>(o.max_steps)))
    throw Error(ErrorKind::config,
                fmt::format("kdv: dt = {:g} needs {:.0f} internal steps of {:g}, above max_steps = "
                            "{}: choose a larger step or max_steps",
                            o.dt, steps, o.step, o.max_steps));
  return std::make_unique<LineSolver<Etdrk4, KdvOptions>>(
      "kdv", grid, o, make_kdv, threads, grid, kdv_linear(grid), o.dt / steps,
      static_cast<std::size_t>(steps), o.max_abs);
}

}  // namespace stap
