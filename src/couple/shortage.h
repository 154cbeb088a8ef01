// Where the system has no process, socket, descriptor or room for a slot at present.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace stap {

/// Asks for the descriptors that so many slots need: many systems allow 1024 unless they are asked
/// for more.
void allow_descriptors(std::size_t slots);

/// How long a queue waits in a shortage: as long as other queries run, and 1.5 s of tries besides.
class Shortage {
 public:
  /// Somebody has answered.
  void over() { since_.reset(); }
  /// While what a slot threw is caught: seconds that it rests; `rest`: those of the last time.
  /// Throws it again when the time is over, and whatever is no Error(storage) at once.
  double bear(bool others_run, double rest);

 private:
  std::optional<std::chrono::steady_clock::time_point> since_{};  // without an answer
};

}  // namespace stap
