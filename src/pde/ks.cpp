#include "stap/pde/ks.h"

#include <cmath>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "pde/etdrk4.h"
#include "pde/lane_numbers.h"
#include "pde/line_solver.h"
#include "stap/core/error.h"

namespace stap {
namespace {

Grid grid_of(const KsOptions& options) {
  return make_grid(1, {options.points}, {options.length});
}

std::vector<std::complex<double>> ks_linear(const Grid& grid, double hyperviscosity) {
  std::vector<std::complex<double>> linear(grid.points[0] / 2 + 1);
  for (std::size_t j = 0; j < linear.size(); ++j) {
    const double square = std::pow(wave_number(grid, j), 2);
    linear[j] = square - hyperviscosity * square * square;
  }
  return linear;
}

// Coefficients of rows by their hyperviscosity. They take longer than a step, and the steps of a
// trajectory have the same, so they are kept.
class KsTables {
 public:
  using Table = std::shared_ptr<const std::vector<double>>;

  KsTables(Grid grid, double h) : grid_(std::move(grid)), h_(h) {}

  Table of(double hyperviscosity) {
    const std::lock_guard lock(mutex_);
    constexpr std::size_t kKept = 1 << 23;  // doubles, 64 MiB
    if (tables_.size() * (grid_.points[0] / 2 + 1) * kEtdColumns > kKept) tables_.clear();
    Table& table = tables_[hyperviscosity];
    if (!table)
      table = std::make_shared<const std::vector<double>>(
          etdrk4_table(grid_, ks_linear(grid_, hyperviscosity), h_));
    return table;
  }

 private:
  Grid grid_;
  double h_;
  std::mutex mutex_;
  std::map<double, Table> tables_;
};

class Ks final : public BatchSolver {
 public:
  Ks(const KsOptions& options, const Grid& grid, std::size_t steps, int threads)
      : BatchSolver("ks", grid, options.dt, threads),
        options_(options),
        scheme_(grid, ks_linear(grid, options.hyperviscosity.value), step_of(options, steps), steps,
                options.max_abs),
        tables_(grid, step_of(options, steps)) {}

  std::vector<std::string> parameters() const override { return names_of(ks_parameters(options_)); }

  std::unique_ptr<Solver> with_step(double dt) const override {
    KsOptions options = options_;
    options.dt = dt;
    return make_ks(options, threads());
  }

 private:
  static double step_of(const KsOptions& options, std::size_t steps) {
    return options.dt / static_cast<double>(steps);
  }

  std::string guard(const Query& query) const override {
    if (options_.hyperviscosity.draw && !(query.params[0] > 0.0))
      return fmt::format("hyperviscosity is {:g}, expected above 0", query.params[0]);
    return refusal_above("u", options_.max_abs, query.state);
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const bool varies = options_.hyperviscosity.draw.has_value();
    const LaneBlocks blocks{.lanes = scheme_.lanes(),
                            .values = grid().values(),
                            .margin = 0,
                            .work = varies ? scheme_.work_of_tables() : scheme_.work(),
                            .threads = threads(),
                            .dt = dt(),
                            .bound = passed_bound("u", options_.max_abs)};
    std::vector<KsTables::Table> tables;  // of each row
    std::vector<const double*> values;
    if (varies)
      for (const Query* query : queries) {
        tables.push_back(tables_.of(query->params[0]));
        values.push_back(tables.back()->data());
      }

    advance_in_lanes(blocks, queries, answers, [&](const LaneBlock& block) {
      const auto first = static_cast<std::size_t>(block.queries.data() - queries.data());
      if (varies)
        scheme_.advance(block, std::span(values).subspan(first, block.queries.size()));
      else
        scheme_.advance(block);
    });
  }

  KsOptions options_;
  Etdrk4 scheme_;
  mutable KsTables tables_;
};

}  // namespace

const config::Fields<KsOptions>& ks_fields() {
  using O = KsOptions;
  static const config::Fields<O> fields{
      {"points", &O::points, "grid points, an even number",
       config::between(8, 1 << 24).multiple_of(2)},
      {"length", &O::length, "length of the periodic interval", config::above(0), "length"},
      config::later<O>({"hyperviscosity", &O::hyperviscosity, "factor of u_xxxx", config::above(0),
                        "length^4/time"}),
      {"dt", &O::dt, "length of one learned step, a multiple of step", config::above(0), "time"},
      {"step", &O::step, "internal step", config::above(0), "time"},
      {"max_abs", &O::max_abs, "a state with a larger |u| is refused, a step that makes one fails",
       config::above(0), "length/time"},
      {"max_steps", &O::max_steps, "internal steps allowed for one dt", config::between(1, 1e12)},
  };
  return fields;
}

std::vector<ParameterDraw> ks_parameters(const KsOptions& options) {
  return draws_of({{"hyperviscosity", &options.hyperviscosity}});
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
  return std::make_unique<Ks>(o, grid_of(o), static_cast<std::size_t>(steps), threads);
}

}  // namespace stap
