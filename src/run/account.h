// How far the training of many runs is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stap/core/observer.h"
#include "stap/run/run.h"

namespace stap {

/// Epochs of all members of all runs, done and in all: what progress counts.
class Account : public Observer {
 public:
  Account(std::span<const Run> runs, Observer& listener);

  /// Now it is known how many epochs this round of a run has.
  void begin(const Run& run);
  /// What is being done now.
  void say(std::string phase);
  void warning(std::string_view text) override { listener_.warning(text); }
  /// Epochs that need not be trained here: others have trained them, or nobody has to.
  void add(std::size_t epochs) { done_ += epochs; }
  void drop(std::size_t epochs) { total_ -= epochs; }
  void epoch_done(const EpochDone& event) override;
  /// Losses since the last call, `member` being the engine's.
  std::vector<EpochDone> take_losses() { return std::exchange(losses_, {}); }

 private:
  Observer& listener_;
  std::string phase_;
  std::size_t done_ = 0, total_ = 0;
  std::vector<EpochDone> losses_;
};

}  // namespace stap
