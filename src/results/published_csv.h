#pragma once

#include <string_view>

namespace stap {

/// The text of published.csv; made by cmake/StapPresets.cmake.
std::string_view published_csv();

}  // namespace stap
