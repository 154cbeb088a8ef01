#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

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
struct RunConfig {
  int version = 0;         ///< of the folder: 2, or 1 (read only)
  config::Value document;  ///< the configuration, without its format
};
struct RunExtracts {
  std::size_t round = 0;  ///< whose committee they show
  Extracts extracts;
  StateInfo states;
};
struct CommitteeFile {
  std::size_t round = 0;
  std::filesystem::path path;
};

/// A ledger as it stands in the journal, and back; `where` is for messages.
config::Value to_value(std::size_t acquisition, const Ledger& ledger);
Ledger read_ledger(const config::Value& body, const std::string& where);

}  // namespace stap
