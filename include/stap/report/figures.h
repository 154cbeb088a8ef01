#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stap/eval/cost.h"
#include "stap/report/chart.h"
#include "stap/report/picture.h"
#include "stap/results/run_result.h"

// From results to charts. Only files of run folders are read, analyses that exist among them; what
// is missing or damaged is left out and told in the note. A chart without series has a note that
// says why. charts.h has them all as rows.
namespace stap {

/// The seeds of one method on one problem.
struct MethodRuns {
  std::string label;                   ///< as in the tables
  std::string method;                  ///< alone
  std::size_t group = 0;               ///< the same for this label in all problems
  std::vector<const RunResult*> runs;  ///< no seed twice; finished or not
};
/// The methods of one problem. Problems and methods are in the order of make_tables().
struct ProblemMethods {
  std::string problem;
  std::vector<MethodRuns> methods;
  std::size_t steps = 0, points = 0;
  bool validation = false;        ///< errors are of single steps on what was held back
  std::string published_problem;  ///< in the paper's tables, if these sizes are the paper's
  double published_offset = 0;    ///< of a log RMSE, to the published scale
  std::string apart{};            ///< what keeps some of them from being compared, in words
};
/// Points into `results`, which must live as long.
std::vector<ProblemMethods> methods_of(const std::vector<RunResult>& results);

/// Error against solver steps bought, the initial ones included: geometric means over seeds with
/// their 95 % interval (below three seeds: least to largest), single seeds, published means.
Chart errors_chart(const ProblemMethods& problem, Metric metric, ErrorsOf whose);
/// Quantiles of the RMSE over test trajectories, after the last round that all seeds have.
Chart quantiles_chart(const ProblemMethods& problem, ErrorsOf whose);
/// RMSE by rollout step, after the same round.
Chart by_step_chart(const ProblemMethods& problem, ErrorsOf whose);
/// How often each step was chosen, over all rounds.
Chart steps_chart(const ProblemMethods& problem);
/// Share of the trajectories that a method chose of which each solver step was bought, mean over
/// seeds; empty: it chose none.
std::vector<double> bought_share(const MethodRuns& method);
/// Which steps were chosen of every trajectory that a run bought; no pixels if it bought none.
PictureChart steps_raster(const RunResult& run);
/// Names of those that vary; none: they do not.
std::vector<std::string> parameters_of(const ProblemMethods& problem);
bool has_parameters(const ProblemMethods& problem);
/// Error of the averaged model along a parameter (empty: the first), and which of its values were
/// bought, beside the pool: of runs that were analysed, means over seeds.
Chart parameter_errors_chart(const ProblemMethods& problem, const std::string& parameter);
Chart parameter_values_chart(const ProblemMethods& problem, const std::string& parameter);
/// Training loss over epochs, round after round, of the first seed of each method.
Chart losses_chart(const ProblemMethods& problem);
/// Error on what is held back after every stage of training, over the same rounds and seeds; of
/// problems with a run that was trained in stages (study.stages).
Chart stages_chart(const ProblemMethods& problem);
bool has_stages(const ProblemMethods& problem);
/// Seconds of a round by phase, and where the solver steps went: means over rounds and seeds.
Chart times_chart(const ProblemMethods& problem);
Chart ledger_chart(const ProblemMethods& problem);
/// Error against the committee's spread, of the first seed of each method that was analysed.
Chart calibration_chart(const ProblemMethods& problem);
/// How often error bars hold on trajectories that they were not calibrated on, and how wide they
/// are, by step; of the first seed of each method that was calibrated and analysed.
Chart coverage_chart(const ProblemMethods& problem);
Chart bar_width_chart(const ProblemMethods& problem);
bool has_bars(const ProblemMethods& problem);
/// Where the bought states lie among those of test trajectories; of a run that was analysed, in the
/// colour of its method.
Chart activations_chart(const RunResult& run, std::size_t group = 0);

struct MethodCost {
  std::string label, baseline;
  std::size_t group = 0;
  CostTerms terms;  ///< efficiency: NaN where it is not known
};
/// What the section `cost` of an analysis says; NaN where it is not known.
CostTerms cost_terms(const config::Value& cost);
/// Of the methods in a sweep's analysis.json, those of this problem; none where there is no file.
std::vector<MethodCost> read_costs(const std::filesystem::path& sweep,
                                   const ProblemMethods& problem);
/// How many times faster each method reaches the baseline's error, against the cost of a step.
Chart cost_chart(std::span<const MethodCost> costs);

}  // namespace stap
