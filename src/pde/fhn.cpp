#include "stap/pde/fhn.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pde/fhn_kernels.h"
#include "pde/lane_blocks.h"
#include "pde/lane_numbers.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"

namespace stap {
namespace {

Grid grid_of(const FhnOptions& options) {
  Grid grid = with_walls(make_grid(2, options.points, options.lengths), options.walls);
  if (grid.end(0) == Boundary::points || grid.end(1) == Boundary::points)
    throw Error(ErrorKind::config,
                "fhn: walls has 'points', but values are those of cells: expected centres or "
                "periodic");
  return grid;
}

SharedFixedFields mask_of(const FhnOptions& options, const Grid& grid) {
  if (options.hole.empty()) return nullptr;
  const double radius = options.hole[2];
  if (!(radius > 0))
    throw Error(ErrorKind::config,
                fmt::format("fhn: the hole's radius is {:g}, expected above 0", radius));
  FixedFields fields;
  for (std::size_t i = 0; i < grid.points[0]; ++i)
    for (std::size_t j = 0; j < grid.points[1]; ++j) {
      double away[2];
      for (const std::size_t axis : {0u, 1u}) {
        const double at = static_cast<double>(axis == 0 ? i : j) + 0.5;
        away[axis] = std::abs(at * grid.spacing(axis) - options.hole[axis]);
        if (grid.end(axis) == Boundary::periodic)
          away[axis] = std::min(away[axis], grid.lengths[axis] - away[axis]);
      }
      fields.mask.push_back(std::hypot(away[0], away[1]) >= radius);
    }
  return make_fixed_fields(grid, std::move(fields));
}

// The cells that have a state, and what is beside them.
struct FhnCells {
  std::vector<std::int32_t> open, neighbours;

  FhnCells(const Grid& grid, const FixedFields* fixed) {
    const std::size_t nx = grid.points[0], ny = grid.points[1];
    const auto is_open = [&](std::size_t cell) {
      return fixed == nullptr || fixed->mask[cell] != 0;
    };
    const auto beside = [&](std::size_t i, std::size_t axis, bool above) -> std::size_t {
      const std::size_t n = grid.points[axis];
      const bool at_end = i == (above ? n - 1 : 0);
      if (at_end && grid.end(axis) != Boundary::periodic) return i;
      return (i + (above ? 1 : n - 1)) % n;
    };
    for (std::size_t i = 0; i < nx; ++i)
      for (std::size_t j = 0; j < ny; ++j) {
        const std::size_t cell = i * ny + j;
        if (!is_open(cell)) continue;
        open.push_back(static_cast<std::int32_t>(cell));
        for (const std::size_t other : {beside(i, 0, false) * ny + j, beside(i, 0, true) * ny + j,
                                        i * ny + beside(j, 1, false), i * ny + beside(j, 1, true)})
          neighbours.push_back(static_cast<std::int32_t>(is_open(other) ? other : cell));
      }
  }
};

class Fhn final : public BatchSolver {
 public:
  Fhn(const FhnOptions& options, int threads)
      : BatchSolver("fhn", grid_of(options), options.dt, threads),
        options_(options),
        fixed_(mask_of(options, grid())),
        cells_(grid(), fixed_.get()),
        kernel_(STAP_CHOOSE_ISA(active_isa(), kFhnKernel)) {
    step_ = {.points = grid().points_total(),
             .cells = cells_.open.data(),
             .neighbours = cells_.neighbours.data(),
             .open = cells_.open.size(),
             .inverse_dx2 = {std::pow(grid().spacing(0), -2), std::pow(grid().spacing(1), -2)},
             .reaction = options.reaction,
             .dt = options.dt,
             .largest = options.step,
             .bound = options.max_abs,
             .max_steps = options.max_steps};
  }

  std::vector<std::string> channels() const override { return {"u", "v"}; }
  std::vector<std::string> parameters() const override {
    return names_of(fhn_parameters(options_));
  }
  SharedFixedFields fixed() const override { return fixed_; }

  std::unique_ptr<Solver> with_step(double dt) const override {
    FhnOptions options = options_;
    options.dt = dt;
    return make_fhn(options, threads());
  }

 private:
  std::string guard(const Query& query) const override {
    std::string reason = refusal_of_negative(query, {{"du", &options_.du}, {"dv", &options_.dv}});
    return reason.empty() ? refusal_above("u, v", options_.max_abs, query.state) : reason;
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const LaneBlocks blocks{.lanes = kernel_.lanes,
                            .values = grid().values(),
                            .margin = 0,
                            .work = kernel_.work(step_.points),
                            .threads = threads(),
                            .dt = dt(),
                            .bound = passed_bound("u, v", step_.bound)};

    advance_in_lanes(blocks, queries, answers, [&](const LaneBlock& block) {
      LaneNumbers numbers(block.queries);
      const LaneNumber du = numbers.next(options_.du), dv = numbers.next(options_.dv);
      const LaneNumber k = numbers.next(options_.k);
      kernel_.advance(step_, {du.lane, dv.lane, k.lane}, block.queries.size(), block.state,
                      block.work, block.ends);
    });
  }

  FhnOptions options_;
  SharedFixedFields fixed_;
  FhnCells cells_;
  FhnStep step_;
  const FhnKernel& kernel_;
};

}  // namespace

const config::Fields<FhnOptions>& fhn_fields() {
  using O = FhnOptions;
  static const config::Fields<O> fields{
      {"points", &O::points, "cells along x and y", config::between(2, 1 << 12).length(2, 2)},
      {"lengths", &O::lengths, "lengths of the rectangle", config::above(0).length(2, 2), "length"},
      {"walls", &O::walls,
       "how each axis ends: centres (of cells between walls without flux) or periodic",
       config::length(2, 2)},
      {"hole", &O::hole,
       "a disc without flux through its rim, where there is no state: x and y of its centre, and "
       "its radius; none: no hole",
       config::at_least(0).length(0, 3), "length"},
      {"du", &O::du, "diffusivity of u", config::at_least(0), "length^2/time"},
      {"dv", &O::dv, "diffusivity of v", config::at_least(0), "length^2/time"},
      {"k", &O::k, "u_t = du Laplace u + u - u^3 - k - v, v_t = dv Laplace v + u - v"},
      {"reaction", &O::reaction, "factor of the reaction; 0: diffusion alone", config::at_least(0)},
      {"dt", &O::dt, "length of one learned step", config::above(0), "time"},
      {"step", &O::step, "largest internal step; stability may ask for a smaller one",
       config::above(0), "time"},
      {"max_abs", &O::max_abs,
       "a state with a larger |u| or |v| is refused, a step that makes one fails",
       config::above(0).at_most(1e100)},
      {"max_steps", &O::max_steps, "internal steps after which a learned step fails",
       config::between(1, 1e12)},
  };
  return fields;
}

std::vector<ParameterDraw> fhn_parameters(const FhnOptions& options) {
  return draws_of({{"du", &options.du}, {"dv", &options.dv}, {"k", &options.k}});
}

std::unique_ptr<Solver> make_fhn(const FhnOptions& options, int threads) {
  // The field table is the one place that states ranges.
  const auto& fields = fhn_fields();
  const FhnOptions o = config::read(fields, config::to_value(fields, options), "fhn");
  if (!o.hole.empty() && o.hole.size() != 3)
    throw Error(
        ErrorKind::config,
        fmt::format("fhn: hole has {} values, expected x and y of its centre and its radius",
                    o.hole.size()));
  return std::make_unique<Fhn>(o, threads);
}

}  // namespace stap
