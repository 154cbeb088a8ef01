#include "stap/results/test_set.h"

#include <gtest/gtest.h>

#include <functional>

#include "stap/core/error.h"
#include "stap/run/study_data.h"
#include "support/contains.h"
#include "support/environment.h"
#include "support/h5_writing.h"
#include "support/run_folder.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::contains;
using test::H5File;
using test::ScopedVariable;
using test::TemporaryFolder;

// Of the doubles 1 .. 16 and 2 .. 17, little endian (by Python's hashlib).
constexpr const char* kHash = "53eeb0f920641722e9172e14ff8f6b51dadeb5b958cbbb751516c26d967f9a9f";
constexpr const char* kOtherHash =
    "6695ec7170a81a99aa67d6eebf631718a5b910b2ff9eb2387fd07fb1aa26cccd";

const Grid kGrid{.channels = 1, .points = {4}, .lengths = {1.0}};

class TestSet : public ::testing::Test {
 protected:
  RunResult run(const std::string& more = "") const {
    test::write_run_folder(folder_.path("run"), "run/1",
                           std::string("{\"test_sha256\": \"") + kHash + "\"" + more + "}");
    return read_result(folder_.path("run"));
  }

  // Two trajectories of two states of four points: first, first + 1, ...
  void write(const std::filesystem::path& path, double first) const {
    std::filesystem::create_directories(path.parent_path());
    std::vector<double> values(16);
    for (double& value : values) value = first++;
    H5File(path).dataset("trajectory", {2, 2, 1, 4}, values);
  }

  std::filesystem::path cached() const {
    return cache_ + "/" + study_key(data_request(run().config)) + ".h5";
  }

  std::string refusal(const RunResult& run) const {
    try {
      find_test_set(run, kGrid);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }

  TemporaryFolder folder_;
  const std::string cache_ = folder_.path("cache");
  const ScopedVariable variable_{"STAP_CACHE", cache_};
};

TEST_F(TestSet, IsFoundInTheCache) {
  write(cached(), 1);

  const RunTestSet found = find_test_set(run(), kGrid);

  EXPECT_EQ(found.file, cached());
  EXPECT_EQ(found.trajectories.times, 2u);
  EXPECT_EQ(found.trajectories.states.row(3)[3], 16.0);
}

// The cached file has other values, so that taking it would be refused.
TEST_F(TestSet, AFileThatTheManifestNamesComesFirst) {
  write(cached(), 2);
  write(folder_.path("data/test.h5"), 1);
  const std::string absolute = folder_.path("data/test.h5");

  for (const std::string& name : {std::string("../data/test.h5"), absolute}) {
    const RunTestSet found = find_test_set(run(", \"test_file\": \"" + name + "\""), kGrid);

    EXPECT_TRUE(std::filesystem::equivalent(found.file, absolute));
  }
}

TEST_F(TestSet, ANamedFileThatIsGoneLeavesTheCache) {
  write(cached(), 1);

  EXPECT_EQ(find_test_set(run(", \"test_file\": \"gone.h5\""), kGrid).file, cached());
}

TEST_F(TestSet, AnotherHashIsRefused) {
  write(cached(), 2);

  const std::string message = refusal(run());

  EXPECT_TRUE(contains(message, std::string("has hash ") + kOtherHash));
  EXPECT_TRUE(contains(message, std::string("was evaluated with ") + kHash));
  write(folder_.path("run/test.h5"), 2);
  write(cached(), 1);
  EXPECT_TRUE(contains(refusal(run(", \"test_file\": \"test.h5\"")), "run/test.h5 has hash"));
}

TEST_F(TestSet, WhatIsMissingNamesTheCommandThatMakesIt) {
  const std::string command = "'stap generate " + folder_.path("run") + "' makes it";

  EXPECT_TRUE(contains(refusal(run()), command));
  EXPECT_TRUE(contains(refusal(run()), cached()));
  EXPECT_TRUE(contains(refusal(run(", \"test_file\": \"gone.h5\"")), "run/gone.h5"));
  const ScopedVariable off("STAP_CACHE", "off");
  EXPECT_TRUE(contains(refusal(run()), "the cache is off"));
  EXPECT_TRUE(contains(refusal(run()), command));
}

TEST_F(TestSet, AStudyWithoutOneSaysSo) {
  test::write_run_folder(folder_.path("run"), "run/2", "{\"test_sha256\": null}");

  EXPECT_TRUE(contains(refusal(read_result(folder_.path("run"))), "has no test set"));
}

}  // namespace
}  // namespace stap
