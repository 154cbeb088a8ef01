#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stap/core/states.h"

// Reading HDF5 files. Everything here throws Error(data), with the path and what is wrong, for
// files that are missing, damaged or of the wrong shape or type, and for content that is kept
// elsewhere (external links and storage, virtual datasets, filters that need a plug-in). Files
// that carry no seal of ours are read in a child process (fork) with limits on memory, time and
// system calls, because HDF5 does not survive all of them: one that crashes it is Error(data), too;
// Error(unavailable) if there can be no such process. HDF5 is not thread-safe: one thread at a
// time, the writer of trajectory_file.h included.
namespace stap {

/// How files of rows carry parameters that vary: a dataset [rows, P], and an attribute of the file
/// with their names, between commas.
inline constexpr const char *kParameters = "parameters", *kParameterNames = "parameter_names";

/// An array of any rank, last axis contiguous; a scalar has an empty shape and one value.
template <class T>
struct Array {
  std::vector<std::size_t> shape;
  std::vector<T> values;
};

/// What the states of a file are, as attributes: `equation` (text), `channels`, `points` (whole
/// numbers), `lengths`, `dt`. Of single states and steps, also where the file holds clusters.
struct StateInfo {
  std::string equation;  ///< or the name of another solver; empty: not known
  Grid grid;
  double dt = 0.0;  ///< of one learned step; 0: not known
};

/// "4 x 1 x 256", "scalar".
std::string shape_text(std::span<const std::size_t> shape);

/// A dataset of real numbers, integers or booleans, as double.
Array<double> read_array(const std::filesystem::path& path, const std::string& dataset);
/// The same of a file that another program wrote or changed, which is never taken for ours.
Array<double> read_foreign_array(const std::filesystem::path& path, const std::string& dataset);
/// Its shape, without its values.
std::vector<std::size_t> read_shape(const std::filesystem::path& path, const std::string& dataset);
/// Shape of the chunks that it is stored in; empty: it is in one piece.
std::vector<std::size_t> read_chunks(const std::filesystem::path& path, const std::string& dataset);
/// Rows `first` .. `first` + `count` - 1 of its first axis; they must be there.
Array<double> read_rows(const std::filesystem::path& path, const std::string& dataset,
                        std::size_t first, std::size_t count);
/// A dataset of whole numbers; real ones are refused.
Array<std::int64_t> read_integers(const std::filesystem::path& path, const std::string& dataset);
/// A dataset of strings.
Array<std::string> read_text(const std::filesystem::path& path, const std::string& dataset);
/// Names of all datasets, groups joined by '/', without a leading one; sorted.
std::vector<std::string> list_datasets(const std::filesystem::path& path);

/// Attributes of a dataset or group; "/" is the file itself.
bool has_attribute(const std::filesystem::path& path, const std::string& object,
                   const std::string& name);
Array<double> read_attribute(const std::filesystem::path& path, const std::string& object,
                             const std::string& name);
std::string read_text_attribute(const std::filesystem::path& path, const std::string& object,
                                const std::string& name);
/// A list of texts; an empty list may be of any type.
std::vector<std::string> read_text_list(const std::filesystem::path& path,
                                        const std::string& object, const std::string& name);

/// What a file says about its states. Throws Error(data) also if it names no grid, or none that can
/// be.
StateInfo read_state_info(const std::filesystem::path& path);

/// States of this grid: dataset `states` [B, C, X...] or, where there is none, the first time of
/// `trajectory` [B, T, C, X...]. B >= 1. Values that are not finite are handed on: refusing them is
/// the solver's business, row by row.
States<double> read_states(const std::filesystem::path& path, const Grid& grid);

/// The same for models that take k states at once: dataset `states` [B, k C, X...] or the first k
/// times of `trajectory` [B, T, C, X...], T >= k; as clusters (stap/core/cluster.h), `grid` being
/// theirs.
States<double> read_clusters(const std::filesystem::path& path, const Grid& grid,
                             std::size_t cluster);

/// Whole trajectories of this grid: dataset `trajectory` [B, T, C, X...]; state t of trajectory b
/// is row b * times + t. B >= 1, T >= 1; values that are not finite are handed on.
struct Trajectories {
  States<double> states;
  std::size_t times = 0;  ///< T
};
Trajectories read_trajectories(const std::filesystem::path& path, const Grid& grid);

/// For programs: throws Error(config) if STAP_TRUST is neither own nor none, as every reading does.
void check_trust();

/// For programs, before any other call: HDF5 then does nothing at exit. All files are closed by
/// then, but HDF5 1.10 would complain on stderr about damaged ones it could not close.
void disable_store_exit_handler();

}  // namespace stap
