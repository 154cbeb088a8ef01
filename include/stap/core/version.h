#pragma once

#include <string_view>

namespace stap {

/// The library's version, "0.2.0".
std::string_view version();

}  // namespace stap
