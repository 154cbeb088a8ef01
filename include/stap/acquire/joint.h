#pragma once

#include <cstddef>
#include <memory>

#include "stap/acquire/planner.h"
#include "stap/config/fields.h"

namespace stap {

/// Single transitions, drawn in proportion to a power of their score.
struct JointOptions {
  enum class Score { utility, spread };
  Score score = Score::utility;
  double exponent = 1.0;
};
/// The same by spread, then in the order of LCMD.
struct JointLcmdOptions {
  std::size_t preselect = 1000;
  double exponent = 1.0;
};

const config::Fields<JointOptions>& joint_fields();
const config::Fields<JointLcmdOptions>& joint_lcmd_fields();

/// Planners that take a transition of every candidate they take. Throw Error(config) if an option
/// is out of the range of its field.
std::unique_ptr<Planner> make_joint(const JointOptions& options);
/// Points are the hidden activations of single transitions; the first steps of trajectories that
/// are not open are centres.
std::unique_ptr<Planner> make_joint_lcmd(const JointLcmdOptions& options);

}  // namespace stap
