#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stap/core/observer.h"
#include "stap/core/parameters.h"

// Data that others made, as files that studies take. docs/how-to/your-data.md has the layouts.
namespace stap {

struct ImportOptions {
  std::string format = "auto";          ///< or npy, the-well, pdebench, stap
  std::vector<std::string> fields{};    ///< these and in this order; none: all that vary
  std::vector<std::string> channels{};  ///< their names; none: as the file says
  std::size_t time_stride = 1;          ///< every so many-th state
  std::size_t trajectories = 0;         ///< the first so many of all files together; 0: all
  double dt = 0.0;                      ///< between two states of a file; 0: as the file says
  std::vector<double> lengths{};        ///< of the domain; none: as the file says
  std::string layout{};                 ///< of .npy files: a letter an axis, b t c x y, as "btxyc"
  std::string name{};                   ///< of the problem; empty: as the file says
  /// Of each trajectory: "NAME", a scalar of the file, or "NAME=FILE.npy", values [B], with one
  /// file only; none: those that a file of ours names
  std::vector<std::string> parameters{};
};

/// Trajectories of a file that is not ours, as it describes them. Their values stay in the file
/// until they are read.
struct ForeignData {
  std::string layout;                 ///< which it was found to have
  std::string name;                   ///< of the problem; empty: not known
  std::vector<std::string> channels;  ///< names
  std::vector<std::size_t> points;    ///< X...: one or two axes
  std::vector<double> lengths;        ///< empty: not known
  double dt = 0.0;                    ///< between two states that are read; 0: not known
  std::size_t trajectories = 0, times = 0;
  RowParameters parameters{};      ///< of the trajectories
  std::vector<std::string> notes;  ///< what one should know about it
  /// Of trajectories `first` .. `first` + `count` - 1.
  using Read = std::function<std::vector<double>(std::size_t first, std::size_t count)>;
  Read read;     ///< their states, [count, T, C, X...]
  Read sources;  ///< what made each (StateSource of stap/results/export.h), [count, T]; or empty
  /// How many should be read at once, from multiples of it on: whole chunks of the file, so that
  /// none is unpacked twice, as long as these take no more than 256 MiB.
  std::size_t block = 1;
};
/// `times_expected`: whether a `.npy` file of the usual layout has times. Throws Error(data), with
/// file and shapes, for what has none of the layouts, or fields of different sizes, Error(config)
/// for options that do not fit the file.
ForeignData open_foreign(const std::filesystem::path& file, const ImportOptions& options,
                         bool times_expected);

enum class ImportAs {
  pool,         ///< `states` [B, C, X...]: the first state of every trajectory
  all_states,   ///< the same of every state
  test,         ///< `trajectory` [B, T, C, X...]
  transitions,  ///< stap/data/transitions.h: every two states in a row
};

struct Imported {
  ForeignData data;        ///< of the first file; `trajectories` and `notes` are of all of them
  std::size_t rows = 0;    ///< initial conditions, trajectories or transitions that were written
  bool was_there = false;  ///< the very file was there before
};

/// Reads files of one kind, one behind the other, and writes them as one of ours: in double, with
/// the attributes of StateInfo where the lengths are known, and the hash of their values.
/// `outputs`, for transitions only, names a file with the state after each of the one file's.
/// Throws Error(data) also for files that do not go together and values that are not finite,
/// Error(config) if transitions lack lengths, Error(storage). Progress: phases "read" and, but for
/// transitions, "write".
Imported import_files(std::span<const std::filesystem::path> files, ImportAs as,
                      const ImportOptions& options, const std::filesystem::path& out,
                      const std::filesystem::path& outputs = {}, Observer* observer = nullptr);
/// The same, but replaces nothing: a file that is there already must be the one that would be
/// written, which one finds who was stopped after its last byte. Throws Error(config) for another.
Imported import_once(std::span<const std::filesystem::path> files, ImportAs as,
                     const ImportOptions& options, const std::filesystem::path& out,
                     const std::filesystem::path& outputs = {}, Observer* observer = nullptr);

}  // namespace stap
