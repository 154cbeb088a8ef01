#include "stap/data/trajectory_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>

#include "stap/core/error.h"
#include "stap/data/store.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::content;
using test::TemporaryFolder;
using Sizes = std::vector<std::size_t>;

const Grid kLine = make_grid(1, {4}, {1.0});
const TrajectoryInfo kInfo{.pde = "burgers", .dt = 0.25, .options = "points: 4\n"};

std::string storage_error(const std::function<void()>& act) {
  return test::error_text(ErrorKind::storage, act);
}

States<double> states_of(std::size_t rows, double first) {
  States<double> states(kLine, rows);
  for (double& value : states.values()) value = first++;
  return states;
}

TEST(TrajectoryFile, HoldsWhatWasPut) {
  const TemporaryFolder folder;
  const RowEnd ends[] = {{}, {Answer::Status::failed, "too steep", 2}};

  TrajectoryWriter writer(folder.path("t.h5"), kLine, 2, 2, kInfo);
  writer.put(0, states_of(2, 0).view());
  writer.put(1, states_of(2, 100).view());
  writer.commit(ends);

  const Array<double> trajectory = read_array(folder.path("t.h5"), "trajectory");
  EXPECT_EQ(trajectory.shape, (Sizes{2, 3, 1, 4}));
  EXPECT_EQ(trajectory.values[0], 0.0);           // row 0, time 0
  EXPECT_EQ(trajectory.values[4], 100.0);         // row 0, time 1
  EXPECT_EQ(trajectory.values[12 + 3], 7.0);      // row 1, time 0, last cell
  EXPECT_EQ(trajectory.values[12 + 4], 104.0);    // row 1, time 1
  EXPECT_TRUE(std::isnan(trajectory.values[8]));  // never put
  EXPECT_EQ(read_array(folder.path("t.h5"), "status").values, (std::vector<double>{0, 2}));
  EXPECT_EQ(read_array(folder.path("t.h5"), "failed_step").values, (std::vector<double>{-1, 2}));
  EXPECT_EQ(read_text(folder.path("t.h5"), "reason").values,
            (std::vector<std::string>{"", "too steep"}));
  EXPECT_EQ(read_text_attribute(folder.path("t.h5"), "/", "format"), "trajectories/1");
  EXPECT_EQ(read_text_attribute(folder.path("t.h5"), "/", "pde"), "burgers");
  EXPECT_EQ(read_text_attribute(folder.path("t.h5"), "/", "options"), "points: 4\n");
  const StateInfo info = read_state_info(folder.path("t.h5"));
  EXPECT_EQ(info.equation, "burgers");
  EXPECT_EQ(info.grid, kLine);
  EXPECT_EQ(info.dt, 0.25);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(TrajectoryFile, IsInputForTheNextCall) {
  const TemporaryFolder folder;
  const RowEnd ends[] = {{}, {}, {}};
  TrajectoryWriter writer(folder.path("t.h5"), kLine, 3, 1, kInfo);
  writer.put(0, states_of(3, 5).view());
  writer.commit(ends);

  const States<double> states = read_states(folder.path("t.h5"), kLine);

  EXPECT_EQ(states.row(2)[3], 16.0);
}

TEST(TrajectoryFile, WithoutCommitNothingIsLeftAndTheOldFileStays) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("t.h5")) << "old";
  {
    TrajectoryWriter writer(folder.path("t.h5"), kLine, 2, 2, kInfo);
    writer.put(0, states_of(2, 0).view());
    EXPECT_EQ(content(folder.path("t.h5")), "old");
    EXPECT_EQ(folder.entries(), 2u);
  }

  EXPECT_EQ(content(folder.path("t.h5")), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(TrajectoryFile, ReplacesAnOldFile) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("t.h5")) << "old";
  const RowEnd ends[] = {{}};

  TrajectoryWriter writer(folder.path("t.h5"), kLine, 1, 1, kInfo);
  writer.commit(ends);

  EXPECT_EQ(read_array(folder.path("t.h5"), "trajectory").shape, (Sizes{1, 2, 1, 4}));
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(TrajectoryFile, PlacesThatCannotBeWrittenAreSaidBeforeAnythingElse) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  const auto create = [&](const std::filesystem::path& path) {
    return storage_error([&] { TrajectoryWriter(path, kLine, 1, 1, kInfo); });
  };

  EXPECT_NE(create(folder.path("no/t.h5")).find("no folder"), std::string::npos);
  EXPECT_NE(create(folder.path("sub")).find("not a file"), std::string::npos);
  EXPECT_NE(create("/dev/null").find("not a file"), std::string::npos);
  create("/proc/t.h5");  // a folder in which nobody, not even root, may create a file
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(TrajectoryFile, MoreThanTheDiskHasIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const auto create = [&](std::size_t rows, std::size_t steps) {
    return storage_error([&] { TrajectoryWriter(folder.path("t.h5"), kLine, rows, steps, kInfo); });
  };

  EXPECT_NE(create(std::size_t{1} << 50, 1).find("bytes are free"), std::string::npos);
  EXPECT_NE(create(std::size_t{1} << 40, std::size_t{1} << 40).find("too large"),
            std::string::npos);
  EXPECT_EQ(folder.entries(), 0u);
}

// A disk that is full while the file is begun (here: a limit on the size of files). A lazily
// written file would pass here and fail after the computing.
TEST(TrajectoryFile, AFullDiskShowsBeforeTheComputing) {
  const TemporaryFolder folder;
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{1 << 16, limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);

  const std::string message =
      storage_error([&] { TrajectoryWriter(folder.path("t.h5"), kLine, 10000, 2, kInfo); });

  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(message.find("t.h5"), std::string::npos) << message;
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(TrajectoryFile, WrongSizesAreABug) {
  const TemporaryFolder folder;
  TrajectoryWriter writer(folder.path("t.h5"), kLine, 2, 2, kInfo);
  const auto kind = [](const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::config;
  };

  EXPECT_EQ(kind([&] { writer.put(3, states_of(2, 0).view()); }), ErrorKind::internal);
  EXPECT_EQ(kind([&] { writer.put(0, states_of(1, 0).view()); }), ErrorKind::internal);
  EXPECT_EQ(kind([&] { writer.commit({}); }), ErrorKind::internal);
}

}  // namespace
}  // namespace stap
