#pragma once

#include <string>
#include <vector>

#include "commands.h"
#include "stap/study/axes.h"

namespace stap::app {

/// The runs of a folder, with a solver that is asked by hand, however it was reached before.
std::vector<SweepRun> runs_by_hand(const std::string& folder, const Globals& globals);

}  // namespace stap::app
