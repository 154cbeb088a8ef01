// What a study with k-in, k-out networks needs beside the clusters themselves.
#pragma once

#include <cstddef>
#include <string_view>

#include "stap/config/complaints.h"
#include "stap/ic/sampler.h"
#include "stap/study/study.h"

namespace stap {

/// Time of the first of k states that end at time 0.
double cluster_start(std::size_t cluster, double dt);
/// Length of the warm-up that comes before time `start`; 0 (but for rounding) means that states are
/// there as they are drawn. Throws Error(config) if the warm-up is too short.
double warm_up_before(double start, double warm_up);

/// Learned steps that lead from a drawn state to the last state of an initial condition; 0 where
/// they are read from a file. Throws as warm_up_before() does.
std::size_t warm_up_steps(const Study& study);
/// What a chosen trajectory costs besides its pattern, in clusters: 0 without charge_warm_up.
std::size_t charged_warm_up(const Study& study);

/// Whether trajectories of so many steps are whole clusters; `path` is that of the steps.
void check_steps_clusters(std::string_view path, std::size_t steps, std::size_t cluster,
                          config::Complaints& complaints);
/// The same for a study, and whether the warm-up (of `sampler`, null: not looked at) is long enough
/// for the first cluster.
void check_trajectory_clusters(const StudyOptions& options, const Sampler* sampler, double dt,
                               config::Complaints& complaints);
/// Whether the budget is spent on whole clusters.
void check_budget_clusters(const StudyOptions& options, config::Complaints& complaints);
/// Whether a warm-up that is charged is there, and the budget pays for more than one.
void check_charged_warm_up(const Study& study, config::Complaints& complaints);

}  // namespace stap
