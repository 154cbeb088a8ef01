#include "stap/core/sha256.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace stap {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::size_t kBlock = 64, kLengthBytes = 8;

// Numbers stand with their highest byte first.
template <class Number>
void put_number(Number number, std::byte* to) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    to[i] = static_cast<std::byte>(number >> (8 * (sizeof number - 1 - i)));
}

std::uint32_t get_word(const std::byte* from) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = word << 8 | std::to_integer<std::uint32_t>(from[i]);
  return word;
}

}  // namespace

void Sha256::compress(const std::byte* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = get_word(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t early = w[t - 15], late = w[t - 2];
    const std::uint32_t s0 = std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3;
    const std::uint32_t s1 = std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::uint32_t sums[] = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += sums[i];
}

void Sha256::add(std::span<const std::byte> bytes) {
  const std::size_t held = length_ % kBlock;
  length_ += bytes.size();
  if (held > 0) {
    const std::size_t n = std::min(kBlock - held, bytes.size());
    std::copy_n(bytes.begin(), n, rest_.begin() + held);
    bytes = bytes.subspan(n);
    if (held + n < kBlock) return;
    compress(rest_.data());
  }
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) compress(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::string Sha256::hex() const {
  // A one, zeros up to the end of a block less 8 bytes, and the length in bits.
  Sha256 padded = *this;
  const std::size_t held = length_ % kBlock;
  const std::size_t filled = held + 1 + kLengthBytes <= kBlock ? kBlock : 2 * kBlock;
  std::array<std::byte, 2 * kBlock> tail{};
  tail[0] = std::byte{0x80};
  put_number(8 * length_, tail.data() + (filled - held - kLengthBytes));
  padded.add(std::span(tail).first(filled - held));
  std::string text;
  for (std::uint32_t word : padded.state_) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

}  // namespace stap
