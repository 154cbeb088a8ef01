// Rollouts from every state of a trajectory, and the scores of their errors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/eval/error_bars.h"
#include "stap/eval/rollout_models.h"

namespace stap {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

// Root mean square by channel and over all of them, as kinds 0 .. C have it.
void root_norms(std::span<const double> squared, std::size_t points, std::span<double> to) {
  double all = 0;
  for (std::size_t c = 0; c < squared.size(); ++c) {
    to[1 + c] = std::sqrt(squared[c] / static_cast<double>(points));
    all += squared[c];
  }
  to[0] = std::sqrt(all / static_cast<double>(points));
}

// An error beyond all numbers is beyond every bar; a bar beyond them holds for any other.
double score(double error, double scale) {
  if (!std::isfinite(error)) return kNoBound;
  return std::isfinite(scale) ? error / scale : 0.0;
}

// [kinds] of one predicted state.
void score_state(std::span<const float> mean, std::span<const float> truth, const BarScales& scales,
                 std::size_t channels, std::span<double> to) {
  const std::size_t points = truth.size() / channels;
  std::vector<double> squared(channels, 0.0), error(1 + channels);
  for (std::size_t c = 0; c < channels; ++c) {
    double& band = to[1 + channels + c] = 0.0;
    for (std::size_t p = 0; p < points; ++p) {
      const std::size_t v = c * points + p;
      const double e = static_cast<double>(mean[v]) - static_cast<double>(truth[v]);
      squared[c] += e * e;
      band = std::max(band, score(std::abs(e), scales.points[v]));
    }
  }
  root_norms(squared, points, error);
  for (std::size_t kind = 0; kind <= channels; ++kind)
    to[kind] = score(error[kind], scales.scales[kind]);
}

std::size_t channels_of(const Committee& committee, const TrajectoriesView& test,
                        std::span<const double> floor) {
  const std::size_t k = test.cluster, channels = committee.grid().channels;
  if (k == 0 || channels % k != 0 || test.states.row_size * k != committee.grid().values() ||
      test.count() == 0 || test.times % k != 0 || test.times < 2 * k)
    throw Error(
        ErrorKind::data,
        fmt::format("{} trajectories of {} states of {} values do not fit a committee "
                    "whose states have {}",
                    test.count(), test.times, test.states.row_size, committee.grid().values()));
  if (floor.size() != channels / k)
    throw Error(ErrorKind::internal,
                fmt::format("{} floors of {} channels", floor.size(), channels / k));
  return channels / k;
}

// The first k states of a trajectory lie one after the other: a cluster.
States<float> states_at(const Committee& committee, const TrajectoriesView& test,
                        std::size_t start) {
  States<float> states(committee.grid(), test.count());
  for (std::size_t b = 0; b < test.count(); ++b)
    std::copy_n(test.states.row(b * test.times + start * test.cluster).data(),
                committee.grid().values(), states.row(b).begin());
  return states;
}

}  // namespace

BarScales bar_scales(std::span<const std::span<const float>> members,
                     std::span<const double> floor) {
  const std::size_t channels = floor.size(), values = members.front().size();
  const std::size_t points = values / channels;
  const double m = static_cast<double>(members.size());
  BarScales result{.scales = std::vector<double>(bar_kinds(channels)),
                   .points = std::vector<double>(values)};
  std::vector<double> squared(channels, 0.0);
  for (std::size_t v = 0; v < values; ++v) {
    double mean = 0.0;
    for (const auto& member : members) mean += static_cast<double>(member[v]) / m;
    for (const auto& member : members) {
      const double d = static_cast<double>(member[v]) - mean;
      result.points[v] += d * d / m;
    }
    squared[v / points] += result.points[v];
  }
  root_norms(squared, points, result.scales);
  const double least =
      std::sqrt(std::inner_product(floor.begin(), floor.end(), floor.begin(), 0.0));
  const auto at_least = [](double spread, double bound) {
    return std::isfinite(spread) ? std::max(spread, bound) : kNoBound;
  };
  result.scales[0] = at_least(result.scales[0], least);
  for (std::size_t c = 0; c < channels; ++c) {
    double& scale = result.scales[1 + c] = at_least(result.scales[1 + c], floor[c]);
    double sum = 0.0;
    for (std::size_t v = c * points; v < (c + 1) * points; ++v) {
      const double squares = result.points[v] + scale * scale;
      result.points[v] = std::isfinite(squares) ? std::sqrt(squares) : kNoBound;
      sum += result.points[v] * result.points[v];
    }
    result.scales[1 + channels + c] = std::sqrt(sum / static_cast<double>(points));
  }
  return result;
}

BarTrials try_bars(Committee& committee, const TrajectoriesView& test,
                   std::span<const double> floor, std::size_t block, Observer* observer) {
  const std::size_t channels = channels_of(committee, test, floor), kinds = bar_kinds(channels);
  const std::size_t k = test.cluster, state = test.states.row_size;
  BarTrials trials{
      .trajectories = test.count(), .channels = channels, .steps = test.steps(), .cluster = k};
  trials.scores.resize(trials.starts() * kinds * trials.steps * trials.trajectories);
  trials.scales.resize(trials.scores.size());
  std::vector<int> models(static_cast<std::size_t>(committee.members()) + 1, kMean);
  std::iota(models.begin() + 1, models.end(), 0);  // the averaged model, then the members
  std::vector<std::uint32_t> told(test.count());
  std::size_t done = 0, total = 0;
  for (std::size_t start = 0; start < trials.starts(); ++start)
    total += (trials.steps - start * k) * test.count();

  for (std::size_t start = 0; start < trials.starts(); ++start) {
    const States<float> initial = states_at(committee, test, start);
    for (std::size_t b = 0; b < told.size(); ++b)
      told[b] = test.conditions.step(b) + static_cast<std::uint32_t>(start);
    ConditionsView conditions = test.conditions;
    conditions.steps = told;
    std::vector<char> lost(test.count(), 0), wild(test.count(), 0);
    roll_out_models(
        committee, initial.view(), models, trials.starts() - start, block,
        [&](std::size_t call, std::size_t first, std::span<const StatesView<const float>> made) {
          const std::size_t rows = made.front().count;
          for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t frame = 0; frame < k; ++frame) {
              const std::size_t b = first + r, step = call * k + frame;
              std::vector<std::span<const float>> members;
              for (const auto& model : made.subspan(1))
                members.push_back(model.row(r).subspan(frame * state, state));
              const BarScales scales = bar_scales(members, floor);
              std::vector<double> scores(kinds);
              score_state(made.front().row(r).subspan(frame * state, state),
                          test.states.row(b * test.times + (start + 1) * k + step), scales,
                          channels, scores);
              // What has diverged stays so, whatever the networks make of it.
              lost[b] |= static_cast<char>(std::isinf(scores[0]));
              wild[b] |= static_cast<char>(std::isinf(scales.scales[0]));
              for (std::size_t kind = 0; kind < kinds; ++kind) {
                const std::size_t at = trials.at(start, kind, step) + b;
                trials.scales[at] = wild[b] ? kNoBound : scales.scales[kind];
                trials.scores[at] = lost[b] ? kNoBound : wild[b] ? 0.0 : scores[kind];
              }
            }
          done += rows * k;
          if (observer)
            observer->progress(
                {.phase = "error bars", .done = done, .total = total, .unit = "steps"});
        },
        conditions);
  }
  return trials;
}

}  // namespace stap
