#include "report/cost_words.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/ranking.h"
#include "report/shortened.h"
#include "stap/results/comparison.h"

namespace stap {
namespace {

const ReportMethod* method_named(const ReportProblem& problem, const std::string& label) {
  const auto found = std::ranges::find(problem.methods, label, &ReportMethod::label);
  return found == problem.methods.end() ? nullptr : &*found;
}

// How sentences about a method and its baseline call them: settings that both have stand apart.
struct Names {
  std::string settings, mine, base;
};
Names names_of(const ReportProblem& problem, const ReportMethod& method) {
  const ReportMethod* baseline = method_named(problem, method.cost->baseline);
  const std::string settings =
      method.label.substr(std::min(method.method.size(), method.label.size()));
  if (baseline == nullptr || settings.empty() || method.label != method.method + settings ||
      baseline->label != baseline->method + settings)
    return {"", shortened(method.label), shortened(method.cost->baseline)};
  return {settings, method.method, baseline->method};
}

// "; 12 of its 40 solver steps stayed unspent", of both: what was not bought is not saved.
std::string unspent_text(const ReportMethod& method, const ReportMethod* baseline) {
  std::string text;
  for (const ReportMethod* one : {&method, baseline})
    if (one != nullptr && one->ledger.unspent > 0)
      text += fmt::format("; {} left {} of {} solver steps unspent{}", shortened(one->label),
                          grouped_digits(static_cast<double>(one->ledger.unspent)),
                          grouped_digits(static_cast<double>(one->ledger.budget)),
                          one->ledger.pool_exhausted ? ", as its pool ran dry" : "");
  return text;
}

// Less cannot be told from curves of a few seeds.
bool needs_the_same(double efficiency) {
  return std::abs(efficiency - 1) <= 0.01;
}

std::string savings_text(const ReportProblem& problem, const ReportMethod& method) {
  const ReportCost& cost = *method.cost;
  const double e = *cost.cost.efficiency;
  const ReportMethod* baseline = method_named(problem, cost.baseline);
  double steps = cost.cost.terms.budget * cost.cost.terms.rounds;
  if (baseline != nullptr && baseline->solver_steps > baseline->initial_steps)
    steps = baseline->solver_steps - baseline->initial_steps;
  const auto [settings, mine, base] = names_of(problem, method);
  const bool same = needs_the_same(e);
  const std::size_t seeds = cost.efficiency_by_seed.size();
  const auto better = static_cast<std::size_t>(std::ranges::count_if(
      cost.efficiency_by_seed, [](const auto& one) { return one && *one > 1; }));
  const std::string behind =
      (seeds < 2 || same
           ? std::string()
           : fmt::format(" (so in {} of {} seeds)", e > 1 ? better : seeds - better, seeds)) +
      unspent_text(method, baseline);
  const std::string alike = fmt::format(
      "{} and {} need the same number of solver steps for the same error, within a per cent{}",
      mine, base, behind);
  if (const std::string guess = guess_text(problem, method); !guess.empty())
    return with_settings(
        settings,
        fmt::format(
            "By the mean curves {}. That is a guess, and so is the cost below: {}.",
            same ? alike
                 : fmt::format("{} needs {:.2f} times the solver steps of {} for the same error{}",
                               mine, 1.0 / e, base, behind),
            guess));
  if (same) return with_settings(settings, alike + ".");
  if (e > 1)
    return with_settings(settings,
                         fmt::format("{} saves solver steps: what {} reaches with {} solver steps "
                                     "beyond the initial ones it "
                                     "reaches with {}, {:.0f} % fewer{}.",
                                     mine, base, grouped_digits(steps), grouped_digits(steps / e),
                                     100.0 * (1.0 - 1.0 / e), behind));
  return with_settings(
      settings,
      fmt::format(
          "{} saves no solver steps: for the same error it needs {:.2f} times those of {}{}.", mine,
          1.0 / e, base, behind));
}

// What becomes of the savings if initial conditions are not free; behind the sentence about them.
std::string warm_ups_text(const ReportProblem& problem, const ReportMethod& method) {
  const double e = method.cost->cost.efficiency.value_or(std::nan("")),
               with = *method.cost->cost.efficiency_with_warm_ups;
  const auto [settings, mine, base] = names_of(problem, method);
  const std::string begin =
      "That counts initial conditions as free. With the warm-ups of the chosen trajectories "
      "counted ";
  if (needs_the_same(with))
    return fmt::format("{}{} and {} need the same number of solver steps, within a per cent.",
                       begin, mine, base);
  if (with > 1)
    return fmt::format("{}{} needs {:.0f} % fewer solver steps than {}.", begin, mine,
                       100.0 * (1.0 - 1.0 / with), base);
  return fmt::format("{}{}{} needs {:.2f} times the solver steps of {}.", begin,
                     e > 1 && !needs_the_same(e) ? "it is the other way round: " : "", mine,
                     1.0 / with, base);
}

}  // namespace

std::string guess_text(const ReportProblem& problem, const ReportMethod& method) {
  if (!method.cost || !method.cost->cost.efficiency) return {};
  return guess_text(problem.table, method.label, method.cost->baseline,
                    names_of(problem, method).base);
}

std::vector<std::string> cost_words(const ReportProblem& problem,
                                    const std::vector<std::size_t>& order) {
  const ReportMethod* judged = nullptr;
  for (const std::size_t i : order)
    if (const ReportMethod& method = problem.methods[i];
        judged == nullptr && method.cost && !method.cost->baseline.empty())
      judged = &method;
  if (judged == nullptr) {
    const bool any = std::ranges::any_of(problem.methods,
                                         [](const ReportMethod& m) { return m.cost.has_value(); });
    if (!any) return {"Whether active learning paid was not judged: 'stap analyse' does that."};
    if (order.size() < 2) return {};
    return {
        "Whether active learning paid cannot be said without runs of a baseline (random) in the "
        "same sweep."};
  }
  std::vector<std::string> words;
  if (judged->cost->cost.efficiency) words.push_back(savings_text(problem, *judged));
  if (judged->cost->cost.efficiency_with_warm_ups) words.push_back(warm_ups_text(problem, *judged));
  words.push_back(
      fmt::format("Cost of {}: {}.", shortened(judged->label), judged->cost->cost.text));
  const std::string& first = problem.table.rows.front().label;
  if (judged->cost->baseline != first)
    words.push_back(
        fmt::format("Savings and cost are over {}, as they were analysed; differences in the "
                    "tables are to {}. 'stap analyse --baseline METHOD' takes another one.",
                    shortened(judged->cost->baseline), shortened(first)));
  return words;
}

}  // namespace stap
