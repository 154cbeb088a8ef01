#include "stap/acquire/plan.h"

namespace stap {

std::size_t Plan::cost() const {
  std::size_t cost = warm_up * purchases.size();
  for (const Purchase& purchase : purchases) cost += purchase.pattern.cost();
  return cost;
}

}  // namespace stap
