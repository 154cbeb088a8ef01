// `stap ask` and `stap tell` as people use them, killed in between.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <thread>

#include "stap/core/rng.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "support/contains.h"
#include "support/h5_writing.h"
#include "support/process.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPoints = 16;

// One step of a diffusion, which stands for what people compute.
std::vector<double> step(const std::vector<double>& u) {
  std::vector<double> v(u);
  for (std::size_t i = 0; i < kPoints; ++i)
    v[i] += 0.2 * (u[(i + 1) % kPoints] - 2 * u[i] + u[(i + kPoints - 1) % kPoints]);
  return v;
}

// What somebody answers to a file of queries; the rows from `first` on, at most `most`.
void answer(const std::string& queries, const std::string& answers, std::size_t first = 0,
            std::size_t most = 1000) {
  const Array<std::int64_t> id = read_integers(queries, "id"),
                            steps = read_integers(queries, "steps");
  const Array<double> state = read_array(queries, "state");
  const std::size_t end = std::min(id.values.size(), first + most);
  const std::size_t longest = static_cast<std::size_t>(std::ranges::max(steps.values));
  std::vector<double> ids, states;
  for (std::size_t q = first; q < end; ++q) {
    ids.push_back(static_cast<double>(id.values[q]));
    const auto from = state.values.begin() + static_cast<std::ptrdiff_t>(q * kPoints);
    std::vector<double> u(from, from + static_cast<std::ptrdiff_t>(kPoints));
    for (std::size_t s = 0; s < longest; ++s) {
      u = step(u);
      if (s >= static_cast<std::size_t>(steps.values[q]))
        u.assign(kPoints, std::numeric_limits<double>::quiet_NaN());
      states.insert(states.end(), u.begin(), u.end());
    }
  }
  H5File file(answers);
  file.dataset("id", {ids.size()}, ids, H5T_STD_I64LE);
  file.dataset("states", {ids.size(), longest, 1, kPoints}, states);
}

class ByHandProgram : public ::testing::Test {
 protected:
  ByHandProgram() {
    folder_.file("study.yaml", R"(
pde: {name: external, label: heat, channels: [h], points: [16], dt: 0.1, parameters: [a=0.25]}
solver: {name: by-hand}
initial: {name: sines, warm_up: 0}
network: {modes: [4], width: 4, lifting: 8, projection: 8, layers: 1}
train: {epochs: 4}
study: {steps: 4, pool: 20, test: 0, initial: 3, rounds: 2, budget: 6, validation: 0.2}
method: sbal+stap(proposals=4)
)");
    setenv("STAP_CACHE", folder_.path("cache").c_str(), 1);
  }
  ~ByHandProgram() override { unsetenv("STAP_CACHE"); }

  std::string path(const std::string& name) const { return folder_.path(name); }
  Finished start(const std::string& run) const {
    return run_stap({"run", path("study.yaml"), "--out", path(run)});
  }
  Finished ask(const std::string& run, const std::string& out = "queries.h5") const {
    return run_stap({"ask", path(run), "--out", path(out)});
  }
  Finished tell(const std::string& run, const std::string& answers = "answers.h5") const {
    return run_stap({"tell", path(run), path(answers)});
  }
  // Asks and tells until nothing waits.
  void finish(const std::string& run) const {
    for (int exchange = 0;; ++exchange) {
      ASSERT_LT(exchange, 30);
      fs::remove(path("queries.h5"));
      ASSERT_EQ(ask(run).exit_code, 0);
      if (!fs::exists(path("queries.h5"))) return;
      answer(path("queries.h5"), path("answers.h5"));
      const Finished told = tell(run);
      ASSERT_EQ(told.exit_code, 0) << told.err;
    }
  }
  std::string essence(const std::string& run) const {
    return content(path(run + "/transitions.h5")) + content(path(run + "/metrics.jsonl")) +
           content(path(run + "/rounds/02/committee.safetensors"));
  }

  TemporaryFolder folder_;
};

TEST_F(ByHandProgram, GoesFromQuestionToQuestionToTheEnd) {
  const Finished begun = start("run");
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_TRUE(contains(begun.out, "3 queries wait for an answer: stap ask " + path("run")))
      << begun.out;

  const Finished asked = ask("run");
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_TRUE(contains(asked.out, "3 of 3 queries")) << asked.out;
  const std::string queries = path("queries.h5");
  EXPECT_EQ(read_array(queries, "state").shape, (std::vector<std::size_t>{3, 1, kPoints}));
  EXPECT_EQ(read_array(queries, "time").values, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(read_integers(queries, "steps").values, (std::vector<std::int64_t>{4, 4, 4}));
  EXPECT_EQ(read_text_attribute(queries, "/", "channel_names"), "h");
  EXPECT_EQ(read_text_attribute(queries, "/", "parameters"), "a=0.25");
  EXPECT_EQ(read_attribute(queries, "/", "dt").values, std::vector<double>{0.1});

  answer(queries, path("answers.h5"));
  const Finished told = tell("run");
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_TRUE(contains(told.out, "3 answers recorded")) << told.out;
  EXPECT_TRUE(contains(told.out, "wait for an answer")) << told.out;
  const Finished again = tell("run");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(contains(again.out, "0 answers recorded; 3 were known already")) << again.out;

  finish("run");
  const Finished over = ask("run");
  EXPECT_EQ(over.exit_code, 0);
  EXPECT_TRUE(contains(over.out, "is finished")) << over.out;
  EXPECT_TRUE(contains(run_stap({"table", path("run")}).out, "sbal+stap"));
}

TEST_F(ByHandProgram, WhatDoesNotFitIsExitCodeThree) {
  ASSERT_EQ(start("run").exit_code, 0);
  ASSERT_EQ(run_stap({"run", path("study.yaml"), "seed=1", "--out", path("other")}).exit_code, 0);
  ASSERT_EQ(ask("run").exit_code, 0);
  answer(path("queries.h5"), path("answers.h5"));
  const std::string journal = content(path("run/journal.jsonl"));

  const Finished foreign = tell("other");
  EXPECT_EQ(foreign.exit_code, 3);
  EXPECT_TRUE(contains(foreign.err, "no such question")) << foreign.err;
  {
    H5File file(path("short.h5"));
    file.dataset("id", {1},
                 {static_cast<double>(read_integers(path("queries.h5"), "id").values[0])},
                 H5T_STD_I64LE);
    file.dataset("states", {1, 1, 5}, {1, 2, 3, 4, 5});
  }
  const Finished shape = tell("run", "short.h5");
  EXPECT_EQ(shape.exit_code, 3);
  EXPECT_TRUE(contains(shape.err, "states of 1 x 5")) << shape.err;
  EXPECT_EQ(tell("run", "missing.h5").exit_code, 3);
  EXPECT_EQ(content(path("run/journal.jsonl")), journal);

  const Finished built_in = run_stap({"ask", path("demo")});
  EXPECT_EQ(built_in.exit_code, 3);
}

// Broken by: an id that another process computes differently, an answer that is lost or asked
// again, files that are left half-written.
TEST_F(ByHandProgram, KilledAnywhereItEndsTheSame) {
  ASSERT_EQ(start("whole").exit_code, 0);
  const auto begin = std::chrono::steady_clock::now();
  finish("whole");
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
  const Rng rng(7);
  std::uint64_t draws = 0;
  // How long a command takes depends on what else this machine does: sooner whenever it was over.
  std::chrono::duration<double> longest = whole / 6;
  const auto killed = [&](const std::vector<std::string>& command) {
    const pid_t child = start_stap(command);
    std::this_thread::sleep_for(longest * rng.uniform(draws++));
    kill(child, SIGKILL);
    const int status = test::wait_for(child);
    longest *= WIFEXITED(status) ? 0.5 : 1.2;
    return !WIFEXITED(status);
  };

  ASSERT_EQ(start("cut").exit_code, 0);
  int kills = 0;
  for (int exchange = 0;; ++exchange) {
    ASSERT_LT(exchange, 60);
    fs::remove(path("queries.h5"));
    kills += killed({"ask", path("cut"), "--out", path("queries.h5")}) ? 1 : 0;
    const Finished asked = ask("cut");
    ASSERT_EQ(asked.exit_code, 0) << asked.err;
    if (!fs::exists(path("queries.h5"))) break;
    answer(path("queries.h5"), path("answers.h5"), 0, 2);
    kills += killed({"tell", path("cut"), path("answers.h5")}) ? 1 : 0;
    const Finished more = ask("cut");  // whatever it has recorded
    ASSERT_EQ(more.exit_code, 0) << more.err;
    const Finished told = tell("cut");
    ASSERT_EQ(told.exit_code, 0) << told.err;
  }

  EXPECT_GT(kills, 3);
  EXPECT_TRUE(essence("cut") == essence("whole"));
}

TEST_F(ByHandProgram, AFolderHoldsOneForEach) {
  ASSERT_EQ(start("run").exit_code, 0);
  const Finished asked = run_stap({"ask", path("run"), "--out", path("queries"), "--limit", "2"});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  EXPECT_TRUE(contains(asked.out, "2 of 3 queries")) << asked.out;
  std::size_t answered = 0;
  for (const auto& entry : fs::directory_iterator(path("queries"))) {
    const Array<double> u = read_npy(entry.path() / "input.npy");
    EXPECT_EQ(u.shape, (std::vector<std::size_t>{1, kPoints}));
    EXPECT_TRUE(contains(content(entry.path() / "query.json"), "\"steps\": 4"));
    if (answered++ == 0) {
      folder_.file("queries/" + entry.path().filename().string() + "/failed.txt", "no licence\n");
      continue;
    }
    std::vector<double> states, state = u.values;
    for (int s = 0; s < 4; ++s) {
      state = step(state);
      states.insert(states.end(), state.begin(), state.end());
    }
    const std::size_t shape[] = {4, 1, kPoints};
    write_npy(entry.path() / "output.npy", shape, states);
  }

  const Finished told = tell("run", "queries");

  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_TRUE(contains(told.out, "2 answers recorded")) << told.out;
  EXPECT_TRUE(contains(told.out, "1 query waits")) << told.out;
  EXPECT_TRUE(contains(content(path("run/journal.jsonl")), "no licence"));
}

TEST_F(ByHandProgram, ASweepAsksForAllItsRuns) {
  const Finished begun = run_stap(
      {"sweep", path("study.yaml"), "rounds=0", "--grid", "seed=0,1", "--out", path("sweep")});
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_TRUE(contains(begun.out, "6 queries wait")) << begun.out;
  ASSERT_EQ(ask("sweep").exit_code, 0);
  EXPECT_EQ(read_integers(path("queries.h5"), "run").values,
            (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1}));
  answer(path("queries.h5"), path("answers.h5"));

  const Finished told = tell("sweep");

  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_TRUE(contains(told.out, "results in")) << told.out;
}

TEST_F(ByHandProgram, WhatItCannotMakeIsSaidBefore) {
  const Finished test = run_stap({"run", path("study.yaml"), "study.test=3", "--out", path("run")});
  EXPECT_EQ(test.exit_code, 2);
  EXPECT_TRUE(contains(test.err, "asked by hand, which makes no test set")) << test.err;
  const Finished warm =
      run_stap({"run", path("study.yaml"), "initial.warm_up=0.2", "--out", path("run")});
  EXPECT_EQ(warm.exit_code, 2);
  EXPECT_TRUE(contains(warm.err, "asked by hand, which makes no pool")) << warm.err;
  EXPECT_FALSE(fs::exists(path("run")));
}

}  // namespace
}  // namespace stap::test
