// What those who look from outside are told beside the phases: RunStatus.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "run/training.h"
#include "stap/core/observer.h"
#include "stap/folder/run_folder.h"

namespace stap {

/// As RunStatus has times.
double seconds_since_1970();

/// How far a group's training is, in status.json of its runs: at most once a second, and for less
/// than a hundredth of the time, however many runs there are. Hands epochs on to the account.
class TrainingNews : public Observer {
 public:
  /// `followers`: runs that take their networks from another one, and which. Group and account must
  /// live as long.
  TrainingNews(const Group& group, std::span<const std::pair<std::size_t, std::size_t>> followers,
               Account& account);

  void epoch_done(const EpochDone& event) override;

 private:
  using Clock = std::chrono::steady_clock;

  void tell() const;

  const Group& group_;
  Account& account_;
  std::vector<std::size_t> before_, done_;  // epochs of all members, by run
  std::vector<const Run*> leaders_;         // null: it trains by itself
  std::vector<char> here_;  // those that this training is of, also when theirs is over
  double since_;
  Clock::time_point told_{};  // never: the first epoch is told of at once
  Clock::duration took_{};
};

/// That the data of a run that has not begun are being made, in its status.json: nobody holds the
/// folder yet, so this is all that may be written there. At most once a second; hands everything
/// on.
class DataNews final : public Observer {
 public:
  DataNews(RunFolder folder, std::size_t rounds, Observer& listener)
      : folder_(std::move(folder)), rounds_(rounds), listener_(listener) {}

  void warning(std::string_view text) override { listener_.warning(text); }
  void note(std::string_view text) override { listener_.note(text); }
  void progress(const Progress& event) override;
  /// They are made and the run is ours, but may wait for the data of others.
  void withdraw() const;

 private:
  RunFolder folder_;
  std::size_t rounds_;
  Observer& listener_;
  std::chrono::steady_clock::time_point next_{};
  bool told_ = false;
};

}  // namespace stap
