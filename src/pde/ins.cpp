#include "stap/pde/ins.h"

#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/fft_plan.h"
#include "core/parallel.h"
#include "pde/ins_kernels.h"
#include "pde/lane_blocks.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"

namespace stap {
namespace {

using Scheme = InsOptions::Scheme;

// h max(|u| Kx + |v| Ky) of ifrk4. The limit of stability is 2.83 (imaginary axis of the classical
// Runge-Kutta method; the integrating factor only helps). At 2.2, the fastest of the benchmark's
// states with h = 0.05, a learned step is 4e-5 off; at 2.7 it is 1e-4.
constexpr double kCourant = 2.4;

double largest_step(const InsOptions& options) {
  if (options.step > 0.0) return options.step;
  return options.scheme == Scheme::crank_nicolson ? 1e-3 : 0.05;
}

// The least whole number of steps; a quotient that is whole but for rounding counts as whole.
double steps_in_dt(const InsOptions& options) {
  const double quotient = options.dt / largest_step(options), whole = std::round(quotient);
  if (whole >= 1.0 && std::abs(quotient - whole) <= 1e-9 * whole) return whole;
  return std::ceil(quotient);
}

double wave_number(std::size_t index, std::size_t points) {
  const double k = static_cast<double>(index);
  return 2 * index > points ? k - static_cast<double>(points) : k;
}

class Ins final : public Solver {
 public:
  Ins(const InsOptions& options, int threads)
      : Solver("ins", make_grid(1, options.points, options.lengths), options.dt),
        kernel_(STAP_CHOOSE_ISA(active_isa(), kInsKernel)),
        along_x_(options.points[0], active_isa()),
        along_y_(options.points[1], active_isa()),
        threads_(thread_count(threads)) {
    const std::size_t nx = options.points[0], ny = options.points[1], my = ny / 2 + 1;
    step_.nx = nx;
    step_.ny = ny;
    step_.box_x = nx / 3;
    step_.box_y = ny / 3;
    step_.fft = &along_x_.kernels();
    step_.along_x = &along_x_.complex();
    step_.along_y = &along_y_.real();
    step_.velocity_x = options.mean_velocity[0];
    step_.velocity_y = options.mean_velocity[1];
    step_.forcing = options.forcing;
    step_.forcing_rate = options.forcing_rate;
    step_.bound = options.max_abs;
    step_.steps = static_cast<std::size_t>(steps_in_dt(options));
    step_.h = options.dt / static_cast<double>(step_.steps);
    step_.courant = kCourant;
    step_.max_steps = options.max_steps;

    std::vector<double> kappa_x(nx), kappa_y(my);
    for (std::size_t i = 0; i < nx; ++i)
      kappa_x[i] = 2.0 * std::numbers::pi * wave_number(i, nx) / options.lengths[0];
    for (std::size_t i = 0; i < my; ++i)
      kappa_y[i] = 2.0 * std::numbers::pi * wave_number(i, ny) / options.lengths[1];
    slope_x_ = kappa_x;
    slope_y_ = kappa_y;
    slope_x_[nx / 2] = 0.0;
    slope_y_[ny / 2] = 0.0;
    step_.slope_x = slope_x_.data();
    step_.slope_y = slope_y_.data();
    const auto over_modes = [&](std::vector<double>& table, auto value) {
      for (std::size_t ky = 0; ky < my; ++ky)
        for (std::size_t kx = 0; kx < nx; ++kx)
          table.push_back(value(kappa_x[kx] * kappa_x[kx] + kappa_y[ky] * kappa_y[ky]));
      return table.data();
    };
    step_.inverse = over_modes(inverse_, [](double k2) { return k2 > 0.0 ? 1.0 / k2 : 0.0; });
    const double half = 0.5 * step_.h * options.viscosity;
    if (options.scheme == Scheme::crank_nicolson) {
      step_.decay =
          over_modes(decay_, [&](double k2) { return (1 - half * k2) / (1 + half * k2); });
      step_.gain = over_modes(gain_, [&](double k2) { return step_.h / (1 + half * k2); });
      return;
    }
    double weight = half;  // of a step halved so many times
    for (std::size_t level = 0; level <= kInsLevels; ++level, weight *= 0.5) {
      for (double k : kappa_x) factor_x_.push_back(std::exp(-weight * k * k));
      for (double k : kappa_y) factor_y_.push_back(std::exp(-weight * k * k));
    }
    step_.factor_x = factor_x_.data();
    step_.factor_y = factor_y_.data();
  }

 private:
  std::string guard(const Query& query) const override {
    const double peak = peak_of(query.state);
    if (peak <= step_.bound) return {};
    return fmt::format("max|w| is {:.6g}, above max_abs = {:g}", peak, step_.bound);
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const LaneBlocks blocks{.lanes = kernel_.lanes,
                            .values = grid().values(),
                            .margin = 0,
                            .work = kernel_.work(step_),
                            .threads = threads_};
    std::vector<LaneEnd> ends(queries.size());

    advance_in_lanes(blocks, queries, answers, ends, [&](const LaneBlock& block) {
      std::array<double, kMaxLanes> times{};
      for (std::size_t r = 0; r < block.queries.size(); ++r) times[r] = block.queries[r]->time;
      kernel_.advance(step_, times.data(), block.queries.size(), block.state, block.work,
                      block.ends);
    });

    const std::string bound =
        fmt::format("|w| passed max_abs = {:g} or was not finite", step_.bound);
    for (std::size_t i = 0; i < queries.size(); ++i) conclude(ends[i], bound, dt(), *answers[i]);
  }

  const InsKernel& kernel_;
  FftPlan<double> along_x_, along_y_;
  std::vector<double> slope_x_, slope_y_, inverse_, decay_, gain_, factor_x_, factor_y_;
  InsStep step_;  ///< points into the above
  int threads_;
};

}  // namespace

const config::Fields<InsOptions>& ins_fields() {
  using O = InsOptions;
  static const config::Fields<O> fields{
      {"points", &O::points, "grid points along x and y, even",
       config::between(8, 1 << 12).multiple_of(2).length(2, 2)},
      {"lengths", &O::lengths, "lengths of the periodic rectangle", config::above(0).length(2, 2),
       "length"},
      {"viscosity", &O::viscosity, "kinematic viscosity", config::at_least(0), "length^2/time"},
      {"forcing",
       &O::forcing,
       "amplitude of f = forcing (sin p + cos p), p = 2 pi (x/X + y/Y + forcing_rate max(t, 0))",
       {},
       "1/time^2"},
      {"forcing_rate", &O::forcing_rate, "turns of the forcing's phase; 0: steady", {}, "1/time"},
      {"mean_velocity", &O::mean_velocity, "velocity added to that of the vorticity",
       config::length(2, 2), "length/time"},
      {"dt", &O::dt, "length of one learned step", config::above(0), "time"},
      {"scheme", &O::scheme,
       "crank_nicolson: the benchmark's, first order in time; ifrk4: fourth order, larger steps",
       config::choices<Scheme>(
           {{"crank_nicolson", Scheme::crank_nicolson}, {"ifrk4", Scheme::ifrk4}})},
      {"step", &O::step, "largest internal step; 0: 1e-3, or 0.05 for ifrk4", config::at_least(0),
       "time"},
      {"max_abs", &O::max_abs, "a state with a larger |w| is refused, a step that makes one fails",
       config::above(0).at_most(1e100), "1/time"},
      {"max_steps", &O::max_steps, "internal steps after which a learned step fails",
       config::between(1, 1e12)},
  };
  return fields;
}

std::unique_ptr<Solver> make_ins(const InsOptions& options, int threads) {
  // The field table is the one place that states ranges.
  const auto& fields = ins_fields();
  const InsOptions o = config::read(fields, config::to_value(fields, options), "ins");
  if (!(steps_in_dt(o) <= static_cast<double>(o.max_steps)))
    throw Error(ErrorKind::config,
                fmt::format("ins: dt = {:g} in internal steps of {:g} needs {:.6g} of them, above "
                            "max_steps = {}: choose a smaller dt, a larger step or a larger "
                            "max_steps",
                            o.dt, largest_step(o), steps_in_dt(o), o.max_steps));
  return std::make_unique<Ins>(o, threads);
}

}  // namespace stap
