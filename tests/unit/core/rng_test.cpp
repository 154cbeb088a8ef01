#include "stap/core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stap {
namespace {

// Known answers published with the generator (Random123, kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, StreamsDifferBySeedLabelAndIndex) {
  const Rng rng(7);

  EXPECT_NE(rng.key(), Rng(8).key());
  EXPECT_NE(rng.split("a").key(), rng.split("b").key());
  EXPECT_NE(rng.split("a", 0).key(), rng.split("a", 1).key());
  EXPECT_NE(rng.split("a", 1).split("b", 2).key(), rng.split("b", 2).split("a", 1).key());
  EXPECT_EQ(rng.split("a", 3).bits(5), Rng(7).split("a", 3).bits(5));
}

// Means and variances of 100,000 draws against theory, at five standard errors: a correct
// generator fails one of the four with probability below 3e-6 (and the stream is fixed).
TEST(Rng, MomentsOfDraws) {
  const Rng rng(1);
  constexpr int n = 100000;
  double mean_u = 0, mean_n = 0, var_n = 0, mean_g = 0;
  for (int i = 0; i < n; ++i) {
    mean_u += rng.uniform(static_cast<std::uint64_t>(i)) / n;
    const double z = rng.split("n").normal(static_cast<std::uint64_t>(i));
    mean_n += z / n;
    var_n += z * z / n;
    mean_g += rng.split("g").gumbel(static_cast<std::uint64_t>(i)) / n;
  }
  const double se = 5 / std::sqrt(double(n));

  EXPECT_NEAR(mean_u, 0.5, se * std::sqrt(1.0 / 12));
  EXPECT_NEAR(mean_n, 0.0, se);
  EXPECT_NEAR(var_n, 1.0, se * std::sqrt(2.0));
  EXPECT_NEAR(mean_g, 0.5772156649, se * 1.2825498);
}

TEST(Rng, BelowStaysInsideAndReachesEveryValue) {
  const Rng rng(3);
  std::vector<int> seen(7, 0);
  for (std::uint64_t i = 0; i < 700; ++i) ++seen.at(rng.below(i, 7));
  for (int count : seen) EXPECT_GT(count, 50);
}

TEST(Shuffle, IsAPermutationThatDependsOnTheStreamOnly) {
  std::vector<std::uint32_t> a, b, other;
  shuffle(Rng(5), 101, a);
  shuffle(Rng(5), 101, b);
  shuffle(Rng(6), 101, other);

  EXPECT_EQ(a, b);
  EXPECT_NE(a, other);
  std::sort(a.begin(), a.end());
  for (std::uint32_t i = 0; i < 101; ++i) EXPECT_EQ(a[i], i);
}

}  // namespace
}  // namespace stap
