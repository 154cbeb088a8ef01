#pragma once

#include <span>

#include "stap/config/family.h"

namespace stap::app {

/// Every section a config document may have, in the order in which it is shown. `list`, `describe`,
/// `check` and `schema` walk it.
std::span<const config::Family> families();

}  // namespace stap::app
