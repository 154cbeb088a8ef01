#include "stap/results/network_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/eval/statistics.h"

namespace stap {
namespace {

std::string shown(const NetworkScore& score) {
  return score.own ? score.name + " (this run's)" : score.name;
}

// "6.1 times as long", "half as long" is too clever.
std::string ratio_text(double ratio) {
  return ratio < 10 ? fmt::format("{:.2g}", ratio) : fmt::format("{:.0f}", ratio);
}

// Of the one that is recommended, beside another one.
std::string cost_text(const NetworkScore& score, const NetworkScore& other) {
  return fmt::format(
      "A training takes {} times as long as that of {}, a step of the averaged model {} times",
      ratio_text(score.training_seconds / other.training_seconds), other.name,
      ratio_text(score.step_seconds / other.step_seconds));
}

}  // namespace

bool NetworkScore::diverged() const {
  return !std::ranges::all_of(errors, [](double e) { return std::isfinite(e); });
}

double NetworkScore::error() const {
  double sum = 0;
  for (const double e : errors) sum += std::log(e);
  return std::exp(sum / static_cast<double>(errors.size()));
}

double splits_half_95(const Summary& differences, std::size_t comparisons, std::size_t folds) {
  const auto n = static_cast<double>(differences.count);
  return corrected_half_95(differences, comparisons) *
         std::sqrt(1.0 + n / static_cast<double>(folds - 1));
}

NetworkChoice choose_network(std::span<const NetworkScore> scores, std::size_t folds) {
  NetworkChoice choice;
  choice.order.resize(scores.size());
  std::iota(choice.order.begin(), choice.order.end(), 0);
  std::ranges::stable_sort(choice.order, {}, [&](std::size_t i) {
    return scores[i].diverged() ? std::numeric_limits<double>::infinity() : scores[i].error();
  });
  const NetworkScore& first = scores[choice.order.front()];
  choice.clear = !first.diverged();
  for (const std::size_t i : choice.order) {
    Comparison comparison{.comparisons = comparisons_of(scores.size()), .half = std::nan("")};
    if (!scores[i].diverged()) {
      std::vector<double> differences;
      for (std::size_t s = 0; s < first.errors.size(); ++s)
        differences.push_back(std::log(scores[i].errors[s]) - std::log(first.errors[s]));
      comparison.paired = summarise(differences);
      comparison.half = splits_half_95(comparison.paired, comparison.comparisons, folds);
      if (i != choice.order.front())
        choice.clear = choice.clear && comparison.verdict() == Verdict::higher;
    }
    choice.to_first.push_back(comparison);
  }
  return choice;
}

std::string choice_text(std::span<const NetworkScore> scores, const NetworkChoice& choice) {
  const NetworkScore& best = scores[choice.order.front()];
  const std::size_t splits = best.errors.size();
  if (best.diverged())
    return fmt::format("No recommendation: {} left the finite numbers on what was held back",
                       scores.size() == 1 ? "it" : "all of them");
  std::vector<std::string> lines, lost;
  for (const std::size_t i : choice.order)
    if (scores[i].diverged()) lost.push_back(shown(scores[i]));
  if (scores.size() == 1) return "There is one network only: nothing to compare it with";
  const NetworkScore& second = scores[choice.order[1]];
  if (second.diverged()) {
    lines.push_back(fmt::format("{} {}", best.own ? "Keep" : "Use", shown(best)));
  } else {
    // The same from the best one's view.
    Comparison c = choice.to_first[1];
    const Verdict verdict = c.verdict();
    c.paired.mean = -c.paired.mean;
    const std::string below = below_text(c, shown(second));
    if (choice.clear)
      lines.push_back(
          fmt::format("{} {}: its error is {}", best.own ? "Keep" : "Use", shown(best), below));
    else if (verdict == Verdict::same)
      lines.push_back(fmt::format("No difference: the error of {} is {}; take the cheaper one",
                                  shown(best), below));
    else
      lines.push_back(fmt::format(
          "No clear winner yet. {} has the lowest error, {}, but with {} splits it is not "
          "significantly different from {}; try again when more is bought",
          shown(best), below, splits, verdict == Verdict::higher ? "all others" : shown(second)));
  }
  if (!lost.empty())
    lines.push_back(
        fmt::format("{} left the finite numbers on what was held back", fmt::join(lost, ", ")));
  const auto own = std::ranges::find(scores, true, &NetworkScore::own);
  const NetworkScore& other = own != scores.end() && !best.own ? *own : second;
  lines.push_back(cost_text(best, other));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace stap
