#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stap/study/axes.h"

// The folder of a sweep: its runs' folders, and sweep.json, which names them in the order of the
// grid. All functions throw Error(data) for one that is damaged or leads out of the folder.
namespace stap {

std::filesystem::path sweep_file(const std::filesystem::path& folder);
/// Whether there is a sweep.json.
bool is_sweep(const std::filesystem::path& folder);

/// Names of a folder's runs, begun or not: "" for the run it is, or becomes when its data are made,
/// else those of the sweep it is. Throws Error(data) if it is neither.
std::vector<std::string> names_in(const std::filesystem::path& folder);
/// The runs that a folder holds: the run it is, or those of the sweep it is, in their order. Throws
/// Error(data) if it is neither.
std::vector<SweepRun> runs_in(const std::filesystem::path& folder);

/// Gives runs the names that they have in `folder`, where a version that named them as they are
/// written has begun or planned them. Call it before anything is done with them.
void keep_names(std::vector<SweepRun>& runs, const std::filesystem::path& folder);
/// Writes sweep.json. Of several shards whoever comes first does, and the others find it as they
/// would write it: with `shared`, throws Error(config) if it is that of another sweep.
void write_sweep(const std::filesystem::path& folder, const std::vector<SweepRun>& runs,
                 bool shared);

}  // namespace stap
