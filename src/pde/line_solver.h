// Solvers of one field u on a periodic interval whose rows go through a lane kernel.
#pragma once

#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/fft_plan.h"
#include "pde/lane_blocks.h"
#include "pde/line_fft.h"

namespace stap {

/// 2 pi j / length.
inline double wave_number(const Grid& grid, std::size_t j) {
  return 2.0 * std::numbers::pi * static_cast<double>(j) / grid.lengths[0];
}

/// `plan` must live as long.
inline LineFft line_fft(const FftPlan<double>& plan) {
  return {.kernels = &plan.kernels(),
          .plan = &plan.real(),
          .points = plan.size(),
          .scratch = plan.scratch_size()};
}

/// Scheme: lanes(), work() (doubles) and advance(LaneBlock). States with |u| > bound are refused.
/// Options: of the equation; make(options, threads) makes the solver.
template <class Scheme, class Options>
class LineSolver final : public BatchSolver {
 public:
  using Make = std::unique_ptr<Solver> (*)(const Options& options, int threads);

  template <class... Arguments>
  LineSolver(std::string name, const Grid& grid, const Options& options, Make make, int threads,
             Arguments&&... arguments)
      : BatchSolver(std::move(name), grid, options.dt, threads),
        options_(options),
        make_(make),
        scheme_(std::forward<Arguments>(arguments)...) {}

  std::unique_ptr<Solver> with_step(double dt) const override {
    Options options = options_;
    options.dt = dt;
    return make_(options, threads());
  }

 private:
  std::string guard(const Query& query) const override {
    return refusal_above("u", options_.max_abs, query.state);
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const LaneBlocks blocks{.lanes = scheme_.lanes(),
                            .values = grid().values(),
                            .margin = 0,
                            .work = scheme_.work(),
                            .threads = threads(),
                            .dt = dt(),
                            .bound = passed_bound("u", options_.max_abs)};

    advance_in_lanes(blocks, queries, answers,
                     [&](const LaneBlock& block) { scheme_.advance(block); });
  }

  Options options_;
  Make make_;
  Scheme scheme_;
};

}  // namespace stap
