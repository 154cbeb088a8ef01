// Whether the sections of a study fit each other: what one section's table cannot know.
#pragma once

#include "stap/study/study.h"

namespace stap {

/// Looks at what is there; sets the study's grid and dt.
void check_fit(Study& study, Purpose purpose, config::Complaints& complaints);

/// The parts of a method that is not a planner.
std::unique_ptr<Selector> make_selector(const Study& study);
std::unique_ptr<StepChooser> make_chooser(const Study& study);

}  // namespace stap
