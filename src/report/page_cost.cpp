// Does it pay? The terms of the cost analysis and what follows from them.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "report/html.h"
#include "report/page_parts.h"

namespace stap {
namespace {

// One unit for all times of a column: that of the largest.
struct TimeUnit {
  double seconds;
  const char* name;
};
TimeUnit unit_of(const std::vector<double>& seconds) {
  constexpr std::array<TimeUnit, 4> kUnits{{{3600.0, "h"}, {1.0, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}};
  double largest = 0;
  for (const double s : seconds)
    if (std::isfinite(s)) largest = std::max(largest, s);
  for (const TimeUnit& unit : kUnits)
    if (largest >= unit.seconds) return unit;
  return largest > 0 ? kUnits.back() : kUnits[1];
}

// "12.3"; "-" where it is not known.
Cell seconds_cell(double seconds, const TimeUnit& unit) {
  if (std::isnan(seconds)) return number_cell(seconds, "-");
  if (std::isinf(seconds)) return number_cell(seconds, "never");
  const double shown = seconds / unit.seconds;
  return number_cell(seconds,
                     shown > 0 && shown < 1e-3 ? "under 0.001" : fmt::format("{:.3g}", shown));
}

// Columns of times behind the others: their heads name the unit.
void add_times(HtmlTable& table, const std::string& head, const std::vector<double>& seconds,
               const TimeUnit& unit) {
  table.head.push_back(fmt::format("{} ({})", head, unit.name));
  for (std::size_t r = 0; r < seconds.size(); ++r)
    table.rows[r].push_back(seconds_cell(seconds[r], unit));
}

// What is said of methods, once where it is said of several alike.
class Said {
 public:
  void add(const std::string& text, const ReportMethod& method) {
    auto said = std::ranges::find(all_, text, &One::text);
    if (said == all_.end()) said = all_.insert(said, {text, {}});
    said->methods += (said->methods.empty() ? "" : ", ") + name_html(method.label);
  }
  std::string html(std::string_view kind, std::string_view words = {}) const {
    std::string html;
    for (const One& one : all_)
      html += fmt::format("<p class=\"{}\"><strong>{}</strong>: {}{}.</p>\n", kind, one.methods,
                          words, prose_html(one.text));
    return html;
  }

 private:
  struct One {
    std::string text, methods;
  };
  std::vector<One> all_;
};

std::string terms_html(const std::string& id, const std::vector<const ReportMethod*>& methods) {
  std::set<std::string> baselines;
  for (const ReportMethod* method : methods)
    if (!method->cost->baseline.empty()) baselines.insert(method->cost->baseline);
  const bool one = baselines.size() == 1;
  HtmlTable html{id + "-table",
                 fmt::format("Terms of the cost analysis{}; steps are solver steps",
                             one ? ", against " + shortened(*baselines.begin()) : std::string()),
                 {"method"},
                 {}};
  if (!one) html.head.emplace_back("over");
  html.head.insert(html.head.end(), {"initial steps", "steps per round", "rounds", "efficiency"});
  for (const ReportMethod* method : methods) {
    const CostAnalysis& cost = method->cost->cost;
    std::vector<Cell> cells{text_cell(method->label)};
    if (!one) cells.push_back(text_cell(method->cost->baseline));
    for (const double number : {cost.terms.initial, cost.terms.budget, cost.terms.rounds,
                                cost.efficiency.value_or(std::nan(""))})
      cells.push_back(digits_cell(number));
    html.rows.push_back(std::move(cells));
  }
  using Term = std::function<double(const CostAnalysis&)>;
  const auto column = [&](const Term& term) {
    std::vector<double> seconds;
    for (const ReportMethod* method : methods) seconds.push_back(term(method->cost->cost));
    return seconds;
  };
  const auto of_verdict = [&](double CostVerdict::*member) {
    return column([member](const CostAnalysis& cost) {
      return cost.verdict ? (*cost.verdict).*member : std::nan("");
    });
  };
  const auto add = [&](const char* head, const std::vector<double>& seconds) {
    add_times(html, head, seconds, unit_of(seconds));
  };
  add("solver, per step", column([](const CostAnalysis& c) { return c.terms.acquire; }));
  add("training, per step", column([](const CostAnalysis& c) { return c.terms.train; }));
  add("selection, per round", column([](const CostAnalysis& c) { return c.terms.select; }));
  // The two that are to be compared have one unit.
  const std::vector<double> with = of_verdict(&CostVerdict::active_seconds);
  const std::vector<double> without = of_verdict(&CostVerdict::baseline_seconds);
  std::vector<double> both = with;
  both.insert(both.end(), without.begin(), without.end());
  add_times(html, "with it", with, unit_of(both));
  add_times(html, "without", without, unit_of(both));
  add("break-even, per step", of_verdict(&CostVerdict::turning_acquire));
  return table_html(html);
}

}  // namespace

std::string cost_html(const std::string& id, const ReportProblem& problem) {
  std::vector<const ReportMethod*> methods;
  for (const ReportMethod& method : problem.methods)
    if (method.cost) methods.push_back(&method);
  if (methods.empty())
    return fmt::format(
        "<p class=\"absent\" id=\"{}\">There is no cost analysis: 'stap analyse' makes it.</p>\n",
        id);
  // Of the baseline itself there is nothing to say, unless there is nothing else.
  const bool judged = std::ranges::any_of(
      methods, [](const ReportMethod* method) { return !method->cost->baseline.empty(); });
  Said verdicts, guesses;
  for (const ReportMethod* method : methods) {
    if (method->cost->baseline.empty() && judged) continue;
    verdicts.add(method->cost->cost.text, *method);
    if (!method->cost->cost.efficiency) continue;
    const std::string& base = method->cost->baseline;
    if (const std::string guess = guess_text(problem.table, method->label, base, shortened(base));
        !guess.empty())
      guesses.add(guess, *method);
  }
  return fmt::format("<div class=\"cost\" id=\"{}\">\n{}{}{}</div>\n", id, verdicts.html("verdict"),
                     guesses.html("guess", "not certain, as "),
                     fold_html(id + "-terms", "How this is computed", terms_html(id, methods)));
}

}  // namespace stap
