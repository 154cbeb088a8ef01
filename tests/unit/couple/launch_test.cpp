// Launchers before a program: their words, the hosts of a job, what a launcher's own troubles cost,
// and what solver check finds out about one. tests/programs/fake_srun plays srun.
#include "couple/launch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "couple/address.h"
#include "couple/connection.h"
#include "couple/launcher_log.h"
#include "couple/worker_slot.h"
#include "stap/core/error.h"
#include "stap/core/solver_queue.h"
#include "stap/couple/launch_probe.h"
#include "stap/couple/solver_table.h"
#include "support/contains.h"
#include "support/couple/asking.h"
#include "support/environment.h"
#include "support/processes.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

TEST(Allocation, ReadsListsAsSlurmWritesThem) {
  EXPECT_EQ(hosts_in("login"), Words{"login"});
  EXPECT_EQ(hosts_in("n[1-3,07],gpu1"), (Words{"n1", "n2", "n3", "n07", "gpu1"}));
  EXPECT_EQ(hosts_in("r[1-2]n[09-10]"), (Words{"r1n09", "r1n10", "r2n09", "r2n10"}));
  EXPECT_EQ(counts_in("2(x3),16"), (std::vector<std::size_t>{2, 2, 2, 16}));
  for (const char* wrong : {"", "n[1-", "n[3-1]", "n[a]", "n[1-2],,m", "n[0-9999999]"})
    EXPECT_THROW(hosts_in(wrong), Error) << wrong;
  for (const char* wrong : {"", "x", "2(x0)", "2(x3", "2(3)"})
    EXPECT_THROW(counts_in(wrong), Error) << wrong;
}

class Job : public ::testing::Test {
 protected:
  std::size_t slots(std::size_t ranks, std::size_t nodes) const {
    SolverOptions options;
    options.slots = 0;
    options.ranks = ranks;
    options.nodes = nodes;
    options.hosts = hosts_;
    return slots_of(options);
  }

  TemporaryFolder folder_;
  fs::path hosts_{};
  // Of the job that runs this test, if it is one.
  ScopedVariable nodes_{"SLURM_JOB_NODELIST", std::nullopt};
  ScopedVariable cpus_{"SLURM_JOB_CPUS_PER_NODE", std::nullopt};
  ScopedVariable each_{"SLURM_CPUS_PER_TASK", std::nullopt};
  ScopedVariable pbs_{"PBS_NODEFILE", std::nullopt};
};

TEST_F(Job, AutomaticSlotsAreWhatFits) {
  {
    const ScopedVariable nodes("SLURM_JOB_NODELIST", "n[1-4]"),
        cpus("SLURM_JOB_CPUS_PER_NODE", "2(x2),5,8");
    EXPECT_EQ(slots(1, 1), 17u);
    EXPECT_EQ(slots(2, 1), 1u + 1 + 2 + 4);
    EXPECT_EQ(slots(4, 2), 1u + 1 + 2);   // 2 ranks on each: n4 with each of the others
    EXPECT_EQ(slots(3, 2), slots(4, 2));  // one of the two has 2
    EXPECT_THROW(slots(9, 1), Error);
    const ScopedVariable each("SLURM_CPUS_PER_TASK", "4");
    EXPECT_EQ(slots(1, 1), 1u + 2);
    const ScopedVariable nonsense("SLURM_CPUS_PER_TASK", "9223372036854775808");
    EXPECT_THROW(slots(2, 1), Error);  // whose product with the ranks is 0
  }
  {
    const ScopedVariable pbs("PBS_NODEFILE", folder_.file("pbs", "a\na\nb\na\n"));
    EXPECT_EQ(slots(1, 1), 4u);
    EXPECT_EQ(slots(2, 1), 1u);
  }
  hosts_ = folder_.file("hosts", "# ours\na slots=4\nb:2   # old\n\nc\n");
  EXPECT_EQ(slots(1, 1), 7u);
  EXPECT_EQ(slots(2, 1), 3u);
  hosts_ = folder_.file("many", "a slots=99999999999\n");
  EXPECT_EQ(slots(1, 1), 100000u);  // and memory for no more
  hosts_ = folder_.file("wrong", "a slots=many\n");
  EXPECT_THROW(slots(1, 1), Error);
}

TEST_F(Job, WordsOfPresetsSayWhatWasSaid) {
  SolverOptions options;
  options.launch.words = {"srun"};
  options.ranks = 4;
  options.nodes = 2;
  const auto has = [](const Words& words, const std::string& sequence) {
    return contains(" " + fmt::format("{}", fmt::join(words, " ")) + " ", " " + sequence + " ");
  };

  const Words plain = Launcher(options, {}).words(0);
  EXPECT_TRUE(has(plain, "-N 2 -n 4 --input=none"));  // neither memory nor CPUs were said
  options.memory = "500M";
  EXPECT_TRUE(
      has(Launcher(options, {.streams = true}).words(0), "--mem 500M --input=0 --unbuffered"));

  const ScopedVariable nodes("SLURM_JOB_NODELIST", "n[1-3]"),
      cpus("SLURM_JOB_CPUS_PER_NODE", "4(x3)"), each("SLURM_CPUS_PER_TASK", "2");
  EXPECT_TRUE(has(Launcher(options, {}).words(0), "--cpus-per-task 2"));
  options.launch.words = {"mpirun"};
  const Launcher mpirun(options, {.variables = {"STAP_TOKEN"}});
  EXPECT_TRUE(has(mpirun.words(0), "-n 4 --host n1:2,n2:2"));
  EXPECT_TRUE(has(mpirun.words(0), "-x STAP_TOKEN"));
  EXPECT_EQ(mpirun.words(0), mpirun.words(1));  // one slot fits
  EXPECT_TRUE(has(mpirun.words_everywhere(), "-n 3 --host n1:1,n2:1,n3:1"));
  options.launch.words = {"mpiexec"};
  EXPECT_TRUE(has(Launcher(options, {}).words(0), "-n 4 -hosts n1:2,n2:2"));

  options.launch.words = {"own", "--mem={memory}", "{dt}", "{hosts}"};
  options.memory.clear();
  EXPECT_EQ(Launcher(options, {}).words(0, {{"dt", "0.5"}}), (Words{"own", "0.5", "n1,n2"}));
  EXPECT_FALSE(Launcher(options, {}).is_known());
  options.launch.words = {"env", "A=1", "/usr/bin/srun", "-n", "{ranks}"};
  EXPECT_EQ(Launcher(options, {}).words(0),
            (Words{"env", "A=1", "/usr/bin/srun", "-v", "-n", "4"}));
  EXPECT_TRUE(Launcher(options, {}).is_known());
  options.launch.words = {"own", "{rank}"};
  EXPECT_THROW(Launcher(options, {}).words(0), Error);
  options.nodes = 5;
  EXPECT_THROW(Launcher(options, {}), Error);
}

TEST(Address, OfThisMachineCanBeListenedOn) {
  const TemporaryFolder folder;

  const Listener listener(folder.path(), reachable_address());

  EXPECT_TRUE(listener.where().starts_with("tcp:")) << listener.where();
}

/// A solver behind the launcher that plays srun.
class Launched : public ::testing::Test {
 protected:
  Launched() {
    fs::create_symlink(STAP_TEST_SOURCE_DIR "/tests/programs/fake_srun", folder_.path("srun"));
    outline_ = {.name = "toy",
                .grid = make_grid(1, {5}, {1.0}),
                .channels = {"u"},
                .dt = 0.5,
                .guard_min = {},
                .guard_max = {},
                .parameters = {}};
  }
  ~Launched() override { EXPECT_TRUE(processes_with(mark_).empty()); }

  template <class Options>
  Options options(const std::string& mode) const {
    Options options;
    options.launch.words = {folder_.path("srun"), mode, folder_.path(), "{nodes}", "--"};
    options.env = {mark_};
    options.scratch = folder_.path("scratch");
    options.grace = 1.0;
    return options;
  }
  // Says that it works, and then gives its input back.
  CommandOptions command(const std::string& mode,
                         const std::string& line = "cp \"$1\" \"$2\"") const {
    auto given = options<CommandOptions>(mode);
    given.argv.words = {"sh", "-c",      "touch " + folder_.path("working") + "; " + line,
                        "sh", "{input}", "{output}"};
    return given;
  }
  WorkerOptions worker(const std::string& mode, const std::string& worker_mode = "plain") const {
    auto given = options<WorkerOptions>(mode);
    given.argv.words = {"sh",
                        "-c",
                        "touch " + folder_.path("working") + "; exec \"$@\"",
                        "sh",
                        STAP_TEST_PROGRAMS "/odd_worker",
                        worker_mode};
    return given;
  }
  Answer ask(const Solver& solver) const {
    const Query query{.id = 1, .state = {1, 2, 3, 4, 5}, .time = 0.0};
    Answer answer;
    solver.solve({&query, 1}, {&answer, 1});
    return answer;
  }
  Answer ask(const CommandOptions& given) const {
    return ask(*make_command_solver(given, outline_, {.failures = folder_.path("failures")}));
  }
  Answer ask(const WorkerOptions& given) const {
    return ask(*make_worker_solver(given, outline_, {.failures = folder_.path("failures")}));
  }
  std::size_t begun() const {
    const std::string lines = content(folder_.path("begun"));
    return static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  }
  bool kept() const { return fs::exists(folder_.path("failures")); }

  TemporaryFolder folder_;
  std::string mark_ = "STAP_TEST_MARK=" + folder_.path("");
  Outline outline_;
  ScopedVariable nodes_{"SLURM_JOB_NODELIST", std::nullopt};
};

TEST_F(Launched, OptionsThatCannotWorkAreConfigurationErrors) {
  CommandOptions unknown = command("plain"), local = command("plain");
  unknown.launch.words = {"no-such-launcher-in-any-folder"};
  local.scratch.clear();

  EXPECT_NO_THROW(make_command_solver(local, outline_));
  const ScopedVariable nodes("SLURM_JOB_NODELIST", "n[1-4]"),
      cpus("SLURM_JOB_CPUS_PER_NODE", "2(x4)");

  EXPECT_THROW(make_command_solver(unknown, outline_), Error);
  EXPECT_THROW(make_command_solver(local, outline_), Error);  // files that other hosts do not see
}

// Breaks if the exit code of a launcher is believed: it is 0 when a node is lost.
TEST_F(Launched, ALostNodeIsNoTry) {
  const CommandOptions lost = command("node-lost", "sleep 0.2; cp \"$1\" \"$2\"");

  const Answer answer = ask(lost);

  EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
  EXPECT_EQ(answer.states, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(answer.attempts, 1);
  EXPECT_EQ(begun(), 2u);
  EXPECT_FALSE(kept());
}

// The launcher says so, or knows nothing of it; and one for which there is no room.
TEST_F(Launched, NorIsOneThatIsLostWithAWorker) {
  const Query query{.id = 1, .state = {1, 2, 3, 4, 5}, .time = 0.0};
  const auto outcome_of = [&](const std::string& mode) {
    WorkerSlotOptions options{.argv = {folder_.path("srun"), mode, folder_.path(""), "--",
                                       STAP_TEST_PROGRAMS "/odd_worker", "beat"},
                              .env = {mark_},
                              .folder = folder_.path(),
                              .connect = WorkerSlotOptions::Connect::socket,
                              .grace = 1.0,
                              .launched = true,
                              .room = 0.1,
                              .farewell = 0.2,
                              .known_launcher = true};
    WorkerSlot slot(outline_, options);
    slot.begin(query, 1);
    std::optional<Outcome> outcome;
    const auto until = Slot::Clock::now() + std::chrono::seconds(10);
    while (!outcome && Slot::Clock::now() < until) {
      outcome = look_once(slot, Slot::Clock::now() + std::chrono::milliseconds(20));
      if (!slot.getting_ready()) folder_.file("working", "");
    }
    fs::remove(folder_.path("working"));
    fs::remove_all(folder_.path("lost"));
    return outcome.value_or(Outcome{});
  };

  EXPECT_EQ(outcome_of("node-lost").answer.status, Answer::Status::ok);  // it began again by itself
  EXPECT_EQ(begun(), 2u);
  for (const char* mode : {"node-lost-1", "silent"}) {
    const Outcome lost = outcome_of(mode);
    EXPECT_TRUE(lost.lost) << mode;
    EXPECT_FALSE(lost.worth_a_retry || lost.not_begun) << mode;
    EXPECT_TRUE(lost.answer.reason.starts_with(kNodeLost)) << lost.answer.reason;
  }
  const Outcome no_room = outcome_of("waits");
  EXPECT_TRUE(no_room.not_begun);
  EXPECT_FALSE(no_room.lost || no_room.worth_a_retry);
}

// Breaks if what a launcher reports of a rank is taken for its own trouble.
TEST_F(Launched, ACrashIsATryAndAFailure) {
  const Answer by_file = ask(command("plain", "echo diverged; kill -SEGV $$"));
  const Answer by_frames = ask(worker("plain", "crash"));

  EXPECT_EQ(begun(), 4u);
  for (const Answer& answer : {by_file, by_frames}) {
    EXPECT_EQ(answer.status, Answer::Status::failed);
    EXPECT_EQ(answer.attempts, 2);  // on_failure: retry
    EXPECT_TRUE(contains(answer.reason, "task 0: Segmentation fault"));
  }
  EXPECT_TRUE(contains(by_file.reason, "exit code 139: "));
  EXPECT_TRUE(kept());
}

TEST_F(Launched, ALauncherThatCannotStartNowIsWaitedFor) {
  const Answer answer = ask(command("busy"));

  EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
  EXPECT_EQ(answer.attempts, 1);
  EXPECT_EQ(begun(), 1u);
  EXPECT_FALSE(kept());
}

TEST_F(Launched, ButNotForEver) {
  CommandOptions command_options = command("never");
  WorkerOptions worker_options = worker("never");
  command_options.limits.launch = worker_options.limits.launch = 0.1;

  for (const Answer& answer : {ask(command_options), ask(worker_options)}) {
    EXPECT_EQ(answer.status, Answer::Status::failed);
    EXPECT_TRUE(contains(answer.reason, "Application launch failed")) << answer.reason;
  }
  EXPECT_EQ(begun(), 0u);
}

// Breaks if the time that a launcher waits for room counts as the program's.
TEST_F(Launched, WaitingForRoomIsNoTimeOfTheProgram) {
  CommandOptions waits = command("waits");
  waits.limits.seconds = 0.3;
  const auto solver = make_command_solver(waits, outline_, {});
  const auto queue = solver->open();
  queue->submit({.id = 1, .state = {1, 2, 3, 4, 5}});

  EXPECT_FALSE(queue->next(SolverQueue::Clock::now() + std::chrono::milliseconds(1300)));
  ASSERT_EQ(queue->running().size(), 1u);
  EXPECT_TRUE(contains(queue->running()[0].where, "waits for room"));
  folder_.file("room", "");
  const auto reply = queue->next(SolverQueue::Clock::now() + std::chrono::seconds(5));

  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->answer.status, Answer::Status::ok) << reply->answer.reason;
}

TEST(LauncherLog, OnlyWhatPassesIsWaitedFor) {
  const auto words = [](const char* line) { return launcher_words_in(line); };
  const char* kFull =
      "srun: error: Unable to create step for job 3: More processors requested than permitted";
  EXPECT_TRUE(words(kFull).not_started.empty());
  EXPECT_FALSE(words("srun: error: Application launch failed: Communication connection failure")
                   .not_started.empty());
  EXPECT_FALSE(words("srun: error: task 0 launch failed: Unspecified error").not_started.empty());
  EXPECT_FALSE(words("slurmstepd-n1: error: *** STEP 3.1 ON n1 CANCELLED AT 2026-11-16 DUE TO NODE "
                     "FAILURE ***")
                   .node_lost.empty());
  EXPECT_TRUE(words("slurmstepd-n1: error: *** STEP 3.1 ON n1 CANCELLED AT 2026-11-16 ***")
                  .node_lost.empty());
  EXPECT_TRUE(words("Node failure on n1").node_lost.empty());  // who says so?
  EXPECT_FALSE(words("srun: error: Slurm job 3 has expired").node_lost.empty());
  EXPECT_FALSE(words("srun: error: n1: task 1: Segmentation fault").rank_ended.empty());
  EXPECT_FALSE(words("srun: jobid 3: nodes(4):`n[1-4]'\nother").waits.empty());
  EXPECT_TRUE(words("srun: jobid 3: nodes(4)\nsrun: Step created for job 3").waits.empty());
  // A log of any length: its beginning and its end are read.
  const TemporaryFolder folder;
  const std::string much(300000, 'x');
  const LauncherWords both = launcher_words(folder.file(
      "log", "srun: jobid 3: nodes(4)\n" + much + "\nsrun: error: Node failure on n1\n"));
  EXPECT_FALSE(both.waits.empty());
  EXPECT_FALSE(both.node_lost.empty());
}

/// What probe_launcher() says under a name.
class Probed : public Launched {
 protected:
  LaunchFinding find(const std::string& mode, const std::string& name) {
    LaunchToProbe probed{.options = command(mode), .streams = name == "streams", .patience = 0.3};
    probed.options.argv.words = {STAP_TEST_PROGRAMS "/odd_worker"};
    probed.options.slots = 3;
    for (LaunchFinding& finding : probe_launcher(probed))
      if (finding.name == name) return std::move(finding);
    return {"", LaunchFinding::Grade::bad, "nothing was found"};
  }
  using Grade = LaunchFinding::Grade;
};

TEST_F(Probed, PipesThatKeepBytesBackBlockOrEatThem) {
  const LaunchFinding eats = find("eats", "streams"), lines = find("lines", "streams"),
                      ranks = find("every-rank", "streams"), good = find("plain", "streams");

  EXPECT_TRUE(contains(eats.text, "stdin is at its end"));
  EXPECT_TRUE(contains(lines.text, "until a line ends"));
  EXPECT_TRUE(contains(ranks.text, "stdin goes to every rank"));
  for (const LaunchFinding& bad : {eats, lines, ranks}) {
    EXPECT_EQ(bad.grade, Grade::bad);
    EXPECT_TRUE(contains(bad.text, "connect: socket"));
  }
  EXPECT_EQ(good.grade, Grade::doubtful) << good.text;
}

TEST_F(Probed, StepsThatRunOneAfterTheOther) {
  const LaunchFinding serial = find("serial", "side by side"), good = find("plain", "side by side");

  EXPECT_EQ(serial.grade, Grade::doubtful);
  EXPECT_TRUE(contains(serial.text, "of 3 slots only 1 run"));
  EXPECT_TRUE(contains(serial.text, "solver.memory"));
  EXPECT_EQ(good.grade, Grade::good) << good.text;
}

TEST_F(Probed, AHostWithoutTheProgram) {
  const LaunchFinding good = find("plain", "hosts"), nothing = find("never", "hosts");
  const ScopedVariable nodes("SLURM_JOB_NODELIST", "n[1-4]"),
      cpus("SLURM_JOB_CPUS_PER_NODE", "2(x4)");

  const LaunchFinding missing = find("nodes", "hosts");

  EXPECT_EQ(good.grade, Grade::good) << good.text;
  EXPECT_EQ(nothing.grade, Grade::bad);
  EXPECT_TRUE(contains(nothing.text, "Communication connection failure"));
  EXPECT_EQ(missing.grade, Grade::bad);
  EXPECT_TRUE(contains(missing.text, "odd_worker on n3 (1 of 4 hosts)"));
}

}  // namespace
}  // namespace stap::test
