// What came out, in plain sentences.
#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "report/comparison.h"
#include "report/ranking.h"
#include "report/shortened.h"
#include "stap/report/report.h"
#include "stap/results/table_entry.h"

namespace stap {
namespace {

constexpr std::size_t kPublishedSeeds = 5;

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// "1,234": solver steps are whole numbers, their means hardly matter behind the point.
std::string steps_text(double steps) {
  std::string digits = fmt::format("{:.0f}", steps);
  for (std::size_t at = digits.size(); at > 3 && at <= digits.size(); at -= 3)
    if (at - 3 > 0) digits.insert(at - 3, ",");
  return digits;
}

// The sentences about one problem.
class ProblemWords {
 public:
  explicit ProblemWords(const ReportProblem& problem) : problem_(problem) {
    for (std::size_t i = 0; i < rows().size(); ++i)
      if (!rows()[i].members.seeds.empty() && std::isfinite(headline(i))) compared_.push_back(i);
  }

  std::vector<Finding> all() {
    if (compared_.empty()) {
      nothing_measured();
    } else {
      best_ = *std::ranges::min_element(compared_, {}, [&](auto i) { return headline(i); });
      ranking();
      learned();
      efficiency();
      cost();
      published();
    }
    diverged();
    useless();
    trouble();
    return std::move(words_);
  }

 private:
  const std::vector<TableRow>& rows() const { return problem_.table.rows; }
  double headline(std::size_t i) const { return rows()[i].members.of(Metric::rmse).log.mean; }
  std::string name(std::size_t i) const { return shortened(rows()[i].label); }
  void say(std::string text) { words_.push_back({problem_.table.problem, std::move(text)}); }

  void nothing_measured() {
    std::size_t without = 0, unfinished = 0;
    for (const TableRow& row : rows()) {
      without += row.without_errors;
      unfinished += row.incomplete;
    }
    if (without > 0)
      say(
          fmt::format("There are no errors: {} of a study without a test set. What was chosen, "
                      "bought, trained and timed is shown.",
                      count_text(without, "run")));
    if (unfinished > 0)
      say(fmt::format("Methods cannot be compared yet: no run is finished, {} {} under way.",
                      unfinished, unfinished == 1 ? "is" : "are"));
  }

  void ranking() {
    if (problem_.table.validation)
      say("Errors are of single steps on what each run held back, which differs from method to "
          "method: compare methods with care.");
    for (std::string& text : ranking_words(problem_.table, compared_, best_)) say(std::move(text));
  }

  void learned() {
    const std::vector<double>& errors = rows()[best_].members.of(Metric::rmse).by_round;
    const ReportMethod& method = problem_.methods[best_];
    if (errors.size() < 2) return;
    std::string text =
        fmt::format("The RMSE of {} went from {:.3g} with {} solver steps to {:.3g} with {}",
                    name(best_), errors.front(), steps_text(method.initial_steps), errors.back(),
                    steps_text(method.solver_steps));
    const std::vector<double>& of_mean = rows()[best_].mean_model.of(Metric::rmse).by_round;
    if (!of_mean.empty() && std::isfinite(of_mean.back()) && std::isfinite(errors.back()))
      text += fmt::format("; that of the mean model, which is what one deploys, ends at {:.3g}",
                          of_mean.back());
    say(text + ".");
  }

  // The method whose cost is worth a word: the best one, or the best beside the baseline.
  const ReportMethod* judged() const {
    std::vector<std::size_t> order = compared_;
    std::ranges::sort(order, {}, [&](auto i) { return headline(i); });
    for (const std::size_t i : order)
      if (const auto& cost = problem_.methods[i].cost; cost && !cost->baseline.empty())
        return &problem_.methods[i];
    return nullptr;
  }

  // Whether a method's error is surely another than that of its baseline.
  bool told_apart(const ReportMethod& method) const {
    const auto mine = std::ranges::find(rows(), method.label, &TableRow::label);
    const auto its = std::ranges::find(rows(), method.cost->baseline, &TableRow::label);
    const std::size_t k = compared_.size();
    return mine != rows().end() && its != rows().end() &&
           compare_rows(mine->members, its->members, k * (k - 1) / 2).told_apart();
  }

  void efficiency() {
    const ReportMethod* method = judged();
    if (method == nullptr || !method->cost->cost.efficiency) return;
    const ReportCost& cost = *method->cost;
    const double e = *cost.cost.efficiency, steps = cost.cost.terms.budget * cost.cost.terms.rounds;
    const std::string base = shortened(cost.baseline), mine = shortened(method->label);
    std::size_t better = 0;
    for (const auto& one : cost.efficiency_by_seed) better += one && *one > 1 ? 1 : 0;
    const std::size_t seeds = cost.efficiency_by_seed.size();
    const std::string agree =
        seeds < 2 ? std::string()
                  : fmt::format(" (so in {} of {} seeds)", e > 1 ? better : seeds - better, seeds);
    if (!told_apart(*method))
      return say(
          fmt::format("By the mean curves {} needs {:.2f} times the solver steps of {} for the "
                      "same error{}; as "
                      "the two cannot be told apart this is a guess, and so is the cost below.",
                      mine, 1.0 / e, base, agree));
    if (e > 1)
      say(fmt::format(
          "{} saves solver steps: what {} reaches with {} bought steps it reaches with "
          "{}, {:.0f} % fewer{}.",
          mine, base, steps_text(steps), steps_text(steps / e), 100.0 * (1.0 - 1.0 / e), agree));
    else
      say(
          fmt::format("{} saves no solver steps: for the same error it needs {:.2f} times those of "
                      "{}{}.",
                      mine, 1.0 / e, base, agree));
  }

  void cost() {
    const bool any = std::ranges::any_of(problem_.methods,
                                         [](const ReportMethod& m) { return m.cost.has_value(); });
    if (const ReportMethod* method = judged())
      say(fmt::format("Cost of {}: {}.", shortened(method->label), method->cost->cost.text));
    else if (!any)
      say("Whether active learning paid was not judged: 'stap analyse' does that.");
    else if (compared_.size() > 1)
      say("Whether active learning paid cannot be said without runs of a baseline (random) in the "
          "same sweep.");
  }

  void published() {
    const ProblemTable& table = problem_.table;
    if (table.published_problem.empty() || !table.published_sizes) return;
    std::vector<std::string> agree, differ;
    for (const std::size_t i : compared_) {
      const Published* value = published_of(table, rows()[i], Metric::rmse);
      if (value == nullptr || !published_doubt(*value).empty()) continue;
      const Summary& ours = rows()[i].members.of(Metric::rmse).log;
      const double difference = on_published_scale(ours.mean, table, Metric::rmse) - value->mean;
      const double half = welch_half_95(ours, {kPublishedSeeds, value->mean, value->deviation});
      if (!std::isfinite(half)) continue;
      if (std::abs(difference) <= half)
        agree.push_back(name(i));
      else
        differ.push_back(fmt::format("{} ({:+.3f} ± {:.3f})", name(i), difference, half));
    }
    if (!agree.empty()) say(fmt::format("Agrees with the paper: {}.", names_text(agree)));
    if (!differ.empty())
      say(fmt::format(
          "Differs from the paper, in the logarithm of the RMSE: {}. Compare absolute numbers on "
          "INS as coded only, elsewhere order and differences.",
          names_text(differ)));
  }

  void diverged() {
    for (std::size_t i = 0; i < rows().size(); ++i)
      if (const std::size_t n = rows()[i].members.diverged; n > 0)
        say(fmt::format("{}: {} left the finite numbers{}.", name(i), count_text(n, "rollout"),
                        std::isfinite(headline(i)) ? "" : ", so that it has no mean error"));
  }

  void useless() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < rows().size(); ++i) {
      const std::vector<double>& nrmse = rows()[i].members.of(Metric::nrmse).by_round;
      if (!nrmse.empty() && std::isfinite(nrmse.back()) && nrmse.back() >= 1)
        names.push_back(fmt::format("{} (NRMSE {:.3g})", name(i), nrmse.back()));
    }
    if (!names.empty())
      say(fmt::format(
          "No better than predicting zero, at the end: {}. More epochs, a wider network "
          "or more initial trajectories may help.",
          names_text(names)));
  }

  void trouble() {
    for (std::size_t i = 0; i < rows().size(); ++i)
      if (const std::string text = trouble_text(problem_.methods[i].ledger); !text.empty())
        say(fmt::format("{}: {}.", name(i), text));
  }

  const ReportProblem& problem_;
  std::vector<std::size_t> compared_;  // rows that have an error
  std::size_t best_ = 0;
  std::vector<Finding> words_;
};

// How the runs ended.
std::string runs_text(const Report& report) {
  using State = ReportRun::State;
  std::string text = capital(count_text(report.runs.size(), "run"));
  std::vector<std::string> parts;
  for (const State state :
       {State::finished, State::unfinished, State::failed, State::damaged, State::not_begun})
    if (const auto n = std::ranges::count(report.runs, state, &ReportRun::state); n > 0)
      parts.push_back(fmt::format("{} {}", n, to_string(state)));
  return fmt::format("{}: {}.", text, names_text(parts));
}

}  // namespace

std::vector<Finding> findings(const Report& report) {
  std::vector<Finding> words{{"", runs_text(report)}};
  for (const ReportProblem& problem : report.problems)
    for (Finding& finding : ProblemWords(problem).all()) words.push_back(std::move(finding));
  return words;
}

}  // namespace stap
