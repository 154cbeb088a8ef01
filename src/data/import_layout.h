// What the readers of foreign files share.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/data/import.h"
#include "stap/data/store.h"

namespace stap::foreign {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why);

/// A dataset and what its axes are: a letter each, of b (trajectories), t, x, y and c (channels, of
/// which there may be several axes, the last ones).
struct Field {
  std::string dataset;
  std::string axes;                   ///< "btxyc"
  std::vector<std::string> channels;  ///< names of those it holds
};

/// Size of an axis; 1 where there is none.
std::size_t size_of(char axis, std::string_view axes, std::span<const std::size_t> shape);

/// States [T, C, X...] that are gathered from fields: every `stride`-th time of a file.
struct Target {
  std::size_t times, stride, channels;
  std::vector<std::size_t> points;

  std::size_t values() const;
};
/// Copies `count` trajectories of an array to channels from `first` on of theirs.
void gather(const Array<double>& array, std::string_view axes, std::size_t trajectory,
            std::size_t count, const Target& to, std::size_t first, std::span<double> states);

/// The distance of places that have the same distance everywhere; one may be there too many, behind
/// the `count` that are used. 0 if one is not enough to tell. Throws Error(data) otherwise.
double spacing(const std::filesystem::path& file, const std::string& dataset, std::size_t count);

/// The fields that were asked for, in that order; all if none was. Throws Error(config) naming
/// those that there are.
std::vector<Field> chosen(const std::filesystem::path& file, std::vector<Field> there,
                          const std::vector<std::string>& names);

/// Fills in what follows from the fields of a file: `channels`, `trajectories`, `times`, and how
/// they are read. `data` has `points`, and `dt` of the file. Throws Error(data) for fields of other
/// sizes.
void read_by(const std::filesystem::path& file, const std::vector<Field>& fields,
             const ImportOptions& options, ForeignData& data);

/// ForeignData::block of trajectories of `values` values, as many in a chunk as it has rows;
/// `chunks_each`: that such rows are in.
std::size_t block_of(std::size_t values, std::size_t rows_of_chunk, std::size_t chunks_each = 1);

/// Those of ImportOptions::parameters of each trajectory, else those that a file of ours names.
/// Throws Error(config) for one that is not there, and Error(data) for values that are not finite.
RowParameters parameters_of(const std::filesystem::path& file, const ImportOptions& options,
                            std::size_t trajectories);

ForeignData open_npy(const std::filesystem::path& file, const ImportOptions& options, bool times);
ForeignData open_well(const std::filesystem::path& file, const ImportOptions& options);
ForeignData open_pdebench(const std::filesystem::path& file, const ImportOptions& options);
ForeignData open_own(const std::filesystem::path& file, const ImportOptions& options);

/// Every `stride`-th of `times`.
inline std::size_t strided(std::size_t times, std::size_t stride) {
  return times == 0 ? 0 : (times - 1) / stride + 1;
}

}  // namespace stap::foreign
