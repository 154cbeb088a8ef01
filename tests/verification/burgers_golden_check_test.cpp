// The check of golden Burgers files, itself checked: a file of exact states passes it, the same
// file with another viscosity or time step does not.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/h5_writing.h"
#include "support/temporary_folder.h"
#include "support/trajectory_check.h"

namespace stap {
namespace {

using std::numbers::pi;

// Two Cole-Hopf solutions (A = 1.1 and 1.5), four times 0.1 apart, D = 0.02.
void write_exact(const std::filesystem::path& path, double stated_viscosity, double stated_dt) {
  const std::size_t points = 256;
  const double d = 0.02, k = 2 * pi;
  std::vector<double> values;
  for (double a : {1.1, 1.5})
    for (int time = 0; time < 4; ++time)
      for (std::size_t i = 0; i < points; ++i) {
        const double x = (static_cast<double>(i) + 0.5) / points;
        const double decay = std::exp(-d * k * k * 0.1 * time);
        values.push_back(2 * d * k * decay * std::sin(k * x) / (a + decay * std::cos(k * x)));
      }
  test::H5File file(path);
  file.dataset("trajectory", {2, 4, 1, points}, values);
  file.attribute("dt", stated_dt);
  file.attribute("viscosity", stated_viscosity);
}

TEST(GoldenBurgersCheck, AcceptsExactStatesAndRejectsOthers) {
  const test::TemporaryFolder folder;
  write_exact(folder.path("burgers_exact.h5"), 0.02 * pi, 0.1);
  write_exact(folder.path("burgers_viscosity.h5"), 0.021 * pi, 0.1);
  write_exact(folder.path("burgers_dt.h5"), 0.02 * pi, 0.105);
  write_exact(folder.path("kdv.h5"), 0.02 * pi, 0.1);

  const auto files = test::files_of_case(folder.path(), "burgers");

  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(test::burgers_file_tolerance(files[1]), 1e-3);
  EXPECT_GT(test::burgers_file_error(files[0]), 1e-3);  // burgers_dt
  EXPECT_LT(test::burgers_file_error(files[1]), 1e-3);  // burgers_exact
  EXPECT_GT(test::burgers_file_error(files[2]), 1e-3);  // burgers_viscosity
}

}  // namespace
}  // namespace stap
