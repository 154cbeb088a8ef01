#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stap/core/outline.h"
#include "stap/run/by_hand.h"

// How questions travel to whoever answers them, and answers back: an HDF5 file of all of them, or a
// folder with a folder for each.
namespace stap {

/// Writes questions about one problem; `runs` are the names of the runs they count, for people. A
/// name that ends with .h5 or .hdf5 is that of a file:
///
///   id, run, acquisition, candidate, step, steps    [n] whole numbers
///   time                                            [n]
///   state                                           [n, C, X...]
///
///   parameters                                      [n, P], where some vary
///
/// with attributes `format` (queries/1; queries/2 where parameters vary), `equation`, `channels`,
/// `points`, `lengths`, `dt`, `channel_names`, `parameters` ("F=0.04,k=0.06"), `parameter.F`, ...,
/// `runs`, and `parameter_names` ("nu") of those that vary, which are in none of the former. Any
/// other name is that of a folder, with ID/input.npy and ID/query.json for each; what else is in it
/// stays. Throws Error(storage).
void write_questions(const std::filesystem::path& path, std::span<const Question> questions,
                     const Outline& outline, const std::vector<std::string>& runs);

/// Reads answers. A file has `id` [n] and `states` [n, C, X...] or [n, steps, C, X...], and may
/// have `failed` [n] (0 or 1; states of such a row do not matter) and `reason` [n] texts. In a
/// folder as above, ID/output.npy is an answer and ID/failed.txt says that there is none, and why;
/// other questions are not answered yet. Throws Error(data).
std::vector<ToldAnswer> read_told(const std::filesystem::path& path);

}  // namespace stap
