// Four answers: the error, the solver steps, the time, and whether it is settled.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/headline.h"

namespace stap {
namespace {

class Tiles {
 public:
  Tiles(const Report& report, const ReportProblem& problem, const Headline& head,
        const std::vector<std::size_t>& ranked)
      : report_(report), problem_(problem), head_(head), ranked_(ranked) {}

  std::vector<Tile> all() const {
    if (ranked_.empty()) return {runs(), bought(), failed(), test_set()};
    return {error(), head_.against ? steps() : bought(), time(), settled()};
  }

 private:
  const TableErrors& errors(std::size_t row) const {
    return problem_.table.rows[row].of(head_.whose);
  }
  std::string name(std::size_t row) const { return shortened(problem_.table.rows[row].label, 40); }
  double last(std::size_t row) const {
    const std::vector<double>& all = errors(row).of(Metric::rmse).by_round;
    return all.empty() ? std::nan("") : all.back();
  }

  // "−38 %".
  static std::string change(double from, double to) {
    const double change = 100 * (to / from - 1);
    if (std::abs(change) < 0.5) return "±0 %";
    return fmt::format("{}{:.0f} %", change < 0 ? "−" : "+", std::abs(change));
  }

  Tile error() const {
    const std::size_t best = *head_.best;
    Tile tile{problem_.table.validation          ? "Error on held-back steps"
              : head_.whose == ErrorsOf::members ? "Error of the members"
                                                 : "Error of the model you would deploy",
              fmt::format("{:.3g}", last(best))};
    tile.details = fmt::format("{} after {} solver steps", name(best),
                               grouped_digits(problem_.methods[best].solver_steps));
    if (head_.against && std::isfinite(last(*head_.against))) {
      const Comparison c = compare_rows(errors(best), errors(*head_.against),
                                        comparisons_of(ranked_.size()), &TableCell::last);
      tile.pill = change(last(*head_.against), last(best));
      tile.tone = c.verdict() == Verdict::lower    ? Tone::good
                  : c.verdict() == Verdict::higher ? Tone::bad
                                                   : Tone::open;
      tile.details += fmt::format("; {}: {:.3g}", name(*head_.against), last(*head_.against));
    } else if (const auto& all = errors(best).of(Metric::rmse).by_round;
               all.size() > 1 && !problem_.table.validation) {
      tile.pill = change(all.front(), all.back());
      tile.details += fmt::format("; {:.3g} with the first {}", all.front(),
                                  grouped_digits(problem_.methods[best].initial_steps));
    }
    return tile;
  }

  Tile steps() const {
    const ReportMethod* method = judged_method(problem_, ranked_);
    Tile tile{"Solver steps for the same error", "Not known"};
    if (method == nullptr) {
      tile.details = problem_.methods.front().cost
                         ? "That takes runs of a baseline (random) in the same sweep."
                         : "'stap analyse' finds out.";
      return tile;
    }
    const ReportCost& cost = *method->cost;
    const std::string base = shortened(cost.baseline, 40);
    tile.question = fmt::format("Solver steps for the last error of {}", base);
    if (!cost.cost.efficiency) {
      tile.details = "The errors of these rounds do not tell.";
      return tile;
    }
    const double e = *cost.cost.efficiency;
    if (e < 1) tile.question = fmt::format("Solver steps for the same error as {}", base);
    tile.answer = fmt::format("{:.2f} ×", 1 / e);
    const bool guess = !guess_text(problem_.table, method->label, cost.baseline, base).empty();
    const bool same = std::abs(e - 1) <= 0.01;  // less cannot be told from curves of a few seeds
    tile.pill = guess ? "not certain" : same ? "the same" : change(1, 1 / e);
    tile.tone = guess ? Tone::open : same ? Tone::plain : e > 1 ? Tone::good : Tone::bad;
    std::size_t agree = 0;
    for (const auto& one : cost.efficiency_by_seed) agree += one && (*one > 1) == (e > 1) ? 1 : 0;
    tile.details = shortened(method->label, 40);
    if (const std::size_t n = cost.efficiency_by_seed.size(); n > 1 && !same)
      tile.details += fmt::format(", {} in {} of {} seeds", e > 1 ? "fewer" : "more", agree, n);
    tile.details += ".";
    if (cost.cost.efficiency_with_warm_ups)
      tile.details += fmt::format(" If initial states cost solver steps, too: {:.2f} ×.",
                                  1 / *cost.cost.efficiency_with_warm_ups);
    return tile;
  }

  Tile time() const {
    const ReportMethod* method = judged_method(problem_, ranked_);
    Tile tile{"Does it save time here?", "Not known"};
    if (method == nullptr || !method->cost->cost.verdict) {
      tile.details = method != nullptr ? "It needs a data efficiency and recorded times."
                     : problem_.methods.front().cost
                         ? "That takes runs of a baseline (random) in the same sweep."
                         : "'stap analyse' finds out.";
      return tile;
    }
    const CostAnalysis& cost = method->cost->cost;
    const CostVerdict& verdict = *cost.verdict;
    const double faster = verdict.baseline_seconds / verdict.active_seconds;
    const bool guess =
        !guess_text(problem_.table, method->label, method->cost->baseline, "").empty();
    const bool even = verdict.even();
    tile.answer = guess ? "Not known yet" : even ? "About even" : verdict.pays() ? "Yes" : "No";
    if (!guess && !even) {
      tile.pill = faster >= 1 ? fmt::format("{:.2g} × faster", faster)
                              : fmt::format("{:.2g} × slower", 1 / faster);
      tile.tone = verdict.pays() ? Tone::good : Tone::bad;
    }
    tile.details =
        std::isinf(verdict.turning_acquire)
            ? std::string("It needs more solver steps at any price of them.")
        : verdict.turning_acquire > 0
            ? fmt::format("It pays above {} per solver step; yours takes {}.",
                          seconds_text(verdict.turning_acquire), seconds_text(cost.terms.acquire))
            : std::string("It pays whatever a solver step costs.");
    tile.costs = true;
    return tile;
  }

  Tile settled() const {
    Tile tile{"Is it settled?", "No"};
    if (head_.title.starts_with("No ranking")) {
      tile.details =
          fmt::format("Errors do not compare where the {} differs.", problem_.table.apart);
      return tile;
    }
    if (!head_.against) {
      const std::size_t seeds = errors(*head_.best).seeds.size();
      tile.question = "Seeds";
      tile.answer = fmt::format("{}", seeds);
      tile.details = seeds > 1 ? "There is one method: nothing is compared."
                               : "Another seed may differ by as much as a method does.";
      return tile;
    }
    std::size_t open = 0, same = 0, pairs = 0, wanted = 0, beyond = 0;
    for (const std::size_t row : ranked_) {
      if (row == *head_.best) continue;
      const Comparison c =
          compare_rows(errors(*head_.best), errors(row), comparisons_of(ranked_.size()));
      pairs = std::max(pairs, c.paired.count);
      same += c.verdict() == Verdict::same ? 1 : 0;
      if (c.verdict() != Verdict::open) continue;
      ++open;
      const std::size_t seeds = c.seeds_needed();
      wanted = std::max(wanted, seeds);
      beyond += seeds == 0 ? 1 : 0;
    }
    if (pairs < 2) {
      tile.details = "One seed per method settles nothing; three are the least.";
    } else if (open > 0) {
      tile.answer = "Not yet";
      tile.details = beyond == open ? "More than 50 seeds would be needed to settle it."
                     : beyond == 0
                         ? fmt::format("About {} seeds would settle it.", wanted)
                         : fmt::format("About {} seeds would settle {} of {} differences.", wanted,
                                       open - beyond, open);
    } else {
      tile.answer = "Yes";
      tile.details = same > 0 ? "Differences are significant, or surely below 5 %."
                              : fmt::format("With {} all differences are significant.",
                                            count_text(pairs, "seed"));
      tile.tone = Tone::good;
    }
    return tile;
  }

  Tile runs() const {
    const auto finished =
        std::ranges::count(report_.runs, ReportRun::State::finished, &ReportRun::state);
    return {"Runs finished", fmt::format("{} of {}", finished, report_.runs.size()), "",
            "The list at the end says how far each is."};
  }

  Tile bought() const {
    double steps = 0, initial = 0;
    for (const ReportMethod& method : problem_.methods) {
      steps = std::max(steps, method.solver_steps);
      initial = std::max(initial, method.initial_steps);
    }
    if (steps == 0 && !report_.results.empty()) {  // nothing was measured: what the ledgers have
      std::size_t all = 0;
      for (const ReportMethod& method : problem_.methods) all += method.ledger.bought;
      return {"Solver steps bought", fmt::format("{}", all), "",
              fmt::format("by {}", count_text(report_.results.size(), "run"))};
    }
    return {"Solver steps bought", grouped_digits(steps), "",
            fmt::format("per run; {} of them before anything was chosen", grouped_digits(initial))};
  }

  Tile failed() const {
    std::size_t failed = 0, refused = 0;
    for (const ReportMethod& method : problem_.methods) {
      failed += method.ledger.failed;
      refused += method.ledger.refused;
    }
    return {"Queries that failed", fmt::format("{}", failed),
            failed > 0 ? "look at the reasons" : "",
            fmt::format("{} refused before they reached the solver", refused),
            failed > 0 ? Tone::bad : Tone::plain};
  }

  Tile test_set() const {
    std::size_t trajectories = 0;
    bool none = true;
    for (const RunResult& run : report_.results) {
      trajectories = std::max(trajectories, run.trajectories);
      none = none && run.test_sha256.empty();
    }
    return {"Test trajectories", none ? "None" : fmt::format("{}", trajectories), "",
            none ? "Without them nothing is measured." : "Errors come with the first evaluation."};
  }

  const Report& report_;
  const ReportProblem& problem_;
  const Headline& head_;
  const std::vector<std::size_t>& ranked_;
};

}  // namespace

const ReportMethod* judged_method(const ReportProblem& problem,
                                  const std::vector<std::size_t>& ranked) {
  for (const std::size_t row : ranked)
    if (const ReportMethod& method = problem.methods[row];
        method.cost && !method.cost->baseline.empty())
      return &method;
  return nullptr;
}

std::vector<Tile> tiles_of(const Report& report, const ReportProblem& problem, const Headline& head,
                           const std::vector<std::size_t>& ranked) {
  return Tiles(report, problem, head, ranked).all();
}

}  // namespace stap
