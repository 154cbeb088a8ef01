// {NAME} in the arguments of a program.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace stap {

/// The words with their placeholders replaced; '{{' is a brace. Throws Error(config), with a
/// suggestion, for one that is not known; `called`: what the words are called there.
std::vector<std::string> filled_in(const std::vector<std::string>& argv,
                                   const std::map<std::string, std::string>& known,
                                   const char* called = "argv");

/// Whether a text is in one of the words.
bool mentions(const std::vector<std::string>& argv, const std::string& text);

}  // namespace stap
