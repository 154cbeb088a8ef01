#pragma once

#include <filesystem>

namespace stap {

/// Whether two files have the same bytes; one that cannot be read has none.
bool same_content(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace stap
