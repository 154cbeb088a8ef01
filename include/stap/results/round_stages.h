#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stap/config/value.h"

namespace stap {

/// What became of the stages of a round's training (study.stages), as metrics.jsonl has it.
struct RoundStages {
  std::size_t round = 0;
  std::size_t kept = 0;             ///< the stage whose networks count; the first is 0
  std::vector<double> held_back{};  ///< error after each, infinite where it is not finite; none
                                    ///< where nothing was held back
  bool damaged = false;             ///< what is there cannot be read; there is nothing else then

  /// Those after the one that is kept.
  std::size_t thrown_away() const { return held_back.empty() ? 0 : held_back.size() - 1 - kept; }
};

/// From a line of metrics.jsonl; empty where it says nothing of stages. Damage is no error: it is
/// not what a run is for.
std::optional<RoundStages> read_stages(const config::Value& line, std::size_t round);
/// Of all these rounds.
std::size_t thrown_away(const std::vector<RoundStages>& rounds);

}  // namespace stap
