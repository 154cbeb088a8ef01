#include "couple/worker_slot.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <numbers>

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "support/contains.h"
#include "support/couple/asking.h"
#include "support/process.h"
#include "support/processes.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::ask;
using test::contains;
using Connect = WorkerSlotOptions::Connect;

Outline small_outline(std::vector<std::size_t> points = {5}, std::size_t channels = 1) {
  Outline outline;
  outline.name = "doubling";
  const std::vector<double> lengths(points.size(), 2.0);
  outline.grid = make_grid(channels, std::move(points), lengths);
  for (std::size_t c = 0; c < channels; ++c) outline.channels.push_back("u" + std::to_string(c));
  outline.dt = 0.5;
  outline.parameters = {{"b", 7.0}, {"a", 3.0}};
  return outline;
}

Query query_of(const Outline& outline, std::uint64_t id = 1, std::size_t steps = 1) {
  Query query;
  query.id = id;
  query.time = 1.0;
  query.steps = steps;
  for (std::size_t i = 0; i < outline.grid.values(); ++i)
    query.state.push_back(static_cast<double>(i % 97) + static_cast<double>(id));
  return query;
}

// What odd_worker.c computes.
std::vector<double> expected_states(const Outline& outline, const Query& query, std::size_t made,
                                    double a = 3.0) {
  std::vector<double> all, state = query.state;
  for (std::size_t s = 0; s < made; ++s) {
    for (double& value : state)
      value = 2 * value + (query.time + static_cast<double>(s) * outline.dt) + a;
    all.insert(all.end(), state.begin(), state.end());
  }
  return all;
}

class Worker : public ::testing::Test {
 protected:
  WorkerSlotOptions options(const std::string& mode, Connect connect = Connect::pipe) const {
    WorkerSlotOptions options;
    options.argv = {STAP_TEST_PROGRAMS "/odd_worker", mode};
    options.folder = folder_.path();
    options.connect = connect;
    options.grace = 1.0;
    return options;
  }
  // Of the worker that was started last.
  int pid() const { return std::atoi(test::content(folder_.path("pid")).c_str()); }
  std::string log() const { return test::content(folder_.path("log.txt")); }
  // The outcome of one query to a worker of this kind, of which nothing is left.
  Outcome outcome_of(const std::string& mode, std::size_t steps = 1) {
    WorkerSlot slot(outline_, options(mode));
    const Outcome outcome = ask(slot, query_of(outline_, 1, steps));
    EXPECT_FALSE(test::is_running(pid())) << mode;
    return outcome;
  }

  test::TemporaryFolder folder_;
  Outline outline_ = small_outline();
};

void expect_answer(const Outcome& outcome, const Outline& outline, const Query& query) {
  EXPECT_EQ(outcome.answer.status, Answer::Status::ok) << outcome.answer.reason;
  EXPECT_EQ(outcome.answer.reason, "");
  EXPECT_EQ(outcome.answer.states, expected_states(outline, query, query.steps));
  EXPECT_EQ(outcome.answer.attempts, 1);
  EXPECT_GT(outcome.answer.seconds, 0.0);
  EXPECT_FALSE(outcome.lost);
  EXPECT_FALSE(outcome.worth_a_retry);
}

// A failure of the query itself.
void expect_failure(const Outcome& outcome, const std::string& reason, bool retry) {
  EXPECT_EQ(outcome.answer.status, Answer::Status::failed);
  EXPECT_TRUE(contains(outcome.answer.reason, reason));
  EXPECT_EQ(outcome.worth_a_retry, retry) << outcome.answer.reason;
  EXPECT_FALSE(outcome.lost) << outcome.answer.reason;
  EXPECT_EQ(outcome.answer.attempts, 1);
}

void expect_lost(const Outcome& outcome, const std::string& reason) {
  EXPECT_EQ(outcome.answer.status, Answer::Status::failed);
  EXPECT_TRUE(contains(outcome.answer.reason, "the worker did not come up: "));
  EXPECT_TRUE(contains(outcome.answer.reason, reason));
  EXPECT_TRUE(outcome.lost);
  EXPECT_FALSE(outcome.worth_a_retry);
  EXPECT_EQ(outcome.answer.attempts, 0);
}

TEST_F(Worker, AnswersManyQueriesFromOneProcess) {
  WorkerSlot slot(outline_, options("plain"));
  EXPECT_EQ(slot.where(), "no process");

  expect_answer(ask(slot, query_of(outline_, 1)), outline_, query_of(outline_, 1));
  const int first = pid();
  for (std::uint64_t id = 2; id <= 20; ++id)
    expect_answer(ask(slot, query_of(outline_, id)), outline_, query_of(outline_, id));

  EXPECT_EQ(pid(), first);
  EXPECT_TRUE(contains(slot.where(), "process "));
}

TEST_F(Worker, TakesSeveralStepsInARow) {
  WorkerSlotOptions several = options("plain");
  several.steps_at_once = 4;
  WorkerSlot slot(outline_, several);

  for (std::size_t steps : {4, 1, 3})
    expect_answer(ask(slot, query_of(outline_, 1, steps)), outline_, query_of(outline_, 1, steps));
}

TEST_F(Worker, TakesFramesLargerThanAnyBuffer) {
  const Outline large = small_outline({256, 129}, 3);  // 0.8 MB a state
  WorkerSlot slot(large, options("plain"));

  for (std::uint64_t id : {1, 2})
    expect_answer(ask(slot, query_of(large, id, 3)), large, query_of(large, id, 3));
}

TEST_F(Worker, ConnectsBackToAUnixSocket) {
  WorkerSlot slot(outline_, options("print", Connect::socket));

  expect_answer(ask(slot, query_of(outline_)), outline_, query_of(outline_));

  // Nothing is left of the socket, and what was printed is in the log.
  EXPECT_EQ(folder_.entries(), 2U);  // log.txt, pid
  EXPECT_TRUE(contains(log(), "a step of dt 0.5 for slot 0"));
}

TEST_F(Worker, ConnectsBackByTcpWithTheTokenInAFile) {
  WorkerSlotOptions tcp = options("plain", Connect::socket);
  tcp.address = "127.0.0.1";
  tcp.token_file = true;
  const Outline large = small_outline({256, 129}, 3);
  WorkerSlot slot(large, tcp);

  expect_answer(ask(slot, query_of(large, 1, 2)), large, query_of(large, 1, 2));
}

TEST_F(Worker, ConnectsToAFolderWithALongName) {
  WorkerSlotOptions deep = options("plain", Connect::socket);
  deep.folder /= std::string(120, 'x');  // longer than a socket's path may be
  std::filesystem::create_directory(deep.folder);
  WorkerSlot slot(outline_, deep);

  expect_answer(ask(slot, query_of(outline_)), outline_, query_of(outline_));
}

TEST_F(Worker, WithAWrongTokenIsTurnedAway) {
  WorkerSlot slot(outline_, options("knock", Connect::socket));

  expect_answer(ask(slot, query_of(outline_)), outline_, query_of(outline_));
}

TEST_F(Worker, WithNothingButAWrongTokenDoesNotComeUp) {
  WorkerSlotOptions wrong = options("wrong-token", Connect::socket);
  wrong.limits.start = 1.0;
  WorkerSlot slot(outline_, wrong);

  expect_lost(ask(slot, query_of(outline_)),
              "it was not ready within 1 s and did not say hello; one who tried gave a wrong");
  EXPECT_FALSE(test::is_running(pid()));
}

TEST_F(Worker, MayPrintAndFindsNothingInStdin) {
  WorkerSlotOptions numbered = options("print");
  numbered.slot = 12;
  WorkerSlot slot(outline_, numbered);

  expect_answer(ask(slot, query_of(outline_)), outline_, query_of(outline_));

  EXPECT_TRUE(contains(log(), "loading tables"));
  EXPECT_TRUE(contains(log(), "a step of dt 0.5 for slot 12"));
}

TEST_F(Worker, GetsTheQuerysOwnParameters) {
  outline_.parameters[1].varies = true;
  WorkerSlot slot(outline_, options("plain"));
  Query query = query_of(outline_);

  for (const double value : {40.0, 3.5}) {
    query.params = {value};
    EXPECT_EQ(ask(slot, query).answer.states, expected_states(outline_, query, 1, value));
  }
}

TEST_F(Worker, SaysWhyAStepFails) {
  WorkerSlot slot(outline_, options("fail"));

  expect_failure(ask(slot, query_of(outline_)), "the CFL number is 3", false);
  const int first = pid();
  expect_failure(ask(slot, query_of(outline_)), "the CFL number is 3", false);

  EXPECT_EQ(pid(), first);  // a failure is an answer: it lives on
}

TEST_F(Worker, SaysThatARetryMayHelp) {
  WorkerSlot slot(outline_, options("retry"));

  expect_failure(ask(slot, query_of(outline_)), "all licences are taken", true);
}

TEST_F(Worker, FailsByTheReturnValueAlone) {
  WorkerSlot slot(outline_, options("code"));

  expect_failure(ask(slot, query_of(outline_)), "the step function returned 7", false);
}

TEST_F(Worker, KeepsTheStatesBeforeAFailure) {
  WorkerSlotOptions several = options("fail-second");
  several.steps_at_once = 3;
  WorkerSlot slot(outline_, several);
  const Query query = query_of(outline_, 1, 3);

  const Outcome outcome = ask(slot, query);

  expect_failure(outcome, "no convergence", false);
  EXPECT_EQ(outcome.answer.states, expected_states(outline_, query, 1));
}

TEST_F(Worker, ThatCrashesIsStartedAgain) {
  WorkerSlot slot(outline_, options("crash"));

  expect_failure(ask(slot, query_of(outline_)), "the worker ended during the query (signal 6",
                 true);
  const int first = pid();
  expect_failure(ask(slot, query_of(outline_)), "signal 6", true);

  EXPECT_NE(pid(), first);
}

TEST_F(Worker, ThatExitsLeavesItsLastWords) {
  expect_failure(outcome_of("exit"),
                 "the worker ended during the query (exit code 3); last words of its log: license "
                 "server not found",
                 true);
}

TEST_F(Worker, ThatEndsWhileIdleIsStartedAgainAndNobodyFails) {
  WorkerSlot slot(outline_, options("once"));
  Query query = query_of(outline_);
  query.time = 0.0;

  // It gives back what it gets.
  EXPECT_EQ(ask(slot, query).answer.states, query.state);
  const int first = pid();
  ASSERT_TRUE(test::eventually([&] { return !test::is_running(first); }));
  EXPECT_EQ(ask(slot, query).answer.states, query.state);

  EXPECT_NE(pid(), first);
}

TEST_F(Worker, ThatCannotBeStartedDoesNotComeUp) {
  WorkerSlotOptions missing = options("plain");
  missing.argv = {folder_.path("no_such_program")};
  WorkerSlot slot(outline_, missing);

  expect_lost(ask(slot, query_of(outline_)), "it cannot be started: No such file or directory");
}

TEST_F(Worker, WhoseLogWeCannotWriteHasNotFailed) {
  WorkerSlot slot(outline_, options("plain"));
  std::filesystem::create_directory(folder_.path("log.txt"));
  const Query query = query_of(outline_);

  test::expect_error(ErrorKind::storage, "log.txt", [&] { slot.begin(query, 1); });

  std::filesystem::remove(folder_.path("log.txt"));
  expect_answer(ask(slot, query), outline_, query);
}

TEST_F(Worker, ThatEndsEarlyDoesNotComeUp) {
  for (const Connect connect : {Connect::pipe, Connect::socket}) {
    WorkerSlot slot(outline_, options("exit-early", connect));

    expect_lost(ask(slot, query_of(outline_)),
                "it ended before it was ready (exit code 5); last words of its log: libmesh.so.4: "
                "cannot open shared object file");
  }
}

TEST_F(Worker, ThatSaysNothingDoesNotComeUp) {
  for (const Connect connect : {Connect::pipe, Connect::socket}) {
    WorkerSlotOptions silent = options("never", connect);
    silent.limits.start = 0.2;
    WorkerSlot slot(outline_, silent);

    expect_lost(ask(slot, query_of(outline_)), "it was not ready within 0.2 s and did not say");
    EXPECT_FALSE(test::is_running(pid()));
  }
}

TEST_F(Worker, ThatCannotDoTheProblemDoesNotComeUp) {
  expect_lost(outcome_of("grid"), "it says: can do 64 x 64 points only");
  expect_lost(outcome_of("values"), "it is ready for states of 7 values, expected 5 (1 x 5)");
  expect_lost(outcome_of("version"), "it speaks version 2 of the worker protocol, expected 1");
}

TEST_F(Worker, ThatTakesFewerStepsThanAreAskedDoesNotComeUp) {
  WorkerSlotOptions several = options("one-step");
  several.steps_at_once = 4;
  WorkerSlot slot(outline_, several);

  expect_lost(ask(slot, query_of(outline_)),
              "it takes at most 1 steps a call, but steps_at_once is 4: give it 1");
}

TEST_F(Worker, ThatPrintsBeforeItIsConnectedDoesNotComeUp) {
  expect_lost(outcome_of("garbage"), "it sent 'loading tables");
}

TEST_F(Worker, ThatBreaksTheProtocolFailsAndIsEnded) {
  expect_failure(outcome_of("other-id"), "the worker sent an answer to query 11, but 1 was asked",
                 false);
  expect_failure(outcome_of("short"),
                 "answered with 1 state of 4 values, expected 1 state of 1 x 5", false);
  expect_failure(outcome_of("large"),
                 "announced an answer of 1125899906842624 bytes, expected at "
                 "most 56",
                 false);
  expect_failure(outcome_of("turn"), "sent a hello out of turn, expected: answer", false);
  expect_failure(outcome_of("half"), "the worker ended in the middle of its answer (exit code 0)",
                 true);
}

// Its first answer is good: what is behind it is found by the next query, and the one after that
// has a new worker.
TEST_F(Worker, ThatSaysTooMuchFailsTheNextQuery) {
  WorkerSlot slot(outline_, options("chatty"));
  const Query query = query_of(outline_);
  EXPECT_EQ(ask(slot, query).answer.states, query.state);

  // What comes behind it may be there too.
  expect_failure(ask(slot, query), "the worker sent 'step done", false);
  EXPECT_FALSE(test::is_running(pid()));

  EXPECT_EQ(ask(slot, query).answer.states, query.state);
}

// The second answer costs the worker its place, and nobody a query, whenever it comes.
TEST_F(Worker, ThatAnswersTwiceIsReplaced) {
  WorkerSlot slot(outline_, options("twice"));
  for (const double value : {1.0, 2.0, 3.0}) {
    Query query = query_of(outline_);
    query.state.assign(query.state.size(), value);

    const Outcome outcome = ask(slot, query);

    EXPECT_EQ(outcome.answer.states, query.state) << outcome.answer.reason;
    EXPECT_EQ(outcome.answer.attempts, 1);
  }
}

TEST_F(Worker, WithAWrongChecksumIsNotBelieved) {
  WorkerSlot slot(outline_, options("checksum"));
  const Query query = query_of(outline_);
  EXPECT_EQ(ask(slot, query).answer.states, query.state);

  expect_failure(ask(slot, query), "an answer whose checksum does not fit", false);
}

TEST_F(Worker, MayAnswerByteByByte) {
  WorkerSlot slot(outline_, options("drip"));
  for (std::uint64_t id : {1, 2, 3, 4}) {
    const Query query = query_of(outline_, id);

    EXPECT_EQ(ask(slot, query).answer.states, query.state);
  }
}

TEST_F(Worker, ThatPromisedSignsMustSendThem) {
  const Outcome outcome = outcome_of("hang");

  expect_failure(outcome, "no sign of the worker for 0.", true);
  expect_failure(outcome, "although it wanted to send one every 0.1 s", true);
}

TEST_F(Worker, MayTakeLongWhileItSendsSigns) {
  WorkerSlot slot(outline_, options("beat"));  // 1.3 s; 1 s of silence is allowed

  expect_answer(ask(slot, query_of(outline_)), outline_, query_of(outline_));
}

TEST_F(Worker, IsEndedWithTheReasonFirst) {
  for (const char* mode : {"hang", "never", "deaf"}) {
    WorkerSlotOptions patient = options(mode);
    patient.limits.silence = 60;
    patient.grace = 0.2;
    WorkerSlot slot(outline_, patient);
    const Query query = query_of(outline_);
    std::filesystem::remove(folder_.path("pid"));
    slot.begin(query, 2);
    ASSERT_TRUE(test::eventually([&] {
      test::look_once(slot, Slot::Clock::now());
      return pid() != 0 && (mode != std::string("hang") || !slot.getting_ready());
    }));

    slot.end("ended after 3 s, the time limit");
    const Outcome outcome = test::wait_for_outcome(slot);

    EXPECT_EQ(outcome.answer.status, Answer::Status::failed);
    EXPECT_TRUE(outcome.answer.reason.starts_with("ended after 3 s, the time limit"))
        << outcome.answer.reason;
    EXPECT_EQ(outcome.answer.attempts, 2);
    EXPECT_FALSE(outcome.lost);
    EXPECT_FALSE(test::is_running(pid()));
  }
}

TEST_F(Worker, IsGoneWithItsSlot) {
  {
    WorkerSlot slot(outline_, options("plain"));
    ask(slot, query_of(outline_));
    EXPECT_TRUE(test::is_running(pid()));
  }

  EXPECT_TRUE(test::eventually([&] { return !test::is_running(pid()); }));
}

TEST(Listener, IsForUsAlone) {
  const test::TemporaryFolder folder;
  std::string path;
  {
    const Listener listener(folder.path(), "");
    ASSERT_TRUE(listener.where().starts_with("unix:" + folder.path().string()));
    path = listener.where().substr(5);
    const std::filesystem::path token = listener.write_secret("x");
    struct stat of_folder {
    }, of_token{};
    ASSERT_EQ(stat(std::filesystem::path(path).parent_path().c_str(), &of_folder), 0);
    ASSERT_EQ(stat(token.c_str(), &of_token), 0);

    EXPECT_EQ(of_folder.st_mode & 07777, 0700U);
    EXPECT_EQ(of_token.st_mode & 07777, 0600U);
    EXPECT_EQ(listener.accept().number(), -1);
  }
  EXPECT_EQ(folder.entries(), 0U);
}

// Breaks if the folder has no lock: nobody would dare to remove it.
TEST(Listener, AKilledOneLeavesNothingForLong) {
  const test::TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const Listener listener(folder.path(), "");
    raise(SIGKILL);
  }
  test::wait_for(child);
  EXPECT_EQ(folder.entries(), 1U);

  { const Listener next(folder.path(), ""); }
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(Listener, ListensWhereItIsToldTo) {
  const test::TemporaryFolder folder;

  EXPECT_TRUE(Listener(folder.path(), "127.0.0.1").where().starts_with("tcp:127.0.0.1:"));
  EXPECT_THROW(Listener(folder.path(), "192.0.2.1"), Error);  // none of ours (RFC 5737)
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(Token, IsLongAndNeverTheSame) {
  const std::string token = make_token();

  EXPECT_EQ(token.size(), 64U);
  EXPECT_NE(token, make_token());
  EXPECT_TRUE(same_token(token, token));
  EXPECT_FALSE(same_token(token, token.substr(1)));
  for (std::size_t i : {0, 31, 63}) {
    std::string other = token;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_FALSE(same_token(token, other)) << i;
  }
}

// --- the languages -------------------------------------------------------------------------------

// What the examples called heat make of a sine: explicit steps damp it by a known factor.
void expect_heat(const std::vector<std::string>& argv) {
  constexpr std::size_t kPoints = 20, kSteps = 3, kSmall = 100;
  const test::TemporaryFolder folder;
  Outline outline;
  outline.name = "heat";
  outline.grid = make_grid(1, {kPoints}, {4.0});
  outline.channels = {"temperature"};
  outline.dt = 0.5;
  outline.parameters = {{"D", 0.3}};
  WorkerSlotOptions options;
  options.argv = argv;
  options.folder = folder.path();
  options.steps_at_once = kSteps;
  Query query;
  query.steps = kSteps;
  for (std::size_t i = 0; i < kPoints; ++i)
    query.state.push_back(std::sin(2 * std::numbers::pi * static_cast<double>(i) / kPoints));
  const double h = 4.0 / kPoints, r = 0.3 * (0.5 / kSmall) / (h * h);
  const double s = std::sin(std::numbers::pi / kPoints);
  const double factor = std::pow(1 - 4 * r * s * s, kSmall);
  for (const Connect connect : {Connect::pipe, Connect::socket}) {
    options.connect = connect;
    WorkerSlot slot(outline, options);

    const Outcome outcome = ask(slot, query);

    ASSERT_EQ(outcome.answer.status, Answer::Status::ok) << outcome.answer.reason;
    for (std::size_t step = 0; step < kSteps; ++step)
      for (std::size_t i = 0; i < kPoints; ++i)
        // Rounding of 300 small steps.
        EXPECT_NEAR(outcome.answer.states[step * kPoints + i],
                    query.state[i] * std::pow(factor, step + 1), 1e-13);
    // What cannot be done is a failure with its reason.
    outline.parameters[0].value = 30.0;
    WorkerSlot stiff(outline, options);
    EXPECT_TRUE(contains(ask(stiff, query).answer.reason, "the grid is too fine for 100 explicit"));
    outline.parameters[0].value = 0.3;
  }
}

// The path of a program, or empty.
std::string found(const std::string& program) {
  const test::Finished finished =
      test::run_process({"/usr/bin/env", "sh", "-c", "command -v " + program});
  return finished.exit_code == 0 ? finished.out.substr(0, finished.out.find('\n')) : "";
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string python_with_numpy() {
  for (const char* name : {"python3", "/usr/bin/python3"})
    if (test::run_process({"/usr/bin/env", name, "-c", "import numpy"}).exit_code == 0) return name;
  return "";
}

const std::string kInterfaces = STAP_TEST_SOURCE_DIR "/interfaces";
const std::string kPrograms = STAP_TEST_SOURCE_DIR "/tests/programs";

TEST(WorkerLanguages, C) {
  expect_heat({STAP_TEST_PROGRAMS "/heat"});
}

// One program of the folder's file, with the module.
void compile_fortran(const test::TemporaryFolder& folder, const std::string& source) {
  const auto compile = [&](const std::vector<std::string>& command) {
    const test::Finished finished = test::run_process(command);
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
  };
  compile({found("cc"), "-Wall", "-I" + kInterfaces + "/c", "-c",
           kInterfaces + "/fortran/stap_solver_f.c", "-o", folder.path("c.o")});
  compile({found("gfortran"), "-std=f2008", "-Wall", "-Wextra", "-J" + folder.path().string(),
           kInterfaces + "/fortran/stap_solver.f90", source, folder.path("c.o"), "-o",
           folder.path("worker")});
}

TEST(WorkerLanguages, Fortran) {
  if (found("gfortran").empty()) GTEST_SKIP() << "gfortran is not installed";
  const test::TemporaryFolder folder;

  compile_fortran(folder, kInterfaces + "/fortran/heat.f90");

  expect_heat({folder.path("worker")});
}

TEST(WorkerLanguages, Python) {
  const std::string python = python_with_numpy();
  if (python.empty()) GTEST_SKIP() << "python3 with NumPy is not installed";

  expect_heat({python, "-B", kInterfaces + "/python/heat.py"});
}

// What a program that knows the axes makes of a state of 2 x 3 x 4: the second channel gets
// 100 x + y, points counted from 0; the first the number of steps behind it.
void expect_axes(const std::vector<std::string>& argv, const std::string& words,
                 std::vector<std::string> env = {}) {
  const test::TemporaryFolder folder;
  const Outline outline = small_outline({3, 4}, 2);
  WorkerSlotOptions options;
  options.argv = argv;
  options.folder = folder.path();
  options.steps_at_once = 5;
  options.slot = 6;
  options.env = std::move(env);
  WorkerSlot slot(outline, options);
  Query query = query_of(outline, 1, 5);
  std::fill_n(query.state.begin(), 12, 0.0);

  const Outcome outcome = ask(slot, query);

  ASSERT_EQ(outcome.answer.status, Answer::Status::ok) << outcome.answer.reason;
  std::vector<double> expected;
  for (int step = 1; step <= 5; ++step) {
    expected.insert(expected.end(), 12, step);
    for (int x = 0; x < 3; ++x)
      for (int y = 0; y < 4; ++y) expected.push_back(100 * x + y);
  }
  EXPECT_EQ(outcome.answer.states, expected);
  EXPECT_TRUE(contains(test::content(folder.path("log.txt")), words));
  query.time = -1.0;
  query.steps = 1;
  const Outcome failed = ask(slot, query);
  EXPECT_EQ(failed.answer.status, Answer::Status::failed);
  EXPECT_TRUE(contains(failed.answer.reason, "too early"));
}

TEST(WorkerLanguages, FortranKnowsTheAxes) {
  if (found("gfortran").empty()) GTEST_SKIP() << "gfortran is not installed";
  const test::TemporaryFolder folder;

  compile_fortran(folder, kPrograms + "/axes.f90");

  expect_axes({folder.path("worker")}, "u0 u1 6 5 3.00 9.00");
}

TEST(WorkerLanguages, PythonKnowsTheAxes) {
  const std::string python = python_with_numpy();
  if (python.empty()) GTEST_SKIP() << "python3 with NumPy is not installed";

  expect_axes({python, "-B", kPrograms + "/axes.py"},
              "printed early\n(2, 3, 4)\nu0 u1 6 5 3.0 9 1.0 0\nu0 u1 6 5 3.0 9 1.5 1\n"
              "u0 u1 6 5 3.0 9 3.0 4\n",
              {"PYTHONPATH=" + kInterfaces + "/python:" + environment("PYTHONPATH")});
}

}  // namespace
}  // namespace stap
