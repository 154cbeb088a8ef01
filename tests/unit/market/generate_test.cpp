#include "stap/market/generate.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <map>
#include <set>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/store.h"
#include "stap/journal/answer_log.h"
#include "support/choosing.h"
#include "support/contains.h"
#include "support/data_making.h"
#include "support/environment.h"
#include "support/fake_solver.h"
#include "support/refusals.h"
#include "support/sealing.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::content;
using test::error_text;
using test::FakeSolver;
using test::FarSolver;
using test::Fate;
using test::NamingSampler;
using test::Recorder;
using test::TemporaryFolder;

constexpr double kDt = 0.25;
const Grid kGrid = make_grid(1, {8}, {1.0});

// Several blocks of each file (the first of a solver has 32 rows), a warm-up of one step.
DataRequest small_request() {
  DataRequest request;
  request.pde = test::pde("{name: burgers, points: 8, dt: 0.25}").value();
  request.initial = test::initial("{name: sines, warm_up: 0.25}").value();
  request.pool = 230;
  request.test = 101;
  request.steps = 3;
  return request;
}
constexpr std::size_t kPoolSteps = 230, kTestSteps = 101 * (1 + 3);

std::shared_ptr<const FakeSolver> fake(test::Decide decide = test::always_ok) {
  return std::make_shared<FakeSolver>(kGrid, kDt, std::move(decide));
}

struct Making {
  DataRequest request = small_request();
  std::shared_ptr<const Solver> solver = fake();
  double warm_up = kDt;
  StopAsked stop{};
};
Generated make(const fs::path& folder, Observer& observer, const Making& making) {
  const NamingSampler sampler(making.solver->grid(), making.warm_up);
  return generate(making.request, sampler, making.solver, folder, observer, making.stop);
}
Generated make(const fs::path& folder, const Making& making = {}) {
  Observer silent;
  return make(folder, silent, making);
}

std::string essence(const fs::path& folder) {
  return content(folder / "pool.h5") + content(folder / "test.h5");
}
std::size_t recorded_in(const fs::path& folder) {
  std::size_t answers = 0;
  if (fs::exists(folder / "journal.jsonl"))
    read_answers(folder / "journal.jsonl", [&](std::size_t, const AnswerRecord&) { ++answers; });
  return answers;
}

// By hand: the fake's rule from the drawn state, time 0 behind the warm-up.
TEST(Generate, RowsAreDrawnWarmedUpAndSolved) {
  const TemporaryFolder folder;
  const NamingSampler sampler(kGrid, kDt);
  const auto states_of = [&](const char* stream, std::size_t row, std::size_t times) {
    std::vector<double> state(8), all;
    sampler.draw(Rng(0).split(stream), row, state);
    for (std::size_t t = 0; t < times; ++t) {
      state = test::fake_next(state, (static_cast<double>(t) - 1) * kDt);
      all.insert(all.end(), state.begin(), state.end());
    }
    return all;
  };

  const Generated made = make(folder.path());

  const States<double> pool = read_states(folder.path("pool.h5"), kGrid);
  const Trajectories test = read_trajectories(folder.path("test.h5"), kGrid);
  ASSERT_EQ(pool.count(), 230u);
  ASSERT_EQ(test.states.count(), 101u * 4);
  EXPECT_EQ(test.times, 4u);
  for (std::size_t row : {0, 31, 32, 229})
    EXPECT_TRUE(std::ranges::equal(pool.row(row), states_of("pool", row, 1))) << row;
  for (std::size_t row : {0, 64, 100})
    EXPECT_TRUE(
        std::ranges::equal(test.states.values().subspan(row * 32, 32), states_of("test", row, 4)))
        << row;
  EXPECT_TRUE(made.finished);
  EXPECT_EQ(made.pool_sha256, sha256_hex(std::as_bytes(pool.values())));
  EXPECT_EQ(made.test_sha256, sha256_hex(std::as_bytes(test.states.values())));
}

TEST(Generate, FilesSayWhatTheyAre) {
  const TemporaryFolder folder;

  const Generated made = make(folder.path());

  for (const auto& [file, sha256] :
       {std::pair("pool.h5", made.pool_sha256), std::pair("test.h5", made.test_sha256)}) {
    const std::string path = folder.path(file);
    EXPECT_EQ(read_text_attribute(path, "/", "format"), "data/2");
    EXPECT_EQ(read_text_attribute(path, "/", "sha256"), sha256);
    const StateInfo info = read_state_info(path);
    EXPECT_EQ(info.equation, "fake");
    EXPECT_EQ(info.grid, kGrid);
    EXPECT_EQ(info.dt, kDt);
  }
  EXPECT_EQ(folder.entries(), 4u);  // and config.yaml, journal.jsonl
}

TEST(Generate, WithoutWarmUpStatesAreUsedAsDrawn) {
  const TemporaryFolder folder;
  const auto solver = fake();
  std::vector<double> drawn(8);
  NamingSampler(kGrid, 0).draw(Rng(0).split("pool"), 3, drawn);
  Making making{.solver = solver, .warm_up = 0};
  making.request.test = 0;

  const Generated made = make(folder.path(), making);

  EXPECT_TRUE(std::ranges::equal(read_states(folder.path("pool.h5"), kGrid).row(3), drawn));
  EXPECT_EQ(solver->computed, 0u);
  EXPECT_EQ(made.test_sha256, "");
  EXPECT_FALSE(fs::exists(folder.path("test.h5")));
}

// Breaking mutation: draws or blocks that depend on how many rows there are.
TEST(Generate, SizesDoNotChangeWhatIsThere) {
  const TemporaryFolder small, large;
  Making making;
  making.request.pool = 20;
  making.request.test = 5;
  make(small.path(), making);
  making.request.pool = 300;
  making.request.test = 70;
  making.request.steps = 4;
  make(large.path(), making);

  const States<double> a = read_states(small.path("pool.h5"), kGrid),
                       b = read_states(large.path("pool.h5"), kGrid);
  const Trajectories c = read_trajectories(small.path("test.h5"), kGrid),
                     d = read_trajectories(large.path("test.h5"), kGrid);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_TRUE(std::ranges::equal(a.row(i), b.row(i))) << i;
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t t = 0; t < 4; ++t)
      EXPECT_TRUE(std::ranges::equal(c.states.row(i * 4 + t), d.states.row(i * 5 + t)));
}

TEST(Generate, AnotherSeedGivesOtherDataAndPoolAndTestDiffer) {
  const TemporaryFolder one, two;
  Making making;
  make(one.path(), making);
  making.request.data_seed = 1;
  make(two.path(), making);

  const States<double> a = read_states(one.path("pool.h5"), kGrid),
                       b = read_states(two.path("pool.h5"), kGrid),
                       c = read_states(one.path("test.h5"), kGrid),
                       d = read_states(two.path("test.h5"), kGrid);
  EXPECT_FALSE(std::ranges::equal(a.row(0), b.row(0)));
  EXPECT_FALSE(std::ranges::equal(c.row(0), d.row(0)));
  EXPECT_FALSE(std::ranges::equal(a.row(0), c.row(0)));
}

TEST(Generate, CountsSolverSteps) {
  const TemporaryFolder folder;
  const auto solver = fake();
  Recorder record;

  make(folder.path(), record, {.solver = solver});

  EXPECT_EQ(solver->computed, kPoolSteps + kTestSteps);
  EXPECT_EQ(record.events.front().phase, "pool");
  EXPECT_EQ(record.events.back().phase, "test set");
  EXPECT_EQ(record.events.back().done, kTestSteps);
  for (const Recorder::Event& event : record.events) {
    EXPECT_EQ(event.unit, "solver steps");
    EXPECT_EQ(event.total, event.phase == "pool" ? kPoolSteps : kTestSteps);
    EXPECT_LE(event.done, event.total);
  }
}

// What it writes must not depend on how its solver likes to be asked, nor on who answers first.
TEST(Generate, SeveralStepsACallInAnyOrderGiveTheSameBytes) {
  const TemporaryFolder plain, far;
  Making making{.warm_up = 2 * kDt};
  making.request.pool = 40;
  making.request.test = 20;
  making.solver = std::make_shared<FarSolver>(kGrid, kDt);
  make(plain.path(), making);
  for (std::size_t steps : {2, 3, 7}) {
    const auto solver = std::make_shared<FarSolver>(
        kGrid, kDt, test::always_ok,
        test::Manners{.steps_at_once = steps, .shuffle = Rng(steps), .polls = 1});
    making.solver = solver;
    const fs::path folder = far.path(std::to_string(steps));

    make(folder, making);

    EXPECT_EQ(essence(folder), essence(plain.path())) << steps;
    EXPECT_EQ(*std::ranges::max_element(solver->calls), std::min<std::size_t>(steps, 3));
  }
}

// The solver hears of a stop behind the block in which it came; nothing is asked twice.
TEST(Generate, StopIsHeardBehindABlockAndTheSameCallGoesOn) {
  const TemporaryFolder whole, cut;
  make(whole.path());
  std::size_t computed = 0, calls = 0;

  for (bool finished = false; !finished; ++calls) {
    ASSERT_LT(calls, 200u);
    const auto solver = fake();
    Recorder record;
    const std::size_t before = recorded_in(cut.path());

    finished =
        make(cut.path(), record, {.solver = solver, .stop = [&] { return solver->computed > 0; }})
            .finished;

    if (!finished) {
      EXPECT_EQ(solver->computed, solver->largest_batch);
      EXPECT_EQ(recorded_in(cut.path()), before + solver->computed);
    }
    if (before < kPoolSteps) {  // what is done counts at once
      EXPECT_EQ(record.events[0].done, before);
    }
    EXPECT_TRUE(record.warnings.empty());
    computed += solver->computed;
  }

  EXPECT_GE(calls, 5u);
  EXPECT_EQ(computed, kPoolSteps + kTestSteps);
  EXPECT_EQ(essence(cut.path()), essence(whole.path()));
  EXPECT_EQ(cut.entries(), 4u);
}

// Breaks if draws are made again by the call that goes on, or when files are put together.
TEST(Generate, ADearStateIsDrawnOnceWhateverHappens) {
  TemporaryFolder folder;
  for (const double warm_up : {0.0, kDt}) {
    Making making{.warm_up = warm_up};
    making.request.pool = 20;
    making.request.test = 5;
    const fs::path whole = folder.path(fmt::format("whole-{}", warm_up));
    const fs::path pieces = folder.path(fmt::format("pieces-{}", warm_up));
    make(whole, making);
    NamingSampler sampler(kGrid, warm_up);
    sampler.is_expensive = true;
    Recorder seen;

    int calls = 1;
    for (; calls < 100; ++calls) {
      const std::size_t before = sampler.drawn;
      const StopAsked stop([&] { return sampler.drawn >= before + 3; });
      if (generate(making.request, sampler, making.solver, pieces, seen, stop).finished) break;
    }

    EXPECT_GE(calls, 8);
    EXPECT_EQ(sampler.drawn, 25u);
    EXPECT_EQ(essence(pieces), essence(whole));
    EXPECT_EQ(seen.events[1].phase, "drawing the pool");
    EXPECT_EQ(seen.events[1].done, 1u);
    EXPECT_EQ(seen.events[1].total, 20u);
  }
}

TEST(Generate, AStopIsHeardWhileNothingIsAnsweredAndWhileFilesAreWritten) {
  const TemporaryFolder silent, whole, cut;
  const auto never = std::make_shared<FarSolver>(kGrid, kDt, test::always_ok,
                                                 test::Manners{.polls = 1'000'000'000});
  std::size_t polls = 0;
  EXPECT_FALSE(
      make(silent.path(), {.solver = never, .stop = [&] { return ++polls == 240; }}).finished);

  make(whole.path());
  polls = 0;
  make(cut.path(), {.stop = [&] { return ++polls == 0; }});
  const std::size_t last = polls;
  fs::remove_all(cut.path());
  polls = 0;
  EXPECT_FALSE(make(cut.path(), {.stop = [&] { return ++polls >= last; }}).finished);
  EXPECT_FALSE(fs::exists(cut.path("test.h5")));
  const auto solver = fake();
  EXPECT_TRUE(make(cut.path(), {.solver = solver}).finished);
  EXPECT_EQ(solver->computed, 0u);
  EXPECT_EQ(essence(cut.path()), essence(whole.path()));
}

// Killed at any time, of which those between two blocks and two rows are tried: what was recorded
// is not asked again, and the bytes are those of a call that got through.
TEST(Generate, KilledAnywhereItLosesNoAnswerAndEndsWithTheSameBytes) {
  const TemporaryFolder whole, cut;
  std::size_t polls = 0;
  make(whole.path(), {.stop = [&] { return ++polls == 0; }});
  const std::size_t all = polls;

  for (std::size_t moment = 1; moment <= all; moment += 97) {
    fs::remove_all(cut.path());
    const int status = test::wait_for(test::in_process([&] {
      std::size_t n = 0;
      make(cut.path(), {.stop = [&] { return ++n == moment && kill(getpid(), SIGKILL) == 0; }});
    }));
    ASSERT_TRUE(WIFSIGNALED(status)) << moment;
    const std::size_t recorded = recorded_in(cut.path());
    const auto solver = fake();
    Recorder record;

    EXPECT_TRUE(make(cut.path(), record, {.solver = solver}).finished);

    EXPECT_EQ(solver->computed, kPoolSteps + kTestSteps - recorded) << moment;
    EXPECT_EQ(essence(cut.path()), essence(whole.path())) << moment;
    EXPECT_EQ(cut.entries(), 4u) << moment;
    EXPECT_TRUE(record.warnings.empty());
  }
}

TEST(Generate, KilledAtAnyProgressItEndsWithTheSameBytes) {
  const TemporaryFolder whole, cut;
  Recorder record;
  make(whole.path(), record, {});

  for (std::size_t moment = 1; moment <= record.events.size(); moment += 2) {
    fs::remove_all(cut.path());
    const int status = test::wait_for(test::in_process([&] {
      Recorder events;
      events.on_progress = [&] {
        if (events.events.size() == moment) kill(getpid(), SIGKILL);
      };
      make(cut.path(), events, {});
    }));
    ASSERT_TRUE(WIFSIGNALED(status)) << moment;

    make(cut.path());

    EXPECT_EQ(essence(cut.path()), essence(whole.path())) << moment;
  }
}

// As if it had been killed between putting the last file in its place and tidying up.
TEST(Generate, AnswersOfFinishedFilesAreRemoved) {
  const TemporaryFolder folder;
  make(folder.path());
  const std::string before = essence(folder.path());
  folder.file("answers.bin", "stap answers/1 \n12345678");
  folder.file("pool.h5.tmp-1-1", "x");
  const auto solver = fake();

  EXPECT_TRUE(make(folder.path(), {.solver = solver}).finished);

  EXPECT_EQ(folder.entries(), 4u);
  EXPECT_EQ(essence(folder.path()), before);
  EXPECT_EQ(solver->computed, 0u);
}

// What could not be removed is, by the next command, also where nothing else is left to do.
TEST(Generate, LeftoversBesideWholeFilesAreRemoved) {
  const TemporaryFolder folder;
  make(folder.path());
  const pid_t child = test::in_process([&] {
    new PendingFile(folder.path("test.h5"));
    raise(SIGKILL);
  });
  test::wait_for(child);
  const std::size_t before = folder.entries();

  EXPECT_TRUE(make(folder.path()).finished);

  EXPECT_EQ(folder.entries(), before - 1);
}

// Killed while its journal began again, at the very end.
TEST(Generate, AnEmptyJournalBesideWholeFilesIsNoOtherFolders) {
  const TemporaryFolder folder;
  make(folder.path());
  const std::string before = essence(folder.path());
  folder.file("answers.bin", "stap answers/1 \n12345678");
  folder.file("journal.jsonl", "");
  const auto solver = fake();

  EXPECT_TRUE(make(folder.path(), {.solver = solver}).finished);

  EXPECT_EQ(essence(folder.path()), before);
  EXPECT_EQ(solver->computed, 0u);
}

// Killed while it asked for room, or wrote its first file: what it left is ours.
TEST(Generate, ContinuesInAFolderThatWasBarelyBegun) {
  const TemporaryFolder folder;
  folder.file("journal.jsonl", "");
  folder.file("answers.bin", "stap");
  folder.file("test.h5.tmp-1-0", "x");
  folder.file("config.yaml.tmp-1-1", "x");

  EXPECT_TRUE(make(folder.path()).finished);

  EXPECT_EQ(folder.entries(), 4u);  // nothing of it is left
}

// They have the same key: it takes a look at what they hold.
TEST(Generate, APoolIsNoTestSet) {
  const TemporaryFolder folder;
  make(folder.path());
  fs::copy_file(folder.path("pool.h5"), folder.path("test.h5"),
                fs::copy_options::overwrite_existing);

  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { make(folder.path()); }),
                       "test.h5 is not the test set of its folder"));
}

TEST(Generate, AFileThatIsGoneIsMadeAnewAndTheOtherKept) {
  const TemporaryFolder folder;
  const Generated made = make(folder.path());
  const std::string before = essence(folder.path());
  for (const auto& [file, steps] :
       {std::pair("pool.h5", kPoolSteps), std::pair("test.h5", kTestSteps)}) {
    fs::remove(folder.path(file));
    const auto solver = fake();

    const Generated again = make(folder.path(), {.solver = solver});

    EXPECT_EQ(solver->computed, steps);
    EXPECT_EQ(essence(folder.path()), before);
    EXPECT_EQ(again.pool_sha256, made.pool_sha256);
    EXPECT_GE(again.seconds, made.seconds);
  }
}

TEST(Generate, TheTimeItTookIsKeptButNotNeeded) {
  const TemporaryFolder folder;
  const double seconds = make(folder.path()).seconds;
  EXPECT_GT(seconds, 0.0);
  EXPECT_EQ(make(folder.path()).seconds, seconds);

  fs::remove(folder.path("journal.jsonl"));

  EXPECT_TRUE(make(folder.path()).finished);
}

TEST(Generate, DamageIsSaid) {
  const TemporaryFolder folder;
  make(folder.path());
  folder.file("pool.h5", "text");
  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { make(folder.path()); }), "pool.h5"));

  // One bit of a state that was recorded.
  const TemporaryFolder cut;
  const auto solver = fake();
  make(cut.path(), {.solver = solver, .stop = [&] { return solver->computed > 100; }});
  std::string bytes = content(cut.path("answers.bin"));
  bytes[16 + 5 * 64] ^= 1;
  cut.file("answers.bin", bytes);
  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { make(cut.path()); }), "answers.bin"));
}

// The configuration says to which questions the answers belong.
TEST(Generate, AnswersToOtherQuestionsAreNotUsed) {
  const TemporaryFolder folder;
  const auto begin = [&] {
    const auto solver = fake();
    make(folder.path(), {.solver = solver, .stop = [&] { return solver->computed > 0; }});
  };
  begin();
  fs::remove(folder.path("config.yaml"));
  EXPECT_TRUE(
      contains(error_text(ErrorKind::data, [&] { make(folder.path()); }), "no config.yaml"));

  fs::remove_all(folder.path());
  begin();
  test::change_sealed(folder.path("config.yaml"), "data_seed: 0", "data_seed: 1");
  Making other;
  other.request.data_seed = 1;
  EXPECT_TRUE(contains(error_text(ErrorKind::data, [&] { make(folder.path(), other); }),
                       "has replaced another"));
}

// What is there is looked at as a whole before it is called good.
TEST(Generate, FinishedFilesThatWereChangedAreNoticed) {
  const TemporaryFolder folder;
  make(folder.path());
  for (const char* name : {"pool.h5", "test.h5", "config.yaml", "journal.jsonl"}) {
    const std::string whole = content(folder.path(name));
    for (const std::size_t at : {std::size_t{5}, whole.size() / 2, whole.size() - 1}) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      folder.file(name, bad);
      error_text(ErrorKind::data, [&] { make(folder.path()); });
    }
    folder.file(name, whole);
  }
  EXPECT_TRUE(make(folder.path()).finished);
}

TEST(Generate, WholeFilesOfAnotherFolderAreTaken) {
  const TemporaryFolder folder;
  make(folder.path("have"));
  const NamingSampler sampler(kGrid, kDt);
  const auto take = [&](const std::string& out, Recorder& told) {
    const auto solver = fake();
    EXPECT_TRUE(
        generate(small_request(), sampler, solver, folder.path(out), told, {}, folder.path("have"))
            .finished);
    EXPECT_TRUE(essence(folder.path(out)) == essence(folder.path("one")));
    return solver->computed;
  };
  make(folder.path("one"));
  Recorder told, warned;

  EXPECT_EQ(take("two", told), 0u);
  std::string damaged = content(folder.path("have/pool.h5"));
  damaged[damaged.size() / 2] ^= 1;
  folder.file("have/pool.h5", damaged);
  EXPECT_EQ(take("three", warned), kPoolSteps);

  EXPECT_TRUE(told.warnings.empty());
  EXPECT_EQ(told.notes.size(), 2u);
  ASSERT_EQ(warned.warnings.size(), 1u);
  EXPECT_TRUE(contains(warned.warnings[0], "the pool is made anew")) << warned.warnings[0];
}

TEST(Generate, FoldersOfOthersAreRefused) {
  const TemporaryFolder folder;
  make(folder.path("d"));
  Making other;
  other.request.data_seed = 1;
  EXPECT_TRUE(contains(error_text(ErrorKind::config, [&] { make(folder.path("d"), other); }),
                       "data_seed: 1 in this command, 0 in "));

  fs::create_directory(folder.path("mine"));
  folder.file("mine/thesis.tex", "text");
  EXPECT_TRUE(contains(error_text(ErrorKind::config, [&] { make(folder.path("mine")); }),
                       "holds thesis.tex"));
  EXPECT_FALSE(fs::exists(folder.path("mine/journal.jsonl")));
  EXPECT_TRUE(contains(error_text(ErrorKind::config, [&] { make(folder.path("mine/thesis.tex")); }),
                       "is a file"));
  fs::create_directory(folder.path("run"));
  folder.file("run/config.yaml", "format: run/1\n");
  error_text(ErrorKind::data, [&] { make(folder.path("run")); });
  error_text(ErrorKind::storage, [&] { make("/proc/no/data"); });
  fs::create_directory_symlink(folder.path("loop"), folder.path("loop"));
  error_text(ErrorKind::storage, [&] { make(folder.path("loop")); });
}

TEST(Generate, AnotherProcessInTheFolderIsInUse) {
  const TemporaryFolder folder;
  const AnswerLog held(folder.path("journal.jsonl"), folder.path("answers.bin"));

  EXPECT_THROW(make(folder.path()), InUse);
}

TEST(Generate, WhatTheDiskCannotHoldIsRefusedBeforeItIsMade) {
  for (std::size_t pool : {std::size_t{1} << 50, std::size_t{1} << 62}) {
    const TemporaryFolder folder;
    const auto solver = fake();
    Making making{.solver = solver};
    making.request.pool = pool;

    error_text(ErrorKind::storage, [&] { make(folder.path(), making); });

    EXPECT_EQ(solver->computed, 0u);
    EXPECT_FALSE(fs::exists(folder.path("config.yaml")));
  }
}

TEST(Generate, RequestsThatCannotBeAreConfigErrorsAndLeaveNothing) {
  const TemporaryFolder folder;
  const auto message = [&](const std::function<void(Making&)>& change) {
    Making making;
    change(making);
    const std::string text =
        error_text(ErrorKind::config, [&] { make(folder.path("bad"), making); });
    EXPECT_FALSE(fs::exists(folder.path("bad")));
    return text;
  };

  EXPECT_TRUE(contains(message([](Making& m) { m.request.steps = 0; }), "steps is 0"));
  EXPECT_TRUE(contains(message([](Making& m) { m.request.cluster = 0; }), "cluster is 0"));
  EXPECT_TRUE(contains(message([](Making& m) {
                         m.request.cluster = 2;
                         m.request.steps = 3;
                       }),
                       "networks make 2 steps at once"));
  EXPECT_TRUE(contains(message([](Making& m) {
                         m.request.cluster = 3;
                         m.warm_up = kDt;
                       }),
                       "the first cluster begins 0.5 before"));
  // The fake makes no steps but its own.
  EXPECT_TRUE(contains(message([](Making& m) { m.warm_up = 0.3; }), "a whole number"));
}

// Broken by: a row that enters after the stop, an answer under way that is lost.
TEST(Generate, AskedToStopItWaitsForWhatRuns) {
  const TemporaryFolder folder;
  const auto far = [] {
    return std::make_shared<const FarSolver>(kGrid, kDt, test::always_ok,
                                             test::Manners{.polls = 1, .slots = 4, .running = 0.1});
  };
  const auto solver = far();
  Recorder told;

  make(folder.path(), told, {.solver = solver, .stop = [&] { return solver->computed >= 50; }});

  EXPECT_EQ(solver->computed, 54u);
  EXPECT_EQ(recorded_in(folder.path()), 54u);
  ASSERT_EQ(told.notes.size(), 1u);
  EXPECT_TRUE(contains(told.notes[0], "4 are running")) << told.notes[0];
  // And at once, where that is wanted.
  const auto again = far();
  const auto asked = [&] { return again->computed >= 10; };
  make(folder.path(), told, {.solver = again, .stop = {asked, asked}});
  EXPECT_EQ(again->computed, 10u);
  EXPECT_EQ(recorded_in(folder.path()), 64u);
}

// Row 40 of a stream, at a step; what others have answered stays.
// Broken by: an end that the queue is not told, waiting for it although nothing comes.
TEST(Generate, StoppedInTimeOverAndOverItEndsTheSame) {
  const TemporaryFolder whole, often;
  DataRequest request = small_request();
  request.pool = 40;
  request.test = 10;
  make(whole.path(), {.request = request, .solver = std::make_shared<FarSolver>(kGrid, kDt)});
  const auto solver = std::make_shared<FarSolver>(kGrid, kDt, test::always_ok,
                                                  test::Manners{.polls = 1, .slots = 4});
  std::size_t before = 0, stops = 0;
  solver->too_late = [&] { return solver->computed >= before + 15; };
  const StopAsked stop([] { return false; }, {},
                       [&]() -> std::optional<StopAsked::Clock::time_point> {
                         if (solver->computed < before + 10) return std::nullopt;
                         return StopAsked::Clock::now() + std::chrono::hours(1);
                       });

  while (!make(often.path(), {.request = request, .solver = solver, .stop = stop}).finished) {
    EXPECT_EQ(solver->computed, before + 15);
    EXPECT_EQ(recorded_in(often.path()), solver->computed);
    before = solver->computed;
    ASSERT_LT(++stops, 20u);
  }

  EXPECT_EQ(stops, 5u);
  EXPECT_EQ(solver->computed, 40u + 10 * (1 + 3));
  EXPECT_TRUE(essence(often.path()) == essence(whole.path()));
}

TEST(Generate, ARowThatCannotBeComputedIsNamed) {
  const NamingSampler sampler(kGrid, kDt);
  const auto message = [&](const char* stream, std::size_t step, Fate fate, std::size_t lead = 1) {
    const TemporaryFolder folder;
    const std::size_t bad = sampler.name_of(Rng(0).split(stream), 40);
    const auto solver = fake([=](std::size_t name, std::size_t at) {
      return name == bad && at == step ? fate : Fate::ok;
    });
    Making making{.solver = solver};
    making.request.cluster = lead;
    making.request.steps = 4;
    making.warm_up = static_cast<double>(lead) * kDt;
    const std::string text = error_text(ErrorKind::numerics, [&] { make(folder.path(), making); });
    EXPECT_GE(recorded_in(folder.path()), 40u);
    EXPECT_FALSE(fs::exists(folder.path(std::string(stream) + ".h5")));
    return text;
  };
  constexpr auto before = static_cast<std::size_t>(-1);  // step -1, which ends at time 0

  EXPECT_TRUE(contains(message("test", 2, Fate::refused),
                       "test trajectory 40 was refused at step 3 of 4: told to refuse"));
  EXPECT_TRUE(contains(message("test", 0, Fate::failed),
                       "test trajectory 40 failed at step 1 of 4: told to fail"));
  EXPECT_TRUE(contains(message("pool", before, Fate::failed),
                       "naming: initial condition 40 of the pool cannot be warmed up"));
  EXPECT_TRUE(contains(message("test", before, Fate::not_finite),
                       "naming: initial condition 40 of the test set cannot be warmed up"));
  EXPECT_TRUE(contains(message("pool", before, Fate::failed, 2),
                       "step 1 of the 1 that make its cluster failed: told to fail"));
}

// --- a solver of the user's own fails ------------------------------------------------------------

constexpr auto kWarmUp = static_cast<std::size_t>(-1);  // step -1, which ends at time 0

// Draws that fail, by stream and step; the fakes know them by their names.
struct Bad {
  const char* stream;
  std::size_t draw, step;
  Fate fate = Fate::failed;
};
std::shared_ptr<const FarSolver> failing(const std::vector<Bad>& bad, test::Manners manners) {
  const NamingSampler sampler(kGrid, kDt);
  std::map<std::pair<std::size_t, std::size_t>, Fate> fates;
  for (const Bad& one : bad)
    fates[{sampler.name_of(Rng(0).split(one.stream), one.draw), one.step}] = one.fate;
  return std::make_shared<const FarSolver>(
      kGrid, kDt,
      [fates](std::size_t name, std::size_t step) {
        const auto found = fates.find({name, step});
        return found == fates.end() ? Fate::ok : found->second;
      },
      std::move(manners));
}
constexpr FailurePolicy kBreaker{.breaker = true};
// 230 draws of the pool, and 101 of the test set: the last of each are not needed otherwise.
const std::vector<Bad> kFew{
    {"pool", 7, kWarmUp},  {"pool", 230, kWarmUp, Fate::not_finite}, {"test", 3, kWarmUp},
    {"test", 40, 2},       {"test", 41, 1, Fate::refused},           {"test", 102, 0},
    {"test", 103, kWarmUp}};

// Broken by: a replacement that depends on the order of answers or on where it was stopped, one
// that fails itself and is not replaced, a row out of order.
TEST(Generate, DrawsThatFailAreReplacedByTheNext) {
  const TemporaryFolder whole;
  Recorder told;
  const auto solver = failing(kFew, {.policy = kBreaker});
  ASSERT_TRUE(make(whole.path(), told, {.solver = solver}).finished);

  const NamingSampler sampler(kGrid, kDt);
  const auto names = [&](const char* stream, std::size_t n, const std::set<std::size_t>& without) {
    std::vector<double> expected;
    for (std::size_t draw = 0; expected.size() < n; ++draw)
      if (!without.contains(draw))
        expected.push_back(static_cast<double>(sampler.name_of(Rng(0).split(stream), draw)));
    return expected;
  };
  const States<double> pool = read_states(whole.path("pool.h5"), kGrid);
  std::vector<double> first;
  for (std::size_t r = 0; r < pool.count(); ++r) first.push_back(pool.row(r)[0]);
  EXPECT_EQ(first, names("pool", 230, {7, 230}));
  const Trajectories test = read_trajectories(whole.path("test.h5"), kGrid);
  first.clear();
  for (std::size_t r = 0; r < 101; ++r) first.push_back(test.states.row(4 * r)[0]);
  EXPECT_EQ(first, names("test", 101, {3, 40, 41, 102, 103}));
  for (std::size_t r = 0; r + 1 < test.states.count(); ++r)
    if (r % 4 < 3) {
      EXPECT_TRUE(std::ranges::equal(
          test.states.row(r + 1),
          test::fake_next(test.states.row(r), static_cast<double>(r % 4) * kDt)));
    }
  ASSERT_EQ(told.warnings.size(), 2u);
  EXPECT_TRUE(contains(told.warnings[0], "pool: 2 of 232 draws failed")) << told.warnings[0];
  EXPECT_TRUE(contains(told.warnings[1], "test set: 5 of 106 draws failed")) << told.warnings[1];
  EXPECT_TRUE(contains(told.warnings[1], "test trajectory 102 failed at step 1 of 3"))
      << told.warnings[1];

  for (std::size_t moment : {1u, 90u, 240u, 420u, 560u, 630u}) {
    const TemporaryFolder folder;
    const auto cut = failing(kFew, {.shuffle = Rng(moment), .slots = 9, .policy = kBreaker});
    make(folder.path(), {.solver = cut, .stop = [&] { return cut->computed >= moment; }});
    ASSERT_TRUE(make(folder.path(), {.solver = cut}).finished);

    EXPECT_TRUE(essence(folder.path()) == essence(whole.path())) << moment;
    EXPECT_EQ(cut->computed, solver->computed) << moment;  // failures are not asked again either
  }
}

TEST(Generate, DrawsThatAreAllRightAreThoseOfAnyOtherSolver) {
  const TemporaryFolder ours, theirs;
  make(ours.path(), {.solver = failing({}, {})});
  make(theirs.path(), {.solver = failing({}, {.policy = kBreaker})});

  EXPECT_TRUE(essence(ours.path()) == essence(theirs.path()));
}

// A tenth of 101 rows may fail.
TEST(Generate, TooManyThatFailEndItAndDoNotCount) {
  std::vector<Bad> many;
  for (std::size_t i = 0; i < 11; ++i) many.push_back({"test", 2 + 9 * i, 1});
  const TemporaryFolder folder, plain;
  make(plain.path(), {.solver = failing({}, {})});

  const std::string text = error_text(ErrorKind::solver, [&] {
    make(folder.path(), {.solver = failing(many, {.policy = kBreaker})});
  });

  EXPECT_TRUE(contains(text, "test set: 11 of 101 draws failed, and at most 10 may")) << text;
  EXPECT_TRUE(contains(text, "test trajectory 92 failed at step 2 of 3: told to fail")) << text;
  EXPECT_TRUE(contains(text, "the same command again")) << text;
  ASSERT_TRUE(make(folder.path(), {.solver = failing({}, {.policy = kBreaker})}).finished);
  EXPECT_TRUE(essence(folder.path()) == essence(plain.path()));
  // One fewer is borne.
  many.pop_back();
  const TemporaryFolder borne;
  EXPECT_TRUE(make(borne.path(), {.solver = failing(many, {.policy = kBreaker})}).finished);
}

TEST(Generate, ABrokenSolverIsNotAskedForAllRows) {
  const auto broken = std::make_shared<const FarSolver>(
      kGrid, kDt, [](std::size_t, std::size_t) { return Fate::failed; },
      test::Manners{.polls = 1, .policy = kBreaker});
  const TemporaryFolder folder;

  const std::string text =
      error_text(ErrorKind::solver, [&] { make(folder.path(), {.solver = broken}); });

  EXPECT_TRUE(contains(text, "the first 3 answers all failed")) << text;
  EXPECT_TRUE(contains(text, "initial condition 2 of the pool cannot be warmed up")) << text;
  EXPECT_EQ(broken->computed, 3u);
  EXPECT_EQ(recorded_in(folder.path()), 0u);
}

TEST(Generate, OneFailureIsEnoughToAbort) {
  const TemporaryFolder folder;

  const std::string text = error_text(ErrorKind::solver, [&] {
    make(folder.path(), {.solver = failing(kFew, {.policy = {.abort = true, .breaker = true}})});
  });

  EXPECT_TRUE(contains(text, "initial condition 7 of the pool cannot be warmed up")) << text;
  ASSERT_TRUE(make(folder.path(), {.solver = failing({}, {.policy = kBreaker})}).finished);
}

// Of 101 rows one may be given back, and no more than may fail. Broken by: giving back where no
// draw takes the place, a refusal that is not recorded first.
TEST(Generate, AStragglersPlaceIsTakenByTheNextDraw) {
  const NamingSampler sampler(kGrid, kDt);
  const auto slow = [&](bool breaker) {
    const auto solver = std::make_shared<FarSolver>(
        kGrid, kDt, test::always_ok,
        test::Manners{
            .slots = 512, .running = 4.0, .policy = {.breaker = breaker, .stragglers = 0.0025}});
    const auto name = static_cast<double>(sampler.name_of(Rng(0).split("test"), 40));
    solver->hangs = [name](const Query& query) {
      return query.state[0] == name && query.time == kDt;
    };
    return solver;
  };
  const TemporaryFolder folder, plain, stuck;
  Recorder told;
  const auto solver = slow(true), asked_in_vain = slow(false);
  std::size_t looks = 0;

  ASSERT_TRUE(make(folder.path(), told, {.solver = solver}).finished);
  const std::function<bool()> patience = [&] { return ++looks >= 2000; };
  EXPECT_FALSE(
      make(stuck.path(), {.solver = asked_in_vain, .stop = {patience, patience}}).finished);

  EXPECT_EQ(solver->returned.size(), 1u);
  EXPECT_TRUE(asked_in_vain->returned.empty());
  ASSERT_EQ(told.warnings.size(), 1u);
  EXPECT_TRUE(contains(told.warnings[0],
                       "test trajectory 40 was refused at step 2 of 3: given back as a straggler"))
      << told.warnings[0];
  make(plain.path(), {.solver = failing({{"test", 40, 1}}, {.policy = kBreaker})});
  EXPECT_TRUE(essence(folder.path()) == essence(plain.path()));
}

// A draw is one of three states. Broken by: a queue that is not shared.
class RepeatingSampler final : public Sampler {
 public:
  RepeatingSampler() : Sampler("repeating", kGrid, kDt) {}

 private:
  void fill(const Rng& rng, std::span<double> state) const override {
    std::ranges::fill(state, static_cast<double>(rng.below(0, 3)));
  }
};

TEST(Generate, EqualQuestionsToAnExpensiveSolverAreOne) {
  const TemporaryFolder shared, plain;
  const RepeatingSampler sampler;
  DataRequest request = small_request();
  request.pool = 40;
  request.test = 20;
  Observer silent;
  const auto ask = [&](bool expensive, const fs::path& folder) {
    const auto solver = std::make_shared<FarSolver>(kGrid, kDt, test::always_ok,
                                                    test::Manners{.expensive = expensive});
    EXPECT_TRUE(generate(request, sampler, solver, folder, silent, {}).finished);
    return solver->computed;
  };

  EXPECT_EQ(ask(true, shared.path()), 3u + 3u * (1 + 3));
  EXPECT_EQ(ask(false, plain.path()), 40u + 20u * (1 + 3));

  EXPECT_TRUE(essence(shared.path()) == essence(plain.path()));
}

// As in a run: each step of a call has the calls of its query.
TEST(Generate, EveryStepOfACallIsRecordedWithItsAttempts) {
  const TemporaryFolder folder;
  const auto solver =
      std::make_shared<FarSolver>(kGrid, kDt, test::always_ok, test::Manners{.steps_at_once = 3});
  std::vector<int> attempts;
  std::size_t looks = 0;
  Making making{.solver = solver, .stop = [&] { return solver->computed > 0 && ++looks > 1; }};
  making.request.pool = 0;
  making.request.test = 2;
  making.warm_up = 0;

  make(folder.path(), making);
  read_answers(folder.path("journal.jsonl"), [&](std::size_t, const AnswerRecord& answer) {
    attempts.push_back(answer.attempts);
  });

  EXPECT_EQ(attempts, std::vector<int>(6, 1));
}

// Broken by: no reserve, a reserve that is given up too late, going on asking.
TEST(Generate, AFullDiskLosesNoAnswer) {
  const TemporaryFolder whole;
  Making making{.solver = std::make_shared<FarSolver>(kGrid, kDt)};
  making.request.pool = 20;
  making.request.test = 30;
  make(whole.path(), making);

  const int code = test::on_small_disk(512, [&](const std::string& disk) {
    const std::string folder = disk + "/data", filler = disk + "/filler";
    const auto solver =
        std::make_shared<FarSolver>(kGrid, kDt, test::always_ok, test::Manners{.polls = 1});
    solver->watch = [&](const std::vector<Query>& open) {
      if (open[0].time > 0 && !fs::exists(filler)) test::fill_disk(filler);
    };
    making.solver = solver;
    test::expect_error(ErrorKind::storage, "test set: the disk is full",
                       [&] { make(folder, making); });
    EXPECT_GT(solver->computed, 20u);
    EXPECT_LT(solver->computed, 20u + 30u * 4);
    EXPECT_EQ(recorded_in(folder), solver->computed);

    fs::remove(filler);
    solver->watch = {};
    EXPECT_TRUE(make(folder, making).finished);
    EXPECT_EQ(solver->computed, 20u + 30u * 4);
    EXPECT_TRUE(essence(folder) == essence(whole.path()));
    EXPECT_FALSE(fs::exists(folder + "/reserve"));
    return testing::Test::HasFailure() ? 1 : 0;
  });

  if (code == -1) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 0);
}

TEST(DataKey, WhatDecidesAboutTheBitsIsInIt) {
  const auto key = [](const std::function<void(DataRequest&)>& change) {
    DataRequest request = small_request();
    change(request);
    return data_key(request);
  };
  const std::string usual = key([](DataRequest&) {});

  EXPECT_EQ(usual.size(), 64u);
  EXPECT_NE(usual, key([](DataRequest& r) { r.data_seed = 1; }));
  EXPECT_NE(usual, key([](DataRequest& r) { r.pool = 21; }));
  EXPECT_NE(usual, key([](DataRequest& r) { r.test = 6; }));
  EXPECT_NE(usual, key([](DataRequest& r) { r.steps = 4; }));
  EXPECT_NE(usual, key([](DataRequest& r) { r.cluster = 3; }));
  EXPECT_NE(usual, key([](DataRequest& r) { r.solver = "mine"; }));
  EXPECT_NE(usual, key([](DataRequest& r) {
              r.pde = test::pde("{name: burgers, points: 8, dt: 0.25, viscosity: 0.011}").value();
            }));
  EXPECT_NE(
      usual, key([](DataRequest& r) {
        r.pde =
            test::pde("{name: burgers, points: 8, dt: 0.25, viscosity: {from: [0.01]}}").value();
      }));
  EXPECT_NE(usual, key([](DataRequest& r) {
              r.initial = test::initial("{name: sines, warm_up: 0.25, terms: 3}").value();
            }));
  EXPECT_NE(usual, key([](DataRequest& r) {
              r.initial = test::initial("{name: burgers-as-coded}").value();
            }));
  // Defaults that are spelt out, and the order of keys, change nothing.
  EXPECT_EQ(usual, key([](DataRequest& r) {
              r.pde = test::pde("{viscosity: 0.01, dt: 0.25, points: 8, name: burgers}").value();
            }));
}

// Keys of single steps are those of builds that knew nothing else.
TEST(DataKey, TheClusterIsInItUnlessItIsOne) {
  DataRequest request = small_request();
  EXPECT_EQ(data_document(request).find("cluster"), nullptr);
  request.cluster = 3;
  EXPECT_NE(data_document(request).find("cluster"), nullptr);
}

TEST(CacheFolder, IsTheUsersUnlessStated) {
  const test::ScopedVariable home("HOME", "/somebody");
  {
    const test::ScopedVariable own("STAP_CACHE", "/own"), xdg("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(cache_folder(), "/own");
  }
  for (const char* off : {"off", ""}) {
    const test::ScopedVariable own("STAP_CACHE", off);
    EXPECT_EQ(cache_folder(), fs::path());
  }
  const test::ScopedVariable none("STAP_CACHE", std::nullopt);
  {
    const test::ScopedVariable xdg("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(cache_folder(), "/cache/stap");
  }
  for (const std::optional<std::string>& unset : {std::optional<std::string>(), {""}}) {
    const test::ScopedVariable xdg("XDG_CACHE_HOME", unset);
    EXPECT_EQ(cache_folder(), "/somebody/.cache/stap");
  }
  const test::ScopedVariable xdg("XDG_CACHE_HOME", std::nullopt), homeless("HOME", std::nullopt);
  EXPECT_EQ(cache_folder(), fs::path());
}

}  // namespace
}  // namespace stap
