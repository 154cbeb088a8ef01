// `stap import` as a user runs it, and what it makes as a study takes it.
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "stap/core/rng.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "support/environment.h"
#include "support/h5_writing.h"
#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

using Sizes = std::vector<std::size_t>;

// Numbers as single precision has them.
std::vector<double> noise(std::size_t n) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i)
    values.push_back(static_cast<double>(static_cast<float>(Rng(3).normal(i))));
  return values;
}

// Trajectories of a line of 32 points, in the layout of PDEBench's Burgers files.
void write_tensor(const std::string& path, std::size_t trajectories, std::size_t times) {
  H5File file(path);
  file.dataset("tensor", {trajectories, times, 32}, noise(trajectories * times * 32),
               H5T_IEEE_F32LE);
  std::vector<double> x, t;
  for (int i = 0; i < 32; ++i) x.push_back((i + 0.5) / 32.0);
  for (std::size_t i = 0; i <= times; ++i) t.push_back(0.0625 * static_cast<double>(i));
  file.dataset("x-coordinate", {32}, x, H5T_IEEE_F32LE);
  file.dataset("t-coordinate", {times + 1}, t, H5T_IEEE_F32LE);
}

TEST(ImportProgram, APoolAndATestSetFeedARun) {
  const TemporaryFolder folder;
  const ScopedVariable cache("STAP_CACHE", "off");
  write_tensor(folder.path("train.hdf5"), 40, 3);
  write_tensor(folder.path("test.hdf5"), 6, 9);

  const Finished pool = run_stap({"import", folder.path("train.hdf5"), "--as", "pool", "--out",
                                  folder.path("pool.h5"), "--json"});
  ASSERT_EQ(pool.exit_code, 0) << pool.err;
  const auto summary = nlohmann::json::parse(pool.out);
  EXPECT_EQ(summary["rows"], 40);
  EXPECT_EQ(summary["layout"], "pdebench, one tensor");
  EXPECT_EQ(summary["dt"], 0.0625);
  const Finished test = run_stap(
      {"import", folder.path("test.hdf5"), "--as", "test", "--out", folder.path("test.h5")});
  ASSERT_EQ(test.exit_code, 0) << test.err;
  EXPECT_TRUE(contains(test.out, "6 trajectories of 9 times"));
  EXPECT_TRUE(contains(test.out, "channels u on 32 points, lengths 1, steps of 0.0625"));

  folder.file("study.yaml",
              "extends: demo\n"
              "pde: {name: burgers, points: 32, dt: 0.0625}\n"
              "initial: {name: file, path: pool.h5}\n"
              "test: {name: file, path: test.h5}\n");
  std::vector<std::string> words{"run", folder.path("study.yaml"), "--out", folder.path("run"),
                                 "--quiet"};
  for (const std::string& setting : small_study())
    if (!setting.starts_with("pool") && !setting.starts_with("test")) words.push_back(setting);
  words.insert(words.end(), {"pool=0", "test=0"});
  const Finished run = run_stap(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

// Data that are there take the place of the initial trajectories: round 0 costs nothing.
TEST(ImportProgram, TransitionsAreTheFirstOfARun) {
  const TemporaryFolder folder;
  const ScopedVariable cache("STAP_CACHE", "off");
  write_tensor(folder.path("train.hdf5"), 4, 6);
  const Finished import = run_stap({"import", folder.path("train.hdf5"), "--as", "transitions",
                                    "--name", "burgers", "--out", folder.path("first.h5")});
  ASSERT_EQ(import.exit_code, 0) << import.err;
  folder.file("study.yaml",
              "extends: demo\n"
              "pde: {name: burgers, points: 32, dt: 0.0625}\n"
              "first: {name: file, path: first.h5}\n");
  std::vector<std::string> words{"run", folder.path("study.yaml"), "--out", folder.path("run"),
                                 "--quiet"};
  for (const std::string& setting : small_study()) words.push_back(setting);
  words.push_back("study.initial=0");

  const Finished run = run_stap(words);

  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Array<double> inputs = read_array(folder.path("run/transitions.h5"), "inputs");
  EXPECT_EQ(inputs.shape[0], 20u + 18u);  // 4 trajectories of 5 steps, two rounds of 9
  EXPECT_EQ(inputs.values[0], noise(1)[0]);
  const std::string metrics = content(folder.path("run/metrics.jsonl"));
  const auto first = nlohmann::json::parse(metrics.substr(0, metrics.find('\n')));
  EXPECT_EQ(first["transitions"], 0);
  EXPECT_EQ(first["first"], 20);

  // Another file under the same name is another study.
  write_tensor(folder.path("train.hdf5"), 3, 6);
  std::filesystem::remove(folder.path("first.h5"));
  run_stap({"import", folder.path("train.hdf5"), "--as", "transitions", "--out",
            folder.path("first.h5")});
  const Finished other = run_stap(words);
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_TRUE(contains(other.err, "first_sha256"));
}

TEST(ImportProgram, NpyFilesAndTheirAxes) {
  const TemporaryFolder folder;
  write_npy(folder.path("a.npy"), Sizes{2, 3, 4}, noise(24));

  const Finished result =
      run_stap({"import", folder.path("a.npy"), "--as", "transitions", "--layout", "btx", "--dt",
                "0.5", "--lengths", "2.5", "--name", "mine", "--out", folder.path("t.h5")});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "4 transitions of 2 trajectories (npy btx)"));
  EXPECT_EQ(read_array(folder.path("t.h5"), "inputs").shape, (Sizes{4, 1, 4}));
  EXPECT_EQ(read_state_info(folder.path("t.h5")).equation, "mine");
}

// What would end a run when its data are made ends `check`.
TEST(ImportProgram, CheckReadsTheFilesOfAStudy) {
  const TemporaryFolder folder;
  write_npy(folder.path("pool.npy"), Sizes{40, 2, 32}, noise(40 * 2 * 32));
  write_npy(folder.path("test.npy"), Sizes{4, 3, 2, 32}, noise(4 * 3 * 2 * 32));
  for (const auto& [name, channels] : {std::pair("right", "u,v"), {"swapped", "v,u"}}) {
    const Finished pool =
        run_stap({"import", folder.path("pool.npy"), "--as", "pool", "--axes", "bcx", "--channels",
                  channels, "--lengths", "2", "--out", folder.path(std::string(name) + ".h5")});
    ASSERT_EQ(pool.exit_code, 0) << pool.err;
  }
  folder.file("study.yaml",
              "extends: demo\n"
              "pde: {name: external, label: mine, channels: [u, v], points: [32], lengths: [2], "
              "dt: 0.1}\n"
              "solver: {name: by-hand}\n"
              "initial: {name: file, path: right.h5}\n"
              "test: {name: file, path: test.npy}\n"
              "study: {pool: 0, test: 0, steps: 2, initial: 2, rounds: 1, budget: 2}\n");
  const auto check = [&](std::vector<std::string> settings) {
    settings.insert(settings.begin(), {"check", folder.path("study.yaml")});
    const Finished result = run_stap(settings);
    EXPECT_EQ(result.exit_code, settings.size() == 2 ? 0 : 2) << result.err;
    return result.err;
  };

  check({});
  EXPECT_TRUE(contains(check({"study.steps=3"}), "trajectories of 3 times, expected 4"));
  EXPECT_TRUE(contains(check({"pde.points=[16]"}), "x 32, expected"));
  EXPECT_TRUE(contains(check({"pde.lengths=[3]"}), "domain of length 2, but the study's is 3"));
  EXPECT_TRUE(contains(check({"initial.path=" + folder.path("swapped.h5")}), "in another order"));
}

TEST(ImportProgram, MistakesAreSaid) {
  const TemporaryFolder folder;
  const auto refused = [&](int exit_code, std::vector<std::string> words) {
    words.insert(words.begin(), "import");
    words.insert(words.end(), {"--out", folder.path("out.h5")});
    const Finished result = run_stap(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_TRUE(result.err.starts_with("stap: ")) << result.err;
    EXPECT_FALSE(contains(result.err, "HDF5-DIAG"));
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  write_tensor(folder.path("a.hdf5"), 2, 3);
  const std::string file = folder.path("a.hdf5");

  EXPECT_TRUE(contains(refused(3, {folder.path("no.hdf5"), "--as", "pool"}), "no such file"));
  EXPECT_TRUE(contains(refused(2, {file, "--as", "weights"}), "transitions"));
  EXPECT_TRUE(contains(refused(2, {file, "--as", "pool", "--field", "v"}), "it has: tensor"));
  // An option takes one word: the file behind it is a file.
  EXPECT_TRUE(contains(refused(2, {"--as", "pool", "--field", "v", file}), "it has: tensor"));
  EXPECT_TRUE(contains(refused(2, {file, "--as", "test", "--all-times"}), "--as pool"));
  EXPECT_TRUE(contains(refused(3, {file, "--as", "pool", "--format", "npy"}), "not a .npy file"));
  EXPECT_TRUE(contains(refused(2, {file, "--as", "pool", "--channels", "a,b"}), "names 2, but"));
  EXPECT_EQ(folder.entries(), 1u);
  folder.file("out.h5", "mine");
  EXPECT_TRUE(contains(refused(2, {file, "--as", "pool"}), "is there already"));
  // Ended after its last byte was written, the same command finds its own file.
  const std::vector<std::string> words{"import", file,    "--as",
                                       "pool",   "--out", folder.path("again.h5")};
  ASSERT_EQ(run_stap(words).exit_code, 0);
  const std::string bytes = content(folder.path("again.h5"));
  const Finished again = run_stap(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(contains(again.err, "again.h5 exists already"));
  std::vector<std::string> fewer = words;
  fewer.insert(fewer.end(), {"--trajectories", "1"});
  EXPECT_EQ(run_stap(fewer).exit_code, 2);
  EXPECT_EQ(content(folder.path("again.h5")), bytes);
  EXPECT_EQ(folder.entries(), 3u);
  EXPECT_EQ(content(folder.path("out.h5")), "mine");
}

}  // namespace
}  // namespace stap::test
