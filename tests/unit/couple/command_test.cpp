// Programs that are started for every query: what they are told, what is taken for an answer, what
// is left of them.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "couple/command_slot.h"
#include "couple/placeholders.h"
#include "couple/scratch.h"
#include "stap/core/error.h"
#include "stap/core/solver_queue.h"
#include "stap/data/array_file.h"
#include "stap/data/npy.h"
#include "support/contains.h"
#include "support/environment.h"
#include "support/processes.h"
#include "support/refusals.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using Clock = SolverQueue::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Command : public ::testing::Test {
 protected:
  Command() {
    outline_ = {.name = "toy",
                .grid = {.channels = 2, .points = {3}, .lengths = {1.0}},
                .channels = {"u", "v"},
                .dt = 0.25,
                .guard_min = {},
                .guard_max = {},
                .parameters = {{"F", 0.1}, {"k", 3.0}}};
    options_.argv.words = {"cp", "{input}", "{output}"};
    options_.scratch = folder_.path("scratch");
    options_.env = {mark_};
    options_.grace = 0.2;
    options_.retries = 0;
    context_.failures = folder_.path("failures");
  }
  ~Command() override { EXPECT_TRUE(processes_with(mark_).empty()); }

  /// The program gets {input} and {output} as $1 and $2, and what else is given.
  void shell(const std::string& line, std::vector<std::string> more = {}) {
    options_.argv.words = {"sh", "-c", line, "sh", "{input}", "{output}"};
    options_.argv.words.insert(options_.argv.words.end(), more.begin(), more.end());
  }
  std::unique_ptr<Solver> solver() const {
    return make_command_solver(options_, outline_, context_);
  }
  static Query query(std::size_t steps = 1) {
    return {.id = 0,
            .state = {1.0, -0.0, 1.0 / 3.0, 5e-324, 1e300, -2.5},
            .time = 1.0 / 3.0,
            .steps = steps};
  }
  Answer ask(const Query& what = query()) const {
    Answer answer;
    solver()->solve({&what, 1}, {&answer, 1});
    return answer;
  }
  std::string reason(const Query& what = query()) const {
    const Answer answer = ask(what);
    EXPECT_EQ(answer.status, Answer::Status::failed);
    return answer.reason;
  }
  /// A file with an array that the program is to give as its answer.
  std::string array_file(const std::vector<std::size_t>& shape, std::vector<double> values = {}) {
    std::size_t count = 1;
    for (std::size_t size : shape) count *= size;
    if (values.empty())
      for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
    const std::string path = folder_.path("array.npy");
    write_npy(path, shape, values, false);
    return path;
  }
  void answers(const std::string& file) { shell("cp " + file + " \"$2\"", {"{steps}"}); }
  std::size_t bundles() const {
    std::error_code error;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(context_.failures, error), fs::directory_iterator()));
  }
  std::size_t scratch_entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(options_.scratch), fs::directory_iterator()));
  }

  TemporaryFolder folder_;
  std::string mark_ = unique_mark();
  Outline outline_;
  CommandOptions options_;
  CoupleContext context_;
};

// --- what a program is told ------------------------------------------------------------------

TEST_F(Command, PlaceholdersStandForTheirValues) {
  shell("shift 2; echo \"$@\" > " + folder_.path("words") + "; cp \"$0\" /dev/null",
        {"{time}", "{dt}", "{steps}", "{F}", "{k}", "a{F}b{k}", "{{F}", "$HOME;true"});
  options_.steps_at_once = 4;

  ask(query(3));

  EXPECT_EQ(content(folder_.path("words")),
            "0.3333333333333333 0.25 3 0.1 3 a0.1b3 {F} $HOME;true\n");
}

TEST_F(Command, ParametersThatVaryAreTheQuerysOwn) {
  outline_.parameters[0] = {.name = "F", .varies = true};
  shell("shift 2; echo \"$@\" >> " + folder_.path("words") + "; cp \"$0\" /dev/null",
        {"{F}", "{k}"});
  for (const double value : {0.25, -1e-3}) {
    Query own = query();
    own.params = {value};
    ask(own);
  }

  EXPECT_EQ(content(folder_.path("words")), "0.25 3\n-0.001 3\n");
  const nlohmann::json bundle =
      nlohmann::json::parse(content(folder_.path("failures/002/bundle.json")));
  EXPECT_EQ(bundle.at("format"), "bundle/2");
  EXPECT_EQ(bundle.at("parameters"), nlohmann::json({-1e-3}));
}

TEST_F(Command, AProgramThatIsNotToldAParameterIsRefused) {
  outline_.parameters[0] = {.name = "F", .varies = true};

  expect_error(ErrorKind::config, "the parameter F varies, but argv does not tell it",
               [&] { solver(); });
  options_.format = CommandOptions::Format::hdf5;
  EXPECT_NO_THROW(solver());
}

TEST_F(Command, AnUnknownPlaceholderIsAConfigurationError) {
  options_.argv.words = {"cp", "{inptu}", "{output}"};

  const std::string text = error_text(ErrorKind::config, [&] { solver(); });

  EXPECT_TRUE(contains(text, "{inptu}"));
  EXPECT_TRUE(contains(text, "did you mean 'input'"));
}

TEST_F(Command, OptionsThatCannotWorkAreConfigurationErrors) {
  const auto refused = [&](auto change) {
    const CommandOptions kept = options_;
    change();
    error_text(ErrorKind::config, [&] { solver(); });
    options_ = kept;
  };
  refused([&] { options_.argv.words = {}; });
  refused([&] { options_.argv.words = {folder_.path("nothing")}; });
  refused([&] { options_.argv.words = {folder_.file("plain", "text")}; });
  refused([&] { options_.argv.words = {"no-such-program-in-any-folder"}; });
  refused([&] { options_.env = {"NAME"}; });
  refused([&] { options_.env = {"=value"}; });
  refused([&] { options_.files_from = folder_.path("nothing"); });
  refused([&] { options_.files_from = options_.scratch.parent_path(); });
  refused([&] { options_.files_from = options_.scratch / "."; });
  refused([&] { options_.argv.words.push_back(std::string("a\0b", 3)); });
  refused([&] { options_.env = {std::string("A=\0", 3)}; });
  refused([&] { options_.steps_at_once = 2; });  // nothing tells the program
}

TEST_F(Command, BothFormatsCarryEveryBit) {
  for (const auto format : {CommandOptions::Format::npy, CommandOptions::Format::hdf5}) {
    options_.format = format;

    const Answer answer = ask();

    EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
    const std::vector<double> state = query().state;
    ASSERT_EQ(answer.states.size(), state.size());
    EXPECT_EQ(std::memcmp(answer.states.data(), state.data(), state.size() * sizeof(double)), 0);
    EXPECT_EQ(answer.attempts, 1);
    EXPECT_GT(answer.seconds, 0.0);
  }
}

TEST_F(Command, AnHdf5InputSaysWhatIsAsked) {
  options_.format = CommandOptions::Format::hdf5;
  options_.steps_at_once = 9;
  const std::string copy = folder_.path("copy.h5");
  shell("cp \"$1\" " + copy, {"{steps}"});

  ask(query(2));

  const hid_t file = H5Fopen(copy.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const auto number = [&](const char* name) {
    double value = -1;
    const hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    H5Aread(attribute, H5T_NATIVE_DOUBLE, &value);
    H5Aclose(attribute);
    return value;
  };
  EXPECT_EQ(number("time"), 1.0 / 3.0);
  EXPECT_EQ(number("steps"), 2.0);
  EXPECT_EQ(number("F"), 0.1);
  EXPECT_EQ(number("k"), 3.0);
  H5Fclose(file);
  EXPECT_EQ(read_array(copy, "state").shape, (std::vector<std::size_t>{2, 3}));
}

TEST_F(Command, EnvironmentIsOursAndWhatIsAdded) {
  const ScopedVariable ours("STAP_TEST_OURS", "one");
  const ScopedVariable both("STAP_TEST_BOTH", "two");
  options_.env.insert(options_.env.end(), {"STAP_TEST_BOTH=three", "STAP_TEST_ADDED=a b=c"});
  shell("echo \"$STAP_TEST_OURS,$STAP_TEST_BOTH,$STAP_TEST_ADDED\" > " + folder_.path("words"));

  ask();

  EXPECT_EQ(content(folder_.path("words")), "one,three,a b=c\n");
}

TEST_F(Command, EveryQueryHasAPrivateFolderToWorkIn) {
  shell("stat -c '%a %n' \"$PWD\" >> " + folder_.path("words") +
        "; test \"$1\" -ef input.npy && cp input.npy output.npy");
  const std::vector<Query> queries(3, query());
  std::vector<Answer> answers(3);

  solver()->solve(queries, answers);

  for (const Answer& answer : answers)
    EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
  std::istringstream lines(content(folder_.path("words")));
  std::set<std::string> folders;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("700 ")) << line;
    folders.insert(line);
  }
  EXPECT_EQ(folders.size(), 3u);
}

TEST_F(Command, TheScratchFolderIsPrivateToo) {
  shell("stat -c %a .. > " + folder_.path("words"));

  ask();

  EXPECT_EQ(content(folder_.path("words")), "700\n");
}

TEST_F(Command, ATemplateIsCopiedIntoEveryFolder) {
  fs::create_directories(folder_.path("template/below"));
  std::ofstream(folder_.path("template/below/data.txt")) << "data\n";
  std::ofstream(folder_.path("template/tool")) << "#!/bin/sh\ncp \"$1\" \"$2\"\n";
  chmod(folder_.path("template/tool").c_str(), 0700);
  options_.files_from = folder_.path("template");
  shell("cat below/data.txt > " + folder_.path("words") +
        "; echo changed > below/data.txt; ./tool \"$1\" \"$2\"");

  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask().status, Answer::Status::ok);

  EXPECT_EQ(content(folder_.path("words")), "data\n")
      << "the second saw what the first has changed";
  EXPECT_EQ(content(folder_.path("template/below/data.txt")), "data\n");
}

// Somebody may have tried the program in there by hand.
TEST_F(Command, AnOldOutputInTheTemplateIsNoAnswer) {
  fs::create_directories(folder_.path("template"));
  fs::copy(array_file({2, 3}), folder_.path("template/output.npy"));
  options_.files_from = folder_.path("template");
  shell("true");

  EXPECT_TRUE(contains(reason(), "there is no output.npy"));
}

// --- what is taken for an answer -------------------------------------------------------------

TEST_F(Command, OneStepMayHaveAnAxisForIt) {
  for (const std::vector<std::size_t>& shape : {std::vector<std::size_t>{2, 3}, {1, 2, 3}}) {
    answers(array_file(shape));
    EXPECT_EQ(ask().states, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  }
}

TEST_F(Command, SeveralStepsAreSeveralStates) {
  options_.steps_at_once = 2;
  answers(array_file({2, 2, 3}));

  const Answer answer = ask(query(2));

  EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
  ASSERT_EQ(answer.states.size(), 12u);
  EXPECT_EQ(answer.states[11], 11.0);
}

TEST_F(Command, AnyOtherShapeIsAFailure) {
  using Shape = std::vector<std::size_t>;
  for (const Shape& shape : {Shape{3, 2}, Shape{6}, Shape{2, 3, 1}, Shape{2, 2, 3}, Shape{2, 2},
                             Shape{}, Shape{2, 0}, Shape{1, 1, 2, 3}}) {
    answers(array_file(shape));
    EXPECT_TRUE(contains(reason(), "exit code 0, but")) << shape.size();
  }
  options_.steps_at_once = 2;
  for (const Shape& shape : {Shape{2, 3}, Shape{1, 2, 3}, Shape{3, 2, 3}, Shape{4, 3}}) {
    answers(array_file(shape));
    EXPECT_TRUE(contains(reason(query(2)), "exit code 0, but"));
  }
}

TEST_F(Command, NotANumberIsAFailureThatLeavesABundle) {
  answers(array_file({2, 3}, {0, 1, 2, std::nan(""), 4, 5}));

  const std::string why = reason();

  EXPECT_TRUE(contains(why, "in output.npy value 3 of step 1 is nan"));
  EXPECT_TRUE(fs::exists(context_.failures / "001/output.npy"));
}

TEST_F(Command, StatesBeforeAFlawAreKept) {
  std::vector<double> values(18, 1.0);
  values[8] = std::numeric_limits<double>::infinity();  // in the second of three states
  options_.steps_at_once = 3;
  answers(array_file({3, 2, 3}, values));

  const Answer answer = ask(query(3));

  EXPECT_EQ(answer.status, Answer::Status::failed);
  EXPECT_EQ(answer.states, std::vector<double>(6, 1.0));
  EXPECT_TRUE(contains(answer.reason, "in output.npy value 2 of step 2 is inf"));
}

TEST_F(Command, WhatIsNoArrayIsAFailure) {
  for (const char* line :
       {"true", "echo garbage > \"$2\"", "touch \"$2\"", "cp \"$1\" \"$2.tmp\"", "mkfifo \"$2\"",
        "mkdir \"$2\"", "ln -s /dev/zero \"$2\"", "ln -s output.npy \"$2\"",
        "head -c 130 \"$1\" > \"$2\"", "cat \"$1\" \"$1\" > \"$2\""})
    for (const auto format : {CommandOptions::Format::npy, CommandOptions::Format::hdf5}) {
      options_.format = format;
      shell(line);
      if (std::strstr(line, "cat ") != nullptr && format == CommandOptions::Format::hdf5) continue;
      EXPECT_TRUE(contains(reason(), "exit code 0, but")) << line;
    }
}

// Without reading that much.
TEST_F(Command, AnHdf5FileThatClaimsTooMuchIsAFailure) {
  const std::string path = folder_.path("huge.h5");
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t sizes[2] = {hsize_t{1} << 30, hsize_t{1} << 20}, chunk[2] = {1, 1 << 10};
  const hid_t space = H5Screate_simple(2, sizes, nullptr), how = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(how, 2, chunk);
  H5Dclose(H5Dcreate(file, "state", H5T_IEEE_F64LE, space, H5P_DEFAULT, how, H5P_DEFAULT));
  H5Pclose(how);
  H5Sclose(space);
  H5Fclose(file);
  options_.format = CommandOptions::Format::hdf5;
  answers(path);

  EXPECT_TRUE(contains(reason(), "exit code 0, but"));
}

// --- failures --------------------------------------------------------------------------------

TEST_F(Command, AFailureSaysHowItEndedAndWhatItSaidLast) {
  shell("echo first; echo \"det = 0: $(printf '\\033')[1mstop\" >&2; echo; exit 3");
  EXPECT_TRUE(contains(reason(), "exit code 3: det = 0: ?[1mstop"));

  shell("kill -SEGV $$");
  EXPECT_TRUE(contains(reason(), "signal 11 (Segmentation fault)"));
}

// Whoever opens a pipe that nobody writes to waits for ever.
TEST_F(Command, ALogThatIsAPipeIsNotWaitedFor) {
  shell("rm log.txt; mkfifo log.txt; exit 1");

  EXPECT_TRUE(contains(reason(), "exit code 1"));
  EXPECT_FALSE(fs::exists(context_.failures / "001/log.txt"));
}

TEST_F(Command, CrashesAreTriedAgainWrongAnswersAreNot) {
  options_.on_failure = SolverOptions::OnFailure::retry;
  options_.retries = 2;
  shell("exit 1");
  EXPECT_EQ(ask().attempts, 3);
  EXPECT_EQ(bundles(), 3u);

  shell("true");
  EXPECT_EQ(ask().attempts, 1);

  options_.on_failure = SolverOptions::OnFailure::skip;
  shell("exit 1");
  EXPECT_EQ(ask().attempts, 1);
}

TEST_F(Command, ASecondTryHasAnEmptyFolder) {
  options_.retries = 1;
  const std::string tried = folder_.path("tried");
  shell("test -e mine && exit 7; touch mine; test -e " + tried + " || {{ touch " + tried +
        "; exit 1; }; cp \"$1\" \"$2\"");

  const Answer answer = ask();

  EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
  EXPECT_EQ(answer.attempts, 2);
}

TEST_F(Command, TooManyFilesAreAFailure) {
  options_.limits.files = 50;
  shell("mkdir below; for i in $(seq 50); do touch below/$i; done; cp \"$1\" \"$2\"");
  EXPECT_TRUE(contains(reason(), "more than 50 files (limits.files)"));

  shell("mkdir below; for i in $(seq 40); do touch below/$i; done; cp \"$1\" \"$2\"");
  EXPECT_EQ(ask().status, Answer::Status::ok);
}

TEST_F(Command, TooMuchOutputIsAFailureThatIsNotTriedAgain) {
  options_.limits.output = 100000;
  options_.retries = 3;
  for (const char* line : {"exec cat /dev/zero", "exec cat /dev/zero > file"}) {
    shell(line);

    const Answer answer = ask();

    EXPECT_TRUE(contains(answer.reason, "more than 100000 bytes (limits.output)"));
    EXPECT_EQ(answer.attempts, 1);
  }
}

TEST_F(Command, ATimeLimitEndsItAndAllThatItStarted) {
  options_.limits.seconds = 0.3;
  shell("sleep 60 & setsid sleep 60 & wait");

  const std::string why = reason();

  EXPECT_TRUE(contains(why, "ended after 0.3"));
  EXPECT_TRUE(fs::exists(context_.failures / "001/input.npy"));
  EXPECT_TRUE(processes_with(mark_).empty());
}

// What must not be computed never becomes a process.
TEST_F(Command, TheGuardRefusesBeforeAnythingIsStarted) {
  outline_.guard_min = {-1.0, -1e9};
  outline_.guard_max = {1.0, 1e9};
  shell("touch " + folder_.path("started"));

  EXPECT_EQ(ask().status, Answer::Status::refused);  // 1e300
  EXPECT_FALSE(fs::exists(folder_.path("started")));
}

// No descriptors left: that says nothing about the query, so it is not one of its tries.
TEST_F(Command, WithoutDescriptorsItWaitsForSome) {
  if (test::sanitized())
    GTEST_SKIP() << "UBSan itself opens descriptors to look at an object's type, and takes their "
                    "lack for a wrong one";
  const auto s = solver();
  const auto queue = s->open();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int free = dup(0);
  close(free);
  const rlimit few{static_cast<rlim_t>(free) + 3, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  queue->submit(query());
  setrlimit(RLIMIT_NOFILE, &limit);

  const auto reply = queue->next(Clock::now() + seconds(5));

  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->answer.status, Answer::Status::ok) << reply->answer.reason;
  EXPECT_EQ(reply->answer.attempts, 1);
}

TEST_F(Command, ManySlotsAreNotKeptFromDescriptorsThatTheyMayHave) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit few{64, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  options_.slots = 70;
  shell("sleep 0.5; cp \"$1\" \"$2\"");
  const std::vector<Query> queries(70, query());
  std::vector<Answer> answers(70);

  solver()->solve(queries, answers);
  setrlimit(RLIMIT_NOFILE, &limit);

  for (const Answer& answer : answers)
    EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
}

// --- bundles ---------------------------------------------------------------------------------

TEST_F(Command, ABundleHoldsWhatIsNeededToRunItAgain) {
  context_.recipe.set("pde", config::parse_yaml("{name: external, dt: 0.25}", "test"));
  context_.recipe.set("solver", config::parse_yaml("{name: command}", "test"));
  shell("echo words; mkdir below; echo data > below/file; exit 9");

  const std::string why = reason();

  const fs::path bundle = context_.failures / "001";
  EXPECT_TRUE(contains(why, "(kept in " + bundle.string() + ")"));
  EXPECT_EQ(content(bundle / "log.txt"), "words\n");
  EXPECT_EQ(content(bundle / "below/file"), "data\n");
  const Array<double> input = read_npy(bundle / "input.npy", 6);
  EXPECT_EQ(input.shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(input.values, query().state);
  const auto about = nlohmann::json::parse(content(bundle / "bundle.json"));
  EXPECT_EQ(about.at("format"), "bundle/1");
  EXPECT_TRUE(contains(about.at("reason").get<std::string>(), "exit code 9"));
  EXPECT_EQ(about.at("attempt"), 1);
  EXPECT_EQ(about.at("steps"), 1);
  EXPECT_EQ(about.at("time"), 1.0 / 3.0);
  EXPECT_EQ(about.at("pde").at("dt"), 0.25);
  EXPECT_EQ(about.at("solver").at("name"), "command");
}

TEST_F(Command, NoMoreBundlesThanAreWanted) {
  options_.failures_kept = 3;
  options_.slots = 2;
  shell("exit 1");
  const std::vector<Query> queries(5, query());
  std::vector<Answer> answers(5);

  solver()->solve(queries, answers);

  EXPECT_EQ(bundles(), 3u);
  EXPECT_EQ(scratch_entries(), 0u);
  options_.failures_kept = 0;
  context_.failures = folder_.path("others");
  ask();
  EXPECT_EQ(bundles(), 0u);
}

TEST_F(Command, WhereNoBundlesAreKeptNoneAre) {
  context_.failures.clear();
  shell("exit 1");

  EXPECT_EQ(reason(), "exit code 1");
}

// A folder that cannot be made must not make it worse.
TEST_F(Command, ABundleThatCannotBeKeptIsNoError) {
  context_.failures = folder_.path("file/below");
  folder_.file("file", "in the way");
  shell("exit 1");

  EXPECT_EQ(reason(), "exit code 1");
}

TEST_F(Command, AProgramThatRemovedItsFolderLeavesABundleAllTheSame) {
  shell("rm -rf \"$PWD\"");

  EXPECT_TRUE(contains(reason(), "there is no output.npy"));
  EXPECT_EQ(read_npy(context_.failures / "001/input.npy", 6).values, query().state);
}

// Twenty failures of an endless program would fill a disk.
TEST_F(Command, ABundleIsNotHuge) {
  shell(
      "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; truncate -s 100000000 big; "
      "mkfifo pipe; exit 1");

  reason();

  const fs::path bundle = context_.failures / "001";
  EXPECT_LT(fs::file_size(bundle / "log.txt"), 1100000u);
  EXPECT_TRUE(content(bundle / "log.txt").ends_with("x\nlast\n"));
  EXPECT_FALSE(fs::exists(bundle / "big"));
  const auto about = nlohmann::json::parse(content(bundle / "bundle.json"));
  std::set<std::string> left_out = about.at("left_out");
  EXPECT_EQ(left_out, (std::set<std::string>{"big", "pipe"}));
}

// Scratch is often in memory, the run is not.
TEST_F(Command, ABundleMayGoToAnotherFileSystem) {
  struct stat here {
  }, there{};
  if (stat("/dev/shm", &there) != 0 || access("/dev/shm", W_OK) != 0 ||
      stat(folder_.path().c_str(), &here) != 0 || here.st_dev == there.st_dev)
    GTEST_SKIP() << "there is no second file system";
  options_.scratch = "/dev/shm/stap-test-" + std::to_string(getpid());
  shell("ln -s nowhere link; mkdir below; echo data > below/file; exit 1");

  reason();

  EXPECT_EQ(content(context_.failures / "001/below/file"), "data\n");
  EXPECT_TRUE(fs::is_symlink(context_.failures / "001/link"));
  EXPECT_EQ(bundles(), 1u);
  EXPECT_EQ(scratch_entries(), 0u);
  fs::remove_all(options_.scratch);
}

// What nobody waits for any more has not failed.
TEST_F(Command, WhatIsNotWantedLeavesNoBundle) {
  shell("sleep 60");
  {
    const auto s = solver();
    const auto queue = s->open();
    queue->submit(query());
    EXPECT_FALSE(queue->next(Clock::now() + milliseconds(50)));
    EXPECT_TRUE(queue->give_back(query().id));
    EXPECT_EQ(queue->open(), 0u);
  }
  EXPECT_EQ(bundles(), 0u);
  EXPECT_TRUE(processes_with(mark_).empty());
  EXPECT_EQ(scratch_entries(), 0u);
}

// --- scratch ---------------------------------------------------------------------------------

TEST_F(Command, NothingIsLeftInScratch) {
  options_.slots = 3;
  shell(
      "mkdir -p a/b; touch a/b/c; chmod 0 a/b; chmod 0 a; case $(od -An -N1 -tu1 /dev/urandom) in "
      "*[02468]) exit 1;; esac; cp \"$1\" \"$2\"");
  const std::vector<Query> queries(12, query());
  std::vector<Answer> answers(12);
  const auto s = solver();
  {
    const auto queue = s->open();
    EXPECT_EQ(scratch_entries(), 1u);
  }
  EXPECT_EQ(scratch_entries(), 0u);

  s->solve(queries, answers);

  EXPECT_EQ(scratch_entries(), 0u);
}

TEST_F(Command, WhatWeCannotWriteIsNoFailureOfTheProgram) {
  const auto full = [&](const std::string& part) {
    expect_error(ErrorKind::storage, part, [&] { ask(); });
    EXPECT_EQ(bundles(), 0u);
  };
  {
    const auto s = solver();
    const auto queue = s->open();
    fs::remove_all(options_.scratch);
    queue->submit(query());
    expect_error(ErrorKind::storage, "solver.scratch names another place",
                 [&] { queue->next(Clock::now() + seconds(2)); });
  }
  options_.files_from = folder_.path("template");
  fs::create_directories(folder_.path("template/input.npy"));  // in the way of the input
  full("input.npy");
  fs::create_directories(folder_.path("template"));
  fs::remove_all(folder_.path("template/input.npy"));
  fs::create_directories(folder_.path("template/log.txt"));
  full("log.txt");
}

TEST(Scratch, RemovesWhatDeadProcessesHaveLeft) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const Scratch scratch(folder.path());
    std::ofstream(scratch.make("1-1") / "file") << "data";
    kill(getpid(), SIGKILL);
  }
  test::wait_for(child);
  ASSERT_EQ(folder.entries(), 1u);

  const Scratch scratch(folder.path());

  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_TRUE(fs::exists(scratch.path()));
}

// Also where its number means nothing here: in another container, on another machine.
TEST(Scratch, LeavesAloneWhatIsInUseAndWhatIsNotOurs) {
  const TemporaryFolder folder;
  const Scratch first(folder.path());
  const fs::path elsewhere = folder.path("stap-scratch-4194999-abcdef");  // of no process here
  fs::rename(first.path(), elsewhere);
  fs::create_directory(folder.path("stap-scratch"));
  fs::create_directory(folder.path("other-folder"));
  fs::create_directory(folder.path("precious"));
  std::ofstream(folder.path("precious/file")) << "data";
  fs::create_directory_symlink(folder.path("precious"), folder.path("stap-scratch-1-link"));
  folder.file("stap-scratch-2-file", "data");

  const Scratch second(folder.path());

  EXPECT_TRUE(fs::exists(elsewhere));
  EXPECT_TRUE(fs::exists(folder.path("precious/file")));
  EXPECT_EQ(folder.entries(), 7u);
  fs::rename(elsewhere, first.path());
}

// A process may be killed, or another one come by, before the lock is there.
TEST(Scratch, OneThatWasNotLockedYetGoesIfItIsEmpty) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("stap-scratch-77-abcdef"));
  fs::create_directory(folder.path("stap-scratch-78-abcdef"));
  folder.file("stap-scratch-78-abcdef/file", "whose?");

  const Scratch scratch(folder.path());

  EXPECT_FALSE(fs::exists(folder.path("stap-scratch-77-abcdef")));
  EXPECT_TRUE(fs::exists(folder.path("stap-scratch-78-abcdef/file")));
}

TEST(Scratch, ManyProcessesAtOnceLeaveEachOtherAlone) {
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int turn = 0; turn < 40; ++turn) {
        const Scratch scratch(folder.path());
        const fs::path mine = scratch.make("mine");
        std::ofstream(mine / "file") << turn;
        if (content(mine / "file") != std::to_string(turn)) _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    const int status = test::wait_for(child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(Scratch, APlaceThatCannotBeMadeIsAStorageError) {
  const TemporaryFolder folder;
  folder.file("file", "in the way");

  EXPECT_EQ(error_kind([&] { Scratch(folder.path("file/below")); }), ErrorKind::storage);
}

// As a user without special rights, whom a folder of mode 0 keeps out.
TEST(Scratch, RemovesFoldersThatAProgramHasLocked) {
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 0777);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(9);
    {
      const Scratch scratch(folder.path());
      const fs::path inner = scratch.make("1-1") / "inner";
      fs::create_directories(inner / "below");
      std::ofstream(inner / "below/file") << "data";
      for (const fs::path& each : {inner / "below", inner, inner.parent_path()})
        chmod(each.c_str(), 0);
      chmod(scratch.path().c_str(), 0);
    }
    _exit(fs::directory_iterator(folder.path()) == fs::directory_iterator() ? 0 : 1);
  }
  const int status = test::wait_for(child);

  EXPECT_EQ(status, 0);
}

TEST(LastWords, AreTheLastLineThatSaysSomething) {
  const TemporaryFolder folder;
  const auto words = [&](const std::string& text) { return last_words(folder.file("log", text)); };

  EXPECT_EQ(words("one\ntwo\n\n  \n"), "two");
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words("\n\n"), "");
  EXPECT_EQ(words("it is lost\n---------\n"), "it is lost");
  EXPECT_EQ(words("a\tb\x01\xff"), "a?b??");
  EXPECT_EQ(words(std::string(300, 'x')), "..." + std::string(200, 'x'));
  // Open MPI says first what matters, and much behind it.
  const std::string srun = "The application appears to have been direct launched using \"srun\"";
  EXPECT_EQ(words(srun + ",\nPlease configure as appropriate and try again.\nLocal abort\n"),
            srun +
                ": srun must be told which PMI this MPI takes, for example env: "
                "[SLURM_MPI_TYPE=pmix] (srun --mpi=list)");
  const std::string root = "mpirun has detected an attempt to run as root.";
  EXPECT_EQ(words(root + "\n\nproceed at your own risk.\n"), root);
  EXPECT_EQ(last_words(folder.path("nothing")), "");
  EXPECT_EQ(last_words(folder.path()), "");
}

}  // namespace
}  // namespace stap::test
