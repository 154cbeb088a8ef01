#pragma once

#include <string_view>

namespace stap {

/// The library's version, "0.1.0".
std::string_view version();

}  // namespace stap
