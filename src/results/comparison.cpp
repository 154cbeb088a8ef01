#include "stap/results/comparison.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "stap/eval/statistics.h"

namespace stap {
namespace {

std::string per_cent(double share) {
  const double value = 100.0 * share;
  if (std::abs(value) < 0.01) return "under 0.01";
  return std::abs(value) >= 9.95 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

}  // namespace

bool Comparison::told_apart() const {
  return std::isfinite(half) && std::abs(difference) > half;
}

bool Comparison::same() const {
  return std::abs(difference) <= 0.005;
}

Comparison compare_rows(const TableErrors& a, const TableErrors& b, std::size_t comparisons,
                        std::vector<double> TableCell::*log) {
  const Summary summary = paired_difference(a, b, Metric::rmse, log);
  Comparison result{summary.count, summary.mean, std::nan("")};
  if (summary.count < 2) return result;
  const double n = static_cast<double>(summary.count);
  const double outside = 0.05 / static_cast<double>(std::max<std::size_t>(comparisons, 1));
  result.half = student_quantile(1.0 - outside / 2.0, n - 1.0) * summary.deviation / std::sqrt(n);
  return result;
}

std::string change_text(double d) {
  if (d <= 0) return fmt::format("{} % lower", per_cent(-std::expm1(d)));
  if (d < std::log(2.0)) return fmt::format("{} % higher", per_cent(std::expm1(d)));
  return fmt::format("{:.3g} times as high", std::exp(d));
}

std::string change_text(const Comparison& c) {
  if (!std::isfinite(c.half)) return change_text(c.difference);
  if (c.difference == 0 && c.half == 0) return "exactly the same";
  const double low = c.difference - c.half, high = c.difference + c.half;
  if (high <= 0)
    return fmt::format("{} (95 % interval {} to {} %)", change_text(c.difference),
                       per_cent(-std::expm1(high)), per_cent(-std::expm1(low)));
  return fmt::format("{} (95 % interval {} to {})", change_text(c.difference), change_text(low),
                     change_text(high));
}

std::string guess_text(const ProblemTable& table, const std::string& mine,
                       const std::string& baseline, const std::string& shown) {
  const auto row = std::ranges::find(table.rows, mine, &TableRow::label);
  const auto its = std::ranges::find(table.rows, baseline, &TableRow::label);
  if (row == table.rows.end() || its == table.rows.end()) return {};
  const auto ranked = std::ranges::count_if(table.rows, [&](const TableRow& one) {
    return one.set == row->set && !one.members.seeds.empty();
  });
  const auto k = static_cast<std::size_t>(ranked);
  const Comparison c = compare_rows(row->members, its->members, k * (k - 1) / 2);
  if (c.told_apart() && !c.same()) return {};
  const std::size_t seeds = row->members.seeds.size();
  return fmt::format("the error cannot be told apart from that of {} with {} seed{}", shown, seeds,
                     seeds == 1 ? "" : "s");
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
