#include "results/analysis_cost.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "stap/eval/statistics.h"
#include "stap/study/affecting.h"
#include "stap/study/study.h"

namespace stap {
namespace {

std::string turning_text(double turning) {
  return turning > 0.0 ? fmt::format("above {} per solver step", seconds_text(turning))
                       : std::string("whatever a solver step costs");
}

// What the verdict means, for somebody who has not seen the inequality.
std::string verdict_text(const CostTerms& terms, const CostVerdict& verdict,
                         const std::string& method, const std::string& baseline) {
  const double with = verdict.active_seconds, without = verdict.baseline_seconds;
  const std::string times =
      fmt::format("{} with {}, {} with {} for the same error", seconds_text(with), method,
                  seconds_text(without), baseline);
  const std::string needs =
      fmt::format("it needs {:.2f} times the data of {}", 1.0 / terms.efficiency, baseline);
  if (verdict.even())
    return fmt::format(
        "active learning takes as long for this solver on this machine, within 5 %: {}{}", times,
        std::isinf(verdict.turning_acquire)
            ? std::string()
            : fmt::format(". It pays {}; this one takes {}", turning_text(verdict.turning_acquire),
                          seconds_text(terms.acquire)));
  if (verdict.pays())
    return fmt::format(
        "active learning pays for this solver on this machine: {}, {:.0f} % less. "
        "It pays {}; this one takes {}",
        times, 100.0 * (without - with) / without, turning_text(verdict.turning_acquire),
        seconds_text(terms.acquire));
  // Less cannot be told from curves of a few seeds.
  constexpr double kSameData = 0.01;
  if (std::abs(terms.efficiency - 1.0) <= kSameData)
    return fmt::format(
        "active learning does not pay: it and {} need the same data within a per cent, and it "
        "trains and selects every round",
        baseline);
  if (std::isinf(verdict.turning_acquire))
    return fmt::format("active learning does not pay, whatever a solver step costs: {}", needs);
  return fmt::format(
      "active learning does not pay for this solver on this machine: {}, {:.1f} "
      "times as long. It would pay {}; this one takes {}",
      times, with / without, turning_text(verdict.turning_acquire), seconds_text(terms.acquire));
}

// Judges if all is known; otherwise says what is missing.
void judge(CostAnalysis& cost, const std::string& method, const std::string& baseline,
           const std::string& no_efficiency) {
  CostTerms& terms = cost.terms;
  if (!cost.efficiency) {
    cost.text = no_efficiency;
    return;
  }
  terms.efficiency = *cost.efficiency;
  const char* missing = std::isnan(terms.acquire)  ? "solver steps"
                        : std::isnan(terms.train)  ? "training"
                        : std::isnan(terms.select) ? "selection"
                                                   : nullptr;
  if (missing != nullptr) {
    cost.text = fmt::format("no verdict: no seconds of {} were recorded", missing);
    return;
  }
  cost.verdict = judge_cost(terms);
  cost.text = verdict_text(terms, *cost.verdict, method, baseline);
}

CostTerms terms_of(const RunAnalysis& run, const CostSeconds& seconds) {
  const StudyOptions& options = run.result.study->options;
  CostTerms terms;
  terms.initial = run.paid_steps[0];
  terms.budget = static_cast<double>(options.budget);
  terms.rounds = static_cast<double>(options.rounds);
  terms.acquire = seconds.acquire;
  terms.train = seconds.train;
  terms.select = seconds.select;
  return terms;
}

// Means over the runs of some methods; what a run does not know does not count.
double mean_of(const SweepAnalysis& sweep, const std::vector<std::size_t>& runs,
               double CostSeconds::*member) {
  std::vector<double> known;
  for (std::size_t r : runs)
    if (const double value = sweep.runs[r].seconds.*member; !std::isnan(value))
      known.push_back(value);
  return summarise(known).count > 0 ? summarise(known).mean : std::nan("");
}

struct MeanCurve {
  std::vector<double> steps, log_error;
  LearningCurve view() const { return {steps, log_error}; }
};

// The mean over runs of the first n evaluations; `warm_ups`: counted though they were not charged.
MeanCurve mean_curve(const SweepAnalysis& sweep, const std::vector<std::size_t>& runs,
                     std::size_t n, ErrorsOf whose, bool warm_ups) {
  MeanCurve curve{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
  const double count = static_cast<double>(runs.size());
  for (std::size_t r : runs) {
    const RunAnalysis& run = sweep.runs[r];
    for (std::size_t i = 0; i < n; ++i) {
      curve.steps[i] += (run.paid_steps[i] - run.paid_steps[0]) / count;
      if (warm_ups) curve.steps[i] += static_cast<double>(run.result.chosen_warm_ups(i)) / count;
      curve.log_error[i] += run.result.of(whose).logs_of(Metric::rmse)[i] / count;
    }
  }
  return curve;
}

// What runs must have in common to be compared: all that matters but method and seed.
std::string all_but_method(const RunAnalysis& run) {
  using enum config::Affects;
  return config::yaml_text(
      not_affecting(run.result.config, {method, seed, record, device, solver, machine}));
}

const MethodAnalysis* baseline_of(const SweepAnalysis& sweep, const MethodAnalysis& method,
                                  const std::string& baseline) {
  const std::string mine = all_but_method(sweep.runs[method.runs[0]]);
  for (const MethodAnalysis& other : sweep.methods)
    if (other.method == baseline && all_but_method(sweep.runs[other.runs[0]]) == mine)
      return &other;
  return nullptr;
}

// The data efficiency over all seeds and of each, from the evaluations that all runs have.
void compare(const SweepAnalysis& sweep, const MethodAnalysis& baseline, MethodAnalysis& method) {
  std::size_t& n = method.compared;
  n = sweep.runs[method.runs[0]].result.evaluated();
  bool averaged = true;  // which is the model one would deploy
  for (const MethodAnalysis* one : {&baseline, static_cast<const MethodAnalysis*>(&method)})
    for (std::size_t r : one->runs) {
      const RunResult& result = sweep.runs[r].result;
      n = std::min(n, result.evaluated());
      averaged = averaged && result.mean_model.logs[0].size() == result.evaluated();
    }
  method.errors_of = averaged ? ErrorsOf::mean_model : ErrorsOf::members;
  const auto efficiency = [&](const auto& before, const auto& after, bool warm_ups = false) {
    return data_efficiency(mean_curve(sweep, before, n, method.errors_of, warm_ups).view(),
                           mean_curve(sweep, after, n, method.errors_of, warm_ups).view());
  };
  if (n == 0) return;
  method.cost.efficiency = efficiency(baseline.runs, method.runs);
  const auto free_warm_ups = [&](std::size_t r) {
    const RunResult& result = sweep.runs[r].result;
    return !result.charge_warm_up && !result.warm_up_steps.empty() && result.warm_up_steps[0] > 0;
  };
  if (std::ranges::all_of(baseline.runs, free_warm_ups) &&
      std::ranges::all_of(method.runs, free_warm_ups))
    method.cost.efficiency_with_warm_ups = efficiency(baseline.runs, method.runs, true);
  for (std::size_t r : method.runs)
    for (std::size_t b : baseline.runs)
      if (const std::uint64_t seed = sweep.runs[r].result.seed; sweep.runs[b].result.seed == seed)
        method.by_seed.push_back({seed, efficiency(std::vector{b}, std::vector{r})});
}

// Why data_efficiency() tells none of n evaluations.
std::string no_efficiency_text(const SweepAnalysis& sweep, const MethodAnalysis& baseline,
                               const MethodAnalysis& method, std::size_t n) {
  if (n == 0) return "without a test set there are no errors that tell a data efficiency";
  if (n == 1) return "there is no evaluation yet after something was bought";
  const auto error = [&](const MethodAnalysis& one, std::size_t i) {
    double sum = 0;
    for (std::size_t r : one.runs)
      sum += sweep.runs[r].result.of(method.errors_of).logs_of(Metric::rmse)[i];
    return sum / static_cast<double>(one.runs.size());
  };
  for (const MethodAnalysis* one : {&method, &baseline})
    if (!std::isfinite(error(*one, n - 1)))
      return fmt::format("the last error of {} is not finite", one->label);
  const bool better = error(method, n - 1) < error(baseline, n - 1);
  const MethodAnalysis &slow = better ? baseline : method, &quick = better ? method : baseline;
  if (error(quick, 0) <= error(slow, n - 1))
    return fmt::format("{} ends no lower than {} was before anything was bought", slow.label,
                       quick.label);
  if (better) return fmt::format("{} bought nothing", baseline.label);
  return fmt::format("{} bought less than {} and ends above it", method.label, baseline.label);
}

std::string no_baseline_text(const std::string& baseline) {
  return fmt::format(
      "no verdict: that needs runs of a baseline ({}) in the same sweep, or the "
      "data efficiency over it as --efficiency",
      baseline);
}

}  // namespace

CostAnalysis judge_run(const RunAnalysis& run, const AnalysisOptions& options) {
  CostAnalysis cost;
  cost.terms = terms_of(run, run.seconds);
  if (run.result.method != options.baseline) cost.efficiency = options.efficiency;
  judge(cost, run.result.method, options.baseline,
        run.result.method == options.baseline ? "this is the baseline itself"
                                              : no_baseline_text(options.baseline));
  return cost;
}

void judge_methods(SweepAnalysis& sweep, const AnalysisOptions& options) {
  for (MethodAnalysis& method : sweep.methods) {
    const MethodAnalysis* baseline = baseline_of(sweep, method, options.baseline);
    const bool is_baseline = baseline == &method;
    // Solver and training are the same for both; only the method's selection counts.
    std::vector<std::size_t> both = method.runs;
    if (baseline != nullptr && !is_baseline)
      both.insert(both.end(), baseline->runs.begin(), baseline->runs.end());
    const CostSeconds seconds{.acquire = mean_of(sweep, both, &CostSeconds::acquire),
                              .train = mean_of(sweep, both, &CostSeconds::train),
                              .select = mean_of(sweep, method.runs, &CostSeconds::select)};
    method.cost.terms = terms_of(sweep.runs[method.runs[0]], seconds);
    std::string no_efficiency = no_baseline_text(options.baseline);
    if (is_baseline) {
      no_efficiency = "this is the baseline itself";
    } else if (options.efficiency) {
      method.cost.efficiency = options.efficiency;
    } else if (baseline != nullptr) {
      method.baseline = baseline->label;
      compare(sweep, *baseline, method);
      no_efficiency =
          fmt::format("no verdict: {}{}; give one as --efficiency",
                      method.compared > 0 ? "the errors do not tell a data efficiency, as " : "",
                      no_efficiency_text(sweep, *baseline, method, method.compared));
    }
    judge(method.cost, method.label, options.baseline, no_efficiency);
  }
}

std::string seconds_text(double seconds) {
  if (seconds >= 3600.0) return fmt::format("{:.3g} h", seconds / 3600.0);
  if (seconds >= 0.1 || !(seconds > 0.0)) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", 1e3 * seconds);
  return fmt::format("{:.3g} µs", 1e6 * seconds);
}

}  // namespace stap
