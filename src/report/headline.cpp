#include "report/headline.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stap {
namespace {

constexpr std::size_t kRivals = 3;  // that the text names

std::string number_word(std::size_t n) {
  constexpr std::array kWords{"no",  "one",   "two",   "three", "four", "five",
                              "six", "seven", "eight", "nine",  "ten"};
  return n < kWords.size() ? kWords[n] : fmt::format("{}", n);
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

struct Rival {
  std::size_t row;
  Comparison comparison;  // of the best one with it
};

// The finding about one set of rows that can be compared.
class SetWords {
 public:
  SetWords(const ReportProblem& problem, const std::vector<std::size_t>& rows, ErrorsOf whose)
      : problem_(problem), rows_(rows), whose_(whose), best_(rows.front()) {
    settings_ = shared_settings();
    const std::size_t comparisons = comparisons_of(rows.size());
    for (const std::size_t row : rows) {
      if (row == best_) continue;
      Rival rival{row, compare_rows(errors(best_), errors(row), comparisons)};
      pairs_ = std::max(pairs_, rival.comparison.paired.count);
      const Verdict verdict = rival.comparison.verdict();
      (verdict == Verdict::lower  ? beaten_
       : verdict == Verdict::same ? same_
                                  : open_)
          .push_back(std::move(rival));
    }
  }

  void write(Headline& head) const {
    head.best = best_;
    if (rows_.size() > 1) head.against = best_ == 0 || !in_set(0) ? rows_[1] : 0;
    head.proved = rows_.size() > 1 && beaten_.size() + 1 == rows_.size();
    head.title = (settings_.empty() ? "" : fmt::format("With{}: ", shortened(settings_))) +
                 (rows_.size() == 1 ? title_alone() : title()) + spent_text();
    head.text = rows_.size() == 1 ? text_alone() : text();
    if (rows_.size() > 1 && pairs_ > 1)
      head.about = fmt::format("Paired by {}{}.", count_text(pairs_, "seed"),
                               rows_.size() > 2 ? fmt::format("; intervals are corrected for {} "
                                                              "comparisons",
                                                              comparisons_of(rows_.size()))
                                                : "");
    advise(head);
  }

  std::string sentence() const {
    return fmt::format("{}{}. {}", settings_.empty() ? "" : fmt::format("With{}: ", settings_),
                       title(), text());
  }

 private:
  const TableErrors& errors(std::size_t row) const { return problem_.table.rows[row].of(whose_); }
  const std::vector<double>& by_round(std::size_t row) const {
    return errors(row).of(Metric::rmse).by_round;
  }
  bool in_set(std::size_t row) const { return std::ranges::find(rows_, row) != rows_.end(); }
  std::string name(std::size_t row) const {
    const TableRow& one = problem_.table.rows[row];
    return shortened(settings_.empty() ? one.label : one.method);
  }
  std::string names(const std::vector<Rival>& rivals) const {
    std::vector<std::string> all;
    for (const Rival& rival : rivals) all.push_back(name(rival.row));
    return names_text(all);
  }

  // What the labels say beside the methods, if that is the same in all.
  std::string shared_settings() const {
    const auto settings = [&](std::size_t row) {
      const TableRow& one = problem_.table.rows[row];
      return one.label.starts_with(one.method) ? one.label.substr(one.method.size()) : one.label;
    };
    const auto same = [&](std::size_t row) { return settings(row) == settings(best_); };
    return rows_.size() > 1 && std::ranges::all_of(rows_, same) ? settings(best_) : "";
  }

  // Beside each other they say little if one of them bought less.
  std::string spent_text() const {
    double least = INFINITY, most = 0;
    for (const std::size_t row : rows_) {
      least = std::min(least, problem_.methods[row].solver_steps);
      most = std::max(most, problem_.methods[row].solver_steps);
    }
    if (!(most > 1.01 * least)) return {};
    return fmt::format(", but they spent different budgets ({} to {} solver steps)",
                       grouped_digits(least), grouped_digits(most));
  }

  // " and needs about 47 % fewer solver steps" than the baseline; only if that holds in every seed.
  std::string savings_text(const std::string& link) const {
    const ReportMethod& method = problem_.methods[best_];
    if (!method.cost || !method.cost->cost.efficiency) return {};
    const double e = *method.cost->cost.efficiency;
    const std::string& baseline = method.cost->baseline;
    const auto its = std::ranges::find(problem_.table.rows, baseline, &TableRow::label);
    if (e < 1.01 || its == problem_.table.rows.end() ||
        !guess_text(problem_.table, method.label, baseline, "").empty() ||
        !std::ranges::all_of(method.cost->efficiency_by_seed,
                             [](const auto& one) { return one && *one > 1; }))
      return {};
    const auto row = static_cast<std::size_t>(its - problem_.table.rows.begin());
    return fmt::format("{}needs about {:.0f} % fewer solver steps{}", link, 100.0 * (1.0 - 1.0 / e),
                       rows_.size() > 2 ? " than " + name(row) : std::string());
  }

  std::string title_alone() const {
    const std::vector<double>& all = by_round(best_);
    if (all.size() < 2) return fmt::format("{} has an error of {:.3g}", name(best_), all.back());
    return fmt::format("{} reaches an error of {:.3g} with {} solver steps", name(best_),
                       all.back(), grouped_digits(problem_.methods[best_].solver_steps));
  }

  std::string text_alone() const {
    const std::size_t seeds = errors(best_).seeds.size();
    const std::vector<double>& all = by_round(best_);
    std::string text;
    if (all.size() > 1 && !problem_.table.rows[best_].cut)
      text = fmt::format(
          "That is {} than after the first {} solver steps, before anything was "
          "chosen. ",
          same_error(all.back(), all.front()) ? std::string("no other")
                                              : change_text(std::log(all.back() / all.front())),
          grouped_digits(problem_.methods[best_].initial_steps));
    return text + (seeds > 1 ? fmt::format("It is the geometric mean over {} seeds. There is no "
                                           "other method to compare with.",
                                           seeds)
                             : std::string("One run shows neither how much another seed would "
                                           "differ nor whether another method is better."));
  }

  std::string title() const {
    const std::string best = name(best_);
    if (pairs_ < 2) return "No clear winner yet: each method has one seed";
    if (same_.size() + 1 == rows_.size())
      return fmt::format("No difference: {} and {} have the same error within 5 %", best,
                         names(same_));
    if (beaten_.size() + 1 == rows_.size()) {
      const Comparison& first = beaten_.front().comparison;
      return rows_.size() == 2
                 ? fmt::format("{} has {} error than {}{}", best, change_text(first.paired.mean),
                               name(beaten_.front().row), savings_text(" and "))
                 : fmt::format("{} has the lowest error{}", best, savings_text(" and "));
    }
    const bool baseline = std::ranges::find(beaten_, std::size_t{0}, &Rival::row) != beaten_.end();
    if (beaten_.empty() || (in_set(0) && best_ != 0 && !baseline))
      return fmt::format(
          "No clear winner yet: {} has the lowest error, but {} seeds do not prove "
          "it",
          best, number_word(pairs_));
    return fmt::format(
        "No clear winner yet: {} has a lower error than {}, but not significantly "
        "lower than {} other{}",
        best, baseline ? name(0) : names(beaten_), number_word(open_.size() + same_.size()),
        open_.size() + same_.size() == 1 ? "" : "s");
  }

  // Of many rivals the baseline, and the nearest ones.
  std::string text() const {
    std::vector<Rival> rivals = beaten_;
    rivals.insert(rivals.end(), open_.begin(), open_.end());
    rivals.insert(rivals.end(), same_.begin(), same_.end());
    std::ranges::stable_sort(rivals, [](const Rival& a, const Rival& b) {
      if ((a.row == 0) != (b.row == 0)) return a.row == 0;
      return a.comparison.paired.mean > b.comparison.paired.mean;
    });
    std::vector<std::string> texts;
    for (const Rival& rival : rivals)
      if (texts.size() < kRivals) texts.push_back(below_text(rival.comparison, name(rival.row)));
    std::string list = fmt::format("{}", fmt::join(texts, "; "));
    if (texts.size() == 2) list = texts[0] + " and " + texts[1];
    const bool cut =
        std::ranges::any_of(rows_, [&](auto row) { return problem_.table.rows[row].cut; });
    return fmt::format(
        "Averaged over {}, {} is {}{}.",
        cut ? fmt::format("rounds 0 to {}, which all of them have",
                          problem_.table.rows[best_].rounds)
            : std::string("the rounds"),
        beaten_.size() + 1 == rows_.size() ? std::string("its error")
                                           : "the error of " + name(best_),
        list, rivals.size() > kRivals ? fmt::format("; the figure has all {}", rivals.size()) : "");
  }

  // More seeds, where they would probably settle it.
  void advise(Headline& head) const {
    const std::vector<std::uint64_t>& seeds = errors(best_).seeds;
    std::size_t wanted = 0;
    if (rows_.size() == 1 || pairs_ < 2) {
      wanted = std::max<std::size_t>(3, seeds.size());
      head.advice = rows_.size() > 1   ? "At least three seeds are needed to compare them"
                    : seeds.size() > 1 ? "To compare it with choosing at random"
                                       : "To compare it with choosing at random, three "
                                         "seeds each";
    } else {
      const Rival* nearest = nullptr;  // the baseline, else the one that needs least
      for (const Rival& rival : open_) {
        const std::size_t needed = rival.comparison.seeds_needed();
        if (needed == 0 || (nearest != nullptr && nearest->row == 0)) continue;
        if (nearest == nullptr || rival.row == 0 || needed < wanted) {
          nearest = &rival;
          wanted = needed;
        }
      }
      if (nearest == nullptr || wanted <= pairs_) return;
      head.advice = fmt::format(
          "{} more {} would probably settle {}", capital(number_word(wanted - pairs_)),
          wanted - pairs_ == 1 ? "seed" : "seeds",
          rows_.size() == 2 ? "it" : fmt::format("the difference to {}", name(nearest->row)));
    }
    head.command = command(wanted);
  }

  std::string command(std::size_t seeds) const {
    if (problem_.again.empty()) return {};
    std::vector<std::string> methods;
    for (const TableRow& row : problem_.table.rows) {
      if (row.label != row.method) return {};
      methods.push_back(row.method);
    }
    if (methods.size() == 1 && methods[0] == "random") return {};
    if (methods.size() == 1) methods.insert(methods.begin(), "random");
    for (const TableRow& row : problem_.table.rows)
      for (std::size_t i = 0; i < row.of(whose_).seeds.size(); ++i)
        if (row.of(whose_).seeds[i] >= seeds) return {};
    return fmt::format("{} --grid method={} --grid seed=0..{} --out {}", problem_.again,
                       fmt::join(methods, ","), seeds - 1, problem_.again_out);
  }

  const ReportProblem& problem_;
  const std::vector<std::size_t>& rows_;
  ErrorsOf whose_;
  std::size_t best_, pairs_ = 0;
  std::string settings_{};
  std::vector<Rival> beaten_{}, same_{}, open_{};
};

}  // namespace

Headline headline_of(const Report& report, const ReportProblem& problem) {
  Headline head;
  head.whose = deployed_errors(problem.table.rows);
  const auto sets = ranked_sets(problem.table, head.whose);
  std::vector<std::size_t> all;
  for (const auto& set : sets) all.insert(all.end(), set.begin(), set.end());
  head.remarks = remarks_of(problem, head.whose, sets);
  if (sets.empty()) {
    say_unmeasured(report, problem, head);
  } else if (sets.size() == 1) {
    SetWords(problem, sets.front(), head.whose).write(head);
  } else {
    head.title = fmt::format("No ranking: the methods differ in their {}", problem.table.apart);
    head.text = "Only methods that have these in common can be compared.";
    for (const auto& set : sets)
      if (set.size() > 1)
        head.text += fmt::format(" {}", SetWords(problem, set, head.whose).sentence());
    head.best = all.front();
  }
  if (problem.table.validation)
    head.about += (head.about.empty() ? "" : " ") +
                  std::string(
                      "Errors are of single steps on what each run held back, which "
                      "differs from method to method: compare methods with care.");
  if (!sets.empty())
    head.about += fmt::format(
        "{}Errors are of {}", head.about.empty() ? "" : " ",
        head.whose == ErrorsOf::members
            ? "single networks."
            : "the averaged model ('stap table' and 'stap plot' show it with --model mean).");
  head.tiles = tiles_of(report, problem, head, all);
  return head;
}

}  // namespace stap
