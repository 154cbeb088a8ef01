#pragma once

#include <cstddef>
#include <optional>

#include "stap/core/observer.h"
#include "stap/folder/run_folder.h"
#include "stap/journal/answer_log.h"
#include "stap/study/study.h"

namespace stap {

/// A run folder that nobody else can write to while this lives.
struct ClaimedFolder {
  RunFolder folder;
  AnswerLog log;  ///< open, and locked
  /// Begun on another device or with another instruction set, or walked on several devices.
  bool other_device = false;
  std::size_t ledgers = 0;  ///< acquisitions 0 .. ledgers - 1 have theirs in the journal
  /// The configuration with more rounds, for raise_rounds().
  std::optional<config::Value> raised{};
};

/// A study that goes on with a run in this folder means by what neither says what that run does
/// (keep_older_meaning()); nothing changes where no run is.
void keep_older_meaning(Study& study, const RunFolder& folder);

/// Throws what claim() would throw about this configuration, or another use of the folder, and
/// touches nothing: for a look before data are made.
void check_claim(const RunFolder& folder, const config::Value& document);

/// Makes a folder for a run or opens it to go on with it, and removes what killed processes have
/// left of our files in it. `document` is the complete configuration. In a folder that holds a run
/// - the configuration must be the same; `compute` may differ, and `study.rounds` may be larger;
/// - the problem (manifest.identity) must be the same, whatever the files it came from.
/// The observer is warned of what keeps the result from being bit-equal: another instruction set or
/// device. Nothing is touched in a folder that holds other things, or is refused. Throws
/// Error(config), with the differences, for another configuration or a folder of other things;
/// Error(data) for another problem, damaged or missing files and for a run of an earlier version;
/// Error(storage) if it cannot be written or is in use.
ClaimedFolder claim(RunFolder folder, const config::Value& document, const Manifest& manifest,
                    Observer& observer);

/// Gives a claimed run more rounds: `raised` replaces the folder's configuration. To be called when
/// all else in the folder has been read, so that a run that is refused stays what it was.
void raise_rounds(const RunFolder& folder, AnswerLog& log, const config::Value& raised);

}  // namespace stap
