#include "stap/data/store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <numeric>

#include "stap/core/error.h"
#include "support/h5_writing.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

// Read by the leak checker of the asan build: HDF5 1.10 loses some memory over damaged files.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libhdf5";
}

namespace stap {
namespace {

using test::H5File;
using test::TemporaryFolder;
using Sizes = std::vector<std::size_t>;

std::vector<double> counting(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

// Damaged files that HDF5 1.10 cannot close would spoil the end of this program.
const bool kNoExitHandler = (disable_store_exit_handler(), true);

// The message of the Error(data) that `act` throws; empty, and a failure, if it does not.
std::string data_error(const std::function<void()>& act) {
  return test::error_text(ErrorKind::data, act);
}

#define EXPECT_SAYS(message, part) \
  EXPECT_NE(std::string(message).find(part), std::string::npos) << message

const Grid kLine = make_grid(1, {8}, {1.0});

// Two states of 8 values are one row of 16, from either dataset.
TEST(Store, ReadsClustersOfStatesOrTheFirstTimesOfTrajectories) {
  const TemporaryFolder folder;
  H5File(folder.path("states.h5")).dataset("states", {3, 2, 8}, counting(48));
  H5File(folder.path("trajectory.h5")).dataset("trajectory", {2, 5, 1, 8}, counting(80));
  H5File(folder.path("short.h5")).dataset("trajectory", {2, 1, 1, 8}, counting(16));
  const Grid clusters = make_grid(2, {8}, {1.0});

  const States<double> states = read_clusters(folder.path("states.h5"), clusters, 2);
  const States<double> first = read_clusters(folder.path("trajectory.h5"), clusters, 2);

  EXPECT_EQ(states.count(), 3u);
  EXPECT_EQ(states.row(2)[15], 47.0);
  EXPECT_EQ(first.grid(), clusters);
  EXPECT_EQ(first.count(), 2u);
  EXPECT_EQ(first.row(1)[0], 40.0);  // the second trajectory begins after 5 x 8 values
  EXPECT_EQ(first.row(1)[15], 55.0);
  EXPECT_SAYS(data_error([&] { read_clusters(folder.path("short.h5"), clusters, 2); }),
              "has 1 times, expected at least the 2");
  EXPECT_SAYS(data_error([&] { read_clusters(folder.path("states.h5"), kLine, 1); }),
              "3 x 2 x 8, expected B x 1 x 8");
}

TEST(Store, ReadsNumbersOfEveryKindAsDouble) {
  const TemporaryFolder folder;
  {
    H5File file(folder.path("a.h5"));
    file.group("params");
    file.dataset("params/lifting.fcs.0.weight", {2, 3}, {1.5, 2, -3, 4, 5, 6}, H5T_IEEE_F32LE);
    file.dataset("whole", {3}, {-7, 0, 9}, H5T_STD_I16BE);
    file.dataset("one", {}, {42}, H5T_STD_U8LE);
    file.dataset("none", {0, 4}, {});
  }

  const Array<double> weight = read_array(folder.path("a.h5"), "params/lifting.fcs.0.weight");

  EXPECT_EQ(weight.shape, (Sizes{2, 3}));
  EXPECT_EQ(weight.values, (std::vector<double>{1.5, 2, -3, 4, 5, 6}));
  EXPECT_EQ(read_array(folder.path("a.h5"), "whole").values, (std::vector<double>{-7, 0, 9}));
  EXPECT_EQ(read_array(folder.path("a.h5"), "one").shape, Sizes{});
  EXPECT_EQ(read_array(folder.path("a.h5"), "one").values, std::vector<double>{42});
  EXPECT_EQ(read_array(folder.path("a.h5"), "none").shape, (Sizes{0, 4}));
  EXPECT_EQ(list_datasets(folder.path("a.h5")),
            (std::vector<std::string>{"none", "one", "params/lifting.fcs.0.weight", "whole"}));
}

TEST(Store, ReadsRowsAndShapesWithoutTheRest) {
  const TemporaryFolder folder;
  H5File(folder.path("a.h5")).dataset("x", {4, 2, 3}, counting(24), H5T_IEEE_F32LE);
  const std::string file = folder.path("a.h5");

  const Array<double> rows = read_rows(file, "x", 1, 2);

  EXPECT_EQ(rows.shape, (Sizes{2, 2, 3}));
  EXPECT_EQ(rows.values.front(), 6.0);
  EXPECT_EQ(rows.values.back(), 17.0);
  EXPECT_EQ(read_rows(file, "x", 4, 0).values.size(), 0u);
  EXPECT_EQ(read_shape(file, "x"), (Sizes{4, 2, 3}));
  EXPECT_SAYS(data_error([&] { read_rows(file, "x", 3, 2); }), "4 x 2 x 3, expected rows 3 to 5");
  EXPECT_SAYS(data_error([&] { read_rows(file, "x", 5, 0); }), "expected rows");
  EXPECT_SAYS(data_error([&] { read_shape(file, "y"); }), "no dataset 'y'");
}

// Booleans as other programs store them: an enumeration of two bytes.
TEST(Store, ReadsBooleans) {
  const TemporaryFolder folder;
  {
    H5File file(folder.path("a.h5"));
    const hid_t boolean = H5Tenum_create(H5T_STD_I8LE);
    std::int8_t code = 0;
    H5Tenum_insert(boolean, "FALSE", &code);
    code = 1;
    H5Tenum_insert(boolean, "TRUE", &code);
    const hsize_t three = 3;
    const hid_t space = H5Screate_simple(1, &three, nullptr);
    const hid_t set =
        H5Dcreate2(file.id(), "S", boolean, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const std::int8_t bits[] = {1, 0, 1};
    H5Dwrite(set, boolean, H5S_ALL, H5S_ALL, H5P_DEFAULT, bits);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(boolean);
  }

  EXPECT_EQ(read_array(folder.path("a.h5"), "S").values, (std::vector<double>{1, 0, 1}));
}

TEST(Store, ReadsAttributes) {
  const TemporaryFolder folder;
  {
    H5File file(folder.path("a.h5"));
    file.attribute("tolerance_out", 1e-5);
    file.attribute("n_modes", 12, H5T_STD_I64LE);
    file.text_attribute("compare", "relative L2");
  }

  EXPECT_EQ(read_attribute(folder.path("a.h5"), "/", "tolerance_out").values.at(0), 1e-5);
  EXPECT_EQ(read_attribute(folder.path("a.h5"), "/", "n_modes").values.at(0), 12);
  EXPECT_EQ(read_text_attribute(folder.path("a.h5"), "/", "compare"), "relative L2");
  EXPECT_TRUE(has_attribute(folder.path("a.h5"), "/", "n_modes"));
  EXPECT_FALSE(has_attribute(folder.path("a.h5"), "/", "modes"));
  EXPECT_SAYS(data_error([&] { read_attribute(folder.path("a.h5"), "/", "modes"); }), "modes");
  EXPECT_SAYS(data_error([&] { read_attribute(folder.path("a.h5"), "/", "compare"); }), "text");
  EXPECT_SAYS(data_error([&] { read_text_attribute(folder.path("a.h5"), "/", "n_modes"); }),
              "numbers");
  EXPECT_SAYS(data_error([&] { read_attribute(folder.path("a.h5"), "/nowhere", "x"); }), "nowhere");
}

TEST(Store, ReadsStates) {
  const TemporaryFolder folder;
  H5File(folder.path("a.h5")).dataset("states", {3, 1, 8}, counting(24), H5T_IEEE_F32LE);

  const States<double> states = read_states(folder.path("a.h5"), kLine);

  ASSERT_EQ(states.count(), 3u);
  EXPECT_EQ(states.row(2)[7], 23.0);
}

TEST(Store, ReadsTheFirstTimeOfATrajectory) {
  const TemporaryFolder folder;
  H5File(folder.path("a.h5")).dataset("trajectory", {2, 3, 1, 8}, counting(48));

  const States<double> states = read_states(folder.path("a.h5"), kLine);

  ASSERT_EQ(states.count(), 2u);
  EXPECT_EQ(states.row(0)[0], 0.0);
  EXPECT_EQ(states.row(1)[0], 24.0);
  EXPECT_EQ(states.row(1)[7], 31.0);
}

TEST(Store, ReadsStatesOfTwoAxesAndSeveralChannels) {
  const TemporaryFolder folder;
  H5File(folder.path("a.h5")).dataset("states", {2, 3, 4, 5}, counting(120));

  const States<double> states = read_states(folder.path("a.h5"), make_grid(3, {4, 5}, {1, 1}));

  EXPECT_EQ(states.row(1)[0], 60.0);
}

TEST(Store, WholeTrajectories) {
  const TemporaryFolder folder;
  H5File(folder.path("a.h5")).dataset("trajectory", {2, 3, 1, 8}, counting(48));

  const Trajectories trajectories = read_trajectories(folder.path("a.h5"), kLine);

  EXPECT_EQ(trajectories.times, 3u);
  ASSERT_EQ(trajectories.states.count(), 6u);
  EXPECT_EQ(trajectories.states.row(1 * 3 + 2)[7], 47.0);
  EXPECT_EQ(trajectories.states.row(1)[0], 8.0);
}

TEST(Store, TrajectoriesOfAnotherShapeAreRefused) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& name, const std::vector<hsize_t>& shape) {
    H5File(folder.path("a.h5")).dataset(name, shape, {});
    return data_error([&] { read_trajectories(folder.path("a.h5"), kLine); });
  };

  EXPECT_SAYS(message("trajectory", {2, 3, 1, 9}), "2 x 3 x 1 x 9, expected B x T x 1 x 8");
  EXPECT_SAYS(message("trajectory", {0, 3, 1, 8}), "at least one state");
  EXPECT_SAYS(message("states", {2, 1, 8}), "has no dataset 'trajectory'; it has: states");
}

TEST(Store, StatesOfTheWrongShapeNameBothShapes) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& name, const std::vector<hsize_t>& shape) {
    H5File(folder.path("a.h5")).dataset(name, shape, {});
    return data_error([&] { read_states(folder.path("a.h5"), kLine); });
  };

  EXPECT_SAYS(message("states", {3, 1, 9}), "3 x 1 x 9, expected B x 1 x 8");
  EXPECT_SAYS(message("states", {3, 8}), "3 x 8, expected B x 1 x 8");
  EXPECT_SAYS(message("states", {3, 2, 1, 8}), "expected B x 1 x 8");
  EXPECT_SAYS(message("states", {}), "scalar");
  EXPECT_SAYS(message("trajectory", {3, 1, 8}), "expected B x T x 1 x 8");
  EXPECT_SAYS(message("states", {0, 1, 8}), "at least one state");
  EXPECT_SAYS(message("trajectory", {2, 0, 1, 8}), "at least one state");
  EXPECT_SAYS(message("stats", {3, 1, 8}), "it has: stats");
}

TEST(Store, TextInsteadOfNumbersIsSaid) {
  const TemporaryFolder folder;
  {
    H5File file(folder.path("a.h5"));
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 4);
    file.dataset("states", {3, 1, 8}, {}, text);
    H5Tclose(text);
  }

  EXPECT_SAYS(data_error([&] { read_states(folder.path("a.h5"), kLine); }), "holds text");
}

TEST(Store, MissingThingsAreNamed) {
  const TemporaryFolder folder;
  H5File(folder.path("a.h5")).dataset("x", {1}, {1});

  EXPECT_SAYS(data_error([&] { read_array(folder.path("b.h5"), "x"); }), "no such file");
  EXPECT_SAYS(data_error([&] { read_array(folder.path(), "x"); }), "not a file");
  const std::string message = data_error([&] { read_array(folder.path("a.h5"), "y"); });
  EXPECT_SAYS(message, "a.h5");
  EXPECT_SAYS(message, "no dataset 'y'; it has: x");
}

TEST(Store, FilesThatAreNotHdf5AreSaidToBe) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("text.h5")) << "this is no HDF5 file";
  std::ofstream(folder.path("empty.h5"));

  EXPECT_SAYS(data_error([&] { read_array(folder.path("text.h5"), "x"); }),
              "cannot be read as HDF5");
  EXPECT_SAYS(data_error([&] { read_array(folder.path("empty.h5"), "x"); }),
              "cannot be read as HDF5");
}

// Cut at many lengths and broken at many bytes: an Error(data) or the right values or other
// numbers, but never a crash, a hang, another exception or a huge allocation.
TEST(Store, DamagedFilesNeverCrash) {
  const TemporaryFolder folder;
  H5File(folder.path("whole.h5")).dataset("states", {3, 1, 8}, counting(24));
  std::ifstream in(folder.path("whole.h5"), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  ASSERT_GT(whole.size(), 500u);
  const auto readable = [&](const std::string& bytes) {
    std::ofstream(folder.path("bad.h5"), std::ios::binary) << bytes;
    try {
      read_states(folder.path("bad.h5"), kLine);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
      return false;
    }
  };

  for (std::size_t size = 0; size < whole.size(); size += 61)
    EXPECT_FALSE(readable(whole.substr(0, size))) << size;
  std::size_t refused = 0;
  // Byte 895 is among them, with which HDF5 1.10 itself asks for 4 GB.
  for (std::size_t i = 2; i < whole.size(); i += 47) {
    std::string broken = whole;
    broken[i] = static_cast<char>(broken[i] ^ 0xff);
    if (!readable(broken)) ++refused;
  }
  EXPECT_GT(refused, 3u);
  EXPECT_TRUE(readable(whole));
}

// 2^40 values that were never written take no room in the file: nothing is allocated for them.
TEST(Store, ImpossiblyLargeDatasetsAreRefused) {
  const TemporaryFolder folder;
  {
    H5File file(folder.path("a.h5"));
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {1, 1, 8};
    H5Pset_chunk(creation, 3, chunk);
    file.dataset("states", {hsize_t{1} << 40, 1, 8}, {}, H5T_IEEE_F64LE, creation);
    H5Pclose(creation);
  }

  EXPECT_SAYS(data_error([&] { read_states(folder.path("a.h5"), kLine); }), "more than a file of");
  EXPECT_SAYS(data_error([&] { read_array(folder.path("a.h5"), "states"); }),
              "more than a file of");
}

TEST(Store, ContentOfOtherFilesIsNotRead) {
  const TemporaryFolder folder;
  H5File(folder.path("other.h5")).dataset("states", {3, 1, 8}, counting(24));
  {
    H5File file(folder.path("a.h5"));
    H5Lcreate_external(folder.path("other.h5").c_str(), "states", file.id(), "states", H5P_DEFAULT,
                       H5P_DEFAULT);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, folder.path("other.h5").c_str(), 0, 24 * 8);
    file.dataset("raw", {24}, {}, H5T_IEEE_F64LE, creation);
    H5Pclose(creation);
  }

  data_error([&] { read_states(folder.path("a.h5"), kLine); });
  data_error([&] { read_array(folder.path("a.h5"), "states"); });
  EXPECT_SAYS(data_error([&] { read_array(folder.path("a.h5"), "raw"); }), "other files");
}

TEST(Store, GroupsThatContainThemselvesEnd) {
  const TemporaryFolder folder;
  {
    H5File file(folder.path("a.h5"));
    file.group("g");
    H5Lcreate_hard(file.id(), "g", file.id(), "g/g", H5P_DEFAULT, H5P_DEFAULT);
  }

  EXPECT_FALSE(data_error([&] { list_datasets(folder.path("a.h5")); }).empty());
}

// What the host has set up for HDF5's own messages is as it was after a call that failed.
TEST(Store, LeavesTheErrorPrinterAlone) {
  H5E_auto2_t before = nullptr, after = nullptr;
  void *before_data = nullptr, *after_data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &before_data);

  data_error([] { read_array("/nowhere/a.h5", "x"); });

  H5Eget_auto2(H5E_DEFAULT, &after, &after_data);
  EXPECT_EQ(after, before);
  EXPECT_EQ(after_data, before_data);
}

}  // namespace
}  // namespace stap
