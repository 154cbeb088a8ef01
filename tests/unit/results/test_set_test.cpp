#include "stap/results/test_set.h"

#include <gtest/gtest.h>

#include <functional>

#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/market/problem.h"
#include "stap/study/data_request.h"
#include "stap/study/study.h"
#include "support/contains.h"
#include "support/environment.h"
#include "support/h5_writing.h"
#include "support/refusals.h"
#include "support/run_folder.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::contains;
using test::H5File;
using test::ScopedVariable;
using test::TemporaryFolder;

// Of the doubles 1 .. 72 and 2 .. 73, little endian (by Python's hashlib).
constexpr const char* kValuesHash =
    "6218e3b2a464e8283b5a654adb24f8df108a452e490ff9c08b7c64fec4b9b2b7";
constexpr const char* kOtherHash =
    "caa62061d667b0b1b0a3781afe03a13066fc289a8032edbd8137ec2f68c554f1";

const Grid kGrid{.channels = 1, .points = {4}, .lengths = {1.0}};

class FindTestSet : public ::testing::Test {
 protected:
  // A run of the demo, which makes 8 steps, with these texts in its identity.
  RunResult run(const std::vector<std::pair<const char*, std::string>>& more = {}) const {
    test::write_run_folder(folder_.path("run"), "");
    Manifest manifest = this_machine();
    if (has_test_) manifest.identity.set("test_sha256", kValuesHash);
    for (const auto& [key, text] : more) manifest.identity.set(key, text);
    const RunFolder folder(folder_.path("run"));
    manifest.run = run_id(folder.read_config(), manifest.identity);
    folder.write_manifest(manifest);
    return read_result(folder_.path("run"));
  }

  // Two trajectories of nine states of four points: first, first + 1, ...
  void write(const std::filesystem::path& path, double first) const {
    std::filesystem::create_directories(path.parent_path());
    std::vector<double> values(72);
    for (double& value : values) value = first++;
    H5File(path).dataset("trajectory", {2, 9, 1, 4}, values);
  }

  std::filesystem::path cached() const {
    return cached_file(data_key(data_request(make_study(run().config, Purpose::look))), "test.h5");
  }

  std::string refusal(const RunResult& run) const {
    return test::error_text(ErrorKind::data, [&] { find_test_set(run, kGrid); });
  }

  TemporaryFolder folder_;
  bool has_test_ = true;
  const std::string cache_ = folder_.path("cache");
  const ScopedVariable variable_{"STAP_CACHE", cache_};
};

TEST_F(FindTestSet, IsFoundInTheCache) {
  write(cached(), 1);

  const RunTestSet found = find_test_set(run(), kGrid);

  EXPECT_EQ(found.file, cached());
  EXPECT_EQ(found.set.times, 9u);
  EXPECT_EQ(found.set.trajectories(), 2u);
  EXPECT_EQ(found.set.states.row(17)[3], 72.0);
  EXPECT_EQ(found.set.sha256, kValuesHash);
}

// The cached file has other values, so that taking it would be refused.
TEST_F(FindTestSet, AFileThatTheManifestNamesComesFirst) {
  write(cached(), 2);
  write(folder_.path("data/test.h5"), 1);
  const std::string absolute = folder_.path("data/test.h5");

  for (const std::string& name : {std::string("../data/test.h5"), absolute}) {
    const RunTestSet found = find_test_set(run({{"test_file", name}}), kGrid);

    EXPECT_TRUE(std::filesystem::equivalent(found.file, absolute));
  }
}

TEST_F(FindTestSet, ANamedFileThatIsGoneLeavesTheCache) {
  write(cached(), 1);

  EXPECT_EQ(find_test_set(run({{"test_file", "gone.h5"}}), kGrid).file, cached());
}

TEST_F(FindTestSet, AnotherHashIsRefused) {
  write(cached(), 2);

  const std::string message = refusal(run());

  EXPECT_TRUE(contains(message, std::string("has hash ") + kOtherHash));
  EXPECT_TRUE(contains(message, std::string("was evaluated with ") + kValuesHash));
  write(folder_.path("run/test.h5"), 2);
  write(cached(), 1);
  EXPECT_TRUE(contains(refusal(run({{"test_file", "test.h5"}})), "run/test.h5 has hash"));
}

TEST_F(FindTestSet, WhatIsMissingNamesTheCommandThatMakesIt) {
  const std::string command = "'stap generate " + folder_.path("run") + "' makes it";

  EXPECT_TRUE(contains(refusal(run()), command));
  EXPECT_TRUE(contains(refusal(run()), cached()));
  EXPECT_TRUE(contains(refusal(run({{"test_file", "gone.h5"}})), "run/gone.h5"));
  const ScopedVariable off("STAP_CACHE", "off");
  EXPECT_TRUE(contains(refusal(run()), "the cache is off"));
  EXPECT_TRUE(contains(refusal(run()), command));
}

// Made by another version or on another machine it had another name than it gets now.
TEST_F(FindTestSet, TheNameUnderWhichItWasMadeComesFirst) {
  write(cached(), 1);
  EXPECT_EQ(find_test_set(run({{"data_key", "old"}}), kGrid).file, cached());

  write(cache_ + "/old/test.h5", 1);
  write(cached(), 2);  // would be refused
  EXPECT_EQ(find_test_set(run({{"data_key", "old"}}), kGrid).file, cache_ + "/old/test.h5");
}

// Of a file that holds more: what the run was evaluated with.
TEST_F(FindTestSet, IsTheBeginningOfALargerFile) {
  std::vector<double> values(3 * 10 * 4, -1.0);
  double next = 1;
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t v = 0; v < 36; ++v) values[b * 40 + v] = next++;
  H5File(folder_.path("large.h5")).dataset("trajectory", {3, 10, 1, 4}, values);
  RunResult result = run({{"test_file", folder_.path("large.h5")}});
  result.trajectories = 2;  // as its metrics say

  EXPECT_EQ(find_test_set(result, kGrid).set.trajectories(), 2u);
}

TEST_F(FindTestSet, AStudyWithoutOneSaysSo) {
  has_test_ = false;

  EXPECT_TRUE(contains(refusal(run()), "has no test set"));
}

}  // namespace
}  // namespace stap
