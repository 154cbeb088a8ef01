#pragma once

#include <cstddef>
#include <string>

namespace stap {

/// The pass (1-based) that a file of this name is the plan of: 1 for plan.json, 2 for plan-2.json;
/// 0 for any other name.
std::size_t pass_of(const std::string& name);

}  // namespace stap
