#include "run/bought_rows.h"

#include <utility>

#include "stap/run/run.h"

namespace stap {

BoughtRows::BoughtRows(const TransitionSet& set, std::span<const std::size_t> rows,
                       const NetworkSpec& network, std::vector<StateMap> maps)
    : inputs(set.grid, rows.size()), outputs(set.grid, rows.size()), symmetries(std::move(maps)) {
  const std::size_t values = set.grid.values();
  Conditions conditions;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    convert(std::span(set.inputs).subspan(rows[i] * values, values), inputs.row(i));
    convert(std::span(set.outputs).subspan(rows[i] * values, values), outputs.row(i));
    conditions.add(set.origins[rows[i]].step, set.parameters.row(rows[i]));
  }
  told = told_rows(network, conditions.view(), rows.size());
}

BoughtTrajectories::BoughtTrajectories(const TransitionSet& set, std::span<const std::size_t> rows,
                                       std::size_t steps)
    : times((steps + 1) * set.cluster),
      cluster(set.cluster),
      states(set.grid, rows.size() / steps * (steps + 1)) {
  const std::size_t values = set.grid.values();
  std::size_t at = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % steps == 0) {
      convert(std::span(set.inputs).subspan(rows[i] * values, values), states.row(at++));
      conditions.add(set.origins[rows[i]].step, set.parameters.row(rows[i]));
    }
    convert(std::span(set.outputs).subspan(rows[i] * values, values), states.row(at++));
  }
}

TrajectoriesView BoughtTrajectories::view() const {
  const StatesView<const float> single{states.values().data(), states.count() * cluster,
                                       states.grid().values() / cluster};
  return {single, times, cluster, conditions.view()};
}

DataUnits units_of(const TransitionSet& set, std::size_t steps, const FitOptions& train,
                   const NetworkSpec& network,
                   const std::function<bool(std::size_t candidate)>& left_out) {
  const FixedFields* fixed = network.fixed.get();
  DataUnits units{initial_scaling(set, steps, left_out, train.loss, fixed), {}};
  units.loss_factors = loss_factors(train, units.scaling,
                                    network.target == NetworkOptions::Target::delta
                                        ? initial_changes(set, left_out, fixed)
                                        : std::vector<double>());
  return units;
}

}  // namespace stap
