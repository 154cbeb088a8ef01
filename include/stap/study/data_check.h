// Whether files of data are of a study, or of a model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stap/config/complaints.h"
#include "stap/core/grid.h"
#include "stap/study/study.h"

namespace stap {

/// A file that says what its states are must be of this domain and step, to five digits; `dt` 0:
/// any step will do. `whose` is for the message: "the study". Returns the name of the solver that
/// made it, empty if it says none; files of others may say nothing. Where the file names its
/// channels, they must not be those of `channels` in another order. Throws Error(data).
std::string check_described(const std::filesystem::path& file, const Grid& grid, double dt,
                            const std::string& whose, std::vector<std::string> channels = {});

/// Reads the files of data that a study names as a run would, and complains about what a run could
/// not take. The study must fit, and its grid be known.
void check_data(const Study& study, config::Complaints& complaints);

}  // namespace stap
