// `stap generate` as a user runs it: files, continuation after real kills, refusals.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "stap/core/rng.h"
#include "stap/core/sha256.h"
#include "stap/data/store.h"
#include "stap/pde/burgers.h"
#include "support/fake_solver.h"
#include "support/process.h"
#include "support/sealing.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class GenerateProgram : public ::testing::Test {
 protected:
  GenerateProgram() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~GenerateProgram() override { unsetenv("STAP_CACHE"); }

  // A problem of several blocks in each file that takes some tenths of a second.
  std::vector<std::string> words(const std::string& out,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> list{"generate",      "demo",     "pde.points=48", "pool=700",
                                  "study.steps=5", "test=200", "--out",         folder_.path(out)};
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }
  std::string essence(const std::string& out) const {
    const std::string pool = content(folder_.path(out + "/pool.h5"));
    const std::string test = content(folder_.path(out + "/test.h5"));
    EXPECT_NE(pool, "");
    EXPECT_NE(test, "");
    return pool + test;
  }

  TemporaryFolder folder_;
  const Grid grid_ = make_grid(1, {48}, {1.0});
};

std::string sha256_of(const States<double>& states) {
  return sha256_hex(std::as_bytes(states.values()));
}

TEST_F(GenerateProgram, WritesPoolAndTestSet) {
  const Finished result = run_stap(words("d"));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "pool.h5: 700 initial conditions"));
  EXPECT_TRUE(
      contains(result.err, "test set: 100 % of 1800 solver steps"));  // warm-ups of 4, 5 each
  const States<double> pool = read_states(folder_.path("d/pool.h5"), grid_);
  const Trajectories test = read_trajectories(folder_.path("d/test.h5"), grid_);
  EXPECT_EQ(pool.count(), 700u);
  EXPECT_EQ(test.times, 6u);
  EXPECT_EQ(test.states.count(), 200u * 6);
  EXPECT_EQ(read_text_attribute(folder_.path("d/pool.h5"), "/", "sha256"), sha256_of(pool));
  EXPECT_EQ(read_text_attribute(folder_.path("d/test.h5"), "/", "sha256"), sha256_of(test.states));
  for (const char* file : {"d/pool.h5", "d/test.h5"}) {
    const auto attribute = [&](const char* name) {
      return read_text_attribute(folder_.path(file), "/", name);
    };
    EXPECT_EQ(attribute("format"), "data/2");
    EXPECT_EQ(json::parse(attribute("pde")).at("points"), 48);
    EXPECT_TRUE(json::parse(attribute("initial")).contains("warm_up"));
    EXPECT_EQ(attribute("data_seed"), "0");
    for (const char* name : {"version", "instruction_set"}) EXPECT_NE(attribute(name), "") << name;
  }
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_.path("d"))) ++entries;
  EXPECT_EQ(entries, 4u);  // and config.yaml, journal.jsonl
}

// `stap run` makes the same values for itself.
TEST_F(GenerateProgram, GivesTheValuesThatAStudyUses) {
  const std::vector<std::string> small{"pool=40",        "test=8",          "study.steps=3",
                                       "rounds=0",       "study.initial=2", "train.epochs=1",
                                       "network.width=4"};
  std::vector<std::string> run{"run", "demo", "--out", folder_.path("r"), "--quiet"};
  std::vector<std::string> make{"generate", "demo", "--out", folder_.path("d"), "--json"};
  for (const std::string& setting : small) run.push_back(setting), make.push_back(setting);

  const Finished made = run_stap(make);
  ASSERT_EQ(run_stap(run).exit_code, 0);

  const json manifest = json::parse(content(folder_.path("r/manifest.json")));
  const json summary = json::parse(made.out);
  EXPECT_EQ(summary.at("finished"), true);
  EXPECT_EQ(summary.at("pool_sha256"), manifest.at("identity").at("pool_sha256"));
  EXPECT_EQ(summary.at("test_sha256"), manifest.at("identity").at("test_sha256"));
}

// Broken by: solving again what a run has made.
TEST_F(GenerateProgram, TakesWhatTheCacheHas) {
  std::vector<std::string> into_cache = words("one");
  std::erase(into_cache, "--out");
  std::erase(into_cache, folder_.path("one"));
  const Finished first = run_stap(into_cache);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(contains(first.err, "to be made: 700 initial conditions, 200 test trajectories of 5"))
      << first.err;

  const Finished taken = run_stap(words("one"));

  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_FALSE(contains(taken.err, "solver steps")) << taken.err;
  EXPECT_FALSE(contains(taken.err, "to be made")) << taken.err;
  EXPECT_TRUE(contains(taken.err, "the test set is that of")) << taken.err;
  ASSERT_EQ(setenv("STAP_CACHE", folder_.path("other-cache").c_str(), 1), 0);
  ASSERT_EQ(run_stap(words("two", {"--quiet"})).exit_code, 0);
  EXPECT_EQ(essence("one"), essence("two"));
}

TEST_F(GenerateProgram, SameBytesForAnyThreadsAndWhenRunAgain) {
  ASSERT_EQ(run_stap(words("one", {"--threads", "1"})).exit_code, 0);
  ASSERT_EQ(run_stap(words("three", {"--threads", "3", "--quiet"})).exit_code, 0);
  const std::string first = essence("one");

  const Finished again = run_stap(words("one", {"--quiet"}));

  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.err, "");
  EXPECT_EQ(essence("one"), first);
  EXPECT_EQ(essence("three"), first);
}

// A real process is killed twenty times, at random moments, and started again each time.
TEST_F(GenerateProgram, KilledAnywhereEndsWithTheSameBytes) {
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run_stap(words("whole")).exit_code, 0);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - start;
  const std::string expected = essence("whole");
  const Rng rng(7);
  int kills = 0;
  std::uint64_t starts = 0;
  for (int attempt = 0; kills < 20; ++attempt) {
    ASSERT_LT(attempt, 200) << "it is over before it can be killed";
    const std::string name = "killed" + std::to_string(attempt);
    for (bool finished = false; !finished;) {
      const pid_t child = start_stap(words(name, {"--quiet"}));
      if (kills < 20) {
        std::this_thread::sleep_for(whole * rng.uniform(starts++));
        kill(child, SIGKILL);
      }
      const int status = test::wait_for(child);
      finished = WIFEXITED(status);
      ASSERT_TRUE(!finished || WEXITSTATUS(status) == 0) << run_stap(words(name)).err;
      kills += finished ? 0 : 1;
    }
    EXPECT_EQ(essence(name), expected) << "attempt " << attempt;
    EXPECT_FALSE(fs::exists(folder_.path(name + "/answers.bin")));
  }
}

// Large enough that it cannot be over when the signal comes.
TEST_F(GenerateProgram, CtrlCStopsBehindABlockAndTheSameCommandContinues) {
  const std::vector<std::string> more{"pool=20000", "initial.warm_up=2.0"};
  ASSERT_EQ(run_stap(words("whole", more)).exit_code, 0);

  const pid_t child = start_stap(words("d", more));
  const auto answers = [&] {
    std::error_code ignored;
    const auto bytes = fs::file_size(folder_.path("d/answers.bin"), ignored);
    return ignored ? 0 : bytes;
  };
  for (int i = 0; i < 2000 && answers() < 1000; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(child, SIGINT);
  const int status = test::wait_for(child);

  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);  // 130 in a shell
  EXPECT_FALSE(fs::exists(folder_.path("d/test.h5")));
  EXPECT_GE(answers(), 1000u);
  EXPECT_EQ(run_stap(words("d", more)).exit_code, 0);
  EXPECT_EQ(essence("d"), essence("whole"));
}

TEST_F(GenerateProgram, RefusesOtherFolders) {
  ASSERT_EQ(run_stap(words("d")).exit_code, 0);
  const std::string before = essence("d");

  const Finished other = run_stap(words("d", {"data_seed=1"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_TRUE(contains(other.err, "data_seed: 1 in this command, 0 in "));
  // What does not decide about the data may differ.
  EXPECT_EQ(run_stap(words("d", {"seed=1", "method=random", "network.width=3"})).exit_code, 0);
  EXPECT_EQ(essence("d"), before);

  fs::create_directory(folder_.path("mine"));
  folder_.file("mine/thesis.tex", "text");
  EXPECT_EQ(run_stap(words("mine")).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder_.path("mine/journal.jsonl")));
  fs::create_directory(folder_.path("run"));
  folder_.file("run/config.yaml", "format: run/3\n");
  EXPECT_EQ(run_stap(words("run")).exit_code, 3);
  EXPECT_EQ(run_stap(words("/proc/no")).exit_code, 6);
}

TEST_F(GenerateProgram, TwoProcessesInOneFolderAreRefused) {
  const std::vector<std::string> more{"pool=100000"};
  const pid_t first = start_stap(words("d", more));
  EXPECT_TRUE(eventually([&] { return fs::exists(folder_.path("d/config.yaml")); }, kLongest));

  const Finished second = run_stap(words("d", more));
  kill(first, SIGKILL);
  test::wait_for(first);

  EXPECT_EQ(second.exit_code, 6);
  EXPECT_TRUE(contains(second.err, "in use"));
}

// What a study needs can be made beforehand, and what its results need once more.
TEST_F(GenerateProgram, FilesFeedAStudyAndTheCacheIsFilledAgain) {
  std::vector<std::string> make{"generate", "demo", "--out", folder_.path("d"), "--quiet"},
      run{"run", "demo", "--out", folder_.path("r"), "--quiet"},
      of_files{"run",
               "demo",
               "initial={name: file, path: " + folder_.path("d/pool.h5") + "}",
               "test.name=file",
               "test.path=" + folder_.path("d/test.h5"),
               "--out",
               folder_.path("f"),
               "--quiet"};
  for (std::vector<std::string>* command : {&make, &run, &of_files})
    for (const std::string& setting : small_study()) command->push_back(setting);
  ASSERT_EQ(run_stap(make).exit_code, 0);
  const Finished fed = run_stap(of_files);
  ASSERT_EQ(fed.exit_code, 0) << fed.err;
  EXPECT_FALSE(fs::exists(folder_.path("cache")));
  ASSERT_EQ(run_stap(run).exit_code, 0);
  // A file does not say what led to its initial conditions: 4 learned steps each.
  std::string drawn = unnamed_lines(folder_.path("r/metrics.jsonl"));
  for (const char* steps : {"12", "48", "84"}) {
    const std::string entry = std::string("\"warm_up_steps\":") + steps + ",";
    ASSERT_NE(drawn.find(entry), std::string::npos) << drawn;
    drawn.erase(drawn.find(entry), entry.size());
  }
  EXPECT_EQ(unnamed_lines(folder_.path("f/metrics.jsonl")), drawn);

  fs::remove_all(folder_.path("cache"));
  const Finished missing = run_stap({"analyse", folder_.path("r"), "--quiet"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_TRUE(contains(missing.err, "'stap generate " + folder_.path("r") + "' makes it"));
  const Finished made = run_stap({"generate", folder_.path("r"), "--quiet"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const Finished found = run_stap({"analyse", folder_.path("r"), "--quiet"});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_EQ(run_stap({"analyse", folder_.path("f"), "--quiet"}).exit_code, 0);

  // There is nothing to make where everything comes from files.
  EXPECT_EQ(run_stap({"generate", folder_.path("f")}).exit_code, 2);
  setenv("STAP_CACHE", "off", 1);
  EXPECT_TRUE(contains(run_stap({"generate", folder_.path("r")}).err, "--out"));
}

TEST_F(GenerateProgram, BadInputIsExitCode2) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    const Finished result = run_stap(words("bad", more));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(contains(result.err, part));
    EXPECT_FALSE(fs::exists(folder_.path("bad")));
  };

  refused({"pool=0"}, "study.pool");
  refused({"pde.name=burger"}, "did you mean 'burgers'?");
  refused({"extends=paper/burgers"}, "--with");
  refused({"--with", "20-round"}, "did you mean '20-rounds'?");
  EXPECT_EQ(run_stap({"generate", "20-rounds", "--out", folder_.path("x")}).exit_code, 2);
}

// A state that cannot be warmed up is named; what was made before stays for the next attempt.
TEST_F(GenerateProgram, ARowThatCannotBeComputedIsNamed) {
  const Finished result = run_stap(words("d", {"pde.max_abs=0.2"}));

  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_TRUE(contains(result.err, "initial condition"));
}

// Broken by: parameters of another row, or left out of the files.
TEST_F(GenerateProgram, ParametersThatVaryGoIntoTheFilesAndBack) {
  const std::string drawn = "viscosity={between: [0.005, 0.05], draw: log}";
  ASSERT_EQ(run_stap(words("d", {"pool=9", "test=3", "pde." + drawn})).exit_code, 0);
  const std::string pool = folder_.path("d/pool.h5");
  const Array<double> values = read_array(pool, "parameters");
  ASSERT_EQ(values.shape, (std::vector<std::size_t>{9, 1}));
  EXPECT_EQ(read_text_attribute(pool, "/", "parameter_names"), "viscosity");
  EXPECT_EQ(read_array(folder_.path("d/test.h5"), "parameters").shape,
            (std::vector<std::size_t>{3, 1}));
  const auto solve = [&](const std::string& out, const std::string& viscosity) {
    return run_stap({"solve", "burgers", "points=48", "--steps", "2", "--input", pool, "--output",
                     folder_.path(out), viscosity});
  };

  const Finished all = solve("all.h5", drawn);

  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(read_text_attribute(folder_.path("all.h5"), "/", "format"), "trajectories/2");
  EXPECT_EQ(read_array(folder_.path("all.h5"), "parameters").values, values.values);
  const States<double> states = read_states(pool, grid_);
  const Trajectories solved = read_trajectories(folder_.path("all.h5"), grid_);
  for (const std::size_t row : {0u, 8u}) {
    BurgersOptions fixed;
    fixed.points = 48;
    fixed.viscosity = values.values[row];
    const Answer alone =
        ask(*make_burgers(fixed), {.state = {states.row(row).begin(), states.row(row).end()}});
    EXPECT_TRUE(std::ranges::equal(solved.states.row(row * 3 + 1), alone.states));
  }
  const Finished without = solve("none.h5", "viscosity=0.01");
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_TRUE(contains(without.err, "has rows with their own viscosity")) << without.err;
}

// A program of the user's own, which writes down what it is told.
TEST_F(GenerateProgram, AProgramIsToldTheParametersOfEachRow) {
  const std::string told = folder_.path("told");
  const std::string study =
      folder_.file("own.yaml",
                   "pde: {name: external, label: mine, points: [8], dt: 0.5,\n"
                   "      parameters: {k: 3, nu: {between: [1, 2]}, n: {from: [4, 5]}}}\n"
                   "solver: {name: command, argv: [sh, -c, 'cp $1 $2; echo $3 $4 $5 >> " +
                       told +
                       "', sh, '{input}', '{output}', '{k}', '{nu}', '{n}']}\n"
                       "initial: {name: sines, warm_up: 0}\nstudy: {steps: 2, pool: 4, test: 3}\n");

  const Finished made = run_stap({"generate", study, "--out", folder_.path("d")});

  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Array<double> rows = read_array(folder_.path("d/test.h5"), "parameters");
  std::multiset<std::string> expected, lines;
  for (std::size_t row = 0; row < 3; ++row)
    for (int step = 0; step < 2; ++step)
      expected.insert(fmt::format("3 {} {}", rows.values[row * 2], rows.values[row * 2 + 1]));
  std::istringstream text(content(told));
  for (std::string line; std::getline(text, line);) lines.insert(line);
  EXPECT_EQ(lines, expected);
  const Finished silent = run_stap(
      {"generate", study, "--out", folder_.path("e"), "solver.argv=[cp, '{input}', '{output}']"});
  EXPECT_EQ(silent.exit_code, 2);
  EXPECT_TRUE(contains(silent.err, "the parameter nu varies, but argv does not tell it"))
      << silent.err;
}

}  // namespace
}  // namespace stap::test
