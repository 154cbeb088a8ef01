#include <gtest/gtest.h>

#include <algorithm>

#include "stap/pde/ks.h"
#include "support/modes.h"
#include "support/trajectory_check.h"

namespace stap {
namespace {

// One learned step from every stored state. That program leaves the Nyquist mode undamped, so it is
// taken out of all states first.
TEST(GoldenKs, EveryStoredStep) {
  const auto files = test::golden_files("ks");
  ASSERT_FALSE(files.empty()) << "no ks*.h5 in " << test::golden_folder();
  for (const auto& file : files) {
    Array<double> trajectory = read_array(file, "trajectory");
    KsOptions options;
    options.points = trajectory.shape.back();
    options.length = test::stated_or(file, "domain_length", options.length);
    options.dt = test::stated(file, "dt");
    options.step = test::stated_or(file, "internal_step", options.step);
    for (auto at = trajectory.values.begin(); at != trajectory.values.end();
         at += static_cast<std::ptrdiff_t>(options.points)) {
      const std::vector<double> kept =
          test::low_modes(std::span(&*at, options.points), options.points / 2 - 1);
      std::copy(kept.begin(), kept.end(), at);
    }

    const double error = test::worst_step_error(*make_ks(options), trajectory);

    EXPECT_LE(error, test::stated_or(file, "tolerance", 1e-5)) << file;
  }
}

}  // namespace
}  // namespace stap
