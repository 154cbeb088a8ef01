#include "data/child_read.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <stdexcept>

#include "stap/core/error.h"
#include "stap/core/seal.h"
#include "support/environment.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using h5::guarded;
using h5::Trust;
using test::TemporaryFolder;
namespace fs = std::filesystem;

const fs::path kFuzz = fs::path(STAP_TEST_SOURCE_DIR) / "tests/fuzz";

class ChildRead : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(file_) << "some bytes"; }

  std::string data_error(const std::function<void()>& act) {
    return test::error_text(ErrorKind::data, act);
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path("a.h5");
};

// Breaks if an axis, a count or a byte of a value is left out on the way.
TEST_F(ChildRead, ValuesComeAsTheyWere) {
  Array<double> large{{1000, 300}, std::vector<double>(300'000)};
  std::iota(large.values.begin(), large.values.end(), 0.5);
  TransitionSet set{.grid = make_grid(2, {3}, {1.5}), .equation = "heat", .dt = 0.25};
  set.origins = {{0, 7, 1}, {2, 3, 4}};
  set.inputs.assign(12, 1.0);
  set.outputs.assign(12, -1.0);
  Trajectories trajectories{States<double>(set.grid, 2), 2};
  trajectories.states.row(1)[5] = 42.0;
  const std::vector<std::string> names{"", "a", std::string(100'000, 'x')};

  const auto got = guarded(file_, [&] { return large; });
  const auto got_set = guarded(file_, [&] { return set; });
  const auto got_trajectories = guarded(file_, [&] { return trajectories; });
  const pid_t reader = guarded(file_, [] { return getpid(); });

  EXPECT_NE(reader, getpid());
  EXPECT_EQ(got.shape, large.shape);
  EXPECT_EQ(got.values, large.values);
  EXPECT_EQ(got_set.grid, set.grid);
  EXPECT_EQ(got_set.equation, "heat");
  EXPECT_EQ(got_set.origins, set.origins);
  EXPECT_EQ(got_set.outputs, set.outputs);
  EXPECT_EQ(got_trajectories.times, 2u);
  EXPECT_EQ(got_trajectories.states.row(1)[5], 42.0);
  EXPECT_EQ(guarded(file_, [&] { return names; }), names);
}

TEST_F(ChildRead, ErrorsComeWithTheirKind) {
  EXPECT_EQ(test::error_text(ErrorKind::config,
                             [&] {
                               guarded(file_, []() -> bool {
                                 throw Error(ErrorKind::config, "no such field");
                               });
                             }),
            "no such field");
  EXPECT_EQ(
      test::error_text(ErrorKind::internal,
                       [&] { guarded(file_, []() -> bool { throw std::logic_error("a bug"); }); }),
      "a bug");
}

// The files are real: one byte of a heap of texts was changed, and HDF5 1.10.8 follows it.
TEST_F(ChildRead, AFileThatCrashesHdf5IsSaidToBeDamaged) {
  for (const char* name : {"heap-crash", "heap-abort"}) {
    const std::string message =
        data_error([&] { read_text(kFuzz / "corpus/hdf5" / name, "reason"); });
    EXPECT_NE(message.find("damaged or hostile"), std::string::npos) << message;
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }

  const std::string killed =
      data_error([&] { guarded(file_, []() -> bool { return raise(SIGKILL) == 0; }); });
  const std::string crashed =
      data_error([&] { guarded(file_, []() -> bool { return raise(SIGSEGV) == 0; }); });

  EXPECT_NE(killed.find("ended by the system"), std::string::npos) << killed;
  EXPECT_NE(crashed.find("crashed HDF5 (signal 11"), std::string::npos) << crashed;
}

// Another byte of that heap; without RLIMIT_CPU this test does not end.
TEST_F(ChildRead, AFileThatHangsHdf5IsEnded) {
  const std::string message = data_error([&] { read_text(kFuzz / "hdf5-heap-hang", "reason"); });

  EXPECT_NE(message.find("took too long"), std::string::npos) << message;
}

// Also in a host that does not want to hear of its children's ends.
TEST_F(ChildRead, AHostThatIgnoresChildrenIsServed) {
  const auto before = signal(SIGCHLD, SIG_IGN);

  const int got = guarded(file_, [] { return 3; });
  const std::string crashed =
      data_error([&] { guarded(file_, []() -> bool { return raise(SIGSEGV) == 0; }); });

  signal(SIGCHLD, before);
  EXPECT_EQ(got, 3);
  EXPECT_NE(crashed.find("damaged or hostile"), std::string::npos) << crashed;
}

// 10 bytes allow 256 MiB, and 1 MiB to be handed out. Breaks without RLIMIT_AS or the count.
TEST_F(ChildRead, MemoryIsLimited) {
  const auto take = [&](std::size_t values) {
    return [values] { return Array<double>{{values}, std::vector<double>(values)}; };
  };

  EXPECT_NE(
      data_error([&] { guarded(file_, take(std::size_t{1} << 27)); }).find("damaged or hostile"),
      std::string::npos);
  EXPECT_NE(data_error([&] {
              guarded(file_, take(std::size_t{3} << 20));
            }).find("more than the file can hold"),
            std::string::npos);
}

// What is in the hands of a file that found a way to run code. Breaks if a call is let through.
TEST_F(ChildRead, NothingIsWrittenStartedOrSent) {
  const int ours = open(folder_.path("ours").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  const std::vector<int> errors = guarded(file_, [&] {
    std::vector<int> codes;
    const auto tried = [&](auto result) { codes.push_back(result < 0 ? errno : 0); };
    if (prctl(PR_GET_SECCOMP) != 2) return codes;
    tried(write(ours, "x", 1));
    tried(ftruncate(ours, 5));
    tried(open(folder_.path("new").c_str(), O_WRONLY | O_CREAT, 0600));
    tried(unlink(file_.c_str()));
    tried(socket(AF_INET, SOCK_STREAM, 0));
    tried(execl("/bin/true", "true", nullptr));
    tried(fork());
    tried(kill(getppid(), 0));
    return codes;
  });
  close(ours);

  EXPECT_EQ(errors, std::vector<int>(errors.size(), EPERM));
  EXPECT_EQ(fs::file_size(folder_.path("ours")), 0u);
  EXPECT_TRUE(fs::exists(file_));
}

// A lock of this process is to end with it, even where a file hangs its reader. Breaks without
// close_others.
TEST_F(ChildRead, WhatTheParentHasOpenIsClosed) {
  const int ours = open(folder_.path("ours").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  const std::vector<int> errors = guarded(file_, [&] {
    struct stat status {};
    return std::vector<int>{fstat(ours, &status) == 0 ? 0 : errno};
  });
  close(ours);

  EXPECT_EQ(errors, std::vector<int>{EBADF});
}

TEST_F(ChildRead, AFileIsLookedAtOnceAndOnlyOursAreReadHere) {
  const fs::path own = folder_.path("own.h5");
  std::ofstream(own) << "content" << seal_line("content");
  const auto who = [] { return getpid(); };

  const pid_t nested =
      guarded(file_, [&] { return guarded(file_, who) == getpid() ? getpid() : 0; });

  EXPECT_NE(nested, 0);
  EXPECT_EQ(guarded(own, who), getpid());
  EXPECT_EQ(guarded(own, [&] { return guarded(own, who); }), getpid());
  EXPECT_NE(guarded(own, [&] { return guarded(file_, who); }), getpid());
  EXPECT_NE(guarded(own, Trust::nobody, who), getpid());
  const test::ScopedVariable none("STAP_TRUST", "none");
  EXPECT_NE(guarded(own, who), getpid());
  const test::ScopedVariable slip("STAP_TRUST", "non");
  test::expect_error(ErrorKind::config, "STAP_TRUST is 'non', expected own",
                     [&] { guarded(own, who); });
}

}  // namespace
}  // namespace stap
