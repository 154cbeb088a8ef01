#pragma once

#include <optional>
#include <string>

namespace stap::app {

/// Seconds of "90s", "9m", "1.5h" or "90"; none if it is empty. Throws Error(config), naming the
/// option.
std::optional<double> seconds_of(const std::string& text, const std::string& option);

}  // namespace stap::app
