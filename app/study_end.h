#pragma once

#include <iosfwd>
#include <string>

#include "console.h"
#include "interrupt.h"
#include "stap/run/loop.h"

namespace stap::app {

/// Says how the loop over the runs of a folder has ended: with their tables, with questions that
/// wait, or stopped, which may end the program by the signal that asked for it.
void report_end(LoopEnd end, const std::string& folder, const ByHand& by_hand,
                const InterruptGuard& interrupt, Console& console, std::ostream& out);

}  // namespace stap::app
