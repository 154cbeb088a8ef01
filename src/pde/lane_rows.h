// Rows in the lanes of registers, for kernels (*.isa.cpp) only.
#pragma once

#include "core/simd.h"
#include "pde/lane_end.h"

namespace stap::STAP_ISA {

using V = Vec<double>;
using Mask = VecOf<double>::mask;
inline constexpr std::size_t kRows = kLanes<double>;
static_assert(kRows <= kMaxLanes);

inline void exchange(double*& a, double*& b) {
  double* const old = a;
  a = b;
  b = old;
}

/// The rows that are still on their way, and how the others ended.
class Rows {
 public:
  Rows(std::size_t rows, LaneEnd* ends) : rows_(rows), open_(rows), ends_(ends) {
    for (std::size_t r = 0; r < rows; ++r) active_[r] = -1;
  }
  bool any() const { return open_ > 0; }
  const Mask& active() const { return active_; }
  std::size_t count() const { return rows_; }

  void end(std::size_t r, LaneEnd::How how, std::size_t steps) {
    ends_[r] = {how, steps};
    active_[r] = 0;
    --open_;
  }

  /// After internal step `taken`: ends the rows that are not `inside` the bounds, those that have
  /// reached dt, and those that may take no further step.
  void end_step(const Mask& inside, const Mask& reached, std::size_t taken, std::size_t max_steps) {
    for (std::size_t r = 0; r < rows_; ++r) {
      if (!active_[r]) continue;
      if (!inside[r])
        end(r, LaneEnd::How::unbounded, taken);
      else if (reached[r])
        end(r, LaneEnd::How::finished, taken);
      else if (taken == max_steps)
        end(r, LaneEnd::How::too_slow, taken);
    }
  }

 private:
  std::size_t rows_, open_;
  LaneEnd* ends_;
  Mask active_{};
};

}  // namespace stap::STAP_ISA
