#include "stap/eval/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

namespace stap {
namespace {

// P(T <= t) for t >= 0: the density is smooth, so Simpson's rule on the substitution t = tan(a)
// (which bounds the range) reaches 1e-12 with a few thousand points.
double student_below(double t, double freedom) {
  const double scale = std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) /
                       std::sqrt(freedom * 3.14159265358979323846);
  auto density = [&](double a) {
    const double x = std::tan(a), c = std::cos(a);
    return scale * std::pow(1 + x * x / freedom, -(freedom + 1) / 2) / (c * c);
  };
  constexpr int n = 4000;
  const double end = std::atan(t), h = end / n;
  double sum = density(0) + density(end);
  for (int i = 1; i < n; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * h);
  return 0.5 + sum * h / 3;
}

// p >= 0.5.
double find_quantile(double p, double freedom) {
  double low = 0, high = 1;
  while (student_below(high, freedom) < p) high *= 2;
  for (int i = 0; i < 80; ++i) {
    const double middle = 0.5 * (low + high);
    (student_below(middle, freedom) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// Ranks from 0; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      result[order[i]] = 0.5 * static_cast<double>(begin + end - 1);
  }
  return result;
}

}  // namespace

Summary summarise(std::span<const double> values) {
  Summary s;
  s.count = values.size();
  const double n = static_cast<double>(values.size());
  for (double v : values) s.mean += v / n;
  double squares = 0;
  for (double v : values) squares += (v - s.mean) * (v - s.mean);
  s.deviation =
      values.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares / (n - 1));
  return s;
}

double half_interval_95(const Summary& s) {
  if (s.count < 2) return std::numeric_limits<double>::quiet_NaN();
  const double n = static_cast<double>(s.count);
  // A table asks for hundreds of intervals of one sample size, and a quantile takes milliseconds.
  thread_local std::map<std::size_t, double> known;
  const auto [quantile, fresh] = known.try_emplace(s.count, 0.0);
  if (fresh) quantile->second = student_quantile(0.975, n - 1);
  return quantile->second * s.deviation / std::sqrt(n);
}

double student_quantile(double p, double freedom) {
  if (p < 0.5) return -student_quantile(1 - p, freedom);
  // Found once: it takes tens of milliseconds, and a table asks for the same ones in every cell.
  struct Found {
    double p, freedom, quantile;
  };
  thread_local std::vector<Found> all_found;
  for (const Found& found : all_found)
    if (found.p == p && found.freedom == freedom) return found.quantile;
  all_found.push_back({p, freedom, find_quantile(p, freedom)});
  return all_found.back().quantile;
}

double rank_correlation(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> a = ranks(x), b = ranks(y);
  const double middle = 0.5 * (static_cast<double>(a.size()) - 1);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - middle) * (b[i] - middle);
    aa += (a[i] - middle) * (a[i] - middle);
    bb += (b[i] - middle) * (b[i] - middle);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace stap
