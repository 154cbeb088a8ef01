// What every committee checks about the rows and indices of a call.
#pragma once

#include <cstddef>
#include <span>

#include "stap/core/committee.h"
#include "stap/nn/fno.h"

namespace stap {

// Each throws Error(internal), or Error(data) for states of another size.
void check_block(bool exists, std::size_t index);
void check_rows(const Grid& grid, std::size_t count, std::size_t first, std::size_t n,
                std::size_t row_size);
void check_indices(std::size_t count, std::span<const std::size_t> indices);
void check_length(std::size_t a, std::size_t b);
/// Arguments of advance() and, with `mean` false, sketch(); counts are those of the two blocks.
void check_advance(const FnoShape& shape, int members, std::size_t from_count,
                   std::span<const std::size_t> i, std::span<const int> member,
                   std::span<const double> time, std::size_t to_count,
                   std::span<const std::size_t> j, bool mean);

}  // namespace stap
