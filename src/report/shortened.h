#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stap {

inline constexpr std::size_t kShownName = 120;   ///< characters of a name that are shown
inline constexpr std::size_t kWholeName = 2000;  ///< and that are kept where one can look it up

/// A text of at most `most` characters: of a longer one its beginning and its end, with an ellipsis
/// between. Characters of UTF-8 stay whole.
std::string shortened(std::string_view text, std::size_t most = kShownName);

}  // namespace stap
