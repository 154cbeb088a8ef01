#include "stap/study/clusters.h"

#include <algorithm>
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

std::size_t warm_up_steps(const Study& study) {
  if (!study.drawn()) return 0;
  const auto sampler = make_sampler(study, study.grid);
  const std::size_t cluster = study.options.cluster;
  const double length = warm_up_before(cluster_start(cluster, study.dt), sampler->warm_up());
  const double steps = std::min(std::round(length / study.dt), 1e15);  // for whatever was written
  return (length > 0 ? static_cast<std::size_t>(steps) : 0) + cluster - 1;
}

std::size_t charged_warm_up(const Study& study) {
  const StudyOptions& o = study.options;
  return o.charge_warm_up ? (warm_up_steps(study) + o.cluster - 1) / o.cluster : 0;
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

void check_charged_warm_up(const Study& study, config::Complaints& complaints) {
  const StudyOptions& o = study.options;
  if (!o.charge_warm_up) return;
  const std::size_t charged = charged_warm_up(study);
  if (charged == 0)
    complaints.add("study.charge_warm_up",
                   study.drawn() ? "is true, but initial conditions have no warm-up to charge: "
                                   "give initial.warm_up, or leave it out"
                                 : "is true, but initial conditions come from a file, which does "
                                   "not say what they have cost: leave it out");
  if (charged >= o.pattern_budget())
    complaints.add("study.budget",
                   fmt::format("is {}, which pays for no step behind a warm-up of {} "
                               "(study.charge_warm_up): choose a larger one",
                               o.budget, charged * o.cluster),
                   config::origin_of(study.given, {"study.budget", "study.charge_warm_up"}));
}

}  // namespace stap
