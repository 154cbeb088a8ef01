#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stap {

/// XXH64 with seed 0, by its published specification: a checksum that tells data apart, quick
/// beside reading them. It is no defence against somebody who wants two data to have the same;
/// sha256.h is. The same on every machine for the same bytes.
std::uint64_t hash64(std::span<const std::byte> bytes);

}  // namespace stap
