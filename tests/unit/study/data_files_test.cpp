#include "stap/study/data_files.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "support/contains.h"
#include "support/h5_writing.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::contains;
using test::H5File;
using test::TemporaryFolder;
using Sizes = std::vector<std::size_t>;

std::vector<double> counting(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

std::string data_error(const std::function<void()>& act) {
  return test::error_text(ErrorKind::data, act);
}

class NpyData : public ::testing::Test {
 protected:
  std::string file(const Sizes& shape) const {
    std::size_t n = 1;
    for (std::size_t size : shape) n *= size;
    write_npy(folder_.path("a.npy"), shape, counting(n));
    return folder_.path("a.npy");
  }
  const Grid line_ = make_grid(1, {3}, {1.0}), plane_ = make_grid(2, {3, 4}, {1.0, 2.0});
  TemporaryFolder folder_;
};

TEST_F(NpyData, APoolIsReadWithAndWithoutItsOneChannel) {
  for (const Sizes& shape : {Sizes{5, 1, 3}, Sizes{5, 3}}) {
    const Pool pool = read_pool(file(shape), line_, 1, 0);

    EXPECT_EQ(pool.states.grid(), line_);
    ASSERT_EQ(pool.states.count(), 5u);
    EXPECT_EQ(pool.states.row(4)[2], 14.0);
  }
  EXPECT_EQ(read_pool(file({2, 2, 3, 4}), plane_, 1, 0).states.row(1)[0], 24.0);
  EXPECT_EQ(read_pool(file({5, 3}), line_, 1, 2).states.count(), 2u);
}

// The same values make the same pool and test set, whichever file they are in.
TEST_F(NpyData, HashesAreThoseOfHdf5) {
  H5File(folder_.path("pool.h5")).dataset("states", {5, 1, 3}, counting(15));
  H5File(folder_.path("test.h5")).dataset("trajectory", {2, 4, 1, 3}, counting(24));

  EXPECT_EQ(read_pool(file({5, 3}), line_, 1, 0).sha256,
            read_pool(folder_.path("pool.h5"), line_, 1, 0).sha256);
  EXPECT_EQ(read_test_set(file({2, 4, 3}), line_, 0, 0).sha256,
            read_test_set(folder_.path("test.h5"), line_, 0, 0).sha256);
}

TEST_F(NpyData, ClustersAreChannelsOfTheFile) {
  const Pool pool = read_pool(file({5, 2, 3}), line_, 2, 0);

  EXPECT_EQ(pool.states.grid().channels, 2u);
  EXPECT_EQ(pool.states.count(), 5u);
}

TEST_F(NpyData, ATestSetIsReadAndCut) {
  const TestSet whole = read_test_set(file({2, 4, 1, 3}), line_, 0, 0);
  EXPECT_EQ(whole.times, 4u);
  EXPECT_EQ(whole.trajectories(), 2u);
  EXPECT_EQ(whole.states.row(1 * 4 + 3)[2], 23.0);

  const TestSet cut = read_test_set(file({2, 4, 3}), line_, 2, 0);
  EXPECT_EQ(cut.times, 2u);
  EXPECT_EQ(cut.states.row(1 * 2 + 0)[0], 12.0);
  EXPECT_EQ(cut.states.row(1 * 2 + 1)[0], 15.0);
}

TEST_F(NpyData, OtherShapesAreNamedWithTheFile) {
  const auto pool = [&](const Sizes& shape, const Grid& grid) {
    return data_error([&] { read_pool(file(shape), grid, 1, 0); });
  };
  EXPECT_TRUE(contains(pool({5, 4}, line_), "a.npy has shape 5 x 4, expected B x 1 x 3 or B x 3"));
  EXPECT_TRUE(contains(pool({5, 3, 4}, plane_), "has shape 5 x 3 x 4, expected B x 2 x 3 x 4"));
  EXPECT_TRUE(contains(pool({3}, line_), "has shape 3, expected"));
  EXPECT_TRUE(contains(pool({}, line_), "has shape scalar, expected"));
  EXPECT_TRUE(contains(pool({0, 3}, line_), "at least one state"));
  EXPECT_TRUE(contains(data_error([&] {
                         read_pool(file({5, 3}), line_, 1, 6);
                       }),
                       "holds 5 initial conditions, but 6 are wanted"));

  EXPECT_TRUE(contains(data_error([&] {
                         read_test_set(file({5, 3}), line_, 0, 0);
                       }),
                       "has shape 5 x 3, expected B x T x 1 x 3 or B x T x 3"));
  EXPECT_TRUE(contains(data_error([&] {
                         read_test_set(file({2, 4, 3}), line_, 5, 0);
                       }),
                       "trajectories of 4 times, expected 5"));
}

TEST_F(NpyData, ValuesThatAreNotFiniteAreNamed) {
  std::vector<double> values = counting(24);
  values[17] = std::numeric_limits<double>::quiet_NaN();
  write_npy(folder_.path("a.npy"), Sizes{2, 4, 1, 3}, values);

  EXPECT_TRUE(contains(data_error([&] { read_test_set(folder_.path("a.npy"), line_, 0, 0); }),
                       "test trajectory 1 is not finite at time 1"));
}

// Two trajectories of five steps and one step of a third, as a file of transitions has them.
void write_first(const std::string& path, const Grid& grid, RowParameters parameters = {}) {
  TransitionSet set{.grid = grid, .equation = "mine", .dt = 0.5, .acquisitions = 2};
  for (std::size_t candidate : {7u, 3u})
    for (std::size_t step = 0; step < 5; ++step) set.origins.push_back({0, candidate, step});
  set.origins.push_back({1, 7, 2});  // bought later: another trajectory
  set.inputs = counting(11 * grid.values());
  set.outputs = counting(11 * grid.values());
  for (double& value : set.outputs) value += 0.5;
  set.parameters = std::move(parameters);
  write_transitions(path, set);
}

TEST_F(NpyData, FirstTransitionsAreNumberedBehindThePool) {
  write_first(folder_.path("t.h5"), line_);

  const FirstTransitions first = read_first(folder_.path("t.h5"), line_, 1, 5, 100, true);

  ASSERT_EQ(first.set.count(), 11u);
  EXPECT_EQ(first.set.origins[4], (Provenance{0, 100, 4}));
  EXPECT_EQ(first.set.origins[5], (Provenance{0, 101, 0}));
  EXPECT_EQ(first.set.origins[10], (Provenance{0, 102, 2}));
  EXPECT_EQ(first.set.inputs, counting(33));
  EXPECT_EQ(first.set.acquisitions, 0u);
  EXPECT_EQ(first.left_out, 0u);
}

// Broken by: columns in the order of the file, or the rows of transitions that are left out.
TEST_F(NpyData, FirstTransitionsHaveTheParametersOfTheProblem) {
  const std::string file = folder_.path("t.h5"), without = folder_.path("without.h5");
  RowParameters own{{"k", "nu"}, {}};
  for (std::size_t i = 0; i < 11; ++i) {
    own.values.push_back(10.0 + static_cast<double>(i));
    own.values.push_back(0.5 * static_cast<double>(i));
  }
  write_first(file, line_, own);
  write_first(without, line_);
  const auto read = [&](const std::string& path, const std::vector<std::string>& names) {
    return read_first(path, line_, 1, 3, 10, true, names);
  };

  const FirstTransitions first = read(file, {"nu", "k"});

  ASSERT_EQ(first.set.count(), 7u);
  EXPECT_EQ(first.set.parameters.names, (std::vector<std::string>{"nu", "k"}));
  EXPECT_EQ(first.set.parameters.row(2)[0], 1.0);
  EXPECT_EQ(first.set.parameters.row(3)[0], 2.5);  // the sixth of the file
  EXPECT_EQ(first.set.parameters.row(3)[1], 15.0);
  EXPECT_TRUE(contains(data_error([&] { read(file, {"nu"}); }), "has rows with their own k, nu"));
  EXPECT_TRUE(contains(data_error([&] { read(without, {"nu"}); }), "does not say the parameters"));
}

// A trajectory that is longer than the study's is two; where networks know the time, it ends.
TEST_F(NpyData, LongFirstTrajectoriesAreCut) {
  write_first(folder_.path("t.h5"), line_);

  const FirstTransitions cut = read_first(folder_.path("t.h5"), line_, 1, 3, 10, false);
  ASSERT_EQ(cut.set.count(), 11u);
  EXPECT_EQ(cut.set.origins[2], (Provenance{0, 10, 2}));
  EXPECT_EQ(cut.set.origins[3], (Provenance{0, 11, 0}));
  EXPECT_EQ(cut.set.origins[5], (Provenance{0, 12, 0}));
  EXPECT_EQ(cut.set.origins[10], (Provenance{0, 14, 2}));

  const FirstTransitions ended = read_first(folder_.path("t.h5"), line_, 1, 3, 10, true);
  EXPECT_EQ(ended.left_out, 4u);
  ASSERT_EQ(ended.set.count(), 7u);
  EXPECT_EQ(ended.set.origins[3], (Provenance{0, 11, 0}));
  EXPECT_EQ(ended.set.inputs[9], 15.0);  // the fourth that is left is the sixth of the file
  EXPECT_NE(ended.sha256, cut.sha256);
}

TEST_F(NpyData, FirstTransitionsOfAnotherGridAreRefused) {
  write_first(folder_.path("t.h5"), line_);

  EXPECT_TRUE(
      contains(data_error([&] { read_first(folder_.path("t.h5"), plane_, 1, 5, 9, false); }),
               "holds transitions of 1 x 3 in clusters of 1, expected 2 x 3 x 4"));
  data_error([&] { read_first(folder_.path("t.h5"), line_, 2, 5, 9, false); });
  data_error([&] { read_first(folder_.path("none.h5"), line_, 1, 5, 9, false); });
}

}  // namespace
}  // namespace stap
