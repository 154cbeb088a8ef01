#include "stap/results/activation_map.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "stap/core/resident_rows.h"
#include "stap/eval/activations.h"

namespace stap {
namespace {

constexpr std::size_t kFullTrajectories = 64;  // enough to see their shape, few enough to draw
constexpr std::size_t kDirections = 8;

bool finite(std::span<const double> point) {
  return std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
}

// Features of the rows that are finite and that `keep` wants.
template <class Keep>
std::vector<double> finite_rows(const std::vector<double>& features, const Keep& keep) {
  std::vector<double> rows;
  for (std::size_t i = 0; i * kSketchSize < features.size(); ++i) {
    const auto row = std::span(features).subspan(i * kSketchSize, kSketchSize);
    if (keep(i) && finite(row)) rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

}  // namespace

ActivationMap map_activations(Committee& committee, const TrajectoriesView& test,
                              const TransitionSet& transitions) {
  const std::size_t k = test.cluster, values = committee.grid().values();
  const std::size_t calls = test.times / k - 1;
  ActivationMap map;
  map.trajectories = std::min(kFullTrajectories, test.count());
  map.states_each = calls;
  map.origins = transitions.origins;
  States<float> full(committee.grid(), map.trajectories * calls);
  Conditions full_conditions, bought_conditions;
  for (std::size_t i = 0; i < full.count(); ++i) {
    const float* start = test.states.row(i / calls * test.times + i % calls * k).data();
    std::copy_n(start, values, full.row(i).begin());
    full_conditions.add(i % calls, test.conditions.parameters_of(i / calls));
  }
  States<float> bought(committee.grid(), transitions.count());
  convert(transitions.inputs, bought.values());
  for (std::size_t i = 0; i < bought.count(); ++i)
    bought_conditions.add(transitions.origins[i].step, transitions.parameters.row(i));

  const auto full_features =
      sketched_states(committee, std::as_const(full).view(), full_conditions.view());
  const auto bought_features =
      sketched_states(committee, std::as_const(bought).view(), bought_conditions.view());
  const auto fitted = finite_rows(full_features, [](std::size_t) { return true; });
  const auto chosen =
      finite_rows(bought_features, [&](std::size_t i) { return map.origins[i].acquisition > 0; });
  if (fitted.size() < 2 * kSketchSize) {
    map.absent = "fewer than two states of test trajectories have finite activations";
    return map;
  }
  map.components = principal_components(fitted, kSketchSize, kDirections);
  map.full = map.components.coordinates(full_features);
  map.bought = map.components.coordinates(bought_features);
  map.full_variance = map.components.total_variance;
  map.bought_variance = total_variance(chosen, kSketchSize);
  return map;
}

}  // namespace stap
