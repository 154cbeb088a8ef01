#include "stap/pde/burgers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/parallel.h"
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
        threads_(thread_count(threads)),
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
    // All memory is had here: work on other threads must not throw.
    const std::size_t buffer = (step_.points + 2 * kBurgersGhosts) * lanes;
    std::vector<double> memory(static_cast<std::size_t>(team) * 2 * buffer);
    std::vector<BurgersEnd> ends(queries.size());
    for (Answer* answer : answers) answer->state.resize(step_.points);

    parallel_for(team, blocks, [&](std::size_t block, int thread) {
      double* u = memory.data() + static_cast<std::size_t>(thread) * 2 * buffer;
      const std::size_t first = block * lanes;
      const std::size_t rows = std::min(lanes, queries.size() - first);
      advance_block(queries.subspan(first, rows), answers.subspan(first, rows), u, u + buffer,
                    ends.data() + first);
    });

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
        answer.reason =
            fmt::format("|u| passed max_abs = {:g} or was not finite in internal step {}",
                        step_.bound, end.steps);
        break;
      case BurgersEnd::How::too_slow:
        answer.reason = fmt::format("dt = {:g} was not reached in max_steps = {} internal steps",
                                    dt(), end.steps);
        break;
    }
    answer.status = Answer::Status::failed;
    answer.state.clear();
  }

  BurgersStep step_;
  int threads_;
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
       config::at_least(1)},
  };
  return fields;
}

std::unique_ptr<Solver> make_burgers(const BurgersOptions& options, int threads) {
  // The field table is the one place that states ranges.
  const auto& fields = burgers_fields();
  const BurgersOptions o = config::read(fields, config::to_value(fields, options), "burgers");
  // Diffusion alone fixes the least number of internal steps: better said now than after them.
  const double dx = o.length / static_cast<double>(o.points);
  const double least = o.dt / (o.cfl * dx * dx / (2.0 * o.viscosity / std::numbers::pi));
  if (!(least <= static_cast<double>(o.max_steps)))
    throw Error(ErrorKind::config,
                fmt::format("burgers: dt = {:g} at {} points needs at least {:.3g} internal steps, "
                            "above max_steps = {}: choose fewer points, a smaller dt or viscosity, "
                            "or a larger max_steps",
                            o.dt, o.points, least, o.max_steps));
  return std::make_unique<Burgers>(o, threads);
}

}  // namespace stap
