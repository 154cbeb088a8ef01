#include "stap/results/comparison.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "stap/eval/statistics.h"

namespace stap {
namespace {

constexpr double kWorthAWord = 0.005, kSame = 0.05;  // of an error
constexpr std::size_t kSeedsMost = 50;

std::string per_cent(double share) {
  const double value = 100.0 * std::abs(share);
  if (value < 0.01) return "under 0.01";
  return value >= 9.95 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

// "22 % below": of one end of an interval, or of the middle.
std::string side_text(double log_difference) {
  return fmt::format("{} % {}", per_cent(std::expm1(log_difference)),
                     log_difference <= 0 ? "below" : "above");
}

}  // namespace

Verdict verdict_of(double difference, double half) {
  if (!std::isfinite(difference) || !std::isfinite(half)) return Verdict::open;
  if (std::abs(difference) > half && std::abs(std::expm1(difference)) > kWorthAWord)
    return difference < 0 ? Verdict::lower : Verdict::higher;
  const bool within =
      std::expm1(difference + half) <= kSame && -std::expm1(difference - half) <= kSame;
  return within ? Verdict::same : Verdict::open;
}

double corrected_half_95(const Summary& differences, std::size_t comparisons) {
  if (differences.count < 2) return std::nan("");
  const double n = static_cast<double>(differences.count);
  const double outside = 0.05 / static_cast<double>(std::max<std::size_t>(comparisons, 1));
  return student_quantile(1.0 - outside / 2.0, n - 1.0) * differences.deviation / std::sqrt(n);
}

std::vector<std::vector<std::size_t>> ranked_sets(const ProblemTable& table, ErrorsOf whose) {
  const auto headline = [&](std::size_t row) {
    return table.rows[row].of(whose).of(Metric::rmse).log.mean;
  };
  std::vector<std::vector<std::size_t>> sets;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const TableRow& row = table.rows[i];
    if (row.of(whose).seeds.empty() || !std::isfinite(headline(i))) continue;
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

std::size_t comparisons_of(std::size_t rows) {
  return rows < 2 ? 1 : rows * (rows - 1) / 2;
}

ErrorsOf deployed_errors(std::span<const TableRow> rows) {
  const auto lacks = [](const TableRow& row) { return row.without(ErrorsOf::mean_model) > 0; };
  return std::ranges::any_of(rows, lacks) ? ErrorsOf::members : ErrorsOf::mean_model;
}

std::size_t Comparison::seeds_needed() const {
  // An interval that just leaves out 0 is missed every second time: a fifth is left for bad luck.
  const double wanted = 0.8 * std::abs(paired.mean);
  if (paired.count < 2 || !std::isfinite(half) || !(wanted > 0)) return 0;
  for (std::size_t n = std::max<std::size_t>(paired.count, 3); n <= kSeedsMost; ++n)
    if (corrected_half_95({n, paired.mean, paired.deviation}, comparisons) < wanted) return n;
  return 0;
}

Comparison compare_rows(const TableErrors& a, const TableErrors& b, std::size_t comparisons,
                        std::vector<double> TableCell::*log) {
  const Summary summary = paired_difference(a, b, Metric::rmse, log);
  return {summary, comparisons, corrected_half_95(summary, comparisons)};
}

std::string change_text(double d) {
  if (d <= 0) return fmt::format("{} % lower", per_cent(std::expm1(d)));
  if (d < std::log(2.0)) return fmt::format("{} % higher", per_cent(std::expm1(d)));
  return fmt::format("{:.3g} times as high", std::exp(d));
}

std::string below_text(const Comparison& c, const std::string& other) {
  const double d = c.paired.mean, low = d - c.half, high = d + c.half;
  const std::string middle = fmt::format("{} {}", side_text(d), other);
  if (!std::isfinite(c.half)) return middle;
  if (high <= 0)
    return fmt::format("{} (95 %: {} to {} % below)", middle, per_cent(std::expm1(high)),
                       per_cent(std::expm1(low)));
  if (low > 0)
    return fmt::format("{} (95 %: {} to {} % above)", middle, per_cent(std::expm1(low)),
                       per_cent(std::expm1(high)));
  return fmt::format("{} (95 %: {} to {})", middle, side_text(low), side_text(high));
}

std::string guess_text(const ProblemTable& table, const std::string& mine,
                       const std::string& baseline, const std::string& shown) {
  const auto row = std::ranges::find(table.rows, mine, &TableRow::label);
  const auto its = std::ranges::find(table.rows, baseline, &TableRow::label);
  if (row == table.rows.end() || its == table.rows.end()) return {};
  const ErrorsOf whose = deployed_errors(table.rows);
  std::size_t ranked = 0;
  for (const auto& set : ranked_sets(table, whose))
    if (table.rows[set.front()].set == row->set) ranked = set.size();
  const Comparison c = compare_rows(row->of(whose), its->of(whose), comparisons_of(ranked));
  if (c.verdict() == Verdict::lower || c.verdict() == Verdict::higher) return {};
  const std::size_t seeds = row->of(whose).seeds.size();
  const std::string with = fmt::format("with {} seed{}", seeds, seeds == 1 ? "" : "s");
  if (c.verdict() == Verdict::same)
    return fmt::format("its error is the same as that of {} within 5 %, {}", shown, with);
  return fmt::format("its error is not significantly different from that of {} {}", shown, with);
}

double welch_half_95(const Summary& a, const Summary& b) {
  if (a.count < 2 || b.count < 2) return std::nan("");
  const double na = static_cast<double>(a.count), nb = static_cast<double>(b.count);
  const double va = a.deviation * a.deviation / na, vb = b.deviation * b.deviation / nb;
  if (va + vb <= 0) return 0;
  const double freedom = (va + vb) * (va + vb) / (va * va / (na - 1.0) + vb * vb / (nb - 1.0));
  return student_quantile(0.975, std::max(freedom, 1.0)) * std::sqrt(va + vb);
}

}  // namespace stap
