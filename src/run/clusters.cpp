#include "run/clusters.h"

namespace stap {

Ledger in_solver_steps(Ledger ledger, std::size_t cluster) {
  for (std::size_t* steps :
       {&ledger.budget, &ledger.bought, &ledger.warm_up, &ledger.charged_failures, &ledger.unspent})
    *steps *= cluster;
  return ledger;
}

}  // namespace stap
