#pragma once

#include <string>
#include <vector>

namespace stap::config {

/// A program and its arguments: never a line for a shell. When it is read, `{here}` in a word
/// becomes the folder of the file that says so, and a program with a '/' in its name that is not
/// absolute is one below that folder.
struct Arguments {
  std::vector<std::string> words;

  bool operator==(const Arguments&) const = default;
};

}  // namespace stap::config
