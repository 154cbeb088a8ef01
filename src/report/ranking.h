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

/// "1,234": solver steps are whole numbers, their means hardly matter behind the point.
std::string grouped_digits(double number);

/// Errors that nobody should tell apart: within 0.5 %, or alike in the three digits that are shown.
bool same_error(double a, double b);

/// What the labels of these rows say beside their methods, if that is the same in all:
/// " study.budget=16". Sentences about them say it once.
std::string shared_settings(const ProblemTable& table, const std::vector<std::size_t>& rows);
/// "With study.budget=16: " + text; the text alone without settings.
std::string with_settings(const std::string& settings, std::string text);

/// The rows that have a finite error, in the sets that can be compared; the lowest error first.
std::vector<std::vector<std::size_t>> ranked_sets(const ProblemTable& table);

/// Which row of a set is the best one. It is picked after the fact, so that every pair of rows
/// counts as a comparison.
std::vector<std::string> ranking_words(const ProblemTable& table,
                                       const std::vector<std::size_t>& rows);
/// What a mean over rounds hides: another row is best after the last one, errors rise.
std::vector<std::string> course_words(const ProblemTable& table,
                                      const std::vector<std::size_t>& rows);

}  // namespace stap
