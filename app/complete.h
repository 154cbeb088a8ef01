#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace stap::app {

/// `stap complete WORD...`, which a shell asks: what the last of the words may become, one a line,
/// each perhaps with a tab and what it means. What ends in "=", "," or "/" goes on. Never throws.
void complete(const CLI::App& program, std::span<const std::string> words, std::ostream& out);

}  // namespace stap::app
