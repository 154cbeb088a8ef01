#include "stap/pde/burgers.h"

#include <numbers>

#include <fmt/format.h>

#include "pde/burgers_kernels.h"
#include "pde/lane_blocks.h"
#include "pde/lane_numbers.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"

namespace stap {
namespace {

Grid grid_of(const BurgersOptions& options) {
  return make_grid(1, {options.points}, {options.length});
}

BurgersStep step_of(const BurgersOptions& options) {
  return {.points = options.points,
          .dx = grid_of(options).spacing(0),
          .dt = options.dt,
          .cfl = options.cfl,
          .bound = options.max_abs,
          .max_steps = options.max_steps};
}

class Burgers final : public BatchSolver {
 public:
  Burgers(const BurgersOptions& options, int threads)
      : BatchSolver("burgers", grid_of(options), options.dt, threads),
        options_(options),
        step_(step_of(options)),
        kernel_(STAP_CHOOSE_ISA(active_isa(), kBurgersKernel)) {}

  std::vector<std::string> parameters() const override {
    return names_of(burgers_parameters(options_));
  }

  std::unique_ptr<Solver> with_step(double dt) const override {
    BurgersOptions options = options_;
    options.dt = dt;
    return make_burgers(options, threads());
  }

 private:
  std::string guard(const Query& query) const override {
    std::string reason = refusal_of_negative(query, {{"viscosity", &options_.viscosity}});
    return reason.empty() ? refusal_above("u", step_.bound, query.state) : reason;
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const std::size_t lanes = kernel_.lanes;
    const LaneBlocks blocks{.lanes = lanes,
                            .values = step_.points,
                            .margin = kBurgersGhosts,
                            .work = (step_.points + 2 * kBurgersGhosts) * lanes,
                            .threads = threads(),
                            .dt = dt(),
                            .bound = passed_bound("u", step_.bound)};

    advance_in_lanes(blocks, queries, answers, [&](const LaneBlock& block) {
      LaneNumber diffusion = LaneNumbers(block.queries).next(options_.viscosity);
      for (double& value : diffusion.lane) value /= std::numbers::pi;
      kernel_.advance(step_, block.queries.size(), diffusion.lane,
                      block.state - kBurgersGhosts * lanes, block.work, block.ends);
    });
  }

  BurgersOptions options_;
  BurgersStep step_;
  const BurgersKernel& kernel_;
};

}  // namespace

const config::Fields<BurgersOptions>& burgers_fields() {
  using O = BurgersOptions;
  static const config::Fields<O> fields{
      {"points", &O::points, "grid cells", config::between(4, 1 << 24)},
      {"length", &O::length, "length of the periodic interval", config::above(0), "length"},
      {"viscosity", &O::viscosity, "nu; the diffusion coefficient is nu/pi", config::at_least(0),
       "length^2/time"},
      {"dt", &O::dt, "length of one learned step", config::above(0), "time"},
      {"cfl", &O::cfl, "internal step h = cfl min(dx / max|u|, dx^2 / (2 nu/pi))",
       config::above(0).at_most(1)},
      {"max_abs", &O::max_abs, "a state with a larger |u| is refused, a step that makes one fails",
       config::above(0), "length/time"},
      {"max_steps", &O::max_steps, "internal steps after which a learned step fails",
       config::between(1, 1e12)},
  };
  return fields;
}

std::vector<ParameterDraw> burgers_parameters(const BurgersOptions& options) {
  return draws_of({{"viscosity", &options.viscosity}});
}

std::unique_ptr<Solver> make_burgers(const BurgersOptions& options, int threads) {
  // The field table is the one place that states ranges.
  const auto& fields = burgers_fields();
  const BurgersOptions o = config::read(fields, config::to_value(fields, options), "burgers");
  // Diffusion alone fixes the least number of internal steps: better said now than after them.
  const double dx = o.length / static_cast<double>(o.points);
  const double least = o.dt / (o.cfl * dx * dx / (2.0 * o.viscosity.greatest() / std::numbers::pi));
  if (!(least <= static_cast<double>(o.max_steps)))
    throw Error(ErrorKind::config,
                fmt::format("burgers: dt = {:g} at {} points needs at least {:.3g} internal steps, "
                            "above max_steps = {}: choose fewer points, a smaller dt or viscosity, "
                            "or a larger max_steps",
                            o.dt, o.points, least, o.max_steps));
  return std::make_unique<Burgers>(o, threads);
}

}  // namespace stap
