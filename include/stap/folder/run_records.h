#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stap/acquire/ledger.h"
#include "stap/config/value.h"
#include "stap/data/store.h"
#include "stap/eval/extracts.h"

// What the files of a run folder hold, as values; run_folder.h reads and writes them.
namespace stap {

/// Seconds of a phase: initial, train, evaluate, select and its parts score and choose, acquire.
struct Timing {
  std::size_t round = 0;
  std::string phase;
  double seconds = 0.0;
};
/// Mean squared error of a member over an epoch of training; NaN where it was not finite.
struct Loss {
  std::size_t round = 0;
  int member = 0, epoch = 0;
  double loss = 0.0;
};
/// The names of their files: those that a run keeps of its own, and those that the analysis of a
/// sweep takes, of the same test trajectories in all of its methods.
inline constexpr const char* kOwnExtracts = "extracts.h5";
inline constexpr const char* kSharedExtracts = "analysis-extracts.h5";
struct RunExtracts {
  std::size_t round = 0;  ///< whose committee they show
  Extracts extracts;
  StateInfo states;
};
/// How a run is doing, for people and programs that look at it from outside; no run reads it.
struct RunStatus {
  struct Query {
    std::size_t candidate = 0, step = 0;
    double seconds = 0.0;  ///< so far
    std::string where{};   ///< slot and process
  };

  /// data (pool and test set are being made), initial, train, beside (trained, while runs of the
  /// same process still train), evaluate, select, acquire or done; bought or trained, where that
  /// was all it should do; stopped, waiting (for answers of people), failed.
  std::string phase{};
  std::size_t round = 0, rounds = 0;
  std::size_t budget = 0, spent = 0;    ///< solver steps of the purchase under way
  std::size_t failed = 0, refused = 0;  ///< of its queries
  std::size_t open = 0;                 ///< queries without an answer,
  std::vector<Query> running{};         ///< those of them that a slot works on,
  std::vector<Query> waiting{};         ///< and the first of those that wait for one
  std::string error{};                  ///< with which it ended
  // For estimates of the time left; 0: not known, or not in this phase.
  double since = 0.0;                       ///< when the phase began, seconds since 1970,
  std::size_t since_done = 0;               ///< and what was spent, or trained, by then
  std::size_t epochs = 0, epochs_done = 0;  ///< of all members, while they train
  std::size_t stage = 0, stages = 0;        ///< of their training, where there are several
  double usual = 0.0;                       ///< seconds of a solver step, the median of late
  std::string shares{};  ///< the run beside it whose training is its own, too: the first of methods

  // Of the process that wrote it; filled in by the writer.
  std::string host{};
  std::int64_t process = 0;
  double time = 0.0;  ///< seconds since 1970
};
/// "buying, round 2 of 5": what it does.
std::string phase_text(const RunStatus& status);
struct CommitteeFile {
  std::size_t round = 0;
  std::filesystem::path path;
};

/// A ledger as it stands in the journal, and back; `where` is for messages.
config::Value to_value(std::size_t acquisition, const Ledger& ledger);
Ledger read_ledger(const config::Value& body, const std::string& where);

}  // namespace stap
