// What came out, in plain sentences.
#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "report/cost_words.h"
#include "report/ranking.h"
#include "report/shortened.h"
#include "stap/report/report.h"
#include "stap/results/comparison.h"
#include "stap/results/table_entry.h"

namespace stap {
namespace {

constexpr std::size_t kPublishedSeeds = 5;

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// The sentences about one problem.
class ProblemWords {
 public:
  ProblemWords(const Report& report, const ReportProblem& problem)
      : report_(report), problem_(problem), sets_(ranked_sets(problem.table)) {
    for (const auto& set : sets_) compared_.insert(compared_.end(), set.begin(), set.end());
  }

  std::vector<Finding> all() {
    if (compared_.empty()) {
      nothing_measured();
    } else {
      ranking();
      for (const std::string& text : cost_words(problem_, compared_)) say(text);
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
    if (unfinished == 0) return;
    std::vector<std::string> states;
    for (const auto state : {ReportRun::State::unfinished, ReportRun::State::stopped,
                             ReportRun::State::failed, ReportRun::State::damaged})
      if (const std::size_t n = runs_in(state); n > 0)
        states.push_back(fmt::format("{} {}", n, to_string(state)));
    say(fmt::format("Methods cannot be compared yet, as no run is finished: {}.",
                    states.empty() ? count_text(unfinished, "run") : names_text(states)));
  }

  std::size_t runs_in(ReportRun::State state) const {
    return static_cast<std::size_t>(std::ranges::count_if(report_.runs, [&](const ReportRun& run) {
      return run.problem == problem_.table.problem && run.state == state;
    }));
  }

  void ranking() {
    const ProblemTable& table = problem_.table;
    if (table.validation)
      say("Errors are of single steps on what each run held back, which differs from method to "
          "method: compare methods with care.");
    if (sets_.size() > 1)
      say(
          fmt::format("Not all methods are ranked together: they differ in their {}, so that their "
                      "errors do not say which is better. Only those with the same are compared.",
                      table.apart));
    for (const auto& set : sets_) {
      if (sets_.size() > 1 && set.size() == 1) continue;
      // Settings that all of them have are said once a sentence.
      const std::string settings = shared_settings(table, set);
      ProblemTable named = table;
      if (!settings.empty())
        for (const std::size_t row : set) named.rows[row].label = named.rows[row].method;
      for (std::string& text : ranking_words(named, set)) say(with_settings(settings, text));
      for (std::string& text : course_words(named, set)) say(with_settings(settings, text));
      learned(set.front());
    }
  }

  void learned(std::size_t best) {
    const std::vector<double>& errors = rows()[best].members.of(Metric::rmse).by_round;
    const ReportMethod& method = problem_.methods[best];
    if (errors.size() < 2 || rows()[best].cut) return;
    const std::string initial = grouped_digits(method.initial_steps),
                      steps = grouped_digits(method.solver_steps);
    const bool same = same_error(errors.front(), errors.back());
    std::string text =
        problem_.table.validation
            ? fmt::format(
                  "The RMSE of {} on held-back steps, other ones every round, was {:.3g} with {} "
                  "solver steps and {:.3g} with {}",
                  name(best), errors.front(), initial, errors.back(), steps)
        : same
            ? fmt::format("The RMSE of {} is the same with {} solver steps as with {}, {:.3g}",
                          name(best), initial, steps, errors.back())
            : fmt::format("The RMSE of {} went from {:.3g} with {} solver steps to {:.3g} with {}",
                          name(best), errors.front(), initial, errors.back(), steps);
    const std::vector<double>& of_mean = rows()[best].mean_model.of(Metric::rmse).by_round;
    if (!of_mean.empty() && std::isfinite(of_mean.back()) && std::isfinite(errors.back()))
      text += fmt::format("; that of the mean model, which is what one deploys, ends at {:.3g}",
                          of_mean.back());
    const std::vector<double>& over = rows()[best].mean_model_images.of(Metric::rmse).by_round;
    if (!over.empty() && std::isfinite(over.back()))
      text += fmt::format(", over images (stap predict --images) at {:.3g}", over.back());
    say(text + ".");
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
      say(fmt::format("Differs from the paper, in the logarithm of the RMSE: {} ({}).",
                      names_text(differ), published_caveat()));
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

  const Report& report_;
  const ReportProblem& problem_;
  std::vector<std::vector<std::size_t>> sets_;  // rows that have an error
  std::vector<std::size_t> compared_;           // all of them
  std::vector<Finding> words_;
};

// How the runs ended.
std::string runs_text(const Report& report) {
  using State = ReportRun::State;
  std::string text = capital(count_text(report.runs.size(), "run"));
  std::vector<std::string> parts;
  for (const State state : {State::finished, State::unfinished, State::stopped, State::failed,
                            State::damaged, State::not_begun})
    if (const auto n = std::ranges::count(report.runs, state, &ReportRun::state); n > 0)
      parts.push_back(fmt::format("{} {}", n, to_string(state)));
  return fmt::format("{}: {}.", text, names_text(parts));
}

}  // namespace

std::vector<Finding> findings(const Report& report) {
  std::vector<Finding> words{{"", runs_text(report)}};
  for (const ReportProblem& problem : report.problems)
    for (Finding& finding : ProblemWords(report, problem).all())
      words.push_back(std::move(finding));
  return words;
}

}  // namespace stap
