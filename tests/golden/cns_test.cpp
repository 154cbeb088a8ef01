#include <gtest/gtest.h>

#include <cstdlib>

#include "support/cns_check.h"

namespace stap {
namespace {

// Every file whose name starts with `cns`, channel by channel, to the tolerances it states (density
// and pressure 0.5 %, velocities 6 % and 3 % in the mean unless it does).
TEST(GoldenCns, EveryStoredStep) {
  const auto files = test::golden_files("cns");
  if (files.empty() && std::getenv("STAP_GOLDEN_DIR"))
    GTEST_SKIP() << "no cns*.h5 in " << test::golden_folder();
  ASSERT_FALSE(files.empty()) << "no cns*.h5 in " << test::golden_folder();
  for (const auto& file : files) EXPECT_EQ(test::cns_file_complaints(file), "");
}

}  // namespace
}  // namespace stap
