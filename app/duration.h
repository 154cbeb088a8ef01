#pragma once

#include <optional>
#include <string>

namespace stap::app {

/// What is wrong with the value of an option that was given, or nothing: "$UNSET" means no choice
/// of the user's, so it is refused before it is taken for "not given".
std::string complaint_if_empty(const std::string& text);

/// Seconds of "90s", "9m", "1.5h" or "90"; none if it is empty. Throws Error(config), naming the
/// option.
std::optional<double> seconds_of(const std::string& text, const std::string& option);

/// "12 s", "3 min", "1.5 h".
std::string duration_text(double seconds);

}  // namespace stap::app
