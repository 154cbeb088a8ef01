// What must be known of a problem beside its ranking.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/headline.h"
#include "stap/results/table_entry.h"

namespace stap {
namespace {

constexpr std::size_t kPublishedSeeds = 5;

class Remarks {
 public:
  Remarks(const ReportProblem& problem, ErrorsOf whose) : problem_(problem), whose_(whose) {}

  std::vector<std::string> all(const std::vector<std::vector<std::size_t>>& sets) {
    for (const auto& set : sets) {
      last_round(set);
      rising(set);
    }
    published();
    diverged();
    useless();
    trouble();
    for (const std::string& note : problem_.notes) words_.push_back(note);
    return std::move(words_);
  }

 private:
  const std::vector<TableRow>& rows() const { return problem_.table.rows; }
  const TableErrors& errors(std::size_t row) const { return rows()[row].of(whose_); }
  const std::vector<double>& by_round(std::size_t row) const {
    return errors(row).of(Metric::rmse).by_round;
  }
  std::string name(std::size_t row) const { return shortened(rows()[row].label); }

  // A mean over rounds hides that another row is the best one after the last.
  void last_round(const std::vector<std::size_t>& set) {
    const auto last = [&](std::size_t row) {
      return by_round(row).empty() || !std::isfinite(by_round(row).back()) ? INFINITY
                                                                           : by_round(row).back();
    };
    const std::size_t best = set.front(), ends_best = *std::ranges::min_element(set, {}, last);
    if (!(last(ends_best) < last(best)) || same_error(last(ends_best), last(best))) return;
    const Comparison c =
        compare_rows(errors(ends_best), errors(best), comparisons_of(set.size()), &TableCell::last);
    words_.push_back(fmt::format(
        "After the last round {} has the lowest error, {:.3g}, and {} "
        "{:.3g}: {}.",
        name(ends_best), last(ends_best), name(best), last(best),
        c.verdict() == Verdict::lower ? below_text(c, name(best))
                                      : std::string("not significantly different there")));
  }

  void rising(const std::vector<std::size_t>& set) {
    constexpr double kNoise = 1.05;         // less is no rise worth a word
    if (problem_.table.validation) return;  // other steps are held back every round
    std::vector<std::string> names;
    for (const std::size_t row : set) {
      const std::vector<double>& all = by_round(row);
      if (all.size() < 2 || !std::isfinite(all.back())) continue;
      const auto least = std::ranges::min_element(all);
      const bool above = all.back() > all.front() && !same_error(all.back(), all.front());
      if (!(all.back() > kNoise * *least || above)) continue;
      names.push_back(fmt::format(
          "{} ({:.3g} after round {}, {:.3g} after the last)", name(row), *least,
          rows()[row].rounds + 1 - static_cast<std::size_t>(all.end() - least), all.back()));
    }
    if (!names.empty())
      words_.push_back(
          fmt::format("More data did not always help: the error of {} rises.", names_text(names)));
  }

  void published() {
    const ProblemTable& table = problem_.table;
    if (table.published_problem.empty() || !table.published_sizes) return;
    std::vector<std::string> agree, differ;
    for (std::size_t i = 0; i < rows().size(); ++i) {
      const Published* value = published_of(table, rows()[i], Metric::rmse);
      if (value == nullptr || !published_doubt(*value).empty()) continue;
      const Summary& ours = rows()[i].members.of(Metric::rmse).log;  // as it is printed
      const double difference = on_published_scale(ours.mean, table, Metric::rmse) - value->mean;
      const double half = welch_half_95(ours, {kPublishedSeeds, value->mean, value->deviation});
      if (!std::isfinite(half)) continue;
      if (std::abs(difference) <= half)
        agree.push_back(name(i));
      else
        differ.push_back(fmt::format("{} ({:+.3f} ± {:.3f})", name(i), difference, half));
    }
    if (!agree.empty())
      words_.push_back(fmt::format("Agrees with the paper: {}.", names_text(agree)));
    if (!differ.empty())
      words_.push_back(
          fmt::format("Differs from the paper, in the logarithm of the members' RMSE: {} ({}).",
                      names_text(differ), published_caveat()));
  }

  void diverged() {
    for (std::size_t i = 0; i < rows().size(); ++i)
      if (const std::size_t n = errors(i).diverged; n > 0)
        words_.push_back(fmt::format("{}: {} left the finite numbers{}.", name(i),
                                     count_text(n, "rollout"),
                                     std::isfinite(errors(i).of(Metric::rmse).log.mean)
                                         ? ""
                                         : ", so it has no mean error and no place"));
  }

  void useless() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < rows().size(); ++i) {
      const std::vector<double>& nrmse = errors(i).of(Metric::nrmse).by_round;
      if (!nrmse.empty() && std::isfinite(nrmse.back()) && nrmse.back() >= 1)
        names.push_back(fmt::format("{} (NRMSE {:.3g})", name(i), nrmse.back()));
    }
    if (!names.empty())
      words_.push_back(
          fmt::format("No better than predicting zero: {}. More epochs, a wider "
                      "network or more initial trajectories may help.",
                      names_text(names)));
  }

  void trouble() {
    for (std::size_t i = 0; i < rows().size(); ++i)
      if (const std::string text = trouble_text(problem_.methods[i].ledger); !text.empty())
        words_.push_back(fmt::format("{}: {}.", name(i), text));
  }

  const ReportProblem& problem_;
  ErrorsOf whose_;
  std::vector<std::string> words_{};
};

}  // namespace

std::vector<std::string> remarks_of(const ReportProblem& problem, ErrorsOf whose,
                                    const std::vector<std::vector<std::size_t>>& ranked) {
  return Remarks(problem, whose).all(ranked);
}

std::string states_text(const Report& report, std::string_view problem) {
  std::vector<std::string> states;
  for (const auto state :
       {ReportRun::State::finished, ReportRun::State::unfinished, ReportRun::State::stopped,
        ReportRun::State::failed, ReportRun::State::damaged, ReportRun::State::not_begun}) {
    const auto is = [&](const ReportRun& run) {
      return run.state == state && (problem.empty() || run.problem == problem);
    };
    if (const auto n = std::ranges::count_if(report.runs, is); n > 0)
      states.push_back(fmt::format("{} {}", n, to_string(state)));
  }
  return names_text(states);
}

void say_unmeasured(const Report& report, const ReportProblem& problem, Headline& head) {
  std::size_t without = 0, finished = 0;
  for (const TableRow& row : problem.table.rows) {
    without += row.without_errors;
    finished += row.members.seeds.size();
  }
  const std::string only = report.problems.size() == 1 ? "" : problem.table.problem;
  const ReportRun* first = nullptr;  // that has failed
  std::size_t runs = 0, failed = 0, ended = 0;
  for (const ReportRun& run : report.runs) {
    if (!only.empty() && run.problem != only) continue;
    ++runs;
    ended += run.state == ReportRun::State::finished ? 1 : 0;
    if (run.state != ReportRun::State::failed) continue;
    if (++failed == 1) first = &run;
  }
  if (failed > 0 && ended == 0) {
    head.title = fmt::format("No result yet: {} of {} failed", failed, count_text(runs, "run"));
    head.text = fmt::format("{}: {}. Once it is fixed, the same command continues.",
                            shortened(first->folder), shortened(first->words, 240));
  } else if (without > 0) {
    head.title = "Nothing to rank: this study has no test set, so there are no errors";
    head.text =
        "What was chosen, bought, trained and timed is below. With 'study.test' set to a "
        "number of trajectories, errors are measured.";
  } else if (finished > 0) {
    head.title = "Nothing to rank: the rollouts of all methods left the finite numbers";
    head.text = "More epochs, a wider network or a smaller learning rate may help.";
  } else {
    head.title = "No result yet: no run is finished";
    const std::string states = states_text(report, only);
    head.text = fmt::format("Runs: {}. What they have done so far is below.{}", states,
                            states.find("stopped") == std::string::npos
                                ? ""
                                : " The command that began them continues them.");
  }
}

}  // namespace stap
