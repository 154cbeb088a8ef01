#include "stap/eval/hybrid.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

constexpr double kNoBar = std::numeric_limits<double>::infinity();

}  // namespace

HybridTurns::HybridTurns(const ErrorBars& bars, const HybridRules& rules) : rules_(rules) {
  if (!(rules.tolerance > 0) || std::isinf(rules.tolerance))
    throw Error(ErrorKind::config,
                fmt::format("a tolerance of {:g} is none: give one above 0", rules.tolerance));
  if (rules.steps == 0) throw Error(ErrorKind::config, "a trajectory of no steps: give some");
  if (!(bars.together > 0))
    throw Error(ErrorKind::config,
                "these error bars do not say how often they hold together: 'stap calibrate' again");
  const auto all_channels = [&](const std::vector<double>& factors) {
    std::vector<double> wider(factors.begin(),
                              factors.begin() + static_cast<std::ptrdiff_t>(bars.steps));
    for (double& factor : wider) factor *= bars.together;
    return wider;
  };
  any_ = all_channels(bars.any);
  first_ = rules.from_any ? any_ : all_channels(bars.first);
}

Turn HybridTurns::next() const {
  if (step_ == rules_.steps) return Turn::done;
  return solver_left_ > 0 ? Turn::solver : Turn::surrogate;
}

double HybridTurns::drafted(double scale) {
  if (next() != Turn::surrogate)
    throw Error(ErrorKind::internal, "a step of the surrogate when it is not its turn");
  const std::size_t since = step_ - base_;
  const std::vector<double>& factors = base_ == 0 ? first_ : any_;
  lost_ = (since > 0 && lost_) || !std::isfinite(scale);
  const double bar = lost_ || since >= factors.size() ? kNoBar : half_width(factors[since], scale);
  const bool within = bar <= rules_.tolerance;
  const std::size_t allowed = rules_.most - std::min(rules_.most, base_);
  if (within || alone_ || allowed == 0) {
    beyond_ = beyond_ || !within;
    ++step_;
    return bar;
  }
  const std::size_t longer = pause_ == 0 ? 1 : std::min(2 * pause_, kPauseMost);
  pause_ = since > 0 ? 1 : longer;
  step_ = base_;
  solver_left_ = std::min({pause_, rules_.steps - base_, allowed});
  return bar;
}

void HybridTurns::solved() {
  if (next() != Turn::solver)
    throw Error(ErrorKind::internal, "a step of the solver when it is not its turn");
  base_ = ++step_;
  --solver_left_;
}

void HybridTurns::give_up() {
  alone_ = true;
  solver_left_ = 0;
  step_ = base_;
}

DraftLength::DraftLength(std::size_t most) : most_(most), next_(most) {
  if (most == 0) throw Error(ErrorKind::config, "drafts of no steps: give a number of at least 1");
}

void DraftLength::checked(std::size_t accepted) {
  next_ = accepted > 0 ? most_ : std::max<std::size_t>(next_ / 2, 1);
}

std::size_t accepted_steps(std::span<const double> differences, double tolerance) {
  const auto miss = std::ranges::find_if(differences, [&](double d) { return !(d <= tolerance); });
  return static_cast<std::size_t>(miss - differences.begin());
}

double state_distance(std::span<const double> a, std::span<const double> b, std::size_t channels) {
  double sum = 0.0;
  for (std::size_t v = 0; v < a.size(); ++v) sum += (a[v] - b[v]) * (a[v] - b[v]);
  return std::sqrt(sum * static_cast<double>(channels) / static_cast<double>(a.size()));
}

}  // namespace stap
