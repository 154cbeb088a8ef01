#include "stap/core/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "stap/core/hash64.h"

namespace stap {
namespace {

using Kind = ParameterDraw::Kind;

const ParameterDraw kUniform{"nu", Kind::uniform, {2.0, 6.0}}, kLog{"Re", Kind::log, {1.0, 1e4}},
    kList{"k", Kind::list, {1.0, 2.0, 5.0}};

// Means of 4000 draws, within five standard errors: of a uniform variable (b - a) / sqrt(12 n).
TEST(Parameters, AreDrawnAsTheySay) {
  const Rng stream(7);
  double uniform = 0, logarithm = 0;
  std::set<double> listed;
  constexpr int kDraws = 4000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const std::vector<double> row = draw_parameters(std::vector{kUniform, kLog, kList}, stream, i);
    ASSERT_EQ(row.size(), 3u);
    ASSERT_TRUE(row[0] >= 2.0 && row[0] <= 6.0 && row[1] >= 1.0 && row[1] <= 1e4);
    uniform += row[0] / kDraws;
    logarithm += std::log10(row[1]) / kDraws;
    listed.insert(row[2]);
  }
  const double error = 5 * 4 / std::sqrt(12.0 * kDraws);
  EXPECT_NEAR(uniform, 4.0, error);
  EXPECT_NEAR(logarithm, 2.0, error);
  EXPECT_EQ(listed, (std::set<double>{1.0, 2.0, 5.0}));
  EXPECT_EQ(kList.least(), 1.0);
  EXPECT_EQ(kList.greatest(), 5.0);
}

// Mutation that breaks it: drawing by position, one after the other, or by the row alone.
TEST(Parameters, DependOnStreamNameAndRowAlone) {
  const Rng pool = Rng(3).split("pool"), test = Rng(3).split("test");
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto row = draw_parameters(std::vector{kUniform, kLog, kList}, pool, i);
    const auto turned = draw_parameters(std::vector{kList, kUniform, kLog}, pool, i);

    EXPECT_EQ(turned, (std::vector<double>{row[2], row[0], row[1]}));
    EXPECT_EQ(draw_parameters(std::vector{kLog}, pool, i), std::vector<double>{row[1]});
    ParameterDraw other = kUniform;
    other.name = "mu";
    EXPECT_NE(draw_parameters(std::vector{other}, pool, i)[0], row[0]);
    EXPECT_NE(draw_parameters(std::vector{kUniform}, test, i)[0], row[0]);
    EXPECT_NE(draw_parameters(std::vector{kUniform}, pool, i + 1)[0], row[0]);
  }
}

// Mutation that breaks it: leaving the parameters out, or another hash where there are none.
TEST(Parameters, AreInTheHashOfAnInput) {
  const std::vector<double> state{1.0, -0.0}, one{2.0}, other{3.0};

  EXPECT_EQ(hash_of(state, {}), hash64(std::as_bytes(std::span(state))));
  EXPECT_EQ(hash_of(state, one), hash_of(state, std::vector{2.0}));
  const std::set<std::uint64_t> all{hash_of(state, {}), hash_of(state, one), hash_of(state, other),
                                    hash_of(one, state)};
  EXPECT_EQ(all.size(), 4u);
}

}  // namespace
}  // namespace stap
