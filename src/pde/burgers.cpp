#include "stap/pde/burgers.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "pde/burgers_kernels.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"

namespace stap {
namespace {

const BurgersKernel& kernel_of(Isa isa) {
  switch (isa) {
#if defined(STAP_X86_ISAS)
    case Isa::avx512:
      return avx512::kBurgersKernel;
    case Isa::avx2:
      return avx2::kBurgersKernel;
#endif
    default:
      return portable::kBurgersKernel;
  }
}

double peak_of(std::span<const double> state) {
  double peak = 0.0;
  for (double value : state) peak = std::max(peak, std::abs(value));
  return peak;
}

class Burgers final : public Solver {
 public:
  Burgers(const BurgersOptions& options, int threads)
      : Solver("burgers", make_grid(1, {options.points}, {options.length}), options.dt),
        step_{.points = options.points,
              .dx = grid().spacing(0),
              .diffusion = options.viscosity / std::numbers::pi,
              .dt = options.dt,
              .cfl = options.cfl,
              .bound = options.max_abs,
              .max_steps = options.max_steps},
        threads_(threads > 0 ? threads : omp_get_max_threads()),
        kernel_(kernel_of(active_isa())) {}

 private:
  std::string guard(const Query& query) const override {
    const double peak = peak_of(query.state);
    if (peak <= step_.bound) return {};
    return fmt::format("max|u| is {:.6g}, above max_abs = {:g}", peak, step_.bound);
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const std::size_t lanes = kernel_.lanes;
    const std::size_t blocks = (queries.size() + lanes - 1) / lanes;
    const int team = static_cast<int>(std::min(blocks, static_cast<std::size_t>(threads_)));
    // All memory is had here: an exception must not leave a parallel region.
    const std::size_t buffer = (step_.points + 2 * kBurgersGhosts) * lanes;
    std::vector<double> memory(static_cast<std::size_t>(team) * 2 * buffer);
    std::vector<BurgersEnd> ends(queries.size());
    for (Answer* answer : answers) answer->state.resize(step_.points);

#pragma omp parallel for num_threads(team) schedule(dynamic)
    for (std::size_t block = 0; block < blocks; ++block) {
      double* u = memory.data() + static_cast<std::size_t>(omp_get_thread_num()) * 2 * buffer;
      const std::size_t first = block * lanes;
      const std::size_t rows = std::min(lanes, queries.size() - first);
      advance_block(queries.subspan(first, rows), answers.subspan(first, rows), u, u + buffer,
                    ends.data() + first);
    }

    for (std::size_t i = 0; i < queries.size(); ++i) conclude(ends[i], *answers[i]);
  }

  void advance_block(std::span<const Query* const> queries, std::span<Answer* const> answers,
                     double* u, double* work, BurgersEnd* ends) const {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    const std::size_t lanes = kernel_.lanes, rows = queries.size();
    double* const cells = u + kBurgersGhosts * lanes;
    std::fill_n(cells, step_.points * lanes, 0.0);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < step_.points; ++i) cells[i * lanes + r] = queries[r]->state[i];

    kernel_.advance(step_, rows, u, work, ends);

    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < step_.points; ++i) answers[r]->state[i] = cells[i * lanes + r];
    const std::chrono::duration<double> taken = Clock::now() - start;
    for (Answer* answer : answers) answer->seconds = taken.count() / static_cast<double>(rows);
  }

  void conclude(const BurgersEnd& end, Answer& answer) const {
    switch (end.how) {
      case BurgersEnd::How::finished:
        answer.status = Answer::Status::ok;
        return;
      case BurgersEnd::How::unbounded:
        answer.reason = fmt::format("|u| passed max_abs = {:g} or was not finite in internal step {}",
                                    step_.bound, end.steps);
        break;
      case BurgersEnd::How::too_slow:
        answer.reason =
            fmt::format("dt = {:g} was not reached in max_steps = {} internal steps", dt(), end.steps);
        break;
    }
    answer.status = Answer::Status::failed;
    answer.state.clear();
  }

  BurgersStep step_;
  int threads_;
  const BurgersKernel& kernel_;
};

void require(bool good, const std::string& message) {
  if (!good) throw Error(ErrorKind::config, "burgers: " + message);
}

}  // namespace

std::unique_ptr<Solver> make_burgers(const BurgersOptions& options, int threads) {
  const auto& o = options;
  require(o.points >= 4, fmt::format("points is {}, expected at least 4", o.points));
  require(std::isfinite(o.length) && o.length > 0,
          fmt::format("length is {}, expected a finite value above 0", o.length));
  require(std::isfinite(o.viscosity) && o.viscosity >= 0,
          fmt::format("viscosity is {}, expected a finite value, 0 or more", o.viscosity));
  require(std::isfinite(o.dt) && o.dt > 0,
          fmt::format("dt is {}, expected a finite value above 0", o.dt));
  require(o.cfl > 0 && o.cfl <= 1, fmt::format("cfl is {}, expected above 0 and at most 1", o.cfl));
  require(std::isfinite(o.max_abs) && o.max_abs > 0,
          fmt::format("max_abs is {}, expected a finite value above 0", o.max_abs));
  require(o.max_steps >= 1, "max_steps is 0, expected at least 1");
  // Diffusion alone fixes the least number of internal steps: better said now than after them.
  const double dx = o.length / static_cast<double>(o.points);
  const double least =
      o.dt / (o.cfl * dx * dx / (2.0 * o.viscosity / std::numbers::pi));
  require(least <= static_cast<double>(o.max_steps),
          fmt::format("dt = {:g} at {} points needs at least {:.3g} internal steps, above max_steps "
                      "= {}: choose fewer points, a smaller dt or viscosity, or a larger max_steps",
                      o.dt, o.points, least, o.max_steps));
  return std::make_unique<Burgers>(options, threads);
}

}  // namespace stap
