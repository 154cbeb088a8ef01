// Which of a study's symmetries were tried on the user's own solver.
#pragma once

#include <string>
#include <vector>

#include "stap/study/study.h"

namespace stap {

/// Those that the study states and that were not kept as tried; all where there is no cache. None
/// of built-in equations, with which they are tried whenever a study is made, and of solvers that
/// start no program.
std::vector<std::string> untried_symmetries(const Study& study);

/// Keeps in the cache that these were tried on the study's solver and nothing speaks against them.
void keep_tried_symmetries(const Study& study, const std::vector<std::string>& symmetries);

}  // namespace stap
