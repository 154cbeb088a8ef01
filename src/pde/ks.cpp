#include "stap/pde/ks.h"

#include <cmath>

#include <fmt/format.h>

#include "pde/etdrk4.h"
#include "pde/line_solver.h"
#include "stap/core/error.h"

namespace stap {
namespace {

Grid grid_of(const KsOptions& options) {
  return make_grid(1, {options.points}, {options.length});
}

std::vector<std::complex<double>> ks_linear(const Grid& grid) {
  std::vector<std::complex<double>> linear(grid.points[0] / 2 + 1);
  for (std::size_t j = 0; j < linear.size(); ++j) {
    const double square = std::pow(wave_number(grid, j), 2);
    linear[j] = square - square * square;
  }
  return linear;
}

}  // namespace

const config::Fields<KsOptions>& ks_fields() {
  using O = KsOptions;
  static const config::Fields<O> fields{
      {"points", &O::points, "grid points, an even number",
       config::between(8, 1 << 24).multiple_of(2)},
      {"length", &O::length, "length of the periodic interval", config::above(0), "length"},
      {"dt", &O::dt, "length of one learned step, a multiple of step", config::above(0), "time"},
      {"step", &O::step, "internal step", config::above(0), "time"},
      {"max_abs", &O::max_abs, "a state with a larger |u| is refused, a step that makes one fails",
       config::above(0), "length/time"},
      {"max_steps", &O::max_steps, "internal steps allowed for one dt", config::between(1, 1e12)},
  };
  return fields;
}

std::unique_ptr<Solver> make_ks(const KsOptions& options, int threads) {
  // The field table is the one place that states ranges of single options.
  const auto& fields = ks_fields();
  const KsOptions o = config::read(fields, config::to_value(fields, options), "ks");
  const double steps = std::round(o.dt / o.step);
  if (!(steps >= 1 && std::abs(steps * o.step - o.dt) <= 1e-9 * o.dt))
    throw Error(ErrorKind::config,
                fmt::format("ks: dt = {:g} is {:.6g} internal steps of {:g}, expected a whole "
                            "number: choose another step",
                            o.dt, o.dt / o.step, o.step));
  if (!(steps <= static_cast<double>(o.max_steps)))
    throw Error(ErrorKind::config,
                fmt::format("ks: dt = {:g} needs {:.0f} internal steps of {:g}, above max_steps = "
                            "{}: choose a larger step or max_steps",
                            o.dt, steps, o.step, o.max_steps));
  const Grid grid = grid_of(o);
  return std::make_unique<LineSolver<Etdrk4, KsOptions>>(
      "ks", grid, o, make_ks, threads, grid, ks_linear(grid), o.dt / steps,
      static_cast<std::size_t>(steps), o.max_abs);
}

}  // namespace stap
