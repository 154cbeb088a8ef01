#include "stap/pde/cns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "pde/cns_kernels.h"
#include "pde/lane_blocks.h"
#include "pde/lane_numbers.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"

namespace stap {
namespace {

Grid grid_of(const CnsOptions& options) {
  return make_grid(4, options.points, options.lengths);
}

CnsStep step_of(const CnsOptions& options) {
  const Grid grid = grid_of(options);
  return {.points = {options.points[0], options.points[1]},
          .dx = {grid.spacing(0), grid.spacing(1)},
          .gamma = options.gamma,
          .full_tensor = options.viscosity == CnsOptions::Viscosity::dynamic,
          .dt = options.dt,
          .cfl = options.cfl,
          .floor = options.pressure_floor,
          .bound = options.max_abs,
          .max_steps = options.max_steps};
}

// One of the four channels of a state.
std::span<const double> channel_of(std::span<const double> state, std::size_t c) {
  return state.subspan(c * (state.size() / 4), state.size() / 4);
}

// Why a state is not that of a gas; empty if it is.
std::string not_a_gas(std::span<const double> state) {
  for (const auto& [c, what] : {std::pair(0, "density"), std::pair(3, "pressure")}) {
    const auto values = channel_of(state, static_cast<std::size_t>(c));
    const double least = *std::min_element(values.begin(), values.end());
    if (!(least > 0.0))
      return fmt::format("the smallest {} is {:.6g}, expected above 0", what, least);
  }
  return {};
}

class Cns final : public BatchSolver {
 public:
  Cns(const CnsOptions& options, int threads)
      : BatchSolver("cns", grid_of(options), options.dt, threads),
        options_(options),
        step_(step_of(options)),
        kernel_(STAP_CHOOSE_ISA(active_isa(), kCnsKernel)) {}

  std::vector<std::string> channels() const override { return {"density", "vx", "vy", "pressure"}; }
  std::vector<std::string> parameters() const override {
    return names_of(cns_parameters(options_));
  }
  std::unique_ptr<Solver> with_step(double dt) const override {
    CnsOptions options = options_;
    options.dt = dt;
    return make_cns(options, threads());
  }

 private:
  std::string guard(const Query& query) const override {
    std::string reason = refusal_of_negative(query, {{"shear_viscosity", &options_.shear_viscosity},
                                                     {"bulk_viscosity", &options_.bulk_viscosity}});
    if (reason.empty()) reason = not_a_gas(query.state);
    return reason.empty() ? refusal_above("value", step_.bound, query.state) : reason;
  }

  std::pair<LaneNumber, LaneNumber> viscosities(std::span<const Query* const> rows) const {
    LaneNumbers numbers(rows);
    const LaneNumber shear = numbers.next(options_.shear_viscosity);
    return {shear, numbers.next(options_.bulk_viscosity)};
  }

  // How many internal steps a row will need, roughly: it only says what is put beside what.
  double haste(const Query& query) const {
    const auto rho = channel_of(query.state, 0), vx = channel_of(query.state, 1),
               vy = channel_of(query.state, 2), p = channel_of(query.state, 3);
    double speed = 0.0, sound2 = 0.0, least = rho[0];
    for (std::size_t i = 0; i < rho.size(); ++i) {
      speed = std::max(speed, std::abs(vx[i]) / step_.dx[0] + std::abs(vy[i]) / step_.dx[1]);
      sound2 = std::max(sound2, p[i] / rho[i]);
      least = std::min(least, rho[i]);
    }
    const double x = 1 / step_.dx[0], y = 1 / step_.dx[1];
    const Query* const one[] = {&query};
    const auto [shear, bulk] = viscosities(one);
    const double normal = 4 * shear.lane[0] / 3 + bulk.lane[0];
    const double diffusion = normal / (step_.full_tensor ? least : 1.0);
    return speed + std::sqrt(step_.gamma * sound2) * (x + y) + 2 * diffusion * (x * x + y * y);
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    // Rows of a block wait for its slowest one, so like goes with like; the slow ones come first,
    // to keep all threads busy to the end. The order cannot change a row's bits.
    const std::size_t n = queries.size();
    std::vector<double> hastes(n);
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) hastes[i] = haste(*queries[i]);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return hastes[a] > hastes[b]; });
    std::vector<const Query*> sorted_queries(n);
    std::vector<Answer*> sorted_answers(n);
    for (std::size_t i = 0; i < n; ++i) {
      sorted_queries[i] = queries[order[i]];
      sorted_answers[i] = answers[order[i]];
    }
    const LaneBlocks blocks{.lanes = kernel_.lanes,
                            .values = grid().values(),
                            .work = kernel_.work(step_.points[0], step_.points[1]),
                            .threads = threads(),
                            .dt = dt(),
                            .bound = fmt::format("a density was not above 0, or {},",
                                                 passed_bound("value", step_.bound))};

    advance_in_lanes(blocks, sorted_queries, sorted_answers, [&](const LaneBlock& block) {
      const auto [shear, bulk] = viscosities(block.queries);
      kernel_.advance(step_, shear.lane, bulk.lane, block.queries.size(), block.state, block.work,
                      block.ends);
    });
  }

  CnsOptions options_;
  CnsStep step_;
  const CnsKernel& kernel_;
};

}  // namespace

const config::Fields<CnsOptions>& cns_fields() {
  using O = CnsOptions;
  using Viscosity = O::Viscosity;
  static const config::Fields<O> fields{
      {"points", &O::points, "grid cells along x and y", config::between(4, 1 << 14).length(2, 2)},
      {"lengths", &O::lengths, "lengths of the periodic rectangle", config::above(0).length(2, 2),
       "length"},
      {"gamma", &O::gamma, "ratio of the specific heats", config::above(1)},
      {"shear_viscosity", &O::shear_viscosity, "eta", config::at_least(0),
       "mass/(length time), or length^2/time if kinematic"},
      {"bulk_viscosity", &O::bulk_viscosity, "zeta", config::at_least(0),
       "mass/(length time), or length^2/time if kinematic"},
      {"viscosity", &O::viscosity,
       "full stress tensor, or eta and zeta times the density and normal derivatives only",
       config::choices<Viscosity>(
           {{"dynamic", Viscosity::dynamic}, {"kinematic", Viscosity::kinematic}})},
      {"dt", &O::dt, "length of one learned step", config::above(0), "time"},
      {"cfl", &O::cfl,
       "internal step h = cfl / max over cells of sum over axes of (|v| + c)/dx + 2 D/dx^2, "
       "D = (4 eta/3 + zeta)/density, or without the density if kinematic",
       config::above(0).at_most(1)},
      {"pressure_floor", &O::pressure_floor, "smaller pressures are raised to it", config::above(0),
       "pressure"},
      {"max_abs", &O::max_abs,
       "a state with a larger |value| in any channel is refused, a step that makes one fails",
       config::above(0)},
      {"max_steps", &O::max_steps, "internal steps after which a learned step fails",
       config::between(1, 1e12)},
  };
  return fields;
}

std::vector<ParameterDraw> cns_parameters(const CnsOptions& options) {
  return draws_of(
      {{"shear_viscosity", &options.shear_viscosity}, {"bulk_viscosity", &options.bulk_viscosity}});
}

std::unique_ptr<Solver> make_cns(const CnsOptions& options, int threads) {
  // The field table is the one place that states ranges.
  const auto& fields = cns_fields();
  const CnsOptions o = config::read(fields, config::to_value(fields, options), "cns");
  // A kinematic viscosity alone fixes the least number of internal steps: better said now than
  // after them. A dynamic one does not, as densities are not known.
  double least = 0.0;
  if (o.viscosity == CnsOptions::Viscosity::kinematic)
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const double dx = o.lengths[axis] / static_cast<double>(o.points[axis]);
      const double normal = 4.0 * o.shear_viscosity.greatest() / 3.0 + o.bulk_viscosity.greatest();
      least += o.dt / o.cfl * 2.0 * normal / (dx * dx);
    }
  if (!(least <= static_cast<double>(o.max_steps)))
    throw Error(ErrorKind::config,
                fmt::format("cns: dt = {:g} at {} x {} cells needs at least {:.3g} internal steps, "
                            "above max_steps = {}: choose fewer cells, a smaller dt or viscosity, "
                            "or a larger max_steps",
                            o.dt, o.points[0], o.points[1], least, o.max_steps));
  return std::make_unique<Cns>(o, threads);
}

}  // namespace stap
