#pragma once

#include <span>

#include "stap/core/observer.h"
#include "stap/core/stop.h"

namespace stap {

struct Run;
struct ByHand;

/// Up to where: to the end; until what is to be bought next is bought, and nothing is trained; or
/// until networks are trained and evaluated and the next plan is on disk, and nothing is bought.
enum class Until { finished, bought, trained };
/// waiting: for answers of people; paused: as far as it should come, and not at the end.
enum class LoopEnd { finished, stopped, waiting, paused };

/// The loop over a list of runs, which move together: initial trajectories are bought; then, until
/// every run has R + 1 evaluations, all are trained, evaluated, and plan and buy. Members of runs
/// with equal networks are stacked in one engine; runs that differ in nothing that counts before
/// the first purchase (in their method, say, or in their rounds) share the training of round 0;
/// runs of one solver buy over one queue. `stop` is asked all the time: what is under way is given
/// up within a second, a block of the solver or an epoch (but what runs outside this process is
/// waited for, unless stop.now(), or the deadline comes first), what was bought or trained by then
/// is on disk, and the same call goes on. Where there is a deadline, no query or epoch is begun
/// that would not be done by then. Runs for which there is nothing to do in this part stay as they
/// are. `threads`: 0 = all. Throws Error(solver) where a solver fails more than its policy bears:
/// all else that it answered is on disk, and the same call asks again. Where a solver is a person
/// it goes on as far as it can with what was told, `by_hand` (null: nothing), says there what is
/// still to be asked, and the same call goes on with the answers; throws Error(data), and nothing
/// was recorded, for what was told but does not fit.
LoopEnd run_loop(std::span<Run> runs, int threads, Observer& observer, const StopAsked& stop = {},
                 ByHand* by_hand = nullptr, Until until = Until::finished);

}  // namespace stap
