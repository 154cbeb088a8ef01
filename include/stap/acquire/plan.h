#pragma once

#include <cstddef>
#include <vector>

#include "stap/core/pattern.h"

namespace stap {

struct Purchase {
  std::size_t candidate = 0;  ///< id in the pool
  Pattern pattern;
  bool operator==(const Purchase&) const = default;
};

/// What a round will buy.
struct Plan {
  std::vector<Purchase> purchases;  ///< no candidate twice, no pattern empty
  std::size_t unspent = 0;          ///< of the budget: the pool ran out, or this pays for no other
  std::size_t warm_up = 0;          ///< what each costs besides its pattern's steps
  std::size_t not_finite = 0;       ///< candidates a score could not judge

  /// Of all, warm-ups included.
  std::size_t cost() const;
  bool operator==(const Plan&) const = default;
};

}  // namespace stap
