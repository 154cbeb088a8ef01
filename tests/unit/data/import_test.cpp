// Foreign files are written with HDF5 itself, by the descriptions of their layouts.
#include "stap/data/import.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "stap/data/transitions.h"
#include "stap/data/well_file.h"
#include "support/contains.h"
#include "support/h5_writing.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::error_text;
using test::H5File;
using test::TemporaryFolder;
using Sizes = std::vector<std::size_t>;
using Values = std::vector<double>;

Values counting(std::size_t n, double first = 0.0) {
  Values values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}
Values every(double step, std::size_t n, double first = 0.0) {
  Values values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(first + step * static_cast<double>(i));
  return values;
}

class Import : public ::testing::Test {
 protected:
  Imported import(ImportAs as, const ImportOptions& options = {}) const {
    const fs::path files[] = {in_};
    return import_files(files, as, options, out_);
  }
  Array<double> read(const char* name) const { return read_array(out_, name); }

  // [N=2, T=3, X=4] in single precision; value n*12 + t*4 + x. Times have one more.
  void write_tensor() const {
    H5File file(in_);
    file.dataset("tensor", {2, 3, 4}, counting(24), H5T_IEEE_F32LE);
    file.dataset("x-coordinate", {4}, every(0.25, 4, 0.125), H5T_IEEE_F32LE);
    file.dataset("t-coordinate", {4}, every(0.1, 4), H5T_IEEE_F32LE);
    file.attribute("Nu", 0.01);
  }

  TemporaryFolder folder_;
  const std::string in_ = folder_.path("in.hdf5"), out_ = folder_.path("out.h5");
};

TEST_F(Import, OneTensorAsPool) {
  write_tensor();

  const Imported imported = import(ImportAs::pool);

  EXPECT_EQ(imported.rows, 2u);
  EXPECT_EQ(read("states").shape, (Sizes{2, 1, 4}));
  EXPECT_EQ(read("states").values, (Values{0, 1, 2, 3, 12, 13, 14, 15}));
  const StateInfo info = read_state_info(out_);
  EXPECT_EQ(info.grid.points, Sizes{4});
  EXPECT_NEAR(info.grid.lengths[0], 1.0, 1e-6);  // coordinates are in single precision
  EXPECT_NEAR(info.dt, 0.1, 1e-7);
}

TEST_F(Import, EveryStateCanBeACandidate) {
  write_tensor();

  EXPECT_EQ(import(ImportAs::all_states, {.time_stride = 2}).rows, 4u);

  EXPECT_EQ(read("states").shape, (Sizes{4, 1, 4}));
  EXPECT_EQ(read("states").values[4], 8.0);
}

TEST_F(Import, OneTensorAsTestSet) {
  write_tensor();

  EXPECT_EQ(import(ImportAs::test).rows, 2u);

  EXPECT_EQ(read("trajectory").shape, (Sizes{2, 3, 1, 4}));
  EXPECT_EQ(read("trajectory").values, counting(24));
}

TEST_F(Import, OneTensorAsTransitions) {
  write_tensor();

  EXPECT_EQ(import(ImportAs::transitions, {.name = "burgers"}).rows, 4u);

  const TransitionSet set = read_transitions(out_);
  EXPECT_EQ(set.equation, "burgers");
  EXPECT_EQ(set.origins, (std::vector<Provenance>{{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}}));
  EXPECT_EQ(set.inputs[4 * 2 + 1], 13.0);
  EXPECT_EQ(set.outputs[4 * 2 + 1], 17.0);
}

TEST_F(Import, StridesAndLimitsAndWhatTheUserKnowsBetter) {
  write_tensor();

  const Imported imported =
      import(ImportAs::test, {.time_stride = 2, .trajectories = 1, .dt = 0.2, .lengths = {8.0}});

  EXPECT_EQ(imported.rows, 1u);
  EXPECT_EQ(read("trajectory").shape, (Sizes{1, 2, 1, 4}));
  EXPECT_EQ(read("trajectory").values, (Values{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(read_state_info(out_).dt, 0.4);
  EXPECT_EQ(read_state_info(out_).grid.lengths[0], 8.0);
}

TEST_F(Import, APlaneAsOneTensor) {
  {
    H5File file(in_);
    file.dataset("tensor", {1, 2, 2, 3}, counting(12));
    file.dataset("x-coordinate", {2}, every(0.5, 2));
    file.dataset("y-coordinate", {3}, every(2.0, 3));
    file.dataset("t-coordinate", {2}, every(1.0, 2));
  }

  import(ImportAs::test);

  EXPECT_EQ(read("trajectory").shape, (Sizes{1, 2, 1, 2, 3}));
  EXPECT_EQ(read_state_info(out_).grid.lengths, (Values{1.0, 6.0}));
}

// Fields of a gas, in the order of our equation: density, velocities, pressure.
TEST_F(Import, ADatasetForEachField) {
  {
    H5File file(in_);
    double first = 0;
    for (const char* name : {"Vx", "Vy", "density", "pressure"}) {
      file.dataset(name, {2, 2, 2, 3}, counting(24, first), H5T_IEEE_F32LE);
      first += 100;
    }
    file.dataset("x-coordinate", {2}, every(0.5, 2));
    file.dataset("y-coordinate", {3}, every(0.5, 3));
    file.dataset("t-coordinate", {3}, every(0.05, 3));
  }

  const Imported all = import(ImportAs::test);
  EXPECT_EQ(all.data.channels, (std::vector<std::string>{"density", "Vx", "Vy", "pressure"}));
  const Array<double> trajectory = read("trajectory");
  EXPECT_EQ(trajectory.shape, (Sizes{2, 2, 4, 2, 3}));
  // Trajectory 1, time 0, channel 2 (Vy), point (1, 2): value 12 + 5 of Vy.
  EXPECT_EQ(trajectory.values[((1 * 2 + 0) * 4 + 2) * 6 + 5], 117.0);

  const Imported two = import(ImportAs::pool, {.fields = {"pressure", "density"}});
  EXPECT_EQ(two.data.channels, (std::vector<std::string>{"pressure", "density"}));
  EXPECT_EQ(read("states").values[0], 300.0);
  EXPECT_TRUE(contains(error_text(ErrorKind::config,
                                  [&] {
                                    import(ImportAs::pool, {.fields = { "Vz" }});
                                  }),
                       "no field 'Vz' that varies; it has: density, Vx, Vy, pressure"));
}

TEST_F(Import, AGroupForEachTrajectory) {
  {
    H5File file(in_);
    double first = 0;
    for (const char* name : {"0000", "0001", "0007"}) {
      const std::string group = name;
      file.group(group);
      file.group(group + "/grid");
      file.dataset(group + "/data", {3, 2, 4, 2}, counting(48, first), H5T_IEEE_F32LE);
      file.dataset(group + "/grid/t", {3}, every(0.05, 3), H5T_IEEE_F32LE);
      file.dataset(group + "/grid/x", {2}, every(1.0, 2, -0.5), H5T_IEEE_F32LE);
      file.dataset(group + "/grid/y", {4}, every(0.5, 4, -0.75), H5T_IEEE_F32LE);
      first += 1000;
    }
  }

  const Imported imported = import(ImportAs::test);

  EXPECT_EQ(imported.rows, 3u);
  const Array<double> trajectory = read("trajectory");
  EXPECT_EQ(trajectory.shape, (Sizes{3, 3, 2, 2, 4}));
  // Trajectory 2, time 1, channel 1, point (1, 3): [T, X, Y, C] has it at ((1*2+1)*4+3)*2+1.
  EXPECT_EQ(trajectory.values[(((2 * 3 + 1) * 2 + 1) * 2 + 1) * 4 + 3],
            2000.0 + ((1 * 2 + 1) * 4 + 3) * 2 + 1);
  EXPECT_EQ(read_state_info(out_).grid.lengths, (Values{2.0, 2.0}));
  EXPECT_NEAR(read_state_info(out_).dt, 0.05, 1e-8);
}

TEST_F(Import, AGroupForEachTrajectoryOnALine) {
  {
    H5File file(in_);
    file.group("0000");
    file.group("0000/grid");
    file.dataset("0000/data", {3, 5, 1}, counting(15));
    file.dataset("0000/grid/t", {4}, every(2.0, 4));
    file.dataset("0000/grid/x", {5}, every(0.2, 5));
  }

  import(ImportAs::transitions);

  EXPECT_EQ(read("inputs").shape, (Sizes{2, 1, 5}));
  EXPECT_EQ(read_transitions(out_).dt, 2.0);
}

TEST_F(Import, VelocityWithItsComponentsLast) {
  {
    H5File file(in_);
    file.dataset("velocity", {2, 3, 2, 2, 2}, counting(48), H5T_IEEE_F32LE);
    file.dataset("particles", {2, 3, 2, 2, 1}, counting(24, 500), H5T_IEEE_F32LE);
    file.dataset("force", {2, 2, 2, 2}, counting(16), H5T_IEEE_F32LE);
    file.dataset("t", {2, 3}, {0, 0.5, 1, 0, 0.5, 1});
  }

  const Imported imported = import(ImportAs::test, {.lengths = {1, 1}});

  EXPECT_EQ(imported.data.channels,
            (std::vector<std::string>{"velocity_x", "velocity_y", "particles"}));
  ASSERT_EQ(imported.data.notes.size(), 1u);
  EXPECT_TRUE(contains(imported.data.notes[0], "force"));
  const Array<double> trajectory = read("trajectory");
  EXPECT_EQ(trajectory.shape, (Sizes{2, 3, 3, 2, 2}));
  // Trajectory 1, time 2, velocity_y at point (0, 1).
  EXPECT_EQ(trajectory.values[((1 * 3 + 2) * 3 + 1) * 4 + 1], ((1 * 3 + 2) * 4 + 1) * 2 + 1);
  EXPECT_EQ(trajectory.values[((1 * 3 + 2) * 3 + 2) * 4 + 1], 500 + (1 * 3 + 2) * 4 + 1);
  EXPECT_EQ(read_state_info(out_).dt, 0.5);

  EXPECT_TRUE(contains(error_text(ErrorKind::config, [&] { import(ImportAs::transitions); }),
                       "give --lengths"));
  // A pool without them is one that says nothing about itself.
  import(ImportAs::pool, {.fields = { "velocity" }});
  EXPECT_EQ(read("states").shape, (Sizes{2, 2, 2, 2}));
  EXPECT_FALSE(has_attribute(out_, "/", "lengths"));
}

// Texts as lists of fixed length, and an empty list that is of numbers, as some programs write it.
void text_list(hid_t object, const char* name, const std::vector<std::string>& texts) {
  std::string bytes;
  for (std::string text : texts) {
    text.resize(8, '\0');
    bytes += text;
  }
  const hid_t type = texts.empty() ? H5Tcopy(H5T_NATIVE_DOUBLE) : H5Tcopy(H5T_C_S1);
  if (!texts.empty()) H5Tset_size(type, 8);
  const hsize_t n = texts.size();
  const hid_t space = H5Screate_simple(1, &n, nullptr);
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, type, bytes.data());
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
}
void list_of_group(const H5File& file, const char* group, const char* name,
                   const std::vector<std::string>& texts) {
  const hid_t id = H5Gopen2(file.id(), group, H5P_DEFAULT);
  text_list(id, name, texts);
  H5Gclose(id);
}

// Two scalar fields, a vector field and a coefficient that does not vary with time.
void write_well(const std::string& path) {
  H5File file(path);
  file.attribute("n_trajectories", 2, H5T_STD_I64LE);
  file.text_attribute("dataset_name", "flow");
  for (const char* group : {"dimensions", "t0_fields", "t1_fields", "t2_fields",
                            "boundary_conditions", "boundary_conditions/x_wall"})
    file.group(group);
  list_of_group(file, "dimensions", "spatial_dims", {"x", "y"});
  file.dataset("dimensions/time", {3}, every(0.25, 3), H5T_IEEE_F32LE);
  file.dataset("dimensions/x", {2}, every(0.5, 2), H5T_IEEE_F32LE);
  file.dataset("dimensions/y", {4}, every(0.5, 4), H5T_IEEE_F32LE);
  file.dataset("t0_fields/a", {2, 3, 2, 4}, counting(48), H5T_IEEE_F32LE);
  file.dataset("t0_fields/b", {2, 3, 2, 4}, counting(48, 100), H5T_IEEE_F32LE);
  file.dataset("t0_fields/speed", {2, 2, 4}, counting(16), H5T_IEEE_F32LE);
  file.dataset("t1_fields/v", {2, 3, 2, 4, 2}, counting(96, 1000), H5T_IEEE_F32LE);
  file.dataset("t2_fields/s", {2, 3, 2, 4, 2, 2}, counting(192, 5000), H5T_IEEE_F32LE);
  list_of_group(file, "t0_fields", "field_names", {"b", "a", "speed"});
  list_of_group(file, "t1_fields", "field_names", {"v"});
  list_of_group(file, "t2_fields", "field_names", {"s"});
  file.dataset("boundary_conditions/x_wall/mask", {2}, {1, 1}, H5T_STD_U8LE);
  const hid_t boundary = H5Gopen2(file.id(), "boundary_conditions/x_wall", H5P_DEFAULT);
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, 4);
  const hid_t kind = H5Acreate2(boundary, "bc_type", type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(kind, type, "WALL");
  H5Aclose(kind);
  H5Sclose(space);
  H5Tclose(type);
  H5Gclose(boundary);
}

TEST_F(Import, TheWell) {
  write_well(in_);

  const Imported imported = import(ImportAs::test);

  EXPECT_EQ(imported.data.layout, "the-well");
  EXPECT_EQ(imported.data.channels,
            (std::vector<std::string>{"b", "a", "v_x", "v_y", "s_xx", "s_xy", "s_yx", "s_yy"}));
  const Array<double> trajectory = read("trajectory");
  EXPECT_EQ(trajectory.shape, (Sizes{2, 3, 8, 2, 4}));
  const auto at = [&](std::size_t b, std::size_t t, std::size_t c, std::size_t x, std::size_t y) {
    return trajectory.values[(((b * 3 + t) * 8 + c) * 2 + x) * 4 + y];
  };
  const double place = ((1 * 3 + 2) * 2 + 1) * 4 + 3;  // of [2, 3, 2, 4]
  EXPECT_EQ(at(1, 2, 0, 1, 3), 100 + place);
  EXPECT_EQ(at(1, 2, 1, 1, 3), place);
  EXPECT_EQ(at(1, 2, 3, 1, 3), 1000 + place * 2 + 1);
  EXPECT_EQ(at(1, 2, 6, 1, 3), 5000 + place * 4 + 2);
  const StateInfo info = read_state_info(out_);
  EXPECT_EQ(info.equation, "flow");
  EXPECT_EQ(info.grid.lengths, (Values{1.0, 2.0}));
  EXPECT_EQ(info.dt, 0.25);
  ASSERT_EQ(imported.data.notes.size(), 2u);
  EXPECT_TRUE(contains(imported.data.notes[0], "speed"));
  EXPECT_TRUE(contains(imported.data.notes[1], "x_wall is 'wall'"));

  EXPECT_EQ(import(ImportAs::pool, {.fields = {"v"}}).data.channels,
            (std::vector<std::string>{"v_x", "v_y"}));
  EXPECT_TRUE(contains(error_text(ErrorKind::config,
                                  [&] {
                                    import(ImportAs::pool, {.fields = { "speed" }});
                                  }),
                       "'speed'"));
}

// What our export writes: of a trajectory with gaps only steps that the solver made come back.
TEST_F(Import, TransitionsOfTheWellKnowWhatTheSolverMade) {
  {
    WellWriter writer(in_, {.name = "kdv",
                            .grid = make_grid(1, {2}, {1.0}),
                            .channels = {"u"},
                            .times = {0, 1, 2, 3, 4},
                            .trajectories = 2,
                            .parameters = {}});
    const double nan = std::numeric_limits<double>::quiet_NaN();
    writer.put(0, Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    writer.put(1, Values{nan, nan, 12, 13, 14, 15, nan, nan, 18, 19});
    // The second state of the first trajectory is the surrogate's; the last of the second has no
    // state before it.
    writer.add_scalar("state_source", true, Values{1, 3, 2, 2, 3, 0, 3, 2, 0, 2});
    writer.commit();
  }

  EXPECT_EQ(import(ImportAs::transitions).rows, 3u);

  const TransitionSet set = read_transitions(out_);
  EXPECT_EQ(set.origins, (std::vector<Provenance>{{0, 0, 1}, {0, 0, 2}, {0, 1, 1}}));
  EXPECT_EQ(set.inputs, (Values{2, 3, 4, 5, 12, 13}));
  EXPECT_EQ(set.outputs, (Values{4, 5, 6, 7, 14, 15}));
  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { import(ImportAs::test); }),
                       "trajectory 1 is not finite at time 0"));
  EXPECT_TRUE(contains(
      error_text(ErrorKind::config, [&] { import(ImportAs::transitions, {.time_stride = 2}); }),
      "leave --time-stride at 1"));
}

TEST_F(Import, NpyWithAnyOrderOfAxes) {
  const fs::path file[] = {folder_.path("a.npy")};
  write_npy(file[0], Sizes{2, 3, 2, 4, 1}, counting(48));

  EXPECT_EQ(import_files(file, ImportAs::test, {.layout = "btxyc"}, out_).rows, 2u);
  EXPECT_EQ(read("trajectory").shape, (Sizes{2, 3, 1, 2, 4}));
  EXPECT_EQ(read("trajectory").values, counting(48));

  EXPECT_EQ(import_files(file, ImportAs::test, {}, out_).rows, 2u);  // as ours: B T C X Y
  EXPECT_EQ(read("trajectory").shape, (Sizes{2, 3, 2, 4, 1}));

  write_npy(file[0], Sizes{4, 3, 2}, counting(24));
  EXPECT_EQ(
      import_files(file, ImportAs::transitions, {.lengths = {1.0}, .layout = "xtb"}, out_).rows,
      4u);
  const TransitionSet set = read_transitions(out_);
  EXPECT_EQ(set.inputs[0 * 4 + 3], 18.0);  // x = 3, t = 0, b = 0
  EXPECT_EQ(set.outputs[2 * 4 + 1], 9.0);  // x = 1, t = 1, b = 1
}

TEST_F(Import, NpyOfInputsAndOutputs) {
  const fs::path inputs[] = {folder_.path("inputs.npy")};
  const fs::path outputs = folder_.path("outputs.npy");
  write_npy(inputs[0], Sizes{3, 2, 4}, counting(24));
  write_npy(outputs, Sizes{3, 2, 4}, counting(24, 100));

  const Imported imported = import_files(
      inputs, ImportAs::transitions, {.dt = 0.5, .lengths = {1.0}, .name = "mine"}, out_, outputs);

  EXPECT_EQ(imported.rows, 3u);
  const TransitionSet set = read_transitions(out_);
  EXPECT_EQ(set.inputs, counting(24));
  EXPECT_EQ(set.outputs, counting(24, 100));
  EXPECT_EQ(set.origins, (std::vector<Provenance>{{0, 0, 0}, {0, 1, 0}, {0, 2, 0}}));
  EXPECT_EQ(set.dt, 0.5);

  write_npy(outputs, Sizes{2, 2, 4}, counting(16));
  EXPECT_TRUE(contains(error_text(ErrorKind::data,
                                  [&] {
                                    import_files(inputs, ImportAs::transitions, {.lengths = {1.0}},
                                                 out_, outputs);
                                  }),
                       "outputs.npy: has 2 x 1 states"));
  error_text(ErrorKind::config, [&] { import_files(inputs, ImportAs::pool, {}, out_, outputs); });
}

TEST_F(Import, FilesOfOursBecomeTransitions) {
  H5File(in_).dataset("trajectory", {2, 3, 1, 4}, counting(24));

  EXPECT_EQ(import(ImportAs::transitions, {.lengths = {1.0}}).rows, 4u);
  EXPECT_EQ(read_transitions(out_).inputs[4], 4.0);
}

TEST_F(Import, SeveralFilesAreOneBehindTheOther) {
  write_tensor();
  const fs::path second = folder_.path("second.hdf5");
  {
    H5File file(second);
    file.dataset("tensor", {1, 3, 4}, counting(12, 500));
    file.dataset("x-coordinate", {4}, every(0.25, 4, 0.125));
    file.dataset("t-coordinate", {3}, every(0.1, 3));
  }
  const fs::path files[] = {in_, second};

  EXPECT_EQ(import_files(files, ImportAs::test, {}, out_).rows, 3u);
  EXPECT_EQ(read("trajectory").values[24], 500.0);
  EXPECT_EQ(import_files(files, ImportAs::pool, {.trajectories = 1}, out_).rows, 1u);

  H5File(second).dataset("tensor", {1, 3, 5}, counting(15));
  EXPECT_TRUE(
      contains(error_text(ErrorKind::data, [&] { import_files(files, ImportAs::test, {}, out_); }),
               "second.hdf5: has 3 times of [u] on 5 points"));
}

TEST_F(Import, TheHashOfTheValuesIsWritten) {
  write_tensor();

  import(ImportAs::test);

  // Of 24 doubles 0, 1, ... 23, by another program.
  EXPECT_EQ(read_text_attribute(out_, "/", "sha256"),
            "83e13c83f17cec9f8ab1cf1146ae28520e65812acb66b4e41c6945d196fc04fe");
}

TEST_F(Import, WhatDoesNotFitIsSaid) {
  const auto said = [&](ErrorKind kind, const ImportOptions& options = {}) {
    return error_text(kind, [&] { import(ImportAs::test, options); });
  };

  EXPECT_TRUE(contains(said(ErrorKind::data), "no such file"));
  H5File(in_).dataset("stuff", {2, 3, 4}, counting(24));
  EXPECT_TRUE(contains(said(ErrorKind::data), "none of the known layouts"));
  EXPECT_TRUE(contains(said(ErrorKind::data), "it has: stuff"));
  H5File(in_).dataset("tensor", {2, 3, 2, 2, 2}, counting(48));
  EXPECT_TRUE(contains(said(ErrorKind::data), "expected N x T x X or N x T x X x Y"));
  H5File(in_).dataset("tensor", {0, 3, 4}, {});
  EXPECT_TRUE(contains(said(ErrorKind::data), "holds no state"));
  write_tensor();
  EXPECT_TRUE(contains(said(ErrorKind::config, {.lengths = {1, 2}}), "--lengths has 2 values"));
  EXPECT_TRUE(contains(said(ErrorKind::config, {.layout = "btx"}), "--layout is for .npy files"));
  EXPECT_TRUE(contains(said(ErrorKind::config, {.time_stride = 0}), "--time-stride"));
  EXPECT_TRUE(contains(said(ErrorKind::data, {.format = "the-well"}), "dimensions"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(Import, TimesMustHaveOneInterval) {
  {
    H5File file(in_);
    file.dataset("tensor", {1, 3, 4}, counting(12));
    file.dataset("t-coordinate", {3}, {0, 1, 3});
  }
  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { import(ImportAs::test); }),
                       "expected the same interval"));
  EXPECT_EQ(import(ImportAs::test, {.dt = 1.0}).rows, 1u);

  H5File(in_).dataset("tensor", {1, 3, 4}, counting(12));
  {
    H5File file(in_);
    file.dataset("tensor", {1, 3, 4}, counting(12));
    file.dataset("t-coordinate", {5}, every(1, 5));
  }
  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { import(ImportAs::test); }),
                       "'t-coordinate' has 5 entries, expected 3"));
}

// What lies elsewhere or needs a plug-in is not read, whichever layout it pretends to be.
TEST_F(Import, ContentOfOtherFilesIsNotRead) {
  H5File(folder_.path("other.h5")).dataset("tensor", {2, 3, 4}, counting(24));
  const auto refused = [&](const std::function<void(H5File&)>& fill) {
    {
      H5File file(in_);
      fill(file);
    }
    const std::string text =
        error_text(ErrorKind::data, [&] { import(ImportAs::test, {.format = "pdebench"}); });
    EXPECT_FALSE(fs::exists(out_));
    return text;
  };

  refused([&](H5File& file) {
    H5Lcreate_external(folder_.path("other.h5").c_str(), "tensor", file.id(), "tensor", H5P_DEFAULT,
                       H5P_DEFAULT);
  });
  EXPECT_TRUE(contains(refused([&](H5File& file) {
                         const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
                         H5Pset_external(creation, folder_.path("other.h5").c_str(), 0, 24 * 8);
                         file.dataset("tensor", {2, 3, 4}, {}, H5T_IEEE_F64LE, creation);
                         H5Pclose(creation);
                       }),
                       "other files"));
  EXPECT_TRUE(contains(refused([&](H5File& file) {
                         const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
                         const hsize_t shape[] = {2, 3, 4};
                         const hid_t space = H5Screate_simple(3, shape, nullptr);
                         H5Pset_virtual(creation, space, folder_.path("other.h5").c_str(), "tensor",
                                        space);
                         file.dataset("tensor", {2, 3, 4}, {}, H5T_IEEE_F64LE, creation);
                         H5Sclose(space);
                         H5Pclose(creation);
                       }),
                       "other files"));
  // Coordinates are read as well.
  EXPECT_TRUE(contains(refused([&](H5File& file) {
                         file.dataset("tensor", {2, 3, 4}, counting(24));
                         const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
                         H5Pset_external(creation, folder_.path("other.h5").c_str(), 0, 24);
                         file.dataset("t-coordinate", {3}, {}, H5T_IEEE_F64LE, creation);
                         H5Pclose(creation);
                       }),
                       "other files"));
}

// A filter that nobody here has: registered in this test, so that the file can be written.
TEST_F(Import, ForeignFiltersAreRefused) {
  constexpr H5Z_filter_t kFilter = 32123;
  const H5Z_class2_t filter = {H5Z_CLASS_T_VERS,
                               kFilter,
                               1,
                               1,
                               "mine",
                               nullptr,
                               nullptr,
                               [](unsigned, std::size_t, const unsigned*, std::size_t bytes,
                                  std::size_t*, void**) { return bytes; }};
  ASSERT_GE(H5Zregister(&filter), 0);
  {
    H5File file(in_);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {1, 3, 4};
    H5Pset_chunk(creation, 3, chunk);
    H5Pset_filter(creation, kFilter, H5Z_FLAG_MANDATORY, 0, nullptr);
    file.dataset("tensor", {2, 3, 4}, counting(24), H5T_IEEE_F64LE, creation);
    H5Pclose(creation);
  }

  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { import(ImportAs::test); }),
                       "needs the filter plug-in 32123"));
  H5Zunregister(kFilter);
}

}  // namespace
}  // namespace stap
