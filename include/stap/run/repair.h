#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stap/core/observer.h"
#include "stap/core/stop.h"
#include "stap/folder/fsck.h"

namespace stap {

/// What became of a file that was not whole.
struct RepairedFile {
  std::filesystem::path file;
  bool rebuilt = false;
  std::string how;  ///< from what, or why not
};

/// Rebuilds the files of a run that are damaged or missing, and touches no other. From what:
///
///   journal.jsonl    itself: the one byte of a line that was changed can be told by its checksum
///   config.yaml, manifest.json   the last line of the journal that says what they are
///   answers.bin      likewise, or the training set, where the purchase is complete
///   all others       the journal: the run is walked again beside its folder, with the recorded
///                    answers in the place of the solver, which is never asked
///
/// The last needs the build, device and instruction set with which the run was begun, since
/// networks are trained again to the same bits: every whole file must come out as it is, or nothing
/// of it is used. Pool and test set must be there (or are made, where the solver is ours).
/// `threads`: 0 = all. Throws InUse, Error(storage), and Stopped; what cannot be rebuilt is said in
/// the result.
std::vector<RepairedFile> repair_run(const RunFolder& folder, int threads, Observer& observer,
                                     const StopAsked& stop = {});

}  // namespace stap
