#include "stap/run/study_data.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <memory>

#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/store.h"
#include "stap/ic/sines.h"
#include "stap/pde/burgers.h"
#include "support/choosing.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::content;
using test::ScopedVariable;
using test::TemporaryFolder;

// Counts what was computed, and keeps what was warned of.
struct Record : Observer {
  void progress(const Progress& event) override {
    if (event.phase == "pool" && event.done > 0) ++pool_events;
    if (event.phase == "test set" && event.done > 0) ++test_events;
    if (on_progress) on_progress(event);
  }
  void warning(std::string_view text) override { warnings.emplace_back(text); }
  bool computed() const { return pool_events + test_events > 0; }

  int pool_events = 0, test_events = 0;
  std::vector<std::string> warnings;
  std::function<void(const Progress&)> on_progress;
};

DataRequest small_request() {
  DataRequest request;
  request.pde = test::pde("{name: burgers, points: 16, dt: 0.05}");
  request.initial = test::initial("{name: sines, warm_up: 0.02}");
  request.pool = 20;
  request.test = 5;
  request.steps = 3;
  return request;
}

std::unique_ptr<Solver> small_solver() {
  BurgersOptions options;
  options.points = 16;
  options.dt = 0.05;
  return make_burgers(options, 1);
}

// One thread: some tests fork, and a pool of threads does not survive that.
StudyData make(const DataRequest& request, Observer& observer) {
  return make_study_data(request, *small_solver(), 1, observer);
}
StudyData make(const DataRequest& request) {
  Record record;
  return make(request, record);
}

bool same(const States<double>& a, const States<double>& b) {
  return a.grid() == b.grid() && std::ranges::equal(a.values(), b.values());
}
bool same(const StudyData& a, const StudyData& b) {
  return same(a.pool, b.pool) && same(a.test, b.test) && a.test_times == b.test_times &&
         a.pool_sha256 == b.pool_sha256 && a.test_sha256 == b.test_sha256;
}

class StudyDataTest : public ::testing::Test {
 protected:
  std::string cached(const DataRequest& request) const {
    return folder_.path(study_key(request) + ".h5");
  }

  TemporaryFolder folder_;
  ScopedVariable cache_{"STAP_CACHE", folder_.path().string()};
};

// Against the parts it is made of: draws, a warm-up by a solver of that step, then learned steps.
// The rows looked at are not in the first block: one that is filled like the first would show.
TEST_F(StudyDataTest, IsDrawnWarmedUpAndSolved) {
  DataRequest request = small_request();
  request.pool = 300;
  request.test = 258;
  BurgersOptions options;
  options.points = 16;
  options.dt = 0.02;
  const auto warm_up = make_burgers(options, 1), solver = small_solver();
  const auto sampler = make_sines({.warm_up = 0.02}, solver->grid());
  const auto advanced = [](const Solver& by, std::span<const double> state) {
    const Query query[] = {{.state = {state.begin(), state.end()}}};
    Answer answer[1];
    by.solve(query, answer);
    return answer[0].states;
  };

  const StudyData data = make(request);

  EXPECT_EQ(data.pool.count(), 300u);
  EXPECT_EQ(data.test_times, 4u);
  EXPECT_EQ(data.test.count(), 258u * 4);
  std::vector<double> state(16);
  sampler->draw(Rng(0).split("pool"), 299, state);
  EXPECT_TRUE(std::ranges::equal(data.pool.row(299), advanced(*warm_up, state)));
  sampler->draw(Rng(0).split("test"), 257, state);
  state = advanced(*warm_up, state);
  EXPECT_TRUE(std::ranges::equal(data.test.row(257 * 4), state));
  for (std::size_t t = 1; t < 4; ++t) {
    state = advanced(*solver, state);
    EXPECT_TRUE(std::ranges::equal(data.test.row(257 * 4 + t), state)) << t;
  }
  EXPECT_EQ(data.pool_sha256, sha256_hex(std::as_bytes(data.pool.values())));
  EXPECT_EQ(data.test_sha256, sha256_hex(std::as_bytes(data.test.values())));
}

TEST_F(StudyDataTest, WithoutWarmUpStatesAreUsedAsDrawn) {
  DataRequest request = small_request();
  request.initial = test::initial("{name: sines, warm_up: 0}");
  const auto sampler = make_sines({.warm_up = 0}, small_solver()->grid());
  std::vector<double> state(16);
  sampler->draw(Rng(0).split("pool"), 3, state);

  const StudyData data = make(request);

  EXPECT_TRUE(std::ranges::equal(data.pool.row(3), state));
}

TEST_F(StudyDataTest, TheSecondTimeItIsRead) {
  Record first, second;

  const StudyData made = make(small_request(), first);
  const StudyData read = make(small_request(), second);

  EXPECT_TRUE(first.computed());
  EXPECT_FALSE(second.computed());
  EXPECT_TRUE(same(made, read));
  EXPECT_EQ(first.warnings.size() + second.warnings.size(), 0u);
  EXPECT_EQ(folder_.entries(), 1u);
}

// The file is input for `stap solve` and `stap evaluate`.
TEST_F(StudyDataTest, TheFileHoldsStatesAndTrajectories) {
  const StudyData data = make(small_request());

  const std::string path = cached(small_request());
  EXPECT_TRUE(same(read_states(path, data.pool.grid()), data.pool));
  EXPECT_TRUE(same(read_trajectories(path, data.pool.grid()).states, data.test));
  EXPECT_EQ(read_text_attribute(path, "/", "format"), "study/1");
}

TEST_F(StudyDataTest, WhatDecidesAboutTheBitsIsInTheKey) {
  const auto key = [](const std::function<void(DataRequest&)>& change) {
    DataRequest request = small_request();
    change(request);
    return study_key(request);
  };
  const std::string usual = key([](DataRequest&) {});

  EXPECT_NE(usual, key([](DataRequest& r) { r.data_seed = 1; }));
  EXPECT_NE(usual, key([](DataRequest& r) { r.pool = 21; }));
  EXPECT_NE(usual, key([](DataRequest& r) { r.test = 6; }));
  EXPECT_NE(usual, key([](DataRequest& r) { r.steps = 4; }));
  EXPECT_NE(usual, key([](DataRequest& r) {
              r.pde = test::pde("{name: burgers, points: 16, dt: 0.05, viscosity: 0.011}");
            }));
  EXPECT_NE(usual, key([](DataRequest& r) {
              r.initial = test::initial("{name: sines, warm_up: 0.02, terms: 3}");
            }));
  EXPECT_NE(usual,
            key([](DataRequest& r) { r.initial = test::initial("{name: burgers-as-coded}"); }));
  // Defaults that are spelt out, and the order of keys, change nothing.
  EXPECT_EQ(usual, key([](DataRequest& r) {
              r.pde = test::pde("{viscosity: 0.01, dt: 0.05, points: 16, name: burgers}");
            }));
}

TEST_F(StudyDataTest, AnotherSeedGivesOtherDataAndPoolAndTestDiffer) {
  DataRequest other = small_request();
  other.data_seed = 1;

  const StudyData a = make(small_request()), b = make(other);

  EXPECT_FALSE(std::ranges::equal(a.pool.row(0), b.pool.row(0)));
  EXPECT_FALSE(std::ranges::equal(a.test.row(0), b.test.row(0)));
  EXPECT_FALSE(std::ranges::equal(a.pool.row(0), a.test.row(0)));
}

// Breaking mutation: draws or blocks that depend on how many rows there are.
TEST_F(StudyDataTest, SizesDoNotChangeWhatIsThere) {
  DataRequest larger = small_request();
  larger.pool = 300;  // more than one block
  larger.test = 7;
  larger.steps = 4;

  const StudyData a = make(small_request()), b = make(larger);

  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_TRUE(std::ranges::equal(a.pool.row(i), b.pool.row(i))) << i;
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t t = 0; t < 4; ++t)
      EXPECT_TRUE(std::ranges::equal(a.test.row(i * 4 + t), b.test.row(i * 5 + t)))
          << i << " " << t;
}

TEST_F(StudyDataTest, DamagedFilesAreMadeAnew) {
  const StudyData made = make(small_request());
  const std::string path = cached(small_request()), whole = content(path);
  std::string flipped = whole;  // one bit of the last value of the pool
  const double last = made.pool.values().back();
  flipped[whole.find(std::string(reinterpret_cast<const char*>(&last), 8))] ^= 1;
  DataRequest other = small_request();
  other.data_seed = 9;
  make(other);
  const std::string foreign = content(cached(other));

  for (const std::string& bad :
       {whole.substr(0, whole.size() / 2), std::string("text"), std::string(), flipped, foreign}) {
    std::ofstream(path, std::ios::binary) << bad;
    Record record;

    const StudyData again = make(small_request(), record);

    EXPECT_TRUE(same(again, made));
    EXPECT_TRUE(record.computed());
    ASSERT_EQ(record.warnings.size(), 1u);
    EXPECT_NE(record.warnings[0].find("made anew"), std::string::npos) << record.warnings[0];
    EXPECT_EQ(content(path), whole);
  }
}

TEST_F(StudyDataTest, CanBeSwitchedOff) {
  for (const char* off : {"off", ""}) {
    const ScopedVariable variable("STAP_CACHE", off);
    Record record;

    make(small_request(), record);
    make(small_request(), record);

    EXPECT_EQ(record.pool_events, 2);
    EXPECT_TRUE(record.warnings.empty());
    EXPECT_EQ(cache_folder(), fs::path());
  }
  EXPECT_EQ(folder_.entries(), 0u);
}

TEST_F(StudyDataTest, AFolderThatCannotBeWrittenIsGoneWithout) {
  for (const std::string& place : {std::string("/proc/no/cache"), folder_.file("file", "x")}) {
    const ScopedVariable variable("STAP_CACHE", place);
    Record record;

    const StudyData data = make(small_request(), record);

    EXPECT_EQ(data.pool.count(), 20u);
    ASSERT_EQ(record.warnings.size(), 1u) << place;
    EXPECT_NE(record.warnings[0].find("not cached"), std::string::npos) << record.warnings[0];
    EXPECT_NE(record.warnings[0].find("STAP_CACHE"), std::string::npos) << record.warnings[0];
  }
}

TEST_F(StudyDataTest, FolderIsTheUsersCacheUnlessStated) {
  const ScopedVariable none("STAP_CACHE", std::nullopt), home("HOME", "/somebody");
  {
    const ScopedVariable xdg("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(cache_folder(), "/cache/stap");
  }
  for (const std::optional<std::string>& unset : {std::optional<std::string>(), {""}}) {
    const ScopedVariable xdg("XDG_CACHE_HOME", unset);
    EXPECT_EQ(cache_folder(), "/somebody/.cache/stap");
  }
  const ScopedVariable xdg("XDG_CACHE_HOME", std::nullopt), homeless("HOME", std::nullopt);
  EXPECT_EQ(cache_folder(), fs::path());
}

TEST_F(StudyDataTest, FoldersAreMade) {
  const ScopedVariable variable("STAP_CACHE", folder_.path("a/b"));
  Record record;

  make(small_request(), record);

  EXPECT_TRUE(record.warnings.empty());
  EXPECT_TRUE(fs::exists(folder_.path("a/b/" + study_key(small_request()) + ".h5")));
}

TEST_F(StudyDataTest, OldTemporaryFilesAreRemoved) {
  const std::string old = folder_.file("k.h5.tmp-1-0", "x"),
                    fresh = folder_.file("k.h5.tmp-2-0", "x");
  const std::string other = folder_.file("notes.txt", "x");
  const auto days_ago = fs::file_time_type::clock::now() - std::chrono::hours(25);
  fs::last_write_time(old, days_ago);
  fs::last_write_time(other, days_ago);

  make(small_request());

  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(StudyDataTest, BadRequestsAreConfigErrors) {
  const auto message = [](const std::function<void(DataRequest&)>& change) -> std::string {
    DataRequest request = small_request();
    change(request);
    try {
      make(request);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
      return error.what();
    }
    return "";
  };

  EXPECT_NE(message([](auto& r) { r.pool = 0; }).find("pool"), std::string::npos);
  EXPECT_NE(message([](auto& r) { r.test = 0; }).find("test"), std::string::npos);
  EXPECT_NE(message([](auto& r) { r.steps = 0; }).find("steps"), std::string::npos);
}

TEST_F(StudyDataTest, ATestTrajectoryThatFailsIsNamedAndNothingIsCached) {
  BurgersOptions options;
  options.points = 16;
  options.dt = 0.05;
  options.max_abs = 1e-3;  // refuses every state there is
  const auto strict = make_burgers(options, 1);
  DataRequest request = small_request();
  request.initial.set("warm_up", 0.0);
  Record record;

  try {
    make_study_data(request, *strict, 1, record);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numerics);
    EXPECT_NE(std::string(error.what()).find("test trajectory 0 was refused at step 1 of 3"),
              std::string::npos)
        << error.what();
  }

  EXPECT_EQ(folder_.entries(), 0u);
}

// Runs `act` in a process of its own.
pid_t in_process(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    act();
    _exit(0);
  }
  return child;
}
int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// Killed at any report of progress, or while its file is being written: what is left is either
// nothing or the whole file, and the next one to come has the right data without a warning.
TEST_F(StudyDataTest, KilledProcessesLeaveNothingThatIsUsed) {
  DataRequest request = small_request();
  request.pool = 600;  // three blocks
  StudyData expected;
  {
    const ScopedVariable off("STAP_CACHE", "off");
    expected = make(request);
  }
  const auto check = [&] {
    Record record;
    EXPECT_TRUE(same(make(request, record), expected));
    EXPECT_TRUE(record.warnings.empty());
    for (const auto& entry : fs::directory_iterator(folder_.path())) fs::remove(entry);
  };

  for (int moment = 1; moment <= 6; ++moment) {
    const int status = wait_for(in_process([&] {
      Record record;
      int events = 0;
      record.on_progress = [&](const Progress&) {
        if (++events == moment) kill(getpid(), SIGKILL);
      };
      make(request, record);
    }));
    ASSERT_TRUE(WIFSIGNALED(status)) << moment;
    EXPECT_FALSE(fs::exists(cached(request)));
    check();
  }

  int seen = 0;
  for (int delay = 0; delay < 10; ++delay) {
    const pid_t child = in_process([&] { make(request); });
    // As soon as its temporary file is there, or a little later.
    int status = 0;
    while (folder_.entries() == 0 && waitpid(child, &status, WNOHANG) == 0) usleep(20);
    usleep(static_cast<useconds_t>(100 * delay));
    kill(child, SIGKILL);
    wait_for(child);
    seen += folder_.entries() > 0;
    check();
  }
  EXPECT_GT(seen, 0);
}

TEST_F(StudyDataTest, TwoProcessesAtOnce) {
  const StudyData expected = make(small_request());
  const std::string whole = content(cached(small_request()));
  fs::remove(cached(small_request()));

  const auto compare = [&] {
    Record record;
    if (!same(make(small_request(), record), expected) || !record.warnings.empty()) _exit(1);
  };
  const pid_t a = in_process(compare), b = in_process(compare);

  EXPECT_EQ(wait_for(a), 0);
  EXPECT_EQ(wait_for(b), 0);
  EXPECT_EQ(content(cached(small_request())), whole);
  EXPECT_EQ(folder_.entries(), 1u);
}

}  // namespace
}  // namespace stap
