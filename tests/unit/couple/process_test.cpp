// Programs that are started and ended: nothing of them may be left, whatever they do and whoever is
// killed.
#include "couple/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "stap/core/error.h"
#include "support/contains.h"
#include "support/processes.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

const std::string kZoo = STAP_TEST_PROGRAMS "/zoo_process";

/// By the program `stap-warden` where it was built, and by a fork of this process.
class ProcessTest : public ::testing::TestWithParam<bool> {
 protected:
  Launch launch(std::vector<std::string> argv) const {
    return {.argv = std::move(argv), .env = {mark_}, .grace = 0.2, .by_fork = GetParam()};
  }
  Launch shell(const std::string& line) const { return launch({"sh", "-c", line}); }
  /// The file is there when it is up.
  Launch zoo(const std::string& kind) const { return launch({kZoo, kind, up()}); }

  std::string up() const { return folder_.path("up"); }
  bool is_up() const {
    return eventually([&] { return fs::exists(up()); });
  }
  bool nobody_left(double seconds = 5.0) const {
    return eventually([&] { return processes_with(mark_).empty(); }, seconds);
  }

  static Ending wait_for(Process& process) {
    Ending ending;
    EXPECT_TRUE(eventually([&] {
      pollfd ends{process.descriptor(), POLLIN, 0};
      poll(&ends, 1, 100);
      const auto told = process.ended();
      if (told) ending = *told;
      return told.has_value();
    })) << "it does not end";
    return ending;
  }
  Ending run(const Launch& what) const {
    Process process(what);
    return wait_for(process);
  }
  /// What it writes to its standard streams.
  std::string words_of(Launch what) const {
    const std::string path = folder_.path("words");
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    what.out = what.err = file;
    const Ending ending = run(what);
    close(file);
    EXPECT_TRUE(ending.good()) << ending.text();
    return content(path);
  }

  TemporaryFolder folder_;
  std::string mark_ = unique_mark();
};

INSTANTIATE_TEST_SUITE_P(Both, ProcessTest, ::testing::Values(false, true),
                         [](const auto& about) { return about.param ? "ByFork" : "ByProgram"; });

TEST_P(ProcessTest, TellsHowItEnded) {
  const Ending well = run(launch({"true"}));
  EXPECT_TRUE(well.good());
  EXPECT_EQ(well.left_behind, 0u);
  EXPECT_GT(well.memory_peak, 0u);

  const Ending three = run(shell("exit 3"));
  EXPECT_FALSE(three.good());
  EXPECT_EQ(three.code, 3);
  EXPECT_EQ(three.text(), "exit code 3");

  const Ending crash = run(shell("kill -SEGV $$"));
  EXPECT_FALSE(crash.good());
  EXPECT_EQ(crash.signal, SIGSEGV);
  EXPECT_TRUE(contains(crash.text(), "signal 11 (Segmentation fault)"));

  const Ending killed = run(shell("kill -KILL $$"));
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_TRUE(nobody_left());
}

TEST_P(ProcessTest, WhatCannotBeStartedSaysWhy) {
  const Ending missing = run(launch({folder_.path("nothing")}));
  EXPECT_EQ(missing.start_error, ENOENT);
  EXPECT_FALSE(missing.good());
  EXPECT_TRUE(contains(missing.text(), "cannot be started: No such file"));

  const Ending unknown = run(launch({"no-such-program-in-any-folder"}));
  EXPECT_EQ(unknown.start_error, ENOENT);

  const std::string plain = folder_.file("plain", "no program");
  EXPECT_EQ(run(launch({plain})).start_error, EACCES);

  chmod(plain.c_str(), 0700);
  EXPECT_EQ(run(launch({folder_.path()})).start_error, EACCES);
  EXPECT_TRUE(nobody_left());
}

// It may be whole in a moment. Broken by: an error of the program's.
TEST_P(ProcessTest, AProgramThatIsBeingWrittenIsNotToBlame) {
  const std::string program = folder_.path("program");
  fs::copy_file("/bin/true", program);
  const int writing = open(program.c_str(), O_WRONLY | O_CLOEXEC);
  const Ending busy = run(launch({program}));
  close(writing);

  EXPECT_EQ(busy.start_error, 0);
  EXPECT_TRUE(contains(busy.lack, "Text file busy; somebody has the program's file open"));
  EXPECT_TRUE(run(launch({program})).good());
}

TEST_P(ProcessTest, NoProgramIsAnError) {
  EXPECT_THROW(Process{Launch{}}, Error);
}

TEST_P(ProcessTest, FolderThatIsGoneIsNoStart) {
  Launch what = launch({"true"});
  what.folder = folder_.path("gone");

  try {
    EXPECT_FALSE(run(what).good());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::storage);
  }
}

TEST_P(ProcessTest, GetsItsStreamsFolderAndEnvironment) {
  Launch what = shell("read line; echo \"$line\"; pwd; echo $ADDED $HOME; echo wrong >&2");
  what.env = {"ADDED=one", "HOME=/two", mark_, "ADDED=three=four"};
  what.folder = folder_.path();
  const int in = open(folder_.file("in", "hello\nmore\n").c_str(), O_RDONLY | O_CLOEXEC);
  what.in = in;

  const std::string words = words_of(what);
  close(in);

  EXPECT_EQ(words, "hello\n" + folder_.path().string() + "\nthree=four /two\nwrong\n");
}

TEST_P(ProcessTest, HasNothingToReadUnlessToldTo) {
  EXPECT_EQ(words_of(shell("cat; echo end")), "end\n");
}

// Ours are not closed on exec here, as those of a library may be.
TEST_P(ProcessTest, InheritsNoDescriptors) {
  std::vector<int> open_ones;
  for (int i = 0; i < 20; ++i) open_ones.push_back(open("/dev/null", O_RDONLY));

  const std::string list = words_of(launch({kZoo, "descriptors"}));
  for (const int file : open_ones) close(file);

  EXPECT_EQ(list, "0 1 2 ");
}

// A library cannot know what its process has closed: sockets and logs then get those numbers.
TEST_P(ProcessTest, WorksWhereStandardStreamsAreClosed) {
  const pid_t child = fork();
  if (child == 0) {
    for (int stream : {0, 1, 2}) close(stream);
    const int log = open(folder_.path("words").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    Launch what = shell("cat; echo out; echo err >&2; exit 4");
    what.out = what.err = log;
    Process process(what);
    std::optional<Ending> ending;
    eventually([&] { return (ending = process.ended()).has_value(); });
    _exit(ending ? ending->code : 98);
  }
  const int status = test::wait_for(child);

  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_EQ(content(folder_.path("words")), "out\nerr\n");
}

TEST_P(ProcessTest, StreamsMayBeGivenCrosswise) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string first = folder_.path("first"), second = folder_.path("second");
    dup2(open(first.c_str(), O_WRONLY | O_CREAT, 0600), 1);
    dup2(open(second.c_str(), O_WRONLY | O_CREAT, 0600), 2);
    Launch what = shell("echo out; echo err >&2");
    what.out = 2;
    what.err = 1;
    Process process(what);
    eventually([&] { return process.ended().has_value(); });
    _exit(0);
  }
  test::wait_for(child);

  EXPECT_EQ(content(folder_.path("first")), "err\n");
  EXPECT_EQ(content(folder_.path("second")), "out\n");
}

// What reads a program's output must see that it has ended.
TEST_P(ProcessTest, OutputEndsWithTheProgram) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Launch what = shell("echo hello");
  what.out = ends[1];
  Process process(what);
  close(ends[1]);

  const std::string words = rest_of(ends[0]);
  close(ends[0]);

  EXPECT_EQ(words, "hello\n");
  wait_for(process);
}

TEST_P(ProcessTest, IsAskedToEndFirst) {
  Process process(shell("trap 'echo bye > " + folder_.path("bye") + "; exit 5' TERM; touch " +
                        up() + "; while :; do sleep 0.01; done"));
  ASSERT_TRUE(is_up());

  process.end();

  EXPECT_EQ(wait_for(process).code, 5);
  EXPECT_EQ(content(folder_.path("bye")), "bye\n");
  EXPECT_TRUE(nobody_left());
}

TEST_P(ProcessTest, IsMadeToEndAfterItsGrace) {
  Process process(zoo("deaf"));
  ASSERT_TRUE(is_up());

  process.end();

  EXPECT_EQ(wait_for(process).signal, SIGKILL);
  EXPECT_TRUE(nobody_left());
}

// A grace of an hour: it would be there for long.
TEST_P(ProcessTest, CanBeEndedAtOnceAlsoWhenItWasAskedBefore) {
  for (const bool asked : {false, true}) {
    Launch what = zoo("deaf");
    what.grace = 3600;
    Process process(what);
    ASSERT_TRUE(is_up());
    if (asked) process.end();

    process.end(true);

    EXPECT_EQ(wait_for(process).signal, SIGKILL);
    fs::remove(up());
  }
  EXPECT_TRUE(nobody_left());
}

// SIGTERM waits until a stopped process goes on; SIGKILL does not.
TEST_P(ProcessTest, EndsWhatIsStopped) {
  Process process(shell("touch " + up() + "; kill -STOP $$"));
  ASSERT_TRUE(is_up());

  process.end();

  const Ending ending = wait_for(process);
  EXPECT_TRUE(ending.signal == SIGKILL || ending.signal == SIGTERM) << ending.text();
  EXPECT_TRUE(nobody_left());
}

TEST_P(ProcessTest, TakesWhatItLeftBehind) {
  for (const char* kind : {"daemon", "deaf_daemon"}) {
    const Ending ending = run(zoo(kind));

    EXPECT_TRUE(ending.good()) << ending.text();
    EXPECT_EQ(ending.left_behind, 1u) << kind;
    EXPECT_TRUE(processes_with(mark_).empty()) << "told of its end before all was gone";
    fs::remove(up());
  }
}

TEST_P(ProcessTest, WhatGoesByItselfWasNotLeftBehind) {
  EXPECT_EQ(run(zoo("brief_child")).left_behind, 0u);
}

TEST_P(ProcessTest, EndsAllThatWasStarted) {
  for (const char* kind : {"with_daemon", "with_child", "crowd"}) {
    Process process(zoo(kind));
    ASSERT_TRUE(is_up());

    process.end();

    EXPECT_FALSE(wait_for(process).good());
    EXPECT_TRUE(processes_with(mark_).empty()) << kind;
    fs::remove(up());
  }
}

// One after the other they are gone before they can be asked; their group cannot hide.
TEST_P(ProcessTest, EndsProcessesThatPassThemselvesOn) {
  Process process(zoo("storm"));
  ASSERT_TRUE(is_up());

  EXPECT_GE(wait_for(process).left_behind, 1u);
  EXPECT_TRUE(nobody_left());
}

TEST_P(ProcessTest, DroppingItEndsIt) {
  {
    Process process(zoo("with_daemon"));
    ASSERT_TRUE(is_up());
  }
  EXPECT_TRUE(nobody_left());
}

TEST_P(ProcessTest, MovingItKeepsIt) {
  Process first(zoo("sleeps"));
  ASSERT_TRUE(is_up());

  Process second = std::move(first);
  EXPECT_FALSE(second.ended());
  first = Process(shell("exit 6"));

  EXPECT_EQ(wait_for(first).code, 6);
  EXPECT_FALSE(second.ended());
  second.end();
  EXPECT_EQ(wait_for(second).signal, SIGTERM);
}

// A process of ours that lives for weeks must not collect dead ones.
TEST_P(ProcessTest, DroppedWardensAreTakenWhenTheyHaveEnded) {
  std::vector<pid_t> wardens;
  for (int i = 0; i < 3; ++i) wardens.push_back(Process(zoo("sleeps")).warden());
  ASSERT_TRUE(nobody_left());

  run(launch({"true"}));

  for (const pid_t warden : wardens)
    EXPECT_TRUE(eventually([&] {
      run(launch({"true"}));
      return process_state(warden) == ' ';
    })) << "zombie";
}

// The user may have killed us, or the kernel for want of memory: there is no time for a last word.
TEST_P(ProcessTest, NothingIsLeftWhenWeAreKilled) {
  for (const char* kind : {"deaf", "with_daemon", "crowd"}) {
    const pid_t child = fork();
    if (child == 0) {
      Process process(zoo(kind));
      is_up();
      kill(getpid(), SIGKILL);
    }
    const int status = test::wait_for(child);
    ASSERT_TRUE(WIFSIGNALED(status) && fs::exists(up()));

    EXPECT_TRUE(nobody_left(15.0)) << kind;
    fs::remove(up());
  }
}

TEST_P(ProcessTest, AKilledWardenTakesTheProgramWithIt) {
  Process process(zoo("deaf"));
  ASSERT_TRUE(is_up());

  ASSERT_EQ(kill(process.warden(), SIGKILL), 0);

  const Ending ending = wait_for(process);
  EXPECT_FALSE(ending.good());
  EXPECT_TRUE(nobody_left());
}

// The ranks of an MPI program are no children of it: they would go on computing.
TEST_P(ProcessTest, AKilledWardenLeavesNothingOfTheSession) {
  Process process(zoo("with_child"));
  ASSERT_TRUE(is_up());

  ASSERT_EQ(kill(process.warden(), SIGKILL), 0);

  EXPECT_FALSE(wait_for(process).good());
  EXPECT_TRUE(nobody_left());
}

// What comes from a launcher that did not hear may get no SIGTERM of its own; what is left behind
// by a program that has ended does, and has as long as its grace for that.
TEST_P(ProcessTest, WhatWasLeftBehindIsAskedToEnd) {
  const std::string bye = folder_.path("bye");
  Launch what =
      shell("(trap 'echo bye > " + bye + "; exit' TERM; touch " + up() +
            "; while :; do sleep 0.01; done) & while ! test -e " + up() + "; do sleep 0.01; done");
  what.grace = 10;

  const Ending ending = run(what);

  EXPECT_TRUE(ending.good());
  EXPECT_GE(ending.left_behind, 1u);
  EXPECT_EQ(content(bye), "bye\n");
}

// Whoever looks after the program must not be ended by what is meant for others.
TEST_P(ProcessTest, WardenIsDeafToSignalsOfAGroup) {
  Process process(zoo("sleeps"));
  ASSERT_TRUE(is_up());

  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2})
    kill(process.warden(), signal);
  EXPECT_FALSE(process.ended());
  process.end();

  EXPECT_EQ(wait_for(process).signal, SIGTERM);
}

// Ignored and blocked signals are inherited: a program that counts on SIGPIPE would never end.
TEST_P(ProcessTest, SignalsAreAsAProgramExpectsThem) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    // posix_spawn ignores two signals of its own above 31, which do no harm.
    Process process(
        shell("while read name value; do case $name in SigBlk:|SigIgn:) "
              "test $((0x$value & 0x7fffffff)) -eq 0 || exit 1;; esac; "
              "done < /proc/self/status"));
    std::optional<Ending> ending;
    eventually([&] { return (ending = process.ended()).has_value(); });
    _exit(ending && ending->good() ? 0 : 1);
  }
  const int status = test::wait_for(child);

  EXPECT_EQ(status, 0);
}

TEST_P(ProcessTest, AFileThatGrowsTooLargeEndsIt) {
  Launch what = shell("exec cat /dev/zero > " + folder_.path("big"));
  what.file_bytes_most = 100000;

  const Ending ending = run(what);

  EXPECT_EQ(ending.signal, SIGXFSZ);
  EXPECT_LE(fs::file_size(folder_.path("big")), 100000u);
}

// No descriptors, no processes: that says something of this machine, not of the program.
TEST_P(ProcessTest, WithoutDescriptorsItSaysSoAndLeavesNone) {
  if (test::sanitized())
    GTEST_SKIP() << "UBSan itself opens descriptors to look at an object's type, and takes their "
                    "lack for a wrong one";
  const auto count = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = count();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int free = dup(0);
  close(free);
  const rlimit few{static_cast<rlim_t>(free) + 3, limit.rlim_max};  // the control socket, one more
  const Launch what = launch({"true"});
  setrlimit(RLIMIT_NOFILE, &few);

  ErrorKind kind = ErrorKind::internal;
  try {
    Process process(what);
  } catch (const Error& error) {
    kind = error.kind();
  }
  setrlimit(RLIMIT_NOFILE, &limit);

  EXPECT_EQ(kind, ErrorKind::storage);
  EXPECT_EQ(count(), before);
}

// As a user who may have one process, us, or two, us and the warden.
TEST_P(ProcessTest, WithoutProcessesTheProgramIsNotToBlame) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become a user without other processes";
  for (const rlim_t most : {1, 2}) {
    const pid_t child = fork();
    if (child == 0) {
      const uid_t somebody = 100000 + static_cast<uid_t>(getpid());
      const rlimit limit{most, most};
      if (setgid(somebody) != 0 || setuid(somebody) != 0) _exit(97);
      setrlimit(RLIMIT_NPROC, &limit);
      bool said = false;
      try {
        Process process(launch({"true"}));
        std::optional<Ending> ending;
        eventually([&] { return (ending = process.ended()).has_value(); });
        if (!ending || ending->good() || ending->start_error != 0) _exit(98);
        ending->check_lack();
      } catch (const Error& error) {
        said = error.kind() == ErrorKind::storage &&
               std::string(error.what()).find("no process can be") == 0;
      }
      _exit(said ? 0 : 99);
    }
    EXPECT_EQ(WEXITSTATUS(test::wait_for(child)), 0) << most;
  }
}

TEST_P(ProcessTest, WhatBelongsToItIsMarked) {
  const Launch what = shell("echo $STAP_STARTED_BY");

  const std::string one = words_of(what), two = words_of(what);

  EXPECT_TRUE(contains(one, "-" + std::to_string(getpid()) + "-"));
  EXPECT_NE(one, two);
}

TEST_P(ProcessTest, AKilledWardenLeavesNothingThatLeftItsSession) {
  Process process(zoo("with_daemon"));
  ASSERT_TRUE(is_up());

  ASSERT_EQ(kill(process.warden(), SIGKILL), 0);

  EXPECT_FALSE(wait_for(process).good());
  EXPECT_TRUE(nobody_left());
}

// Broken where nobody looks whether the warden is stopped: it would never end.
TEST_P(ProcessTest, AStoppedWardenGoesOn) {
  EXPECT_EQ(run(shell("kill -STOP $PPID; exit 3")).code, 3);

  Process process(zoo("stops_warden"));
  ASSERT_TRUE(is_up());
  process.end();
  EXPECT_EQ(wait_for(process).signal, SIGTERM);
  EXPECT_TRUE(nobody_left());
}

TEST_P(ProcessTest, WhatKeepsStoppingItsWardenIsEndedWithoutIt) {
  for (const std::string kind : {"keeps_stopping", "leaves_keeper"})
    for (const bool told : {false, true}) {
      Process process(zoo(kind));
      ASSERT_TRUE(is_up());
      if (told) process.end();

      const Ending ending = wait_for(process);  // the warden may win where the program is gone
      EXPECT_TRUE(ending.by_force() || kind == "leaves_keeper") << ending.text();
      EXPECT_TRUE(processes_with(mark_).empty()) << kind;
      fs::remove(up());
    }
}

TEST_P(ProcessTest, DroppingOneWithAStoppedWardenEndsIt) {
  {
    Process process(zoo("keeps_stopping"));
    ASSERT_TRUE(is_up());
  }
  EXPECT_TRUE(nobody_left());
}

// Broken without a signal that continues the warden when its parent is gone.
TEST_P(ProcessTest, AStoppedWardenGoesOnWhenWeAreKilled) {
  const pid_t child = fork();
  if (child == 0) {
    Process process(zoo("stops_warden"));
    is_up();
    kill(getpid(), SIGKILL);
  }
  test::wait_for(child);
  ASSERT_TRUE(fs::exists(up()));

  EXPECT_TRUE(nobody_left(15.0));
}

// Some shells leave it ignored, and it is inherited: then children vanish with how they ended.
TEST_P(ProcessTest, HowItEndedIsKnownWhereChildrenAreIgnored) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGCHLD, SIG_IGN);
    Process process(shell("exit 3"));
    std::optional<Ending> ending;
    eventually([&] { return (ending = process.ended()).has_value(); });
    _exit(ending ? ending->code : 98);
  }

  EXPECT_EQ(WEXITSTATUS(test::wait_for(child)), 3);
}

TEST_P(ProcessTest, ManyAtOnceEndAsTheyShould) {
  std::vector<Process> all;
  for (int i = 0; i < 40; ++i) all.emplace_back(shell("exit " + std::to_string(i)));

  for (int i = 0; i < 40; ++i) EXPECT_EQ(wait_for(all[static_cast<std::size_t>(i)]).code, i);
  EXPECT_TRUE(nobody_left());
}

// Takes 8 s: for make test-zoo.
class ProcessSlow : public ProcessTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ProcessSlow);

// As long a grace as may be asked for: nobody waits for it any more, so it is cut.
TEST_P(ProcessSlow, ALongGraceIsCutWhenWeAreKilled) {
  const pid_t child = fork();
  if (child == 0) {
    Launch what = shell("trap '' TERM; touch " + up() + "; sleep 60");
    what.grace = 3600;
    Process process(what);
    is_up();
    kill(getpid(), SIGKILL);
  }
  test::wait_for(child);
  ASSERT_TRUE(fs::exists(up()));

  EXPECT_TRUE(nobody_left(15.0));
}

INSTANTIATE_TEST_SUITE_P(Both, ProcessSlow,
                         ::testing::ValuesIn(std::getenv("STAP_TEST_ZOO") != nullptr
                                                 ? std::vector<bool>{false, true}
                                                 : std::vector<bool>{}),
                         [](const auto& about) { return about.param ? "ByFork" : "ByProgram"; });

}  // namespace
}  // namespace stap::test
