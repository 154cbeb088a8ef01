// Analyses in words.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/analysis_summary.h"
#include "results/text_layout.h"
#include "stap/eval/statistics.h"

namespace stap {
namespace {

std::string chosen_text(const ChosenSteps& chosen) {
  const auto purchases = purchases_of(chosen);
  if (purchases.empty()) return "none yet";
  const double mean = cost_per_trajectory(purchases);
  return fmt::format("{} trajectories, {:.1f} of {} steps each ({:.0f} %)", purchases.size(), mean,
                     chosen.steps, 100.0 * mean / static_cast<double>(chosen.steps));
}

std::string mean_text(const std::vector<double>& values, const char* unknown) {
  return values.empty() ? std::string(unknown) : fmt::format("{:.3g}", summarise(values).mean);
}

// Initial conditions are free in the efficiency, unless they were charged.
std::string with_warm_ups_text(const CostAnalysis& cost) {
  return cost.efficiency_with_warm_ups
             ? fmt::format(", {:.2f} with warm-ups counted", *cost.efficiency_with_warm_ups)
             : std::string();
}

// How far the seeds agree about the efficiency; "?" where a seed does not tell it.
std::string by_seed_text(const MethodAnalysis& method) {
  if (method.by_seed.size() < 2) return {};
  std::string text = " (by seed";
  for (const SeedEfficiency& one : method.by_seed)
    text += one.efficiency ? fmt::format(" {:.2f}", *one.efficiency) : " ?";
  return text + ")";
}

// Of runs that were calibrated; empty: none was.
std::string bars_text(const Runs& runs) {
  double least = 1, most = 0, level = 0;
  for (const RunAnalysis* run : runs) {
    if (!run->bars) continue;
    if (!run->bars->absent.empty()) return run->bars->absent;
    const JudgedBars& bars = *run->bars;
    level = bars.level;
    for (std::size_t step = 0; step < bars.steps; ++step) {
      least = std::min(least, bars.first.found[step]);
      most = std::max(most, bars.first.found[step]);
    }
  }
  return level == 0 ? ""
                    : fmt::format(
                          "{:.1f} to {:.1f} % of the errors at a step are within theirs, "
                          "{:g} % were asked",
                          100 * least, 100 * most, 100 * level);
}

// "from 0.0031 (0.08 to 0.2) to 0.021 (0.005 to 0.008)", and of which values more was bought than
// there are in the pool.
std::string parameter_text(const ParameterAnalysis& one) {
  std::vector<std::string> texts;
  std::vector<std::size_t> measured;
  for (std::size_t i = 0; i < one.bins.count(); ++i)
    if (one.test[i] > 0) measured.push_back(i);
  if (!measured.empty()) {
    const auto [low, high] =
        std::ranges::minmax_element(measured, {}, [&](std::size_t i) { return one.rmse[i]; });
    texts.push_back(fmt::format("error from {:.3g} (at {}) to {:.3g} (at {})", one.rmse[*low],
                                one.bins.text(*low), one.rmse[*high], one.bins.text(*high)));
  }
  const auto sum = [](const std::vector<std::size_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  };
  const double all = static_cast<double>(sum(one.chosen)),
               pool = static_cast<double>(sum(one.pool));
  if (all > 0 && pool > 0) {
    const auto share = [&](std::size_t i) {
      return one.pool[i] > 0 ? static_cast<double>(one.chosen[i]) / all /
                                   (static_cast<double>(one.pool[i]) / pool)
                             : 0.0;
    };
    std::size_t most = 0;
    for (std::size_t i = 1; i < one.bins.count(); ++i)
      if (share(i) > share(most)) most = i;
    texts.push_back(fmt::format("{} was bought most, {:.2g} times as often as the pool has it",
                                one.bins.text(most), share(most)));
  }
  return texts.empty() ? "nothing was bought yet" : fmt::format("{}", fmt::join(texts, "; "));
}

std::string words(const Runs& runs, const std::string& cost, const TextStyle& style) {
  const auto per_round = [&](const char* phase) {
    return mean_text(
        values_of(runs,
                  [&](const RunAnalysis& run) { return seconds_per_round(run.times, phase); }),
        "?");
  };
  const std::vector<double> error = last_error_by_step(runs);
  const auto correlations = values_of(runs, overall_correlation);
  std::string text;
  const auto line = [&](const char* name, const std::string& what) {
    text += wrapped(fmt::format("  {:<14}{}", name, one_line(what)), style.columns, 16);
  };
  line("chosen steps", chosen_text(all_chosen(runs)));
  const auto variances = values_of(runs, relative_variance);
  line("activations",
       variances.empty()
           ? runs[0]->activations.absent
           : fmt::format("the variance of bought states is {} times that of full trajectories",
                         mean_text(variances, "?")));
  line("seconds", fmt::format("{} of training a round, {} of selection ({} scoring, {} choosing "
                              "steps), {} of buying",
                              per_round("train"), per_round("select"), per_round("score"),
                              per_round("choose"), per_round("acquire")));
  line("error", error.empty() ? kNoTestSet
                              : fmt::format("{:.3g} at step 1, {:.3g} at step {}", error.front(),
                                            error.back(), error.size()));
  for (const ParameterAnalysis& one : all_parameters(runs))
    line("parameter", fmt::format("{}: {}", one.bins.draw.name, parameter_text(one)));
  line("calibration", correlations.empty() ? runs[0]->calibration_absent
                                           : fmt::format("rank correlation of spread and error {}",
                                                         mean_text(correlations, "?")));
  if (const std::string bars = bars_text(runs); !bars.empty()) line("error bars", bars);
  line("cost", cost);
  return text;
}

}  // namespace

std::string analysis_text(const RunAnalysis& run, const TextStyle& style) {
  const std::string head = fmt::format("{}, seed {}", run.result.method, run.result.seed);
  std::string text = painted(wrapped(one_line(head), style.columns, 2), Paint::bold, style);
  text += words({&run}, run.cost.text, style);
  if (const std::string note = note_of(run); !note.empty())
    text += wrapped("  " + note, style.columns, 2);
  return text;
}

std::string analysis_text(const SweepAnalysis& sweep, const TextStyle& style) {
  std::string text;
  for (const MethodAnalysis& method : sweep.methods) {
    const auto runs = runs_of(sweep, method);
    std::string cost = method.cost.text;
    if (method.cost.efficiency)
      cost = fmt::format("data efficiency {:.2f}{}{}; {}", *method.cost.efficiency,
                         by_seed_text(method), with_warm_ups_text(method.cost), cost);
    if (!method.guess.empty()) cost = fmt::format("not certain, as {}: {}", method.guess, cost);
    const std::string head =
        fmt::format("{}, {} seed{}", method.label, runs.size(), runs.size() == 1 ? "" : "s");
    text += painted(wrapped(one_line(head), style.columns, 2), Paint::bold, style);
    text += words(runs, cost, style);
    for (const RunAnalysis* run : runs)
      if (const std::string note = note_of(*run); !note.empty())
        text += wrapped(fmt::format("  seed {} is {}", run->result.seed, note), style.columns, 2);
  }
  for (const std::string& name : sweep.left_out)
    text += wrapped(one_line(fmt::format("{} has no evaluation yet and is left out", name)),
                    style.columns, 2);
  return text;
}

}  // namespace stap
