// The zoo: studies with solvers that misbehave in a third of their queries. Whatever they do, the
// run goes on with the others and ends, its ledger adds up, every failure says why and leaves a
// bundle, and no process and no folder is left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "stap/data/transitions.h"
#include "support/waiting.h"
#include "support/zoo.h"

namespace stap::test {
namespace {

const std::string kPrograms = STAP_TEST_PROGRAMS;

struct Animal {
  std::string name;
  /// Stands in the reason of every failure; empty: its bad queries are answered, strangely.
  std::string reason{};
  std::string solver = "on_failure: skip";  ///< more of that section
  bool slow = false;                        ///< for make test-zoo
};

std::ostream& operator<<(std::ostream& out, const Animal& animal) {
  return out << animal.name;
}

std::vector<Animal> without_slow(std::vector<Animal> animals) {
  if (!whole_zoo()) std::erase_if(animals, &Animal::slow);
  return animals;
}

std::string name_of(const ::testing::TestParamInfo<Animal>& about) {
  return about.param.name;
}

class Zoo : public ::testing::TestWithParam<Animal> {
 protected:
  ~Zoo() override {
    EXPECT_TRUE(processes_with(folder_.mark()).empty()) << "processes are left";
    EXPECT_EQ(folder_.left_in_scratch(), 0u) << "folders are left";
  }

  std::string study(const Animal& animal, const std::string& more_env = "", int seconds = 2) {
    return folder_.study("study", "command",
                         kPrograms + "/zoo, " + animal.name + R"(, "{input}", "{output}")",
                         animal.solver + "\n  slots: 4\n  breaker: false\n  limits: {seconds: " +
                             std::to_string(seconds) + ", output: 1e6, files: 100}",
                         more_env);
  }
  // Adds up, and every answer is in it.
  Books books() const {
    const Books b = read_books(folder_.path("run/journal.jsonl"));
    EXPECT_EQ(b.ledgers, 2u);
    EXPECT_EQ(b.budget, 4u * 3 + 6);
    EXPECT_EQ(b.bought + b.charged + b.unspent, b.budget);
    EXPECT_EQ(b.count("ok"), b.bought);
    EXPECT_EQ(b.count("failed"), b.failed);
    EXPECT_EQ(b.count("refused") + b.failed + b.bought, b.answers.size());
    EXPECT_EQ(folder_.bundles(), std::min<std::size_t>(b.failed, 20));
    return b;
  }
  // Bad queries have failed for this reason, and no others.
  void expect_bad_ones_failed(const Books& b, const std::string& reason) const {
    std::map<std::uint64_t, bool> bad;
    for (const Begun& begun : folder_.begun()) bad[begun.hash] = begun.bad;
    EXPECT_GT(b.failed, 0u);
    EXPECT_GT(b.bought, 0u);
    for (const Books::Entry& answer : b.answers) {
      ASSERT_TRUE(bad.contains(answer.hash)) << "an answer that nobody gave";
      EXPECT_EQ(answer.status, bad.at(answer.hash) ? "failed" : "ok") << answer.reason;
      if (answer.status == "failed") {
        EXPECT_TRUE(contains(answer.reason, reason));
      }
      EXPECT_EQ(answer.attempts, 1);
    }
    EXPECT_EQ(b.answers.size(), bad.size());
  }

  // What was bought is what a good query gives, to the last bit: nothing bad has got in.
  void expect_right_numbers() const {
    const TransitionSet set = read_transitions(folder_.path("run/transitions.h5"));
    ASSERT_GT(set.count(), 0u);
    const std::size_t n = set.grid.values();
    for (std::size_t row = 0; row < set.count(); ++row)
      for (std::size_t i = 0; i < n; ++i) {
        const auto u = [&](std::size_t point) { return set.inputs[row * n + point % n]; };
        EXPECT_EQ(set.outputs[row * n + i], 0.5 * u(i) + 0.25 * (u(i + 1) + u(i + n - 1)));
      }
  }

  ZooFolder folder_;
};

TEST_P(Zoo, TheRunGoesOnWithoutIt) {
  // Those that end otherwise have time to, also on a busy machine.
  const bool by_time = GetParam().reason.starts_with("ended after 2");
  const Finished result = folder_.run(study(GetParam(), "", by_time ? 2 : 60));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Books b = books();
  if (!GetParam().reason.empty()) {
    expect_bad_ones_failed(b, GetParam().reason);
    EXPECT_TRUE(contains(result.err, "failed"));
  } else {
    EXPECT_EQ(b.failed, 0u);
    EXPECT_EQ(b.bought, b.budget);
  }
  if (GetParam().name != "moody" && GetParam().name != "single_precision") expect_right_numbers();
}

// Time limits are 2 s: for a good query of a few milliseconds on a busy machine.
INSTANTIATE_TEST_SUITE_P(
    Commands, Zoo,
    ::testing::ValuesIn(without_slow({
        {"exit_1", "exit code 1: matrix is singular (kept in "},
        {"exit_75", "exit code 75"},
        {"segfault", "signal 11 (Segmentation fault)"},
        {"kills_itself", "signal 9 (Killed)"},
        {"aborts", "signal 6 (Aborted)"},
        {"hangs", "ended after 2"},
        {"hangs_deaf", "ended after 2", "on_failure: skip", true},
        {"stops", "ended after 2", "on_failure: skip", true},
        {"hangs_below", "ended after 2", "on_failure: skip", true},
        {"drips", "ended after 2", "on_failure: skip", true},
        {"no_output", "exit code 0, but there is no output.npy"},
        {"nan_output", "exit code 0, but in output.npy value 3 of step 1 is nan"},
        {"inf_output", "exit code 0, but in output.npy value 0 of step 1 is inf"},
        {"wrong_shape", "output.npy has the shape 8 x 1, expected 1 x 1 x 8"},
        {"too_many", "holds 16 values"},
        {"wrong_steps", "holds 16 values"},
        {"short_file", "is cut short"},
        {"long_file", "has more behind its array"},
        {"wrong_type", "holds values of type '<c16'"},
        {"objects", "holds Python objects"},
        {"garbage", "output.npy: "},
        {"empty_file", "is too short to be a .npy file"},
        {"huge_header", "impossible shape"},
        {"temporary_name", "there is no output.npy"},
        {"late_rename", "there is no output.npy"},
        {"fifo_output", "output.npy is no file"},
        {"fifo_log", "exit code 1"},
        {"folder_output", "output.npy is no file"},
        {"endless_link", "output.npy is no file"},
        {"loop_link", "there is no output.npy"},
        {"endless_words", "more than 1000000 bytes (limits.output)"},
        {"endless_file", "more than 1000000 bytes (limits.output)"},
        {"many_files", "more than 100 files (limits.files)"},
        {"deletes_folder", "there is no output.npy"},
        {"kills_warden", "signal 9 (Killed)"},
        {"orphans_daemon", "signal 9 (Killed)"},
        {"stops_warden", "ended after 2", "on_failure: skip", true},
        {"keeps_stopping", "signal 9 (Killed)"},
        {"storm", "exit code 1"},
        {"deaf_crowd", "exit code 3", "on_failure: skip", true},
        {"leaves_daemon"},
        {"leaves_deaf_daemon"},
        {"stops_warden_and_answers"},
        {"renames"},
        {"moody"},
        {"reads_stdin"},
        {"single_precision"},
    })),
    name_of);

TEST_F(Zoo, ATryMoreHelpsWhatFailsNowAndThen) {
  const Finished result = folder_.run(study({"second_try", "", "on_failure: retry"}));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Books b = read_books(folder_.path("run/journal.jsonl"));
  EXPECT_EQ(b.failed, 0u);
  EXPECT_EQ(b.bought, b.budget);
  std::map<std::uint64_t, bool> bad;
  std::size_t tries = 0;
  for (const Begun& begun : folder_.begun()) bad[begun.hash] = begun.bad;
  for (const Books::Entry& answer : b.answers) {
    EXPECT_EQ(answer.attempts, bad.at(answer.hash) ? 2 : 1);
    tries += static_cast<std::size_t>(answer.attempts);
  }
  EXPECT_EQ(tries, folder_.begun().size());
  EXPECT_GT(folder_.bundles(), 0u) << "of the first tries";
}

// Nobody has said how long a query may take: the others do.
TEST_F(Zoo, WhatIsMuchSlowerThanTheOthersIsEnded) {
  const std::string config = folder_.study(
      "study", "command", kPrograms + R"(/zoo, slow, "{input}", "{output}")",
      "on_failure: skip\n  slots: 4\n  breaker: false\n  limits: {factor: 5, least: 1}");
  const Finished result = folder_.run(config);

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Books b = books();
  EXPECT_GT(b.failed, 0u);
  for (const Books::Entry& answer : b.answers) {
    if (answer.status != "failed") continue;
    EXPECT_TRUE(contains(answer.reason, "5 times the median of"));
  }
}

TEST_F(Zoo, WhatNeedsTooMuchMemoryFails) {
  // So much is written to that a busy machine takes long.
  const Finished result = folder_.run(study({"hungry"}, "", 60), "run", [] {
    const rlimit limit{512 << 20, 512 << 20};
    setrlimit(RLIMIT_AS, &limit);
  });

  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_bad_ones_failed(books(), "exit code 1: out of memory");
}

// As a user whom a folder without rights keeps out.
TEST_F(Zoo, WhatLocksItsFolderLeavesNothing) {
  chmod(folder_.path().c_str(), 0777);
  for (const char* name : {"notes", "scratch"}) chmod(folder_.path(name).c_str(), 0777);
  const Finished result = folder_.run(study({"locks_folder"}), "run", [] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(99);
  });

  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_bad_ones_failed(books(), "exit code 0, but ");
}

TEST_F(Zoo, SeveralStepsOfACallAreAllOrNothing) {
  for (const std::string animal : {"exit_1", "wrong_steps"}) {
    ZooFolder mine;
    const std::string config = mine.study(
        "study", "command", kPrograms + "/zoo, " + animal + R"(, "{input}", "{output}", "{steps}")",
        "on_failure: skip\n  steps_at_once: 3\n  breaker: false");
    const Finished result = mine.run(config);

    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Books b = read_books(mine.path("run/journal.jsonl"));
    EXPECT_EQ(b.bought + b.charged + b.unspent, b.budget);
    EXPECT_GT(b.failed, 0u);
    EXPECT_GT(b.bought, 0u);
    EXPECT_EQ(b.bought % 3, 0u) << "a call of three steps gives three or none";
  }
}

// Where it cannot be found, a fork of the program itself looks after the solver.
TEST_F(Zoo, WorksWithoutTheWardensProgram) {
  std::filesystem::create_directory(folder_.path("alone"));  // also the folder above has none
  const std::string alone = folder_.path("alone/stap");
  std::filesystem::copy_file(STAP_TEST_PROGRAM, alone);
  const std::string config = study({"leaves_deaf_daemon"});
  std::vector<std::string> words = folder_.command(config, "run");
  words.insert(words.begin(), alone);

  const Finished result = run_process(words, "", [&] { folder_.set_environment(); });

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(books().failed, 0u);
}

// As a user who may have three processes: us, a warden, and a thread of ours or the program.
TEST_F(Zoo, WithoutProcessesNothingIsChargedAndTheSameCommandContinues) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become a user without other processes";
  const uid_t somebody = 100000 + static_cast<uid_t>(getpid());
  const std::string config = study({"none"}, ", ZOO_BAD=never", 60);
  chmod(folder_.path().c_str(), 0777);
  for (const char* name : {"notes", "scratch"}) chmod(folder_.path(name).c_str(), 0777);
  const auto run = [&](rlim_t most) {
    return folder_.run(config, "run", [&] {
      const rlimit limit{most, most};
      if (setgid(somebody) != 0 || setuid(somebody) != 0) _exit(99);
      if (most > 0) setrlimit(RLIMIT_NPROC, &limit);
    });
  };

  const Finished short_of_them = run(3);
  EXPECT_EQ(short_of_them.exit_code, 6) << short_of_them.err;
  EXPECT_TRUE(contains(short_of_them.err, "no process can be"));
  EXPECT_TRUE(contains(short_of_them.err, "no step is charged for it"));
  EXPECT_TRUE(read_books(folder_.path("run/journal.jsonl")).answers.empty());

  const Finished again = run(0);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const Books b = books();
  EXPECT_EQ(b.failed, 0u);
  EXPECT_EQ(b.bought, b.budget);
  EXPECT_EQ(folder_.begun().size(), b.answers.size()) << "a call was made twice";
}

TEST_F(Zoo, OnFailureAbortEndsTheRun) {
  const Finished result = folder_.run(study({"exit_1", "", "on_failure: abort"}));

  EXPECT_EQ(result.exit_code, 7) << result.err;
  EXPECT_TRUE(contains(result.err, "exit code 1: matrix is singular"));
}

// --- workers ---------------------------------------------------------------------------------

class ZooWorkers : public Zoo {
 protected:
  std::string study(const Animal& animal, const std::string& more = "") {
    return folder_.study("study", "worker", kPrograms + "/zoo_worker, " + animal.name,
                         animal.solver + more + "\n  slots: 4\n  breaker: false");
  }
};

TEST_P(ZooWorkers, TheRunGoesOnWithoutIt) {
  for (const std::string connect : {"pipe", "socket"}) {
    SCOPED_TRACE(connect);
    std::filesystem::remove_all(folder_.path("run"));
    std::filesystem::remove(folder_.log());
    const Finished result = folder_.run(
        study(GetParam(), "\n  connect: " + connect + "\n  limits: {seconds: 2, start: 20}"));

    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Books b = read_books(folder_.path("run/journal.jsonl"));
    EXPECT_EQ(b.bought + b.charged + b.unspent, b.budget);
    EXPECT_EQ(b.count("ok"), b.bought);
    EXPECT_EQ(b.count("failed"), b.failed);
    EXPECT_EQ(folder_.bundles(), std::min<std::size_t>(b.failed, 20));
    if (GetParam().reason.empty())
      EXPECT_EQ(b.failed, 0u);
    else
      expect_bad_ones_failed(b, GetParam().reason);
    EXPECT_TRUE(processes_with(folder_.mark()).empty());
    expect_right_numbers();
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, ZooWorkers,
                         ::testing::ValuesIn(without_slow({
                             {"exits", "licence server not found"},
                             {"segfault", "signal 11"},
                             {"hangs", "ended after 2"},
                             {"hangs_deaf", "ended after 2", "on_failure: skip", true},
                             {"nan_output", "in its answer value 4 of step 1 is nan"},
                             {"fails", "no convergence"},
                             {"other_id", "the worker"},
                             {"garbage", "the worker"},
                             {"kills_warden", "signal 9"},
                             {"orphans_daemon", "signal 9"},
                             {"stops_warden", "ended after 2", "on_failure: skip", true},
                             {"stops_warden_idle"},
                             {"prints"},
                             {"forks"},
                             {"dies_idle"},
                         })),
                         name_of);

// One of each kind in every slot, those that kill, stop or keep stopping their warden among them.
TEST_F(ZooWorkers, FortyAtOnceLeaveNothing) {
  const Finished result = folder_.run(folder_.study(
      "study", "worker", kPrograms + "/zoo_worker, any",
      "on_failure: skip\n  slots: 40\n  breaker: false\n  limits: {seconds: 5, start: 60}", "",
      "pool: 60, initial: 40, rounds: 1, budget: 6"));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Books b = read_books(folder_.path("run/journal.jsonl"));
  EXPECT_EQ(b.budget, 40u * 3 + 6);
  EXPECT_EQ(b.bought + b.charged + b.unspent, b.budget);
  EXPECT_EQ(b.count("ok"), b.bought);
  EXPECT_EQ(b.count("failed"), b.failed);
  EXPECT_GT(b.failed, 0u);
  expect_right_numbers();
}

// An answer too many is told apart from the next one: it costs a worker, but no query.
TEST_F(ZooWorkers, AnAnswerTooManyIsNobodysAnswer) {
  const Finished result = folder_.run(study({"twice"}, "\n  limits: {seconds: 2}"));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Books b = read_books(folder_.path("run/journal.jsonl"));
  EXPECT_EQ(b.bought + b.charged + b.unspent, b.budget);
  for (const Books::Entry& answer : b.answers) EXPECT_EQ(answer.status, "ok") << answer.reason;
  expect_right_numbers();
}

class ZooSlow : public ZooWorkers {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ZooSlow);

// Nothing can be learned without a solver; what it said is in the journal.
TEST_P(ZooSlow, AWorkerThatNeverComesUpEndsTheRun) {
  const Finished result =
      folder_.run(study(GetParam(), "\n  connect: socket\n  limits: {start: 1}"));

  EXPECT_EQ(result.exit_code, 7) << result.err;
  const Books b = read_books(folder_.path("run/journal.jsonl"));
  EXPECT_EQ(b.count("ok"), 0u);
  EXPECT_EQ(b.count("failed"), 4u);
  for (const Books::Entry& answer : b.answers)
    EXPECT_TRUE(contains(answer.reason, GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Workers, ZooSlow,
    ::testing::ValuesIn(without_slow({
        {"never_up", "it was not ready within 1 s and did not say hello", "on_failure: skip", true},
        {"wrong_token", "it ended before it was ready", "on_failure: skip", true},
    })),
    name_of);

// --- MPI -------------------------------------------------------------------------------------

class ZooMpi : public Zoo {
 protected:
  void SetUp() override {
    if (system("command -v mpicc mpirun > /dev/null") != 0)
      GTEST_SKIP() << "there is no Open MPI (openmpi-bin, libopenmpi-dev)";
    ASSERT_EQ(system(("mpicc -O1 -o " + folder_.path("zoo_mpi") +
                      " " STAP_TEST_SOURCE_DIR "/tests/programs/mpi/zoo_mpi.c")
                         .c_str()),
              0);
  }
  // Limits are long: four ranks on two busy cores take seconds to come up.
  std::string study(const Animal& animal, double seconds, const std::string& more_env = "") {
    return folder_.study("study", "command",
                         "mpirun, --allow-run-as-root, --oversubscribe, -n, \"4\", " +
                             folder_.path("zoo_mpi, ") + animal.name + R"(, "{input}", "{output}")",
                         "on_failure: skip\n  slots: 2\n  breaker: false\n  limits: {seconds: " +
                             std::to_string(seconds) + "}",
                         ", TMPDIR=/tmp" + more_env, "pool: 8, initial: 3, rounds: 1, budget: 3");
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ZooMpi);

TEST_P(ZooMpi, LeavesNoRankBehind) {
  const Finished result = folder_.run(study(GetParam(), 12));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(processes_with(folder_.mark()).empty());
  const Books b = read_books(folder_.path("run/journal.jsonl"));
  EXPECT_EQ(b.bought + b.charged + b.unspent, b.budget);
  expect_bad_ones_failed(b, GetParam().reason);
  expect_right_numbers();
}

TEST_P(ZooMpi, LeavesNoRankBehindWhenStapIsKilled) {
  const std::string config = study(GetParam(), 600, ", ZOO_BAD=always");
  folder_.set_environment();
  const pid_t child = start_stap(folder_.command(config, "run"));
  // A warden, mpirun and four ranks, at least.
  ASSERT_TRUE(eventually([&] { return processes_with(folder_.mark()).size() >= 6; }, 30.0));

  kill(child, SIGKILL);
  test::wait_for(child);

  EXPECT_TRUE(eventually([&] { return processes_with(folder_.mark()).empty(); }, 15.0));
  std::filesystem::remove_all(folder_.path("scratch"));  // the next start of stap would do it
  std::filesystem::create_directory(folder_.path("scratch"));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ZooMpi,
                         ::testing::ValuesIn(without_slow({
                             {"hangs", "ended after 12", "", true},
                             {"hangs_deaf", "ended after 12", "", true},
                             {"one_segfaults", "exit code 139", "", true},
                             // mpirun waits for what still has its streams.
                             {"one_leaves", "ended after 12", "", true},
                         })),
                         name_of);

}  // namespace
}  // namespace stap::test
