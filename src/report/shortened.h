#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stap {

inline constexpr std::size_t kShownName = 120;   ///< characters of a name that are shown
inline constexpr std::size_t kWholeName = 2000;  ///< and that are kept where one can look it up

/// A text of at most `most` characters: of a longer one its beginning and its end, with an ellipsis
/// between. Characters of UTF-8 stay whole.
std::string shortened(std::string_view text, std::size_t most = kShownName);

/// "3 seeds", "1 seed".
std::string count_text(std::size_t count, std::string_view one);
/// "a, b and c"; of more than twelve the rest is counted.
std::string names_text(const std::vector<std::string>& names);
/// "1,234": solver steps are whole numbers, their means hardly matter behind the point.
std::string grouped_digits(double number);
/// Within 0.5 %, or the same in the three digits that are shown.
bool same_error(double a, double b);

}  // namespace stap
