#include "stap/report/charts.h"

namespace stap {

const std::vector<ChartRow>& chart_rows() {
  using Variants = ChartRow::Variants;
  using Methods = const ProblemMethods&;
  using Of = const ChartOf&;
  static const std::vector<ChartRow> rows{
      {.id = "errors",
       .text = "error against solver steps bought, the initial ones included",
       .section = "Errors",
       .variants = Variants::metrics,
       .of_methods = [](Methods p, Of of) { return errors_chart(p, of.metric, of.whose); }},
      {.id = "quantiles",
       .text = "50, 95 and 99 % quantiles of the RMSE over test trajectories, after the last round",
       .section = "Errors",
       .variants = Variants::errors,
       .half = true,
       .of_methods = [](Methods p, Of of) { return quantiles_chart(p, of.whose); }},
      {.id = "by-step",
       .text = "RMSE by rollout step, after the last round",
       .section = "Errors",
       .variants = Variants::errors,
       .half = true,
       .of_methods = [](Methods p, Of of) { return by_step_chart(p, of.whose); },
       .has = [](Methods p) { return !p.validation; }},
      {.id = "trajectory",
       .text = "one run: truth, prediction of the averaged model and error of a test trajectory",
       .section = "Trajectories"},
      {.id = "frequency",
       .text = "how often each time step was bought",
       .section = "Chosen time steps",
       .of_methods = [](Methods p, Of) { return steps_chart(p); }},
      {.id = "steps",
       .text = "one run: which steps of every bought trajectory came from the solver",
       .section = "Chosen time steps",
       .picture_of_run = steps_raster},
      {.id = "ledger",
       .text = "steps bought and unspent, warm-ups where they are charged, queries failed and "
               "refused, per round",
       .section = "Budget",
       .of_methods = [](Methods p, Of) { return ledger_chart(p); }},
      {.id = "cost",
       .text = "from which cost of a solver step on active learning is faster; of a sweep that "
               "was analysed",
       .section = "Time and cost",
       .half = true,
       .of_methods = [](Methods, Of of) { return cost_chart(of.costs()); }},
      {.id = "times",
       .text = "wall clock of a round by phase",
       .section = "Time and cost",
       .half = true,
       .of_methods = [](Methods p, Of) { return times_chart(p); }},
      {.id = "losses",
       .text = "training loss by epoch and round, first seed of each method",
       .section = "Training",
       .of_methods = [](Methods p, Of) { return losses_chart(p); }},
      {.id = "stages",
       .text = "error on what is held back after every stage of training (study.stages), first "
               "seed of each method",
       .section = "Training",
       .of_methods = [](Methods p, Of) { return stages_chart(p); },
       .has = has_stages},
      {.id = "calibration",
       .text = "error of the members' mean against their spread; of runs that were analysed",
       .section = "What the committee knows",
       .of_methods = [](Methods p, Of) { return calibration_chart(p); }},
      {.id = "coverage",
       .text = "how often error bars hold, by step; of runs that were calibrated and analysed",
       .section = "What the committee knows",
       .half = true,
       .of_methods = [](Methods p, Of) { return coverage_chart(p); },
       .has = has_bars},
      {.id = "bars",
       .text = "how wide error bars are, by step; of the same runs",
       .section = "What the committee knows",
       .half = true,
       .of_methods = [](Methods p, Of) { return bar_width_chart(p); },
       .has = has_bars},
      {.id = "activations",
       .text = "one run that was analysed: bought states among those of test trajectories",
       .section = "What the committee knows",
       .of_run = activations_chart},
  };
  return rows;
}

}  // namespace stap
