// A query that failed, run again from the bundle it left. `stap solver replay`.
#pragma once

#include <filesystem>
#include <string>

#include "stap/config/value.h"
#include "stap/core/solver.h"
#include "stap/core/stop.h"

namespace stap {

/// What a folder with bundle.json (format bundle/1) and input.npy holds.
struct Bundle {
  std::filesystem::path folder{};
  std::string reason{};      ///< why it failed
  int attempt = 1;           ///< that failed
  Query query{};             ///< with the state
  config::Value document{};  ///< the sections pde and solver
};
/// Throws Error(data), with the file, for anything that is missing, too much, of another kind or
/// does not fit the section pde.
Bundle read_bundle(const std::filesystem::path& folder);

/// What became of it.
struct Replay {
  Answer answer{};
  double seconds = 0.0;            ///< from the question to the answer, its start included
  std::filesystem::path folder{};  ///< where the program's files are; empty: they are gone
  std::string log{};               ///< the last lines of what it printed; empty: none are known
};
/// Runs it once, as `document` (the bundle's own, or with other values) says; no second try.
/// `keep`: a folder for the program's files, made if it is not there; empty: they are not kept.
/// Throws Error(config) for a document that cannot be, Stopped.
Replay replay(const Bundle& bundle, const config::Value& document,
              const std::filesystem::path& keep, const StopAsked& stop = {});

}  // namespace stap
