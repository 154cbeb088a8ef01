#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/committee.h"
#include "stap/core/observer.h"
#include "stap/eval/metrics.h"

// Error bars that hold: split conformal calibration on whole trajectories
// (docs/internals/analyses.md has the definitions and the argument). A *scale* is what the
// committee's spread says about an error, a *score* an error over its scale, a *factor* a quantile
// of scores: bar = factor * scale.
namespace stap {

/// Whose bars: 0 the norm of all channels, 1 .. C the norm of each channel, C + 1 .. 2 C the band
/// of each, which is about every point of the field at once.
constexpr std::size_t bar_kinds(std::size_t channels) {
  return 1 + 2 * channels;
}

/// Scales of one state as the members predict it: of a norm max(spread, floor), at a point
/// sqrt(spread there^2 + (the channel's)^2). Infinite where a member is not finite.
struct BarScales {
  std::vector<double> scales;  ///< [kinds]; of a band the root mean square of those at its points
  std::vector<double> points;  ///< [C, X...]
};
/// `floor` [C]: the least scale of each channel, in its unit.
BarScales bar_scales(std::span<const std::span<const float>> members,
                     std::span<const double> floor);

/// Scores of rollouts of the averaged model from every state of trajectories, by start (calls after
/// the first state), kind, step since the start, trajectory.
struct BarTrials {
  std::size_t trajectories = 0, channels = 1, steps = 0, cluster = 1;
  /// [starts, kinds, steps, trajectories]; what would lie behind the end of a trajectory is 0.
  /// Scores are infinite from the first step on at which the rollout is not finite.
  std::vector<double> scores{}, scales{};

  std::size_t starts() const { return steps / cluster; }
  /// Starts that have a state so many steps (0-based) later.
  std::size_t starts_of(std::size_t step) const { return starts() - step / cluster; }
  std::size_t at(std::size_t start, std::size_t kind, std::size_t step) const {
    return ((start * bar_kinds(channels) + kind) * steps + step) * trajectories;
  }
};
/// Throws Error(data) unless the trajectories fit the committee.
BarTrials try_bars(Committee& committee, const TrajectoriesView& test,
                   std::span<const double> floor, std::size_t block = 64,
                   Observer* observer = nullptr);

/// What calibration found, and what it was found with.
struct ErrorBars {
  double level = 0;
  std::size_t trajectories = 0, channels = 1, steps = 0, cluster = 1;
  std::vector<double> floor{};  ///< [C]
  /// [kinds, steps]: for rollouts from the first state of a trajectory, and from any of its states,
  /// drawn at random. May be infinite.
  std::vector<double> first{}, any{};
  /// Bars of all channels, wider by this factor, hold at all steps of rollouts from all states of a
  /// trajectory together: what may be relied on by whoever chooses among them (HybridTurns). May be
  /// infinite; 0: not known.
  double together = 0;
  std::vector<double> widest{};         ///< [steps]: the greatest finite scale of all channels
  std::vector<std::uint64_t> states{};  ///< hashes of all states of the trajectories, rising
  std::string weights{};                ///< digest() of the model
  std::string run{}, on{};              ///< run_id(); what it was calibrated on, in words
  std::size_t round = 0;
};
/// The factors, steps and level; the rest is the caller's. Throws as check_level() does.
ErrorBars fit_bars(const BarTrials& trials, std::span<const double> floor, double level);

/// Of n trajectories with `each` scores, the one that a score drawn at random from a further
/// trajectory does not pass with probability `level`: the smallest with (n + 1) `level` `each` of
/// all n `each` scores at or below it. Throws likewise.
double conformal_quantile(std::vector<double> scores, std::size_t each, double level);

/// Throws Error(config) if so many trajectories are too few for the level, and says how many are
/// enough; or if it is not between 0 and 1.
void check_level(std::size_t trajectories, double level);

/// Infinite where the factor or the scale is.
double half_width(double factor, double scale);

/// A hash of a state in the precision of networks, and of the parameters of its row.
std::uint64_t state_hash(std::span<const float> state, std::span<const double> parameters = {});

/// JSON (format "bars/1"), and back. Throws Error(data), naming `where`.
inline constexpr const char* kBarsFormat = "bars/1";
config::Value to_value(const ErrorBars& bars);
ErrorBars error_bars_in(const config::Value& value, const std::string& where);

}  // namespace stap
