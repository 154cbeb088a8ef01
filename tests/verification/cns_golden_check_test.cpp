// The check of golden CNS files, itself checked: files of exact states pass it, in either order of
// the channels; the same with another viscosity, time step or order do not.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "support/cns_check.h"
#include "support/h5_writing.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using std::numbers::pi;
using test::H5File;

void attribute(H5File& file, const char* name, const std::vector<double>& values) {
  const hsize_t size = values.size();
  const hid_t space = H5Screate_simple(1, &size, nullptr);
  const hid_t id = H5Acreate2(file.id(), name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(H5Awrite(id, H5T_NATIVE_DOUBLE, values.data()), 0);
  H5Aclose(id);
  H5Sclose(space);
}

// Exact up to the scheme's errors: layers of different density in a flow u along x, with a shear
// wave in v that u carries and that decays with eta (kinematic), for two trajectories of four times
// 0.05 apart. The layers move with v, too, by 0.001 at most: 0.1 % of the density. v is nothing but
// the wave, so that a wrong viscosity shows above 6 %.
void write_exact(const std::filesystem::path& path, bool pressure_second,
                 const std::function<void(H5File&)>& state_about_itself) {
  const std::size_t n = 32, times = 4;
  const double eta = 0.3, u = 0.02;
  std::vector<double> values;
  for (double size : {0.01, 0.02})
    for (std::size_t time = 0; time < times; ++time) {
      const double t = 0.05 * static_cast<double>(time);
      const std::vector<std::function<double(double, double)>> fields = {
          [=](double, double y) { return 2 + 0.3 * std::sin(2 * pi * y); },
          [=](double, double) { return u; },
          [=](double x, double) {
            return size * std::exp(-eta * 4 * pi * pi * t) * std::sin(2 * pi * (x - u * t));
          },
          [](double, double) { return 1.0; }};
      for (std::size_t c : pressure_second ? std::vector<std::size_t>{0, 3, 1, 2}
                                           : std::vector<std::size_t>{0, 1, 2, 3})
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < n; ++j)
            values.push_back(
                fields[c]((static_cast<double>(i) + 0.5) / n, (static_cast<double>(j) + 0.5) / n));
    }
  H5File file(path);
  file.dataset("trajectory", {2, times, 4, n, n}, values);
  state_about_itself(file);
}

TEST(GoldenCnsCheck, AcceptsExactStatesInEitherOrder) {
  const test::TemporaryFolder folder;
  const auto plain = folder.path("cns_plain.h5"), loose = folder.path("cns_loose.h5");
  const auto named = folder.path("cns_named.h5"), tight = folder.path("cns_tight.h5");
  write_exact(plain, false, [](H5File& f) {
    f.attribute("dt", 0.05);
    f.attribute("eta", 0.3);
    f.attribute("zeta", 0.0);
  });
  write_exact(loose, true, [](H5File& f) {
    f.attribute("dt", 0.05);
    f.attribute("shear_viscosity", 0.3);
    f.attribute("bulk_viscosity", 0.0);
    attribute(f, "tolerance", {0.005, 0.005, 0.06, 0.06});
    attribute(f, "tolerance_mean", {0.005, 0.005, 0.03, 0.03});
  });
  write_exact(named, true, [](H5File& f) {
    f.attribute("dt", 0.05);
    f.attribute("eta", 0.3);
    f.attribute("tolerance", 0.05);
    f.text_attribute("channels", "rho, pressure, v_x, v_y");
  });
  write_exact(tight, false, [](H5File& f) {
    f.attribute("dt", 0.05);
    f.attribute("eta", 0.3);
    f.attribute("tolerance", 1e-9);
  });

  ASSERT_EQ(test::files_of_case(folder.path(), "cns").size(), 4u);
  EXPECT_EQ(test::cns_file_complaints(plain), "");
  EXPECT_EQ(test::cns_file_complaints(loose), "");
  EXPECT_EQ(test::cns_file_complaints(named), "");
  EXPECT_NE(test::cns_file_complaints(tight), "");
}

TEST(GoldenCnsCheck, RejectsOtherStates) {
  const test::TemporaryFolder folder;
  const struct {
    const char* name;
    double dt, eta;
    bool pressure_second;
    const char* said;
  } cases[] = {{"cns_viscosity.h5", 0.05, 0.35, false, "velocity y"},
               {"cns_dt.h5", 0.06, 0.3, false, "velocity y"},
               {"cns_order.h5", 0.05, 0.3, true, "pressure"}};
  for (const auto& c : cases) {
    write_exact(folder.path(c.name), c.pressure_second, [&](H5File& f) {
      f.attribute("dt", c.dt);
      f.attribute("eta", c.eta);
    });

    const std::string complaints = test::cns_file_complaints(folder.path(c.name));

    EXPECT_NE(complaints.find(c.said), std::string::npos) << c.name << ": " << complaints;
  }
}

// A mean that is too large shows although every step is within its tolerance.
TEST(GoldenCnsCheck, TheMeanHasAToleranceOfItsOwn) {
  const test::TemporaryFolder folder;
  write_exact(folder.path("cns.h5"), false, [](H5File& f) {
    f.attribute("dt", 0.05);
    f.attribute("eta", 0.3);
    f.attribute("tolerance", 0.05);
    f.attribute("tolerance_mean", 1e-9);
  });

  const std::string complaints = test::cns_file_complaints(folder.path("cns.h5"));

  EXPECT_NE(complaints.find("mean velocity y"), std::string::npos) << complaints;
  EXPECT_EQ(complaints.find("worst"), std::string::npos) << complaints;
}

TEST(GoldenCnsCheck, ReadsTheNamesOfChannels) {
  const test::ChannelPlaces usual = {0, 1, 2, 3}, other = {0, 2, 3, 1};

  EXPECT_EQ(test::places_from_text("density, velocity x, velocity y, pressure"), usual);
  EXPECT_EQ(test::places_from_text("rho vx vy p"), usual);
  EXPECT_EQ(test::places_from_text("['rho', 'p', 'u', 'v']"), other);
  EXPECT_THROW(test::places_from_text("rho, vx, vy"), std::runtime_error);
  EXPECT_THROW(test::places_from_text("a, b, c, d"), std::runtime_error);
}

}  // namespace
}  // namespace stap
