#include "stap/data/transitions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "stap/core/error.h"
#include "stap/data/store.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::content;
using test::TemporaryFolder;

std::string data_error(const std::function<void()>& act) {
  return test::error_text(ErrorKind::data, act);
}

// Three transitions of two acquisitions on a grid of 2 x 3 values.
TransitionSet some_set(std::size_t cluster = 1) {
  TransitionSet set{.grid = make_grid(2, {3}, {1.5}), .cluster = cluster};
  set.equation = "burgers";
  set.dt = 0.1;
  set.acquisitions = 2;
  set.origins = {{0, 7, 0}, {0, 7, 1}, {1, 4, 5}};
  set.inputs.resize(18);
  std::iota(set.inputs.begin(), set.inputs.end(), 0.25);
  set.outputs.resize(18);
  std::iota(set.outputs.begin(), set.outputs.end(), 100.5);
  return set;
}

void expect_equal(const TransitionSet& a, const TransitionSet& b) {
  EXPECT_EQ(a.grid, b.grid);
  EXPECT_EQ(a.cluster, b.cluster);
  EXPECT_EQ(a.equation, b.equation);
  EXPECT_EQ(a.dt, b.dt);
  EXPECT_EQ(a.acquisitions, b.acquisitions);
  EXPECT_EQ(a.origins, b.origins);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.parameters.names, b.parameters.names);
  EXPECT_EQ(a.parameters.values, b.parameters.values);
}

TEST(Transitions, ComeBack) {
  const TemporaryFolder folder;
  for (std::size_t cluster : {1u, 2u}) {
    const TransitionSet set = some_set(cluster);

    write_transitions(folder.path("t.h5"), set);

    expect_equal(read_transitions(folder.path("t.h5")), set);
    // Attributes are of single states.
    EXPECT_EQ(read_attribute(folder.path("t.h5"), "/", "channels").values.at(0),
              cluster == 1 ? 2.0 : 1.0);
    EXPECT_EQ(read_integers(folder.path("t.h5"), "candidate").values,
              (std::vector<std::int64_t>{7, 7, 4}));
  }
}

TransitionSet varied_set() {
  TransitionSet set = some_set();
  set.parameters = {{"nu", "k"}, {0.01, 3.0, 0.01, 3.0, 0.02, 4.0}};
  return set;
}

// Where there are parameters only the format is another, so that programs that do not know them
// refuse the file instead of training without them.
TEST(Transitions, ComeBackWithTheirParameters) {
  const TemporaryFolder folder;
  const TransitionSet set = varied_set();

  write_transitions(folder.path("t.h5"), set);
  write_transitions(folder.path("without.h5"), some_set());

  expect_equal(read_transitions(folder.path("t.h5")), set);
  EXPECT_EQ(read_text_attribute(folder.path("t.h5"), "/", "format"), "transitions/3");
  EXPECT_EQ(read_text_attribute(folder.path("without.h5"), "/", "format"), "transitions/2");
  TransitionSet other = set;
  other.parameters.values[4] = 0.03;
  EXPECT_NE(digest(other), digest(set));
}

TEST(Transitions, ParametersThatDoNotFitAreDamage) {
  const TemporaryFolder folder;
  TransitionSet few = varied_set(), infinite = varied_set();
  few.parameters.names.pop_back();
  few.parameters.values.resize(3);
  write_transitions(folder.path("few.h5"), few);  // one each: a set of its own
  expect_equal(read_transitions(folder.path("few.h5")), few);
  infinite.parameters.values[1] = HUGE_VAL;
  write_transitions(folder.path("t.h5"), infinite);
  EXPECT_NE(data_error([&] { read_transitions(folder.path("t.h5")); }).find("t.h5"),
            std::string::npos);
}

// What drops the last acquisition must leave what was there before it, to the byte.
TEST(Transitions, TheLastAcquisitionCanBeDropped) {
  const TemporaryFolder folder;
  TransitionSet before = some_set();
  before.acquisitions = 1;
  before.origins.pop_back();
  before.inputs.resize(12);
  before.outputs.resize(12);
  before.parameters = {{"nu"}, {0.1, 0.1}};
  TransitionSet set = some_set();
  set.parameters = {{"nu"}, {0.1, 0.1, 0.2}};

  drop_last_acquisition(set);

  expect_equal(set, before);
  set.acquisitions = 2;  // one in which nothing was bought
  drop_last_acquisition(set);
  expect_equal(set, before);
  drop_last_acquisition(set);
  EXPECT_EQ(set.count(), 0u);
}

TEST(Transitions, CountsThatCannotBeAreDamage) {
  const TemporaryFolder folder;
  constexpr std::size_t kNegative = SIZE_MAX, kHuge = std::size_t{1} << 60;
  for (const auto& [acquisitions, candidate] : {std::pair{std::size_t{0}, std::size_t{4}},
                                                {1, 4},
                                                {kNegative, 4},
                                                {2, kNegative},
                                                {2, kHuge}}) {
    TransitionSet set = some_set();
    set.acquisitions = acquisitions;
    set.origins[2].candidate = candidate;
    write_transitions(folder.path("t.h5"), set);
    EXPECT_NE(data_error([&] { read_transitions(folder.path("t.h5")); }).find("t.h5"),
              std::string::npos);
  }
  TransitionSet unordered = some_set();
  std::swap(unordered.origins[0], unordered.origins[2]);
  write_transitions(folder.path("t.h5"), unordered);
  data_error([&] { read_transitions(folder.path("t.h5")); });
}

}  // namespace
}  // namespace stap
