#include "stap/study/clusters.h"

#include <cmath>

#include <fmt/format.h>

#include "stap/core/cluster.h"
#include "stap/core/error.h"

namespace stap {

double cluster_start(std::size_t cluster, double dt) {
  return -static_cast<double>(cluster - 1) * dt;
}

double warm_up_before(double start, double warm_up) {
  const double left = warm_up + start;
  if (std::abs(left) <= 1e-9 * warm_up) return 0.0;  // equal, written in decimals
  if (left < 0)
    throw Error(ErrorKind::config,
                fmt::format("the warm-up is {:g}, but the first cluster begins {:g} before the "
                            "initial condition: choose a longer initial.warm_up or a smaller "
                            "study.cluster",
                            warm_up, -start));
  return left;
}

void check_steps_clusters(std::string_view path, std::size_t steps, std::size_t cluster,
                          config::Complaints& complaints) {
  if (cluster == 0 || steps % cluster == 0) return;
  complaints.add(std::string(path),
                 fmt::format("is {}, but networks make {} steps at once (cluster): choose {}, or a "
                             "cluster that divides {}",
                             steps, cluster, multiples_beside(steps, cluster), steps));
}

void check_trajectory_clusters(const StudyOptions& options, const Sampler* sampler, double dt,
                               config::Complaints& complaints) {
  check_steps_clusters("study.steps", options.steps, options.cluster, complaints);
  if (sampler == nullptr) return;
  try {
    warm_up_before(cluster_start(options.cluster, dt), sampler->warm_up());
  } catch (const Error& error) {
    complaints.add("study.cluster", fmt::format("is {}: {}", options.cluster, error.what()));
  }
}

void check_budget_clusters(const StudyOptions& options, config::Complaints& complaints) {
  if (options.budget % options.cluster == 0) return;
  complaints.add("study.budget",
                 fmt::format("is {}, but solver steps are bought {} at a time (study.cluster): "
                             "choose {}",
                             options.budget, options.cluster,
                             multiples_beside(options.budget, options.cluster)));
}

}  // namespace stap
