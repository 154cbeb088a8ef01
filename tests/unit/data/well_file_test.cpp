#include "stap/data/well_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "stap/core/error.h"
#include "stap/data/store.h"
#include "support/temporary_folder.h"
#include "support/well_check.h"

namespace stap {
namespace {

using test::TemporaryFolder;
using test::WellCheck;
using Complaints = std::vector<std::string>;

WellInfo plane_info() {
  return {.name = "gray-scott",
          .grid = make_grid(2, {3, 5}, {1.5, 10.0}),
          .channels = {"u", "v"},
          .times = {0.0, 0.1, 0.2, 0.3},
          .trajectories = 2,
          .parameters = {{"F", 0.04}, {"k", 0.06}}};
}

// [T, C, X, Y]: every value says where it is.
std::vector<double> trajectory(double first) {
  std::vector<double> states(4 * 2 * 3 * 5);
  std::iota(states.begin(), states.end(), first);
  return states;
}

void write_plane(const std::string& path) {
  WellWriter writer(path, plane_info());
  writer.put(0, trajectory(0.0));
  writer.put(1, trajectory(1000.0));
  writer.add_scalar("state_source", true, std::vector<double>{1, 2, 0, 3, 0, 3, 2, 2});
  writer.add_scalar("candidate", false, std::vector<double>{17, 4});
  writer.commit();
}

TEST(WellFile, HoldsWhatTheLayoutAsksFor) {
  const TemporaryFolder folder;
  write_plane(folder.path("a.hdf5"));

  EXPECT_EQ(WellCheck::complaints(folder.path("a.hdf5")), Complaints{});
  const auto read = [&](const char* name) { return read_array(folder.path("a.hdf5"), name); };
  const Array<double> v = read("t0_fields/v");
  EXPECT_EQ(v.shape, (std::vector<std::size_t>{2, 4, 3, 5}));
  // Trajectory 1, time 2, channel 1, point (2, 3) of [T, 2, 3, 5].
  EXPECT_EQ(v.values[((1 * 4 + 2) * 3 + 2) * 5 + 3], 1000.0 + (((2 * 2) + 1) * 3 + 2) * 5 + 3);
  EXPECT_EQ(read("dimensions/x").values, (std::vector<double>{0.0, 0.5, 1.0}));
  EXPECT_EQ(read("dimensions/y").values, (std::vector<double>{0, 2, 4, 6, 8}));
  EXPECT_EQ(read("dimensions/time").values[3], double{0.3f});
  EXPECT_EQ(read("boundary_conditions/y_periodic/mask").values,
            (std::vector<double>{1, 0, 0, 0, 1}));
  EXPECT_EQ(read("scalars/state_source").values, (std::vector<double>{1, 2, 0, 3, 0, 3, 2, 2}));
  EXPECT_EQ(read("scalars/F").shape, std::vector<std::size_t>{});
  EXPECT_EQ(read_attribute(folder.path("a.hdf5"), "/", "F").values.at(0), 0.04);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(WellFile, ALineWithoutParametersIsOneToo) {
  const TemporaryFolder folder;
  {
    WellWriter writer(folder.path("a.hdf5"), {.name = "kdv",
                                              .grid = make_grid(1, {1}, {2.0}),
                                              .channels = {"u"},
                                              .times = {0.0},
                                              .trajectories = 1,
                                              .parameters = {}});
    writer.commit();
  }

  EXPECT_EQ(WellCheck::complaints(folder.path("a.hdf5")), Complaints{});
  EXPECT_TRUE(std::isnan(read_array(folder.path("a.hdf5"), "t0_fields/u").values.at(0)));
}

// The checker sees what is missing: each of these must be noticed.
TEST(WellFile, TheCheckerCanFail) {
  const TemporaryFolder folder;
  const auto complaints_after = [&](const std::function<void(hid_t)>& harm) {
    write_plane(folder.path("a.hdf5"));
    const hid_t file = H5Fopen(folder.path("a.hdf5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    harm(file);
    H5Fclose(file);
    return WellCheck::complaints(folder.path("a.hdf5")).size();
  };

  EXPECT_EQ(complaints_after([](hid_t) {}), 0u);
  for (const auto& [object, name] : {std::pair{"/", "grid_type"},
                                     {"/", "n_trajectories"},
                                     {"/", "F"},
                                     {"dimensions", "spatial_dims"},
                                     {"dimensions/time", "sample_varying"},
                                     {"t0_fields/u", "dim_varying"},
                                     {"t2_fields", "field_names"},
                                     {"scalars/candidate", "time_varying"},
                                     {"boundary_conditions/x_periodic", "bc_type"}})
    EXPECT_GT(
        complaints_after([&](hid_t file) { H5Adelete_by_name(file, object, name, H5P_DEFAULT); }),
        0u)
        << object << "@" << name;
  for (const char* name : {"dimensions/y", "t0_fields/v", "t1_fields", "scalars/state_source",
                           "boundary_conditions/y_periodic/mask"})
    EXPECT_GT(complaints_after([&](hid_t file) { H5Ldelete(file, name, H5P_DEFAULT); }), 0u)
        << name;
}

TEST(WellFile, RefusesWhatDoesNotFit) {
  const TemporaryFolder folder;
  WellWriter writer(folder.path("a.hdf5"), plane_info());

  EXPECT_THROW(writer.put(2, trajectory(0.0)), Error);
  EXPECT_THROW(writer.put(0, std::vector<double>(7)), Error);
  EXPECT_THROW(writer.add_scalar("a", true, std::vector<double>(2)), Error);
  EXPECT_THROW(WellWriter(folder.path("no/a.hdf5"), plane_info()), Error);
}

}  // namespace
}  // namespace stap
