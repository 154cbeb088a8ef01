#include "report/ranking.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/comparison.h"
#include "report/shortened.h"

namespace stap {
namespace {

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
    texts.push_back(rival_name(table, rival.row) + (known ? " (" + change + ")" : std::string()));
  }
  return names_text(texts);
}

}  // namespace

std::string count_text(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

std::vector<std::string> ranking_words(const ProblemTable& table,
                                       const std::vector<std::size_t>& rows, std::size_t best) {
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
    (c.told_apart() && c.difference < 0 ? beaten : alike).push_back({row, c});
  }
  if (most < 2)
    return {
        fmt::format("With one seed a method nothing can be told about which is better: seeds may "
                    "differ as much "
                    "as methods do. {} had the lowest error this time; run at least three seeds.",
                    name)};
  const std::string seeds = count_text(most, "seed") +
                            (pairs > 1 ? fmt::format(", corrected for {} comparisons", pairs) : "");
  if (beaten.empty())
    return {
        fmt::format("No method is the best one for sure: {}, with the lowest error, cannot be "
                    "told apart from {} with {}.",
                    name, alike_text(table, alike), seeds)};
  if (alike.empty())
    return {fmt::format("{} has the lowest error, as a mean over the rounds: {}. Paired by {}.",
                        name, beaten_text(table, std::move(beaten)), seeds)};
  return {fmt::format("{} is among those with the lowest error, as a mean over the rounds: {}. "
                      "Paired by {}.",
                      name, beaten_text(table, std::move(beaten)), seeds),
          fmt::format("{} cannot be told apart from {}.", name, alike_text(table, alike))};
}

}  // namespace stap
