// Which method is the best one, in words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stap/results/table.h"

namespace stap {

/// "3 seeds", "1 seed".
std::string count_text(std::size_t count, std::string_view one);
/// "a, b and c".
std::string names_text(const std::vector<std::string>& names);

/// Sentences about the rows of a table that have an error; `best` is the one with the lowest. The
/// best one is picked after the fact, so that every pair of rows counts as a comparison.
std::vector<std::string> ranking_words(const ProblemTable& table,
                                       const std::vector<std::size_t>& rows, std::size_t best);

}  // namespace stap
