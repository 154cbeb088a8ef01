// What is known of a study's symmetries from trying them on the user's own solver.
#pragma once

#include <string>
#include <vector>

#include "stap/study/study.h"

namespace stap {

/// Symmetries that a study states and that do not follow from those that hold.
struct DoubtedSymmetries {
  std::vector<std::string> untried;
  std::vector<std::string> broken;  ///< did not hold when they, or others beside them, were tried
};
/// As the cache has it; where there is none, nothing was tried. None of built-in equations, with
/// which they are tried whenever a study is made, and of solvers that start no program.
DoubtedSymmetries doubted_symmetries(const Study& study);

/// Keeps in the cache how these went on the study's solver, in the place of what was known of them.
/// A solver is known by its configuration, not by what its files hold.
void keep_tried_symmetries(const Study& study, const std::vector<std::string>& hold,
                           const std::vector<std::string>& broken);

}  // namespace stap
