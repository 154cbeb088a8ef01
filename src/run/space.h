// How much a round writes, asked for before it is paid for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stap/run/run.h"

namespace stap {

/// About the bytes that a purchase of so many steps of patterns and what follows it add to a run's
/// folder, at most: answers, training set, networks half trained and done, extracts. What is
/// replaced is there twice for a moment.
std::uint64_t round_bytes(const Run& run, std::size_t steps);

/// Throws Error(storage) unless the disks of these runs have half as much again as their purchases
/// of so many steps need.
void check_space(const std::vector<std::pair<const Run*, std::size_t>>& purchases);

}  // namespace stap
