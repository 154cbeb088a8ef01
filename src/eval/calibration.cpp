#include "stap/eval/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/resident_rows.h"
#include "stap/eval/statistics.h"

namespace stap {
namespace {

struct Squares {
  double spread = 0, mean_error = 0, member_error = 0;
};

// Sums over the values of one state; `members` are M predictions of `truth`.
Squares squares(const std::vector<std::span<const float>>& members, std::span<const float> truth) {
  const double m = static_cast<double>(members.size());
  Squares sum;
  for (std::size_t v = 0; v < truth.size(); ++v) {
    double mean = 0.0;
    for (const auto& member : members) mean += static_cast<double>(member[v]) / m;
    const double u = static_cast<double>(truth[v]);
    sum.mean_error += (mean - u) * (mean - u);
    for (const auto& member : members) {
      const double x = static_cast<double>(member[v]);
      sum.spread += (x - mean) * (x - mean) / m;
      sum.member_error += (x - u) * (x - u) / m;
    }
  }
  return sum;
}

// Positions of finite pairs; of one step, or of all.
std::vector<std::size_t> finite_pairs(const Calibration& c, std::size_t first, std::size_t stride) {
  std::vector<std::size_t> positions;
  for (std::size_t i = first; i < c.spread.size(); i += stride)
    if (std::isfinite(c.spread[i])) positions.push_back(i);
  return positions;
}

double correlation_at(const Calibration& c, const std::vector<double>& error,
                      const std::vector<std::size_t>& positions) {
  std::vector<double> x, y;
  for (std::size_t i : positions) {
    x.push_back(c.spread[i]);
    y.push_back(error[i]);
  }
  return rank_correlation(x, y);
}

}  // namespace

Calibration calibrate(Committee& committee, const TrajectoriesView& test, std::size_t block) {
  const std::size_t state = test.states.row_size, values = committee.grid().values();
  const std::size_t k = state == 0 ? 0 : values / state;
  const std::size_t count = test.times == 0 ? 0 : test.states.count / test.times;
  if (k == 0 || k * state != values || test.times < 2 * k || test.times % k != 0 || count == 0 ||
      block == 0)
    throw Error(ErrorKind::data,
                fmt::format("{} trajectories of {} states of {} values do not fit a committee "
                            "whose states have {}",
                            count, test.times, state, values));
  const std::size_t calls = test.times / k - 1;
  const auto members = static_cast<std::size_t>(committee.members());
  const double points = static_cast<double>(counted_points(committee.grid(), committee.fixed()));
  Calibration result{.trajectories = count, .steps = calls * k};
  for (std::vector<double>* array : {&result.spread, &result.mean_error, &result.member_error})
    array->resize(count * result.steps);

  const std::size_t most = std::min(block, count);
  const ResidentRows rows(committee, most * members);
  States<float> states(committee.grid(), most * members);
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t n = std::min(most, count - first);
    std::vector<std::size_t> index(n * members);
    std::vector<int> member(n * members);
    Conditions conditions;
    std::iota(index.begin(), index.end(), std::size_t{0});
    for (std::size_t r = 0; r < index.size(); ++r) {
      member[r] = static_cast<int>(r / n);
      // The first k states of a trajectory lie one behind the other: a cluster.
      const float* start = test.states.row((first + r % n) * test.times).data();
      std::copy_n(start, values, states.row(r).begin());
      conditions.add(test.conditions.step(first + r % n),
                     test.conditions.parameters_of(first + r % n));
    }
    committee.put(rows, 0, std::as_const(states).view().rows(0, index.size()), conditions.view());
    std::vector<char> lost(n, 0);
    for (std::size_t call = 0; call < calls; ++call) {
      committee.advance(rows, index, member, rows, index);
      committee.get(rows, 0, states.view().rows(0, index.size()));
      for (std::size_t r = 0; r < n; ++r)
        for (std::size_t frame = 0; frame < k; ++frame) {
          std::vector<std::span<const float>> predicted;
          for (std::size_t m = 0; m < members; ++m)
            predicted.push_back(std::as_const(states).row(m * n + r).subspan(frame * state, state));
          const std::size_t step = call * k + frame;
          const Squares sum =
              squares(predicted, test.states.row((first + r) * test.times + k + step));
          // Floats cannot overflow these sums: this is a value that was not finite.
          if (!std::isfinite(sum.member_error)) lost[r] = 1;
          const std::size_t at = (first + r) * result.steps + step;
          const auto root = [&](double s) { return lost[r] ? HUGE_VAL : std::sqrt(s / points); };
          result.spread[at] = root(sum.spread);
          result.mean_error[at] = root(sum.mean_error);
          result.member_error[at] = root(sum.member_error);
        }
    }
  }
  return result;
}

std::vector<CalibrationBin> quantile_bins(const Calibration& c, std::size_t bins) {
  std::vector<std::size_t> order = finite_pairs(c, 0, 1);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return c.spread[a] < c.spread[b]; });
  std::vector<CalibrationBin> result;
  for (std::size_t b = 0; b < bins; ++b) {
    const std::size_t begin = b * order.size() / bins, end = (b + 1) * order.size() / bins;
    if (begin == end) continue;
    CalibrationBin bin{.count = end - begin};
    const double n = static_cast<double>(bin.count);
    for (std::size_t i = begin; i < end; ++i) {
      bin.spread += c.spread[order[i]] / n;
      bin.mean_error += c.mean_error[order[i]] / n;
      bin.member_error += c.member_error[order[i]] / n;
    }
    result.push_back(bin);
  }
  return result;
}

RankCorrelations rank_correlations(const Calibration& c, const std::vector<double>& error) {
  RankCorrelations result{.overall = correlation_at(c, error, finite_pairs(c, 0, 1)),
                          .by_step = {}};
  for (std::size_t step = 0; step < c.steps; ++step)
    result.by_step.push_back(correlation_at(c, error, finite_pairs(c, step, c.steps)));
  return result;
}

std::size_t diverged(const Calibration& c) {
  return c.spread.size() - finite_pairs(c, 0, 1).size();
}

}  // namespace stap
