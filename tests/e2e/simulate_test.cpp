// `stap simulate`: the surrogate, and the solver where it matters.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "stap/core/rng.h"
#include "stap/data/store.h"
#include "support/h5_writing.h"
#include "support/killing.h"
#include "support/process.h"
#include "support/zoo.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kGridHere = 16, kFar = 6;

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream words(command);
  return {std::istream_iterator<std::string>(words), {}};
}

class Simulating : public ::testing::Test {
 protected:
  Simulating() {
    setenv("STAP_CACHE", folder_.path("cache").c_str(), 1);
    std::vector<double> states(3 * kGridHere);
    for (std::size_t i = 0; i < states.size(); ++i)
      states[i] = std::sin(0.7 * static_cast<double>(i));
    H5File(input_).dataset("states", {3, 1, kGridHere}, states);
  }
  static Finished run(const std::string& command) { return run_stap(words_of(command)); }
  // Two networks of no purpose, calibrated on 20 trajectories of six steps.
  void small_run() const {
    const std::string small =
        "demo pde.points=16 network.modes=[4] network.width=4 train.epochs=1 pool=6 "
        "study.initial=2 budget=3 method=random rounds=0 ";
    ASSERT_EQ(
        run("run " + small + "study.steps=3 test=0 --device cpu --quiet --no-report --out " + run_)
            .exit_code,
        0);
    ASSERT_EQ(run("generate " + small + "study.steps=6 test=20 data_seed=9 --quiet --out " + data_)
                  .exit_code,
              0);
  }
  std::string simulate(const std::string& more, const std::string& to) const {
    return "simulate " + run_ + " --quiet --json --input " + input_ + " --steps 6 " + more +
           " --out " + folder_.path(to);
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("run"), input_ = folder_.path("in.h5"),
                    data_ = folder_.path("data");
};

TEST_F(Simulating, StaysWithinATolerance) {
  small_run();
  const Finished before = run(simulate("--tolerance 0.5", "out"));
  ASSERT_EQ(run("calibrate --quiet --on " + data_ + "/test.h5 " + run_).exit_code, 0);

  const Finished endless = run(simulate("--tolerance inf", "endless"));
  const Finished strict = run(simulate("--tolerance 1e-9", "strict"));
  const Finished loose = run(simulate("--tolerance 1e9", "loose"));
  const Finished all = run(simulate("--share 1", "all"));
  const Finished predicted = run("predict " + run_ + " --bars --quiet --steps 6 --input " + input_ +
                                 " --out " + folder_.path("predicted.h5"));

  EXPECT_EQ(before.exit_code, 3);
  EXPECT_TRUE(contains(before.err, "'stap calibrate " + run_ + "' makes them"));
  EXPECT_EQ(endless.exit_code, 2);
  EXPECT_FALSE(fs::exists(folder_.path("endless")));  // refused before there is a folder
  ASSERT_EQ(strict.exit_code, 0) << strict.err;
  ASSERT_EQ(loose.exit_code, 0) << loose.err;
  EXPECT_EQ(Json::parse(strict.out).at("solver_steps"), 3 * kFar);
  EXPECT_EQ(Json::parse(loose.out).at("solver_steps"), 0);
  EXPECT_FALSE(fs::exists(folder_.path("loose/transitions.h5")));
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const std::string file = folder_.path("loose/simulation.h5");
  EXPECT_EQ(read_array(file, "trajectory").values,
            read_array(folder_.path("predicted.h5"), "mean").values);
  // Wider than those of single steps, by one factor.
  const std::vector<double> bars = read_array(folder_.path("predicted.h5"), "bar").values,
                            wider = read_array(file, "predicted_error").values;
  const double factor = Json::parse(content(run_ + "/bars.json")).at("together").get<double>();
  EXPECT_GT(factor, 0);
  for (std::size_t i = 0; i < bars.size(); ++i)
    EXPECT_NEAR(wider[i], factor * bars[i], 1e-12 * wider[i]);  // the order of two products
  ASSERT_EQ(all.exit_code, 0) << all.err;                       // the solver alone, by another way
  EXPECT_EQ(read_array(folder_.path("strict/simulation.h5"), "trajectory").values,
            read_array(folder_.path("all/simulation.h5"), "trajectory").values);
}

TEST_F(Simulating, SharesAndVerifies) {
  small_run();
  const std::string model = folder_.path("model.safetensors");
  ASSERT_EQ(run("export-model " + run_ + " --quiet --out " + model).exit_code, 0);

  const Finished shared = run(simulate("--share 0.34", "shared"));
  const Finished verified = run(simulate("--tolerance 0.3 --verify 3", "verified"));
  std::string alone = simulate("--share 0.34", "alone");
  alone.replace(alone.find(run_), run_.size(), model);
  const Finished without = run(alone), with = run(alone + " --study " + run_);
  const Finished used =
      run("run demo pde.points=16 network.modes=[4] network.width=4 train.epochs=1 pool=6 "
          "study.initial=2 budget=3 study.steps=3 method=random rounds=0 test=0 --device cpu "
          "--quiet --no-report first.name=file first.path=" +
          folder_.path("shared/transitions.h5") + " --out " + folder_.path("next"));

  ASSERT_EQ(shared.exit_code, 0) << shared.err;
  EXPECT_EQ(run("watch " + folder_.path("shared")).exit_code, 3);  // at once: it is no run
  EXPECT_EQ(Json::parse(shared.out).at("solver_steps"), 6);
  // What it made has checksums that somebody looks at, and is made again from the journal.
  const std::string whole = content(folder_.path("shared/simulation.h5"));
  std::string changed = whole;
  changed[whole.size() / 2] ^= 1;
  folder_.file("shared/simulation.h5", changed);
  const Finished damaged = run("fsck --repair " + folder_.path("shared"));
  EXPECT_EQ(damaged.exit_code, 3);
  EXPECT_TRUE(contains(damaged.out, "run the same command again")) << damaged.out;
  EXPECT_EQ(run(simulate("--share 0.34", "shared")).exit_code, 0);
  EXPECT_TRUE(content(folder_.path("shared/simulation.h5")) == whole);
  EXPECT_EQ(run("fsck " + folder_.path("shared")).exit_code, 0);
  const Finished queue = run("queue " + folder_.path("shared"));
  EXPECT_EQ(queue.exit_code, 3);
  EXPECT_TRUE(contains(queue.err, "is a folder of 'stap simulate'")) << queue.err;
  fs::copy(folder_.path("shared"), folder_.path("cut"));
  std::string answers = content(folder_.path("cut/answers.bin"));
  answers[answers.size() / 2] ^= 1;
  folder_.file("cut/answers.bin", answers);
  const Finished lost = run("fsck --repair " + folder_.path("cut"));
  EXPECT_EQ(lost.exit_code, 3);
  EXPECT_TRUE(contains(lost.out, "the same 'stap simulate' again")) << lost.out;
  EXPECT_FALSE(contains(lost.out, "stap generate")) << lost.out;
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_GE(Json::parse(verified.out).at("solver_steps"), 6);
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_TRUE(contains(without.err, "name its study with --study"));
  ASSERT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(read_array(folder_.path("alone/simulation.h5"), "trajectory").values,
            read_array(folder_.path("shared/simulation.h5"), "trajectory").values);
  EXPECT_EQ(used.exit_code, 0) << used.err;
}

TEST_F(Simulating, RefusesWhatCannotBe) {
  small_run();

  const auto refused = [&](const std::string& more, const std::string& part) {
    const Finished done = run(simulate(more, "out"));
    EXPECT_EQ(done.exit_code, 2) << done.err;
    EXPECT_TRUE(contains(done.err, part)) << done.err;
  };
  refused("", "say how much of the solver you want");
  refused("--tolerance 1 --share 0.1", "expected one of the two");
  refused("--share 1.5", "a share of 1.5 is none");
  refused("--share 0.1 --verify 2", "--verify needs --tolerance");
  refused("--tolerance 1 --placing even", "--placing is about --share");
  refused("--share 0.1 --most -1", "--most: Value -1 not in range");
  refused("--tolerance inf --verify 2", "a tolerance of inf is none");
  refused("--share 0.1 pde.dt=0.5", "makes steps of 0.5");
  refused("--share 0.1 pde.points=32", "takes states of");
  refused("--share 0.1 --study paper/kdv pde.points=16 pde.length=1 pde.dt=0.04",
          "has learned burgers, but the solver is that of kdv");
  std::string endless = simulate("--share 0.1", "out");
  endless.replace(endless.find("--steps 6"), 9, "--steps 1000000000000");
  const Finished too_much = run(endless);
  EXPECT_EQ(too_much.exit_code, 2);
  EXPECT_TRUE(contains(too_much.err, "of memory")) << too_much.err;
  const std::string people = folder_.file("people.yaml", R"(
pde: {name: external, channels: [u], points: [16], lengths: [1], dt: 0.1}
solver: {name: by-hand}
initial: {name: sines}
study: {steps: 3, test: 0, pool: 6, initial: 2, rounds: 0, budget: 3}
method: random
)");
  refused("--share 0.1 --study " + people, "asked by hand");
  std::vector<double> broken(kGridHere, 0.5);
  broken[3] = std::nan("");
  H5File(folder_.path("nan.h5")).dataset("states", {1, 1, kGridHere}, broken);
  std::string with_nan = simulate("--share 0.1", "out");
  with_nan.replace(with_nan.find(input_), input_.size(), folder_.path("nan.h5"));
  const Finished refused_input = run(with_nan);
  EXPECT_EQ(refused_input.exit_code, 3);
  EXPECT_TRUE(contains(refused_input.err, "nan.h5 has nan in row 0, channel 0"))
      << refused_input.err;
  EXPECT_FALSE(fs::exists(folder_.path("out")));
  const Finished other = run(simulate("--share 0.1 pde.viscosity=0.5", "other"));
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_TRUE(contains(other.err, "what the networks learned")) << other.err;
  EXPECT_TRUE(contains(other.err, "pde.viscosity: 0.5 in this command, 0.01 in")) << other.err;
}

// kill -9 at random moments, with a solver of the user's own that counts its calls.
TEST(SimulateKilled, EndsWithTheSameBytes) {
  ZooFolder folder;
  constexpr std::size_t kSlotsHere = 3;
  const std::string study =
      folder.study("study", "worker", std::string(STAP_TEST_PROGRAMS) + "/zoo_worker, exits",
                   "slots: 3\n  retries: 100\n  breaker: false\n  failures_kept: 0",
                   ", ZOO_BAD=never, ZOO_NAP=5", "pool: 20, initial: 4, rounds: 0, budget: 6");
  ASSERT_EQ(folder.run(study, "run").exit_code, 0);
  std::vector<double> states(4 * 8);
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i] = std::cos(0.9 * static_cast<double>(i));
  H5File(folder.path("in.h5")).dataset("states", {4, 1, 8}, states);
  const auto start = [&](const std::string& to) {
    folder.set_environment();
    return start_stap({"simulate", folder.path("run"), "--quiet", "--threads", "1", "--input",
                       folder.path("in.h5"), "--steps", "12", "--tolerance", "0.05", "--verify",
                       "3", "--out", folder.path(to)});
  };
  const auto essence = [&](const std::string& to) {
    return content(folder.path(to + "/simulation.h5")) +
           content(folder.path(to + "/transitions.h5"));
  };
  fs::remove(folder.log());
  folder.set_environment();
  const Finished without =
      run_stap({"simulate", folder.path("run"), "solver.argv=[/bin/false]", "solver.retries=0",
                "--quiet", "--input", folder.path("in.h5"), "--steps", "2", "--tolerance", "0.05",
                "--verify", "2", "--out", folder.path("without")});
  EXPECT_EQ(without.exit_code, 7);
  EXPECT_TRUE(contains(without.err, "the solver made none of the steps")) << without.err;

  ASSERT_EQ(wait_for(start("whole")), 0);
  const std::string expected = essence("whole");
  const std::size_t queries = folder.begun().size();
  ASSERT_GT(queries, 12u);
  const Rng rng(37);
  std::uint64_t draws = 0;
  const int wanted = kills_wanted(4);

  for (int kills = 0, attempt = 0; kills < wanted; ++attempt) {
    ASSERT_LT(attempt, 2 * wanted + 20) << "over before it can be killed";
    const std::string to = "killed" + std::to_string(attempt);
    fs::remove(folder.log());
    std::size_t ended = 0;
    for (bool finished = false; !finished;) {
      const pid_t child = start(to);
      if (kills < wanted) {
        std::this_thread::sleep_for(std::chrono::duration<double>(0.3 * rng.uniform(draws++)));
        kill(child, SIGKILL);
      }
      const int status = wait_for(child);
      finished = WIFEXITED(status);
      ASSERT_TRUE(!finished || WEXITSTATUS(status) == 0);
      ended += finished ? 0 : 1;
      kills += finished ? 0 : 1;
    }
    EXPECT_TRUE(essence(to) == expected) << to;
    EXPECT_EQ(read_books(folder.path(to + "/journal.jsonl")).answers.size(), queries);
    // What was under way at a kill was asked again; nothing else.
    EXPECT_LE(folder.begun().size(), queries + ended * kSlotsHere);
    fs::remove_all(folder.path(to));
  }
  EXPECT_TRUE(eventually([&] { return processes_with(folder.mark()).empty(); }, 15.0));
}

}  // namespace
}  // namespace stap::test
