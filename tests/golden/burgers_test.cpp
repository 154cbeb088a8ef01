#include <gtest/gtest.h>

#include <cstdlib>

#include "support/trajectory_check.h"

namespace stap {
namespace {

// Every file whose name starts with `burgers`, to the tolerance it states (1e-3 unless it does).
TEST(GoldenBurgers, EveryStoredStep) {
  const auto files = test::golden_files("burgers");
  if (files.empty() && std::getenv("STAP_GOLDEN_DIR"))
    GTEST_SKIP() << "no burgers*.h5 in " << test::golden_folder();
  ASSERT_FALSE(files.empty()) << "no burgers*.h5 in " << test::golden_folder();
  for (const auto& file : files)
    EXPECT_LE(test::burgers_file_error(file), test::burgers_file_tolerance(file)) << file;
}

}  // namespace
}  // namespace stap
