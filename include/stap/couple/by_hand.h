#pragma once

#include <cstddef>
#include <memory>

#include "stap/config/fields.h"
#include "stap/core/outline.h"
#include "stap/core/solver.h"

namespace stap {

/// A solver that is somebody else, who computes elsewhere: how it is asked.
struct ByHandOptions {
  /// The most consecutive steps of one question: many, since every exchange takes people's time.
  std::size_t steps_at_once = 1000;
};
const config::Fields<ByHandOptions>& by_hand_fields();
/// Its name in a configuration.
inline constexpr const char* kByHand = "by-hand";

/// Its queue keeps what is submitted as questions() and never answers by itself; whoever drives it
/// brings answers by answer(), or comes back another time. It has no failure policy: a query that
/// people say failed has failed.
std::unique_ptr<Solver> make_by_hand_solver(const Outline& outline,
                                            const ByHandOptions& options = {});

}  // namespace stap
