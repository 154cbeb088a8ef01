#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "stap/core/parameters.h"
#include "stap/core/solver.h"
#include "stap/core/states.h"

namespace stap {

/// What a trajectory file says about itself.
struct TrajectoryInfo {
  std::string pde;
  double dt = 0.0;
  std::string options;         ///< the effective options, as YAML
  RowParameters parameters{};  ///< of the rows, where some vary
};

/// How a row ended; `failed_step` is the first time (1 .. L) it has no state for, -1 when ok.
struct RowEnd {
  Answer::Status status = Answer::Status::ok;
  std::string reason;
  std::int64_t failed_step = -1;
};

/// Writes `trajectory` [B, L+1, C, X...] (double, NaN where nothing was put), `status` [B] (0 ok,
/// 1 refused, 2 failed), `reason` [B] (text), `failed_step` [B], and the attributes format =
/// "trajectories/1", pde, options and those of StateInfo; where parameters vary also `parameters`
/// [B, P], parameter_names ("nu,k") and format "trajectories/2". All of it goes to a temporary file
/// beside `path`, its room taken at once: a place that cannot be written, or is full, shows before
/// the computing starts. Every function throws Error(storage) with the path and the cause.
class TrajectoryWriter {
 public:
  TrajectoryWriter(std::filesystem::path path, const Grid& grid, std::size_t rows,
                   std::size_t steps, const TrajectoryInfo& info);
  /// Without commit() the temporary file is removed and `path` is as it was.
  ~TrajectoryWriter();

  /// The states of all rows at one time, 0 .. L.
  void put(std::size_t time, StatesView<const double> states);
  /// Adds how each row ended and puts the file, safely on disk, in the place of `path`.
  void commit(std::span<const RowEnd> ends);

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace stap
