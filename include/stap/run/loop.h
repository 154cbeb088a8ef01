#pragma once

#include <functional>
#include <span>

#include "stap/core/observer.h"
#include "stap/run/run.h"

namespace stap {

enum class LoopEnd { finished, stopped };

/// The loop over a list of runs: train all, evaluate, and for each plan, buy, append; until every
/// run has R + 1 evaluations. Members of runs with equal networks are stacked in one engine; runs
/// that differ in nothing that counts before the first purchase (in their method, say, or in their
/// rounds) share the training of round 0, which is the same for all.
/// `stop` is asked after every epoch of training and every purchase.
LoopEnd run_loop(std::span<Run> runs, int threads, Observer& observer,
                 const std::function<bool()>& stop);

}  // namespace stap
