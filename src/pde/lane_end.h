// How one row of a lane kernel ended. Plain data, so that kernel files may include it.
#pragma once

#include <cstddef>

namespace stap {

/// The most rows any instruction set advances at once.
inline constexpr std::size_t kMaxLanes = 8;

struct LaneEnd {
  enum class How {
    finished,
    unbounded,  ///< a bound was passed, or a value was not finite
    too_slow,   ///< dt was not reached in max_steps internal steps
    stalled,    ///< the error control asked for a step too small to make progress
  };
  How how = How::finished;
  std::size_t steps = 0;  ///< internal steps taken
};

}  // namespace stap
