#include "report/ranking.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/shortened.h"
#include "stap/results/comparison.h"

namespace stap {
namespace {

constexpr std::ptrdiff_t kNamesMost = 12;  // in a sentence

struct Rival {
  std::size_t row;
  Comparison comparison;  // of the best one with it
};

std::string rival_name(const ProblemTable& table, std::size_t row) {
  return shortened(table.rows[row].label);
}

// "36 % lower (95 % interval ...) than random, ...": of many the first row, which is the baseline,
// and the nearest ones.
std::string beaten_text(const ProblemTable& table, std::vector<Rival> beaten) {
  constexpr std::size_t kNamed = 4;
  std::ranges::stable_sort(beaten, [](const Rival& a, const Rival& b) {
    if ((a.row == 0) != (b.row == 0)) return a.row == 0;
    return a.comparison.difference > b.comparison.difference;
  });
  std::vector<std::string> texts;
  for (const Rival& rival : beaten)
    if (texts.size() < kNamed)
      texts.push_back(
          fmt::format("{} than {}", change_text(rival.comparison), rival_name(table, rival.row)));
  if (beaten.size() > kNamed)
    texts.push_back(fmt::format("surely lower than {} more", beaten.size() - kNamed));
  return names_text(texts);
}

// "random (5 % lower, 95 % interval ...)".
std::string alike_text(const ProblemTable& table, const std::vector<Rival>& alike) {
  std::vector<std::string> texts;
  for (const Rival& rival : alike) {
    std::string change = change_text(rival.comparison);
    if (const std::size_t open = change.find(" ("); open != std::string::npos) {
      change.replace(open, 2, ", ");  // it stands in brackets itself
      change.pop_back();
    }
    const bool known = std::isfinite(rival.comparison.half);
    if (rival.comparison.same()) change = "the same within 0.5 %";
    texts.push_back(rival_name(table, rival.row) + (known ? " (" + change + ")" : std::string()));
  }
  return names_text(texts);
}

// "as a mean over the rounds": what "lowest" means.
std::string mean_text(const ProblemTable& table, const std::vector<std::size_t>& rows) {
  const bool cut = std::ranges::any_of(rows, [&](std::size_t row) { return table.rows[row].cut; });
  const std::size_t rounds = table.rows[rows.front()].rounds;
  return cut ? fmt::format("as a mean over rounds 0 to {}, which all of them have", rounds)
             : std::string("as a mean over the rounds");
}

const std::vector<double>& by_round(const ProblemTable& table, std::size_t row) {
  return table.rows[row].members.of(Metric::rmse).by_round;
}

// "sbal (0.12 after round 3, 0.15 after the last)"; empty: it does not rise.
std::string rise_text(const ProblemTable& table, std::size_t row) {
  constexpr double kNoise = 1.05;  // less is no rise worth a word
  const std::vector<double>& errors = by_round(table, row);
  if (errors.size() < 2 || !std::isfinite(errors.back())) return {};
  const auto least = std::ranges::min_element(errors);
  const bool above_begin =
      errors.back() > errors.front() && !same_error(errors.back(), errors.front());
  if (!(errors.back() > kNoise * *least || above_begin)) return {};
  const std::size_t round =
      table.rows[row].rounds + 1 - static_cast<std::size_t>(errors.end() - least);
  return fmt::format("{} ({:.3g} after round {}, {:.3g} after the last)", rival_name(table, row),
                     *least, round, errors.back());
}

}  // namespace

std::string count_text(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  if (std::ssize(names) > kNamesMost)
    return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kNamesMost, ", "),
                       std::ssize(names) - kNamesMost);
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::string grouped_digits(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t at = digits.size(); at > 3 && at <= digits.size(); at -= 3)
    if (at - 3 > 0) digits.insert(at - 3, ",");
  return digits;
}

bool same_error(double a, double b) {
  return std::abs(a - b) <= 0.005 * std::max(std::abs(a), std::abs(b)) ||
         fmt::format("{:.3g}", a) == fmt::format("{:.3g}", b);
}

std::string shared_settings(const ProblemTable& table, const std::vector<std::size_t>& rows) {
  const auto settings = [&](std::size_t row) {
    const TableRow& one = table.rows[row];
    return one.label.starts_with(one.method) ? one.label.substr(one.method.size()) : one.label;
  };
  const auto same = [&](std::size_t row) { return settings(row) == settings(rows.front()); };
  return rows.size() > 1 && std::ranges::all_of(rows, same) ? settings(rows.front()) : "";
}

std::string with_settings(const std::string& settings, std::string text) {
  return settings.empty() ? text : fmt::format("With{}: {}", shortened(settings), text);
}

std::vector<std::vector<std::size_t>> ranked_sets(const ProblemTable& table) {
  const auto headline = [&](std::size_t row) {
    return table.rows[row].members.of(Metric::rmse).log.mean;
  };
  std::vector<std::vector<std::size_t>> sets;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const TableRow& row = table.rows[i];
    if (row.members.seeds.empty() || !std::isfinite(headline(i))) continue;
    const auto same = [&](const auto& set) { return table.rows[set.front()].set == row.set; };
    const auto found = std::ranges::find_if(sets, same);
    if (found == sets.end())
      sets.push_back({i});
    else
      found->push_back(i);
  }
  for (auto& set : sets) std::ranges::stable_sort(set, {}, headline);
  return sets;
}

std::vector<std::string> course_words(const ProblemTable& table,
                                      const std::vector<std::size_t>& rows) {
  std::vector<std::string> words, rising;
  const auto last = [&](std::size_t row) {
    const std::vector<double>& errors = by_round(table, row);
    return errors.empty() || !std::isfinite(errors.back()) ? INFINITY : errors.back();
  };
  const std::size_t best = rows.front(), ends_best = *std::ranges::min_element(rows, {}, last);
  if (last(ends_best) < last(best) && !same_error(last(ends_best), last(best))) {
    const Comparison c = compare_rows(table.rows[ends_best].members, table.rows[best].members,
                                      rows.size() * (rows.size() - 1) / 2, &TableCell::last);
    words.push_back(fmt::format(
        "After the last round it is another one: {} has the lowest error there, {:.3g}, and {} "
        "{:.3g}; {}.",
        rival_name(table, ends_best), last(ends_best), rival_name(table, best), last(best),
        c.told_apart() ? change_text(c) : std::string("the two cannot be told apart there")));
  }
  // What is held back grows from round to round, so that its errors are of other steps each time.
  for (const std::size_t row : rows)
    if (std::string text = rise_text(table, row); !text.empty() && !table.validation)
      rising.push_back(std::move(text));
  if (!rising.empty())
    words.push_back(
        fmt::format("More data did not always help: the error rises, of {}.", names_text(rising)));
  return words;
}

std::vector<std::string> ranking_words(const ProblemTable& table,
                                       const std::vector<std::size_t>& rows) {
  const std::size_t best = rows.front();
  const std::string name = rival_name(table, best);
  const TableErrors& errors = table.rows[best].members;
  if (rows.size() == 1) {
    if (errors.seeds.size() > 1) return {};
    return {
        fmt::format("One run of {}: nothing can be told about how much another seed would "
                    "differ, or whether another method is better.",
                    name)};
  }
  const std::size_t pairs = rows.size() * (rows.size() - 1) / 2;
  std::vector<Rival> alike, beaten;
  std::size_t most = 0;
  for (const std::size_t row : rows) {
    if (row == best) continue;
    const Comparison c = compare_rows(errors, table.rows[row].members, pairs);
    most = std::max(most, c.pairs);
    (c.told_apart() && c.difference < 0 && !c.same() ? beaten : alike).push_back({row, c});
  }
  std::vector<std::string> lowest{name};
  for (const Rival& rival : alike)
    if (rival.comparison.same()) lowest.push_back(rival_name(table, rival.row));
  if (most < 2)
    return {fmt::format(
        "With one seed a method nothing can be told about which is better: seeds may differ as "
        "much as methods do. {} had the lowest error this time, {}{}; run at least three seeds.",
        names_text(lowest), mean_text(table, rows),
        lowest.size() > 1 ? ", the same within 0.5 %" : "")};
  const std::string seeds = count_text(most, "seed") +
                            (pairs > 1 ? fmt::format(", corrected for {} comparisons", pairs) : "");
  if (lowest.size() == rows.size())
    return {
        fmt::format("No difference between {}: {} their errors are the same within 0.5 %, with "
                    "{}.",
                    names_text(lowest), mean_text(table, rows), seeds)};
  if (beaten.empty())
    return {
        fmt::format("No method is the best one for sure: {}, with the lowest error {}, cannot be "
                    "told apart from {} with {}.",
                    name, mean_text(table, rows), alike_text(table, alike), seeds)};
  if (alike.empty())
    return {fmt::format("{} has the lowest error, {}: {}. Paired by {}.", name,
                        mean_text(table, rows), beaten_text(table, std::move(beaten)), seeds)};
  return {fmt::format("{} is among those with the lowest error, {}: {}. Paired by {}.", name,
                      mean_text(table, rows), beaten_text(table, std::move(beaten)), seeds),
          fmt::format("{} cannot be told apart from {}.", name, alike_text(table, alike))};
}

}  // namespace stap
