#include <gtest/gtest.h>

#include "stap/pde/kdv.h"
#include "support/modes.h"
#include "support/trajectory_check.h"

namespace stap {
namespace {

KdvOptions options_of(const std::filesystem::path& file, std::size_t points) {
  KdvOptions options;
  options.points = points;
  options.length = test::stated_or(file, "domain_length", 128.0);
  options.dt = test::stated(file, "dt");
  options.atol = test::stated_or(file, "atol", 1e-6);
  options.rtol = test::stated_or(file, "rtol", 1e-8);
  return options;
}

// One learned step from every stored state, against the tolerances the file states: on the modes 0
// .. `modes`, and on all of them (the highest ones carry the integrators' noise).
void expect_every_step(const std::filesystem::path& file, KdvOptions::Scheme scheme) {
  const Array<double> trajectory = read_array(file, "trajectory");
  KdvOptions options = options_of(file, trajectory.shape.back());
  options.scheme = scheme;
  const auto solver = make_kdv(options);
  const auto highest = static_cast<std::size_t>(test::stated_or(file, "modes", 85));

  const double low = test::worst_step_error(
      *solver, trajectory, [&](std::span<const double> u) { return test::low_modes(u, highest); });
  const double all = test::worst_step_error(*solver, trajectory);

  EXPECT_LE(low, test::stated_or(file, "tolerance", 1e-5)) << file;
  EXPECT_LE(all, test::stated_or(file, "tolerance_all_modes", 5e-3)) << file;
}

TEST(GoldenKdv, EveryStoredStep) {
  const auto files = test::golden_files("kdv");
  ASSERT_FALSE(files.empty()) << "no kdv*.h5 in " << test::golden_folder();
  for (const auto& file : files) expect_every_step(file, KdvOptions::Scheme::dopri5);
}

// The alternative scheme shares nothing with that program's but the equation.
TEST(GoldenKdv, EveryStoredStepByExponentialSteps) {
  const auto files = test::golden_files("kdv");
  ASSERT_FALSE(files.empty()) << "no kdv*.h5 in " << test::golden_folder();
  for (const auto& file : files) expect_every_step(file, KdvOptions::Scheme::etdrk4);
}

}  // namespace
}  // namespace stap
