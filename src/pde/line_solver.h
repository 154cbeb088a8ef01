// Solvers of one field u on a periodic interval whose rows go through a lane kernel.
#pragma once

#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/fft_plan.h"
#include "core/parallel.h"
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
template <class Scheme>
class LineSolver final : public Solver {
 public:
  template <class... Arguments>
  LineSolver(std::string name, const Grid& grid, double dt, double bound, int threads,
             Arguments&&... arguments)
      : Solver(std::move(name), grid, dt),
        bound_(bound),
        threads_(thread_count(threads)),
        scheme_(std::forward<Arguments>(arguments)...) {}

 private:
  std::string guard(const Query& query) const override {
    return refusal_above("u", bound_, query.state);
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const LaneBlocks blocks{.lanes = scheme_.lanes(),
                            .values = grid().values(),
                            .margin = 0,
                            .work = scheme_.work(),
                            .threads = threads_,
                            .dt = dt(),
                            .bound = passed_bound("u", bound_)};

    advance_in_lanes(blocks, queries, answers,
                     [&](const LaneBlock& block) { scheme_.advance(block); });
  }

  double bound_;
  int threads_;
  Scheme scheme_;
};

}  // namespace stap
