// Training in stages (study.stages): a round's networks are trained on, each time for twice as many
// steps, as long as that lowers the error on what is held back from training.
#pragma once

#include <cstddef>
#include <vector>

#include "stap/core/committee.h"
#include "stap/run/run.h"

namespace stap {

/// The last stage is the one that lowers the error by less than this share of it.
inline constexpr double kLeastGain = 0.05;

/// How a stage is trained: 2^stage times as long as the first.
FitOptions stage_options(FitOptions first, std::size_t stage);
/// Epochs of so many stages on so many rows.
int epochs_of_stages(const FitOptions& first, std::size_t rows, std::size_t stages);

/// Stages that this round may have: one, while nothing is held back.
std::size_t most_stages(const Run& run);
/// Those that it has had, the one under way included.
std::size_t stages_begun(const Run& run);
/// Epochs of all members in this round: done, and those that its stages may still take.
std::size_t epochs_trained(const Run& run);
std::size_t epochs_left(const Run& run);

/// Puts the run at the beginning of a stage; its members are still to be set.
void set_stage(Run& run, std::size_t stage);
/// Once the members, which are those of `committee`, have all epochs of their stage: their error on
/// what is held back. Only where there may be several stages.
void measure_stage(Run& run, Committee& committee);
/// Then: begins the next stage, or ends the training of the round with the best members so far.
/// Either is on disk then.
void end_stage(Run& run);

}  // namespace stap
