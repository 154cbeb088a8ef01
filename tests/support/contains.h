#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace stap::test {

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << part << "' is not in:\n" << text;
}

/// Text without the breaks of its long lines, which go on indented.
inline std::string unwrapped(std::string text) {
  for (std::size_t at; (at = text.find("\n  ")) != std::string::npos;)
    text.replace(at, std::min(text.find_first_not_of(' ', at + 1), text.size()) - at, " ");
  return text;
}

}  // namespace stap::test
