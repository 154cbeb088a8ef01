#include "core/block_size.h"

#include <gtest/gtest.h>

namespace stap {
namespace {

TEST(BlockSize, FollowsTheTimeInWholeUnits) {
  BlockSize size(100, 3, 2.0);
  EXPECT_EQ(size.rows(), 24u);  // of 32, the most that is a multiple of 8 lanes x 3 threads

  size.took(24, 1e-3);  // quick: twice as many, not two thousand times
  EXPECT_EQ(size.rows(), 48u);
  size.took(48, 1.0);  // 96 would take two seconds
  EXPECT_EQ(size.rows(), 96u);
  size.took(96, 3.0);  // 64 would: two units of 24
  EXPECT_EQ(size.rows(), 48u);
  size.took(48, 1000.0);
  EXPECT_EQ(size.rows(), 24u);
}

TEST(BlockSize, IsBoundedByMemory) {
  BlockSize size(std::size_t{1} << 20, 1, 2.0);  // 64 rows of 1 MiB
  for (int i = 0; i < 10; ++i) size.took(size.rows(), 1e-6);

  EXPECT_EQ(size.rows(), 64u);
  EXPECT_EQ(BlockSize(std::size_t{1} << 40, 2, 2.0).rows(), 16u);  // never less than a unit
}

}  // namespace
}  // namespace stap
