#pragma once

#include <memory>

#include "stap/core/observer.h"
#include "stap/core/stop.h"
#include "stap/market/generate.h"
#include "stap/market/problem.h"

namespace stap {

/// Who may be asked for data that are not there.
enum class AskForData { anybody, no_program };

/// Fills in pool and test set, as far as the study does not read them from files: from the cache,
/// or made here. Throws Error(data) if they are not there and nobody may be asked, Stopped, and
/// what generate() throws.
void fill_data(Problem& problem, const Study& study, std::shared_ptr<const Solver> solver,
               DataRequest request, Observer& observer, const StopAsked& stop, AskForData ask);

}  // namespace stap
