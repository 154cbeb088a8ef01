#include "stap/results/chosen_steps.h"

#include <algorithm>
#include <limits>

#include "results/run_records.h"
#include "stap/config/value.h"

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

ChosenSteps read_chosen_steps(const RunResult& run) {
  const RunFolder folder(run.folder);
  const std::size_t trained = run.without_errors() ? folder.newest_committee().round + 1
                                                   : std::max(run.evaluated(), run.rounds_done);
  const config::Value* pool = config::find_path(run.config, "study.pool");
  const auto size = pool != nullptr ? pool->integer<std::uint64_t>().value_or(0) : 0;
  // A pool of 0 is all of a file: how many that is nobody needs to know here.
  return chosen_steps(folder, trained > 0 ? trained - 1 : 0,
                      size > 0 ? size : std::numeric_limits<std::size_t>::max(),
                      run.steps / run.cluster);
}

}  // namespace stap
