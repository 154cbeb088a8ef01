#pragma once

#include <cstddef>
#include <string_view>

namespace stap {

/// A member has finished an epoch of training.
struct EpochDone {
  int member = 0;     ///< index in the engine
  int epoch = 0;      ///< 0-based, the one just finished
  int epochs = 0;     ///< in all
  double loss = 0.0;  ///< mean squared error over the epoch's rows, before each step
  double learning_rate = 0.0;
};

/// Work of known size has moved on.
struct Progress {
  std::string_view phase;
  std::size_t done = 0;
  std::size_t total = 0;
  std::string_view unit = {};  ///< what is counted, in the plural: "trajectories"; may be empty
};

/// Receives events; the library itself never prints. Every function may be left out. Events of one
/// call come from one thread, in order.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void epoch_done(const EpochDone&) {}
  virtual void progress(const Progress&) {}
  /// Something the user should know and can act on.
  virtual void warning(std::string_view) {}
  /// Something the user may want to know; nothing is wrong.
  virtual void note(std::string_view) {}
};

}  // namespace stap
