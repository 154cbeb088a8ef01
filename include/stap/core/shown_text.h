// Text as people should see it, whoever has written it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stap {

/// The text with whatever a terminal would obey, or would show in another order than it is read,
/// made visible: control characters (but not line breaks and tabs) and those that turn the
/// direction of writing as "\u001b", which is also what JSON writes for them; bytes that are not
/// UTF-8 as "\xff".
std::string printable(std::string_view text);

/// A word as a shell reads it back: in quotes where it must be.
std::string shell_quoted(const std::string& word);

/// "4.9 MiB", for people.
std::string size_text(std::uintmax_t bytes);

}  // namespace stap
