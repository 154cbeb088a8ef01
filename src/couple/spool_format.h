// What the files of a spool folder hold (docs/how-to/clusters.md); nothing in them is believed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/core/outline.h"
#include "stap/core/solver.h"

namespace stap {

inline constexpr std::size_t kProblemDigits = 16, kKeyDigits = 48;  ///< hexadecimal
inline constexpr std::size_t kSpoolTextMost = 65536;                ///< bytes of a reason

/// Says which problem an outline is: all of it counts. 16 hexadecimal digits.
std::string problem_id(const Outline& outline);
/// Says what is asked: the problem's id and 32 further digits, by state, time, steps and
/// parameters, bit for bit. Whoever asks the same again, on whatever machine, finds the same file.
std::string spool_key(const std::string& problem, const Query& query);
/// Whether this may be such a key: what else lies in a folder is left alone.
bool is_spool_key(std::string_view name);

std::vector<std::byte> query_bytes(const std::string& key, const Query& query);
std::vector<std::byte> answer_bytes(const std::string& key, const Answer& answer);
/// No file of such a query or of its answer is larger.
std::size_t query_bytes_most(const Outline& outline);
std::size_t answer_bytes_most(const Grid& grid, std::size_t steps);
// Each gives what is wrong with the file, or nothing and the content (of a query without its id).
std::string read_query(std::span<const std::byte> file, const std::string& key,
                       const Outline& outline, Query& query);
std::string read_answer(std::span<const std::byte> file, const std::string& key, const Grid& grid,
                        std::size_t steps, Answer& answer);

}  // namespace stap
