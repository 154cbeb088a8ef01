#pragma once

#include <string>
#include <string_view>

namespace stap {

/// Bytes as text, of RFC 4648 with padding.
std::string base64(std::string_view bytes);

}  // namespace stap
