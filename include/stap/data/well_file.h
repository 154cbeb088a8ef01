#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stap/core/outline.h"

namespace stap {

/// What a file of trajectories in the layout of The Well is about.
struct WellInfo {
  std::string name;                   ///< of the data
  Grid grid;                          ///< of its states
  std::vector<std::string> channels;  ///< their names: each is a scalar field
  std::vector<double> times;          ///< T, the same for all trajectories
  std::size_t trajectories = 0;       ///< B
  std::vector<Parameter> parameters;  ///< of the simulations
  std::vector<std::string> varied{};  ///< parameters that vary, each a scalar to add
};

/// Writes trajectories in the layout of The Well (polymathic-ai.org/the_well/data_format), in
/// single precision: `t0_fields` with a dataset [B, T, X...] for every channel, `dimensions`,
/// `boundary_conditions` (periodic or wall), `scalars`, and the attributes it asks for. Texts
/// and truths are of the types that h5py gives as str and bool. All of it goes to a file beside
/// `path`; every function throws Error(storage) with the path and the cause.
class WellWriter {
 public:
  WellWriter(std::filesystem::path path, const WellInfo& info);
  /// Without commit() nothing is left and `path` is as it was.
  ~WellWriter();

  /// The states of one trajectory, [T, C, X...]. One that is not put holds NaN.
  void put(std::size_t trajectory, std::span<const double> states);
  /// A number of every trajectory, [B], or, `by_time`, of every state, [B, T].
  void add_scalar(const std::string& name, bool by_time, std::span<const double> values);
  /// Puts the file, safely on disk, in the place of `path`. Once only.
  void commit();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace stap
