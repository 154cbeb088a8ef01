#pragma once

#include <string>

namespace stap::app {

/// What the exception being caught means to who called the program.
struct Failure {
  std::string message;
  int exit_code;
};
/// Call it in a catch block.
Failure caught_failure();

}  // namespace stap::app
