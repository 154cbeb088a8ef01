#include "stap/core/hash64.h"

#include <array>
#include <bit>
#include <cstring>

namespace stap {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

// The primes of the specification.
constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                        kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                        kPrime5 = 0x27D4EB2F165667C5;

// Takes a word off the front.
template <class Word>
std::uint64_t take(std::span<const std::byte>& bytes) {
  Word word;
  std::memcpy(&word, bytes.data(), sizeof word);
  bytes = bytes.subspan(sizeof word);
  return word;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  return std::rotl(sum + word * kPrime2, 31) * kPrime1;
}

// Four sums over stripes of four words, brought together.
std::uint64_t stripes(std::span<const std::byte>& bytes) {
  std::array<std::uint64_t, 4> sums{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  while (bytes.size() >= 4 * sizeof(std::uint64_t))
    for (std::uint64_t& sum : sums) sum = mixed(sum, take<std::uint64_t>(bytes));
  std::uint64_t hash = std::rotl(sums[0], 1) + std::rotl(sums[1], 7) + std::rotl(sums[2], 12) +
                       std::rotl(sums[3], 18);
  for (const std::uint64_t sum : sums) hash = (hash ^ mixed(0, sum)) * kPrime1 + kPrime4;
  return hash;
}

}  // namespace

std::uint64_t hash64(std::span<const std::byte> bytes) {
  const std::uint64_t length = bytes.size();
  std::uint64_t hash = (length >= 4 * sizeof(std::uint64_t) ? stripes(bytes) : kPrime5) + length;
  while (bytes.size() >= sizeof(std::uint64_t))
    hash = std::rotl(hash ^ mixed(0, take<std::uint64_t>(bytes)), 27) * kPrime1 + kPrime4;
  if (bytes.size() >= sizeof(std::uint32_t))
    hash = std::rotl(hash ^ take<std::uint32_t>(bytes) * kPrime1, 23) * kPrime2 + kPrime3;
  while (!bytes.empty()) hash = std::rotl(hash ^ take<std::uint8_t>(bytes) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace stap
