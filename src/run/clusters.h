#pragma once

#include <cstddef>

#include "stap/acquire/ledger.h"

namespace stap {

/// A ledger of clusters in solver steps. `refused` and `failed` stay numbers of queries.
Ledger in_solver_steps(Ledger ledger, std::size_t cluster);

}  // namespace stap
