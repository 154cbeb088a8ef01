#include "stap/pde/ins.h"

#include <array>

#include <fmt/format.h>

#include "pde/ins_tables.h"
#include "pde/lane_blocks.h"
#include "pde/lane_numbers.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"

namespace stap {
namespace {

using Scheme = InsOptions::Scheme;

class Ins final : public BatchSolver {
 public:
  Ins(const InsOptions& options, int threads)
      : BatchSolver("ins", make_grid(1, options.points, options.lengths), options.dt, threads),
        options_(options),
        tables_(options, active_isa()),
        kernel_(ins_kernel(active_isa())) {}

  std::vector<std::string> parameters() const override {
    return names_of(ins_parameters(options_));
  }

  std::unique_ptr<Solver> with_step(double dt) const override {
    InsOptions options = options_;
    options.dt = dt;
    return make_ins(options, threads());
  }

 private:
  std::string guard(const Query& query) const override {
    std::string reason = refusal_of_negative(query, {{"viscosity", &options_.viscosity}});
    return reason.empty() ? refusal_above("w", tables_.step.bound, query.state) : reason;
  }

  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    const LaneBlocks blocks{.lanes = kernel_.lanes,
                            .values = grid().values(),
                            .margin = 0,
                            .work = kernel_.work(tables_.step),
                            .threads = threads(),
                            .dt = dt(),
                            .bound = passed_bound("w", tables_.step.bound)};

    std::vector<std::vector<double>> factors;  // of rows with a viscosity of their own
    if (options_.scheme == Scheme::ifrk4 && options_.viscosity.draw)
      for (const Query* query : queries)
        factors.push_back(ins_factors(options_, tables_.step.h, query->params[0]));

    advance_in_lanes(blocks, queries, answers, [&](const LaneBlock& block) {
      std::array<double, kMaxLanes> times{};
      for (std::size_t r = 0; r < block.queries.size(); ++r) times[r] = block.queries[r]->time;
      LaneNumbers numbers(block.queries);
      const LaneNumber viscosity = numbers.next(options_.viscosity);
      const LaneNumber forcing = numbers.next(options_.forcing);
      InsRows own{.times = times.data(), .forcing = forcing.lane, .viscosity = viscosity.lane};
      const auto first = static_cast<std::size_t>(block.queries.data() - queries.data());
      for (std::size_t r = 0; r < kMaxLanes; ++r)
        own.factors[r] = factors.empty()
                             ? tables_.factors.data()
                             : factors[first + (r < block.queries.size() ? r : 0)].data();
      kernel_.advance(tables_.step, own, block.queries.size(), block.state, block.work, block.ends);
    });
  }

  InsOptions options_;
  InsTables tables_;
  const InsKernel& kernel_;
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

std::vector<ParameterDraw> ins_parameters(const InsOptions& options) {
  return draws_of({{"viscosity", &options.viscosity}, {"forcing", &options.forcing}});
}

std::unique_ptr<Solver> make_ins(const InsOptions& options, int threads) {
  // The field table is the one place that states ranges.
  const auto& fields = ins_fields();
  const InsOptions o = config::read(fields, config::to_value(fields, options), "ins");
  if (!(ins_steps(o) <= static_cast<double>(o.max_steps)))
    throw Error(ErrorKind::config,
                fmt::format("ins: dt = {:g} in internal steps of {:g} needs {:.6g} of them, above "
                            "max_steps = {}: choose a smaller dt, a larger step or a larger "
                            "max_steps",
                            o.dt, ins_largest_step(o), ins_steps(o), o.max_steps));
  return std::make_unique<Ins>(o, threads);
}

}  // namespace stap
