#pragma once

#include <string>
#include <string_view>

#include "stap/config/value.h"

namespace stap::config {

/// A plain (unquoted) scalar by the YAML 1.2 core schema: null, boolean, integer, real or text.
Value resolve_plain(std::string_view text);

/// A scalar on one line, so that reading it gives an equal value: 32, 1.0, .inf, word, "two words".
std::string scalar_text(const Value& scalar);

/// How a value looks in a message: 4, 'abc', [1, 2], "a map", "empty".
std::string shown(const Value& value);

/// The byte at which text stops being UTF-8 or holds a control character other than tab and line
/// breaks; npos if all is well.
std::size_t first_bad_byte(std::string_view text);

}  // namespace stap::config
