#include "stap/results/chosen_steps.h"

namespace stap {

std::vector<double> ChosenSteps::frequency(std::optional<std::size_t> round) const {
  std::vector<double> counts(steps, 0.0);
  double trajectories = 0;
  for (std::size_t r = 0; r < rounds.size(); ++r) {
    if (round && *round != r) continue;
    for (const Purchase& p : rounds[r]) {
      trajectories += 1;
      for (std::size_t i = 0; i < steps; ++i) counts[i] += p.pattern[i] ? 1.0 : 0.0;
    }
  }
  for (double& c : counts) c = trajectories > 0 ? c / trajectories : 0.0;
  return counts;
}

}  // namespace stap
