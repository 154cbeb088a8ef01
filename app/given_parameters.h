// Parameters of rows that the command line gives.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stap/core/parameters.h"

namespace stap::app {

/// Those of `rows` rows of a file, but for what "NAME=VALUE" says of all rows; the file need not
/// have any where all are given. Throws Error(config) for a name that is not one of `draws`, or is
/// there twice, or no number, and Error(data) as read_parameters() does.
RowParameters given_parameters(const std::vector<std::string>& given,
                               std::span<const ParameterDraw> draws,
                               const std::filesystem::path& file, std::size_t rows);

/// "viscosity of 3 of 10 rows is outside 0.005 to 0.2"; nothing of those that are inside.
std::vector<std::string> outside_ranges(const RowParameters& parameters,
                                        std::span<const ParameterDraw> draws);

}  // namespace stap::app
