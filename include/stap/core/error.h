#pragma once

#include <stdexcept>
#include <string>

namespace stap {

/// What went wrong, by who can do something about it. The value is the program's exit code.
enum class ErrorKind {
  internal = 1,     ///< our bug
  config = 2,       ///< usage, options, impossible values
  data = 3,         ///< a file that is missing, damaged or of the wrong shape or format
  numerics = 4,     ///< a computation that left the numbers (not one failed row: that is an Answer)
  unavailable = 5,  ///< a device or feature this machine or build does not have
  storage = 6,      ///< a file or folder that cannot be written
  solver = 7,       ///< a solver that cannot go on (breaker, abort)
};

/// The library's one exception, with one kind of it that can be told apart. The message says what
/// was given, what was expected and what to do, and ends without a full stop.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

/// Another process works on the same files: Error(storage) that may go away by waiting.
class InUse : public Error {
 public:
  explicit InUse(const std::string& message) : Error(ErrorKind::storage, message) {}
};

}  // namespace stap
