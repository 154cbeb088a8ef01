#include "stap/core/rng.h"

#include <cmath>
#include <numbers>

namespace stap {
namespace {

// What a block of bits is for: draws and splits of one key must never share a counter.
constexpr std::uint32_t kDraw = 0;
constexpr std::uint32_t kSplitLabel = 1;
constexpr std::uint32_t kSplitIndex = 2;
constexpr std::uint32_t kSeed = 3;

std::uint32_t low(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}
std::uint32_t high(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}
std::uint64_t join(std::uint32_t lo, std::uint32_t hi) {
  return (static_cast<std::uint64_t>(hi) << 32) | lo;
}

// 128 bits for (key, i, purpose).
std::array<std::uint32_t, 4> block(std::uint64_t key, std::uint64_t i, std::uint32_t purpose) {
  return philox({low(i), high(i), purpose, 0}, {low(key), high(key)});
}

// FNV-1a, only to turn a label into 64 bits; Philox does the mixing.
std::uint64_t hash_label(std::string_view label) {
  std::uint64_t hash = 14695981039346656037u;
  for (char c : label) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// (0, 1): the middle of one of 2^53 cells, so that logarithms are finite.
double open_unit(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c,
                                    std::array<std::uint32_t, 2> k) {
  constexpr std::uint64_t m0 = 0xD2511F53u, m1 = 0xCD9E8D57u;
  constexpr std::uint32_t w0 = 0x9E3779B9u, w1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = m0 * c[0], p1 = m1 * c[2];
    c = {high(p1) ^ c[1] ^ k[0], low(p1), high(p0) ^ c[3] ^ k[1], low(p0)};
    k[0] += w0;
    k[1] += w1;
  }
  return c;
}

Rng::Rng(std::uint64_t seed) {
  const auto b = block(seed, 0, kSeed);
  key_ = join(b[0], b[1]);
}

Rng Rng::split(std::string_view label, std::uint64_t index) const {
  const auto l = block(key_, hash_label(label), kSplitLabel);
  const auto b = block(join(l[0], l[1]), index, kSplitIndex);
  Rng child = *this;
  child.key_ = join(b[0], b[1]);
  return child;
}

std::uint64_t Rng::bits(std::uint64_t i) const {
  const auto b = block(key_, i, kDraw);
  return join(b[0], b[1]);
}

double Rng::uniform(std::uint64_t i) const {
  return static_cast<double>(bits(i) >> 11) * 0x1.0p-53;
}

double Rng::uniform(std::uint64_t i, double lo, double hi) const {
  return lo + (hi - lo) * uniform(i);
}

double Rng::normal(std::uint64_t i) const {
  const auto b = block(key_, i, kDraw);
  const double radius = std::sqrt(-2.0 * std::log(open_unit(join(b[0], b[1]))));
  const double angle = 2.0 * std::numbers::pi * open_unit(join(b[2], b[3]));
  return radius * std::cos(angle);
}

double Rng::gumbel(std::uint64_t i) const {
  return -std::log(-std::log(open_unit(bits(i))));
}

std::uint64_t Rng::below(std::uint64_t i, std::uint64_t n) const {
  // The high word of a 64 x 64 bit product maps the draw onto 0 .. n-1.
  __extension__ using u128 = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<u128>(bits(i)) * n) >> 64);
}

void shuffle(const Rng& rng, std::size_t n, std::vector<std::uint32_t>& order) {
  order.resize(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const std::size_t j = i + static_cast<std::size_t>(rng.below(i, n - i));
    std::swap(order[i], order[j]);
  }
}

}  // namespace stap
