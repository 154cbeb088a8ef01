#include "stap/market/problem.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "stap/ic/sines.h"
#include "stap/journal/answer_log.h"
#include "stap/market/generate.h"
#include "stap/study/data_request.h"
#include "stap/study/presets.h"
#include "support/contains.h"
#include "support/data_making.h"
#include "support/environment.h"
#include "support/fake_solver.h"
#include "support/h5_writing.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::content;
using test::error_text;
using test::FakeSolver;
using test::Recorder;
using test::ScopedVariable;
using test::TemporaryFolder;

constexpr double kProblemDt = 0.05;

bool same(const States<double>& a, const States<double>& b) {
  return a.grid() == b.grid() && std::ranges::equal(a.values(), b.values());
}
bool same(const Problem& a, const Problem& b) {
  return same(a.pool.states, b.pool.states) && a.pool.sha256 == b.pool.sha256 &&
         a.test.has_value() == b.test.has_value() &&
         (!a.test || (same(a.test->states, b.test->states) && a.test->times == b.test->times &&
                      a.test->sha256 == b.test->sha256));
}

class ProblemTest : public ::testing::Test {
 protected:
  // 20 initial conditions, 5 test trajectories of 3 steps; `more` settings over it.
  Study study(const std::vector<std::string>& more = {}) const {
    config::Value document = load_config(
        folder_.file("study.yaml",
                     "pde: {name: burgers, points: 16, dt: 0.05}\n"
                     "initial: {name: sines, warm_up: 0.02}\n"
                     "network: {modes: [4]}\n"
                     "method: random\n"
                     "study: {steps: 3, pool: 20, test: 5, initial: 2, rounds: 1, budget: 6}\n"));
    for (const std::string& setting : more) apply_setting(document, setting);
    return make_study(std::move(document));
  }
  // The same with its data from these files; none for an empty name.
  Study study_of_files(const std::string& pool, const std::string& test,
                       const std::string& sizes = "") const {
    const auto section = [](const char* name, const std::string& path) {
      return path.empty() ? std::string()
                          : std::string(name) + ": {name: file, path: " + path + "}\n";
    };
    return make_study(load_config(folder_.file(
        "files.yaml",
        "pde: {name: burgers, points: 16, dt: 0.05}\n" +
            (pool.empty() ? "initial: {name: sines, warm_up: 0.02}\n" : section("initial", pool)) +
            section("test", test) +
            "network: {modes: [4]}\nmethod: random\n"
            "study: {steps: 3, initial: 2, rounds: 1, budget: 6" +
            sizes + "}\n")));
  }

  Problem make(const Study& of, Observer& observer, const StopAsked& stop = {}) const {
    return make_problem(of, test::small_burgers(kProblemDt), observer, stop);
  }
  Problem make(const Study& of) const {
    Observer silent;
    return make(of, silent);
  }
  fs::path entry(const Study& of) const { return cache_ / data_key(data_request(of)); }

  TemporaryFolder folder_;
  const fs::path cache_ = folder_.path("cache");
  ScopedVariable variable_{"STAP_CACHE", cache_.string()};
};

// Against the parts it is made of: draws, a warm-up by a solver of that step, then learned steps.
// The rows looked at are not in the first block: one that is filled like the first would show.
TEST_F(ProblemTest, DataAreDrawnWarmedUpAndSolved) {
  const auto warm_up = test::small_burgers(0.02), solver = test::small_burgers(kProblemDt);
  const auto sampler = make_sines({.warm_up = 0.02}, solver->grid());

  const Problem problem = make(study({"pool=300", "test=258"}));

  EXPECT_EQ(problem.pool.states.count(), 300u);
  EXPECT_EQ(problem.test->times, 4u);
  EXPECT_EQ(problem.test->trajectories(), 258u);
  std::vector<double> state(16);
  sampler->draw(Rng(0).split("pool"), 299, state);
  EXPECT_TRUE(std::ranges::equal(problem.pool.states.row(299), test::advanced(*warm_up, state)));
  sampler->draw(Rng(0).split("test"), 257, state);
  state = test::advanced(*warm_up, state);
  EXPECT_TRUE(std::ranges::equal(problem.test->states.row(257 * 4), state));
  for (std::size_t t = 1; t < 4; ++t) {
    state = test::advanced(*solver, state);
    EXPECT_TRUE(std::ranges::equal(problem.test->states.row(257 * 4 + t), state)) << t;
  }
  EXPECT_EQ(problem.pool.sha256, sha256_hex(std::as_bytes(problem.pool.states.values())));
  EXPECT_EQ(problem.test->sha256, sha256_hex(std::as_bytes(problem.test->states.values())));
}

// As a plan counts them. Broken by: a warm-up that counts as one.
TEST_F(ProblemTest, ProgressCountsTheStepsOfWarmUps) {
  Recorder record;

  make(study({"initial.warm_up=0.2"}), record);

  for (const auto& [phase, steps] : {std::pair{"pool", 20u * 4u}, {"test set", 5u * (4u + 3u)}}) {
    std::size_t last = 0;
    for (const Recorder::Event& event : record.events)
      if (event.phase == phase && event.unit == "solver steps") {
        EXPECT_EQ(event.total, steps);
        EXPECT_GE(event.done, last);
        last = event.done;
      }
    EXPECT_EQ(last, steps) << phase;
  }
}

TEST_F(ProblemTest, KnowsWhatItIs) {
  const Study of = study();

  const Problem problem = make(of);

  const Identity& identity = problem.identity;
  EXPECT_EQ(identity.name, "burgers");
  EXPECT_EQ(identity.channels, std::vector<std::string>{"u"});
  EXPECT_EQ(identity.grid, test::small_burgers(kProblemDt)->grid());
  EXPECT_EQ(identity.dt, kProblemDt);
  EXPECT_EQ(identity.steps, 3u);
  EXPECT_EQ(identity.cluster, 1u);
  EXPECT_EQ(identity.pool_sha256, problem.pool.sha256);
  EXPECT_EQ(identity.test_sha256, problem.test->sha256);
  EXPECT_EQ(identity.test_trajectories, 5u);
  EXPECT_EQ(identity.data_key, data_key(data_request(of)));
  EXPECT_EQ(identity.pool_file + identity.test_file, "");
  EXPECT_EQ(cached_file(identity.data_key, "test.h5"), entry(of) / "test.h5");
  EXPECT_TRUE(fs::exists(entry(of) / "test.h5"));
}

TEST_F(ProblemTest, TheSecondTimeDataAreRead) {
  Recorder first, second;

  const Problem made = make(study(), first), read = make(study(), second);

  EXPECT_TRUE(first.computed());
  EXPECT_TRUE(second.events.empty());
  EXPECT_TRUE(same(made, read));
  EXPECT_EQ(first.warnings.size() + second.warnings.size(), 0u);
}

TEST_F(ProblemTest, DamagedFilesAreMadeAnew) {
  const Problem made = make(study());
  const fs::path folder = entry(study());
  const Study other = study({"data_seed=9"});
  make(other);
  for (const char* name : {"pool.h5", "test.h5"}) {
    const std::string whole = content(folder / name), foreign = content(entry(other) / name);
    std::string flipped = whole;  // one bit of a value
    const double last = std::string(name) == "pool.h5" ? made.pool.states.values().back()
                                                       : made.test->states.values().back();
    flipped[whole.find(std::string(reinterpret_cast<const char*>(&last), 8))] ^= 1;
    for (const std::string& bad : {whole.substr(0, whole.size() / 2), std::string("text"),
                                   std::string(), flipped, foreign}) {
      std::ofstream(folder / name, std::ios::binary) << bad;
      Recorder record;

      EXPECT_TRUE(same(make(study(), record), made));

      EXPECT_TRUE(record.computed());
      ASSERT_EQ(record.warnings.size(), 1u);
      EXPECT_TRUE(contains(record.warnings[0], "made anew"));
      EXPECT_TRUE(contains(record.warnings[0], name));
      EXPECT_EQ(content(folder / name), whole);
    }
  }
}

TEST_F(ProblemTest, ADamagedOrForeignEntryIsMadeAnew) {
  const Problem made = make(study());
  const fs::path folder = entry(study());
  const auto expect_anew = [&] {
    Recorder record;
    EXPECT_TRUE(same(make(study(), record), made));
    EXPECT_EQ(record.warnings.size(), 1u);
    EXPECT_TRUE(fs::exists(folder / "config.yaml"));
  };

  write_sealed(folder / "config.yaml", "format: data/2\npool: 7\n");
  expect_anew();
  std::ofstream(folder / "config.yaml") << "format: run/3\n";
  expect_anew();
  fs::remove(folder / "config.yaml");  // which leaves files without one
  expect_anew();
  std::ofstream(folder / "journal.jsonl") << "text\n";
  expect_anew();
  fs::remove_all(folder);
  std::ofstream(folder) << "a file";
  expect_anew();
}

TEST_F(ProblemTest, AFileThatIsGoneIsMadeAnewWithoutAWord) {
  const Problem made = make(study());
  fs::remove(entry(study()) / "pool.h5");
  Recorder record;

  EXPECT_TRUE(same(make(study(), record), made));

  EXPECT_TRUE(record.warnings.empty());
  EXPECT_TRUE(std::ranges::all_of(record.events, [](const auto& e) { return e.phase == "pool"; }));
}

TEST_F(ProblemTest, TheCacheCanBeSwitchedOff) {
  const Problem cached = make(study());
  fs::remove_all(cache_);
  const TemporaryFolder temporary;
  const ScopedVariable place("TMPDIR", temporary.path().string());
  fs::create_directory(temporary.path("stap-data-1-abcdef"));
  temporary.file("stap-data-1-abcdef/.lock", "of a process that is gone");
  for (const char* off : {"off", ""}) {
    const ScopedVariable variable("STAP_CACHE", off);
    for (int time = 0; time < 2; ++time) {
      Recorder record;
      EXPECT_TRUE(same(make(study(), record), cached));
      EXPECT_TRUE(record.computed());
      EXPECT_TRUE(record.warnings.empty());
    }
    EXPECT_EQ(cached_file("key", "pool.h5"), fs::path());
  }
  EXPECT_FALSE(fs::exists(cache_));
  EXPECT_EQ(temporary.entries(), 0u);
}

TEST_F(ProblemTest, ACacheThatCannotBeWrittenIsGoneWithout) {
  for (const std::string& place : {std::string("/proc/no/cache"), folder_.file("file", "x")}) {
    const ScopedVariable variable("STAP_CACHE", place);
    Recorder record;

    const Problem problem = make(study(), record);

    EXPECT_EQ(problem.pool.states.count(), 20u);
    ASSERT_EQ(record.warnings.size(), 1u) << place;
    EXPECT_TRUE(contains(record.warnings[0], "not cached"));
    EXPECT_TRUE(contains(record.warnings[0], "STAP_CACHE"));
  }
}

// What was solved by then is in the cache: starting over elsewhere would lose it.
TEST_F(ProblemTest, AnEntryThatWasBegunAndCannotBeGoneOnWithIsSaid) {
  fs::create_directories(entry(study()) / "answers.bin");
  DataRequest request = data_request(study());
  config::Value document = data_document(request);
  document.set("numerics", *document.find("format"));
  document.set("format", "data/2");
  write_sealed(entry(study()) / "config.yaml", config::yaml_text(document));
  Recorder record;

  EXPECT_TRUE(
      contains(error_text(ErrorKind::storage, [&] { make(study(), record); }), "answers.bin"));

  EXPECT_TRUE(record.warnings.empty());
}

TEST_F(ProblemTest, FoldersAreMade) {
  const ScopedVariable variable("STAP_CACHE", folder_.path("a/b"));
  Recorder record;

  make(study(), record);

  EXPECT_TRUE(record.warnings.empty());
  EXPECT_TRUE(fs::exists(folder_.path("a/b/" + data_key(data_request(study())) + "/pool.h5")));
}

TEST_F(ProblemTest, AStopKeepsWhatWasSolved) {
  const Study of = study({"pool=200", "initial.warm_up=0.05"});
  Observer silent;
  std::size_t computed = 0, stops = 0;
  for (bool done = false; !done;) {
    ASSERT_LT(stops, 100u);
    const auto solver = std::make_shared<FakeSolver>(of.grid, of.dt);
    try {
      make_problem(of, solver, silent, [&] { return solver->computed > 0; });
      done = true;
    } catch (const Stopped&) {
      ++stops;
    }
    computed += solver->computed;
  }

  EXPECT_GE(stops, 3u);
  EXPECT_EQ(computed, 200u + 5 * 4);  // nothing was asked twice
}

// Killed at any report of progress, the next one to come has the right data without a warning.
TEST_F(ProblemTest, KilledProcessesDoNoHarm) {
  const Study of = study({"pool=200"});
  Recorder whole;
  const Problem expected = make(of, whole);
  for (std::size_t moment = 1; moment <= whole.events.size(); moment += 3) {
    fs::remove_all(cache_);
    const int status = test::wait_for(test::in_process([&] {
      Recorder record;
      record.on_progress = [&] {
        if (record.events.size() == moment) kill(getpid(), SIGKILL);
      };
      make(of, record);
    }));
    ASSERT_TRUE(WIFSIGNALED(status)) << moment;
    Recorder record;

    EXPECT_TRUE(same(make(of, record), expected)) << moment;

    EXPECT_TRUE(record.warnings.empty());
  }
}

// One makes them, the others wait and read.
TEST_F(ProblemTest, SeveralProcessesAtOnce) {
  const Study of = study({"pool=400", "test=100"});
  const Problem expected = make(of);
  const std::string whole = content(entry(of) / "pool.h5") + content(entry(of) / "test.h5");
  fs::remove_all(cache_);

  const auto compare = [&] {
    if (!same(make(of), expected)) _exit(1);
  };
  const pid_t a = test::in_process(compare), b = test::in_process(compare),
              c = test::in_process(compare);

  EXPECT_EQ(test::wait_for(a), 0);
  EXPECT_EQ(test::wait_for(b), 0);
  EXPECT_EQ(test::wait_for(c), 0);
  EXPECT_EQ(content(entry(of) / "pool.h5") + content(entry(of) / "test.h5"), whole);
  EXPECT_FALSE(fs::exists(entry(of) / "answers.bin"));
}

TEST_F(ProblemTest, WaitsForAnotherProcessUntilItEndsOrIsStopped) {
  fs::create_directories(entry(study()));
  auto held =
      std::make_unique<AnswerLog>(entry(study()) / "journal.jsonl", entry(study()) / "answers.bin");
  Recorder record;
  EXPECT_THROW(make(study(), record, [] { return true; }), Stopped);
  ASSERT_EQ(record.warnings.size(), 1u);
  EXPECT_TRUE(contains(record.warnings[0], "waiting for another process"));

  const Problem problem = make(study(), record, [&] {
    held.reset();  // the other one ends
    return false;
  });

  EXPECT_EQ(problem.pool.states.count(), 20u);
  EXPECT_EQ(record.warnings.size(), 2u);
}

TEST_F(ProblemTest, ARowThatCannotBeComputedIsNamedAndNothingIsMade) {
  const Study of = study({"pde.max_abs=0.001", "initial.warm_up=0"});
  Observer silent;

  const std::string message = error_text(ErrorKind::numerics, [&] { make_problem(of, 1, silent); });

  EXPECT_TRUE(contains(message, "test trajectory 0 was refused at step 1 of 3"));
  EXPECT_FALSE(fs::exists(entry(of) / "test.h5"));
}

TEST_F(ProblemTest, ATestSetMayBeAbsent) {
  const Study of = study({"test=0"});

  const Problem problem = make(of);

  EXPECT_FALSE(problem.test);
  EXPECT_EQ(problem.identity.test_sha256, "");
  EXPECT_EQ(problem.identity.test_trajectories, 0u);
  EXPECT_EQ(problem.pool.sha256, make(study()).pool.sha256);
  EXPECT_FALSE(fs::exists(entry(of) / "test.h5"));
}

TEST_F(ProblemTest, ASolverThatIsNotTheStudysIsRefused) {
  Observer silent;
  const auto message = [&](const Grid& grid, double dt) {
    return error_text(ErrorKind::config, [&] {
      make_problem(study(), std::make_shared<FakeSolver>(grid, dt), silent);
    });
  };

  EXPECT_TRUE(
      contains(message(make_grid(1, {8}, {1.0}), kProblemDt), "fake works on states of 1 x 8"));
  EXPECT_TRUE(contains(message(make_grid(2, {16}, {1.0}), kProblemDt), "study's are 1 x 16"));
  EXPECT_TRUE(contains(message(make_grid(1, {16}, {2.0}), kProblemDt), "lengths [2]"));
  EXPECT_TRUE(contains(message(test::small_burgers(kProblemDt)->grid(), 0.1),
                       "steps of 0.1, but the study's are 0.05"));
  EXPECT_FALSE(fs::exists(cache_));
}

// The pde section cannot tell it from the equation, its name can.
TEST_F(ProblemTest, ASolverOfOnesOwnHasDataOfItsOwn) {
  Observer silent;
  const Study of = study({"initial.warm_up=0.05"});
  const auto solver = std::make_shared<FakeSolver>(of.grid, of.dt);

  const Problem equation = make_problem(of, 1, silent), own = make_problem(of, solver, silent);

  EXPECT_NE(own.identity.data_key, equation.identity.data_key);
  EXPECT_NE(own.pool.sha256, equation.pool.sha256);
  EXPECT_EQ(own.solver, solver);
  EXPECT_EQ(solver->computed, 20u + 5 * 4);
  EXPECT_EQ(make_problem(of, test::small_burgers(kProblemDt), silent).identity.data_key,
            equation.identity.data_key);
}

class ProblemFiles : public ProblemTest {
 protected:
  ProblemFiles() {
    Observer silent;
    const auto sampler = make_sines({.warm_up = 0.02}, test::small_burgers(kProblemDt)->grid());
    made_ = generate(data_request(study()), *sampler, test::small_burgers(kProblemDt),
                     folder_.path("made"), silent, {});
  }
  std::string pool_file() const { return folder_.path("made/pool.h5"); }
  std::string test_file() const { return folder_.path("made/test.h5"); }

  // Rows of 16 points: 0, 1, 2, ...
  std::string write(const std::string& name, const std::string& dataset, std::vector<hsize_t> shape,
                    double last) const {
    std::size_t values = 1;
    for (hsize_t size : shape) values *= size;
    std::vector<double> numbers(values);
    for (std::size_t v = 0; v < values; ++v) numbers[v] = static_cast<double>(v);
    numbers.back() = last;
    test::H5File(folder_.path(name)).dataset(dataset, shape, numbers);
    return folder_.path(name);
  }

  Generated made_;
};

TEST_F(ProblemFiles, WhatGenerateWroteIsWhatAStudyMakes) {
  Recorder record;
  const Problem problem = make(study_of_files(pool_file(), test_file()), record);

  EXPECT_TRUE(same(problem, make(study())));
  EXPECT_EQ(problem.identity.pool_sha256, made_.pool_sha256);
  EXPECT_EQ(problem.identity.test_sha256, made_.test_sha256);
  EXPECT_EQ(problem.identity.pool_file, pool_file());
  EXPECT_EQ(problem.identity.test_file, test_file());
  EXPECT_EQ(problem.identity.data_key, "");
  EXPECT_TRUE(record.events.empty());
}

TEST_F(ProblemFiles, EitherMayBeDrawnOrMissing) {
  const Problem drawn_pool = make(study_of_files("", test_file(), ", pool: 20"));
  EXPECT_EQ(drawn_pool.pool.sha256, made_.pool_sha256);
  EXPECT_EQ(drawn_pool.test->sha256, made_.test_sha256);
  EXPECT_NE(drawn_pool.identity.data_key, "");
  EXPECT_FALSE(fs::exists(cached_file(drawn_pool.identity.data_key, "test.h5")));

  EXPECT_FALSE(make(study_of_files(pool_file(), "", ", test: 0")).test);
  EXPECT_TRUE(
      contains(error_text(ErrorKind::config, [&] { study_of_files(pool_file(), "", ", test: 5"); }),
               "no test trajectories can be drawn"));
}

TEST_F(ProblemFiles, LessThanIsThereMayBeAskedForAndMoreNot) {
  const Problem all = make(study());

  const Problem some = make(study_of_files(pool_file(), test_file(), ", pool: 7, test: 2"));

  EXPECT_EQ(some.pool.states.count(), 7u);
  EXPECT_TRUE(
      std::ranges::equal(some.pool.states.values(), all.pool.states.values().first(7 * 16)));
  EXPECT_EQ(some.test->trajectories(), 2u);
  EXPECT_TRUE(
      std::ranges::equal(some.test->states.values(), all.test->states.values().first(2 * 4 * 16)));
  EXPECT_TRUE(
      contains(error_text(ErrorKind::data,
                          [&] { make(study_of_files(pool_file(), test_file(), ", pool: 21")); }),
               "holds 20 initial conditions, but 21 are wanted"));
  EXPECT_TRUE(
      contains(error_text(ErrorKind::data,
                          [&] { make(study_of_files(pool_file(), test_file(), ", test: 6")); }),
               "holds 5 test trajectories, but 6 are wanted"));
}

TEST_F(ProblemFiles, LongerTrajectoriesAreCutAndShorterRefused) {
  const std::string longer = write("longer.h5", "trajectory", {2, 6, 1, 16}, 191),
                    shorter = write("shorter.h5", "trajectory", {2, 3, 1, 16}, 95);

  const Problem problem = make(study_of_files(pool_file(), longer));

  EXPECT_EQ(problem.test->times, 4u);
  ASSERT_EQ(problem.test->states.count(), 8u);
  EXPECT_EQ(problem.test->states.row(3)[15], 63.0);
  EXPECT_EQ(problem.test->states.row(4)[0], 96.0);  // the second begins behind six states
  EXPECT_TRUE(
      contains(error_text(ErrorKind::data, [&] { make(study_of_files(pool_file(), shorter)); }),
               "trajectories of 3 times, expected 4"));
}

// A pool may be the beginnings of trajectories.
TEST_F(ProblemFiles, APoolIsTakenFromTrajectoriesToo) {
  const Problem problem = make(study_of_files(test_file(), test_file()));

  EXPECT_EQ(problem.pool.states.count(), 5u);
  EXPECT_TRUE(std::ranges::equal(problem.pool.states.row(1), problem.test->states.row(4)));
}

TEST_F(ProblemFiles, ValuesThatAreNotFiniteAreRefused) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::string pool = write("nan_pool.h5", "states", {4, 1, 16}, kNan),
                    test = write("nan_test.h5", "trajectory", {3, 4, 1, 16}, kNan);

  EXPECT_TRUE(
      contains(error_text(ErrorKind::data, [&] { make(study_of_files(pool, test_file())); }),
               "nan_pool.h5: initial condition 3 is not finite"));
  EXPECT_TRUE(
      contains(error_text(ErrorKind::data, [&] { make(study_of_files(pool_file(), test)); }),
               "nan_test.h5: test trajectory 2 is not finite"));
  // What is not taken does not matter.
  EXPECT_EQ(make(study_of_files(pool, test_file(), ", pool: 3")).pool.states.count(), 3u);
}

TEST_F(ProblemFiles, FilesOfAnotherGridAreRefused) {
  const std::string other = write("other.h5", "states", {4, 1, 8}, 31);
  const std::string text = folder_.file("text.h5", "text");

  EXPECT_TRUE(contains(
      error_text(ErrorKind::data, [&] { make(study_of_files(other, test_file())); }), "other.h5"));
  EXPECT_TRUE(contains(
      error_text(ErrorKind::data, [&] { make(study_of_files(text, test_file())); }), "text.h5"));
}

// The same numbers in another kind of file are the same data.
TEST_F(ProblemTest, DataComeFromNpyFilesAsWell) {
  const Problem drawn = make(study());
  write_npy(folder_.path("pool.npy"), std::vector<std::size_t>{20, 16}, drawn.pool.states.values());
  write_npy(folder_.path("test.npy"), std::vector<std::size_t>{5, 4, 1, 16},
            drawn.test->states.values());

  const Problem read = make(study_of_files("pool.npy", "test.npy"));

  EXPECT_TRUE(same(read, drawn));
  EXPECT_EQ(read.identity.pool_file, folder_.path("pool.npy"));
}

}  // namespace
}  // namespace stap
