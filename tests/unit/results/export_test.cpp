#include "stap/results/export.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "support/contains.h"
#include "support/fake_study.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"
#include "support/well_check.h"

namespace stap {
namespace {

using test::contains;
using test::content;
using test::error_text;
using test::TemporaryFolder;
using Values = std::vector<double>;
constexpr auto kUnknown = StateSource::unknown;
constexpr auto kInitial = StateSource::initial;
constexpr auto kSolver = StateSource::solver;
constexpr auto kMean = StateSource::mean_model;

// Candidate 7 in full, candidate 3 by the pattern 01011, candidate 5 by 10000. State t of candidate
// c holds 100 c + 10 t + (0, 1, 2, ...).
TrainingData by_hand(const Grid& grid, std::size_t cluster = 1) {
  TrainingData data;
  data.problem = "gray-scott";
  data.grid = grid;
  data.channels =
      grid.channels == 1 ? std::vector<std::string>{"u"} : std::vector<std::string>{"u", "v"};
  data.steps = 5 * cluster;
  data.set.cluster = cluster;
  data.set.grid = grid;
  data.set.grid.channels *= cluster;
  data.set.dt = 0.5;
  data.set.acquisitions = 2;
  const auto add_cluster = [&](Values& to, std::size_t candidate, std::size_t step) {
    for (std::size_t t = step * cluster; t < (step + 1) * cluster; ++t)
      for (std::size_t v = 0; v < grid.values(); ++v)
        to.push_back(static_cast<double>(100 * candidate + 10 * t + v));
  };
  for (const auto& [acquisition, candidate, steps] :
       {std::tuple{0, 7, std::vector{0, 1, 2, 3, 4}}, {1, 3, {1, 3, 4}}, {1, 5, {0}}})
    for (int step : steps) {
      const auto c = static_cast<std::size_t>(candidate), s = static_cast<std::size_t>(step);
      data.set.origins.push_back({static_cast<std::size_t>(acquisition), c, s});
      add_cluster(data.set.inputs, c, s);
      add_cluster(data.set.outputs, c, s + 1);
    }
  put_together(data);
  return data;
}

const Grid kLine = make_grid(1, {3}, {3.0});

TEST(Export, AnInputIsSyntheticWhereTheStepBeforeWasNotBought) {
  const TrainingData data = by_hand(kLine);

  EXPECT_EQ(data.synthetic, (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1, 1, 0, 0}));
  ASSERT_EQ(data.trajectories.size(), 3u);
  EXPECT_EQ(data.trajectories[0].candidate, 7u);
  EXPECT_EQ(data.trajectories[0].sources,
            (std::vector{kInitial, kSolver, kSolver, kSolver, kSolver, kSolver}));
  EXPECT_EQ(data.trajectories[1].acquisition, 1u);
  EXPECT_EQ(data.trajectories[1].sources,
            (std::vector{kUnknown, kMean, kSolver, kMean, kSolver, kSolver}));
  EXPECT_EQ(data.trajectories[2].sources,
            (std::vector{kInitial, kSolver, kUnknown, kUnknown, kUnknown, kUnknown}));
}

TEST(Export, TrajectoriesArePutTogetherAsFarAsTheyAreKnown) {
  const TrainingData data = by_hand(kLine);

  const Values states = data.states_of(data.trajectories[1]);

  ASSERT_EQ(states.size(), 18u);
  EXPECT_TRUE(std::isnan(states[0]));
  for (std::size_t t = 1; t < 6; ++t)
    EXPECT_EQ(states[3 * t + 2], static_cast<double>(300 + 10 * t + 2)) << t;
  EXPECT_TRUE(data.state_of(data.trajectories[2], 2).empty());
  EXPECT_EQ(data.state_of(data.trajectories[2], 1)[0], 510.0);
}

// Two states at once: a pattern of five bits stands for ten steps, and time 0 is the second state.
TEST(Export, ClustersBecomeSingleStates) {
  const TrainingData data = by_hand(kLine, 2);

  EXPECT_EQ(data.times(), 12u);
  EXPECT_EQ(data.time(0), -0.5);
  EXPECT_EQ(data.time(11), 5.0);
  EXPECT_EQ(data.trajectories[1].sources,
            (std::vector{kUnknown, kUnknown, kMean, kMean, kSolver, kSolver, kMean, kMean, kSolver,
                         kSolver, kSolver, kSolver}));
  EXPECT_EQ(data.state_of(data.trajectories[0], 5)[1], 751.0);
  EXPECT_EQ(data.synthetic, by_hand(kLine).synthetic);
}

TEST(Export, StepsThatCannotBeAreDamage) {
  TrainingData data = by_hand(kLine);
  data.steps = 4;

  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { put_together(data); }), "step 4"));
}

TEST(Export, TheWellHasStatesAndWhatMadeThem) {
  const TemporaryFolder folder;
  TrainingData data = by_hand(make_grid(2, {3, 2}, {3.0, 1.0}));
  data.parameters = {{"F", 0.04}};

  export_well(data, folder.path("a.hdf5"));

  EXPECT_EQ(test::WellCheck::complaints(folder.path("a.hdf5")), std::vector<std::string>{});
  const auto read = [&](const char* name) { return read_array(folder.path("a.hdf5"), name); };
  const Array<double> v = read("t0_fields/v");
  EXPECT_EQ(v.shape, (std::vector<std::size_t>{3, 6, 3, 2}));
  // Candidate 3 at time 3, channel 1, point (2, 1): value 11 of the state.
  EXPECT_EQ(v.values[((1 * 6 + 3) * 3 + 2) * 2 + 1], 300.0 + 30.0 + 11.0);
  EXPECT_TRUE(std::isnan(v.values[(1 * 6 + 0) * 6]));
  EXPECT_EQ(read("scalars/state_source").values,
            (Values{1, 2, 2, 2, 2, 2, 0, 3, 2, 3, 2, 2, 1, 2, 0, 0, 0, 0}));
  EXPECT_EQ(read("scalars/candidate").values, (Values{7, 3, 5}));
  EXPECT_EQ(read("scalars/round").values, (Values{0, 1, 1}));
  EXPECT_EQ(read("dimensions/time").values, (Values{0, 0.5, 1, 1.5, 2, 2.5}));
}

TEST(Export, NpyHasTheTransitions) {
  const TemporaryFolder folder;
  const TrainingData data = by_hand(make_grid(2, {3, 2}, {3.0, 1.0}));
  const auto read = [&](const char* name) {
    return read_npy(folder.path("out") + "/" + name + ".npy");
  };
  std::filesystem::create_directory(folder.path("out"));  // an empty one may be there

  export_npy(data, folder.path("out/"));

  EXPECT_EQ(read("inputs").shape, (std::vector<std::size_t>{9, 2, 3, 2}));
  EXPECT_EQ(read("inputs").values, data.set.inputs);
  EXPECT_EQ(read("outputs").values, data.set.outputs);
  EXPECT_EQ(read("candidate").values, (Values{7, 7, 7, 7, 7, 3, 3, 3, 5}));
  EXPECT_EQ(read("step").values, (Values{0, 1, 2, 3, 4, 1, 3, 4, 0}));
  EXPECT_EQ(read("round").values, (Values{0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(read("synthetic").values, (Values{0, 0, 0, 0, 0, 1, 1, 0, 0}));
  const std::string readme = content(folder.path("out/README.txt"));
  EXPECT_TRUE(contains(readme, "n = 9 transitions; channels u, v; 3 x 2 points"));
  EXPECT_EQ(folder.entries(), 1u);
  // What is there is not written over, and need not be where it is the same.
  export_npy(data, folder.path("out"));
  folder.file("out/mine", "");
  EXPECT_TRUE(contains(error_text(ErrorKind::config, [&] { export_npy(data, folder.path("out")); }),
                       "exists and is not empty"));
  EXPECT_EQ(folder.entries(), 1u);
  error_text(ErrorKind::storage, [&] { export_npy(data, "/proc/no/out"); });
}

// Values lie with x contiguous, as viewers have it, and the text names only what is there.
TEST(Export, XdmfPointsToTheStates) {
  const TemporaryFolder folder;
  const TrainingData data = by_hand(make_grid(2, {3, 2}, {3.0, 1.0}));

  export_xdmf(data, folder.path("a.xdmf"));

  const std::string text = content(folder.path("a.xdmf"));
  EXPECT_TRUE(contains(text, "<Grid Name=\"candidate 3, round 1\""));
  EXPECT_TRUE(contains(text, "Dimensions=\"1 2 3\""));               // z, y, x
  EXPECT_TRUE(contains(text, "Format=\"XML\">1 0.5 1</DataItem>"));  // spacings likewise
  std::size_t pointers = 0;
  for (std::size_t at = text.find("a.h5:/"); at != std::string::npos;
       at = text.find("a.h5:/", at + 1)) {
    const std::size_t begin = at + 6, end = text.find('<', begin);
    const Array<double> field = read_array(folder.path("a.h5"), text.substr(begin, end - begin));
    EXPECT_EQ(field.shape, (std::vector<std::size_t>{2, 3}));
    ++pointers;
  }
  EXPECT_EQ(pointers, 2u * (6 + 5 + 2));  // channels x known states
  const Array<double> v = read_array(folder.path("a.h5"), "1_3_v");
  // [Y, X] of the values 6 .. 11, which are [X, Y].
  EXPECT_EQ(v.values, (Values{336, 338, 340, 337, 339, 341}));
  EXPECT_EQ(read_array(folder.path("a.h5"), "state_source").values[6], 0.0);
}

TEST(Export, XdmfOfALine) {
  const TemporaryFolder folder;

  export_xdmf(by_hand(kLine), folder.path("a.xmf"));

  EXPECT_TRUE(contains(content(folder.path("a.xmf")), "Dimensions=\"1 1 3\""));
  EXPECT_EQ(read_array(folder.path("a.h5"), "0_2_u").values, (Values{720, 721, 722}));
  EXPECT_TRUE(contains(
      error_text(ErrorKind::config, [&] { export_xdmf(by_hand(kLine), folder.path("a.h5")); }),
      ".xdmf"));
}

// Of a run: what its plans did not buy was made by the mean model.
TEST(Export, ARunsTrainingSetIsReadFromItsFolder) {
  const TemporaryFolder folder;
  const Study study = test::fake_study();
  test::drive_fake(study, folder.path("run"), test::willing_solver(study));

  const TrainingData data = read_training_data(folder.path("run"));

  const RunFolder run(folder.path("run"));
  EXPECT_EQ(data.steps, 4u);
  EXPECT_EQ(data.channels, std::vector<std::string>{"u"});
  EXPECT_EQ(data.set.origins, run.read_transitions().origins);
  std::size_t expected = 0;  // inputs that the mean model made, by the plans
  for (std::size_t round = 0; round < study.options.rounds; ++round)
    for (const Purchase& p : run.read_plan(round, 1, 14, 4).purchases)
      for (std::size_t step = 1; step < 4; ++step)
        expected += p.pattern[step] && !p.pattern[step - 1] ? 1 : 0;
  EXPECT_GT(expected, 0u);
  EXPECT_EQ(std::accumulate(data.synthetic.begin(), data.synthetic.end(), std::size_t{0}),
            expected);
  export_well(data, folder.path("a.hdf5"));
  EXPECT_EQ(test::WellCheck::complaints(folder.path("a.hdf5")), std::vector<std::string>{});
}

TEST(Export, AFolderWithoutATrainingSetIsRefused) {
  const TemporaryFolder folder;
  error_text(ErrorKind::data, [&] { read_training_data(folder.path("nothing")); });
}

}  // namespace
}  // namespace stap
