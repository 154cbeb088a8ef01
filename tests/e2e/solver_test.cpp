// `stap solver check`, `solver symmetries`, `solver replay`, `init` and what `check` and `run` say
// before they spend, as a user runs them with programs of his own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "stap/couple/solver_table.h"
#include "stap/study/starter.h"
#include "support/process.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class SolverProgram : public ::testing::Test {
 protected:
  SolverProgram() {
    setenv("STAP_CACHE", folder_.path("cache").c_str(), 1);
    fs::create_directory(folder_.path("tmp"));
    setenv("TMPDIR", folder_.path("tmp").c_str(), 1);
  }
  ~SolverProgram() override {
    unsetenv("STAP_CACHE");
    unsetenv("TMPDIR");
  }

  /// An executable script.
  std::string script(const std::string& name, const std::string& lines) const {
    const std::string path = folder_.file(name, "#!/bin/sh\n" + lines);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  /// A study of 31 solver steps with this program.
  std::string study(const std::string& program) const {
    return folder_.file("study.yaml", R"(
pde: {name: external, label: mine, points: [16], dt: 0.25}
solver: {name: command, argv: [)" + program +
                                          R"(, "{input}", "{output}"], on_failure: skip}
initial: {name: sines}
network: {modes: [4], width: 4, lifting: 4, projection: 4, layers: 1}
train: {epochs: 2}
study: {steps: 5, pool: 30, test: 2, initial: 2, rounds: 1, budget: 11}
compute: {device: cpu}
method: random
)");
  }
  /// Its program leaves a line in the file `calls`, and fails.
  std::string failing_study() const {
    return study(
        script("fails", "echo call >> " + folder_.path("calls") + "\necho no licence >&2; exit 4"));
  }
  std::vector<std::string> entries(const std::string& path) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path(path)))
      names.push_back(entry.path().filename().string());
    return names;
  }
  /// A shell's line in the folder of a project that `stap init` made.
  Finished in_folder(const std::string& command) const {
    return run_process(
        {"/bin/sh", "-c", "PATH=/usr/bin:$PATH; cd '" + folder_.path("mine") + "' && " + command});
  }

  /// A project of `stap init` whose solver does what these lines say from its n-th call on.
  void starter_that_from_call(int n, const std::string& lines) const {
    const Finished made = run_stap(
        {"init", folder_.path("mine"), "--from", "command", "--language", "c", "--points", "32"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    ASSERT_EQ(in_folder("make && mv solver makes_steps").exit_code, 0);
    const std::string calls = folder_.path("calls");
    script("mine/solver", "echo call >> " + calls + "\nif [ $(wc -l < " + calls + ") -ge " +
                              std::to_string(n) + " ]; then " + lines + "; fi\nexec " +
                              folder_.path("mine/makes_steps") + " \"$@\"\n");
  }
  // Ctrl-C comes by the hand of the program that is called.
  Finished symmetries_interrupted_in_call(int n, const std::string& options = {}) const {
    const std::string pid = folder_.path("pid");
    starter_that_from_call(n, "kill -INT $(cat " + pid + "); exec tail -f /dev/null");
    return in_folder("echo $$ > " + pid + "; exec " + STAP_TEST_PROGRAM +
                     " solver symmetries study.yaml" + options);
  }

  TemporaryFolder folder_;
};

TEST_F(SolverProgram, CheckSaysHowManyCallsThenWhatItFound) {
  const std::string config =
      study(script("copy", "cp $1 $2\necho call >> " + folder_.path("calls")));

  const Finished result = run_stap({"solver", "check", config});

  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(contains(result.err, "12 calls"));
  EXPECT_TRUE(contains(result.out, "the answer is the input"));  // cp makes no step
  EXPECT_TRUE(contains(result.out, "8 calls were made"));
  EXPECT_TRUE(contains(result.out, "advice"));
  const std::string calls = content(folder_.path("calls"));
  EXPECT_EQ(std::ranges::count(calls, '\n'), 8);
  EXPECT_TRUE(entries("tmp").empty());
}

// A call that takes long enough to be ended under way; that is no failure. What a check before it
// has left, which was killed, goes as well.
TEST_F(SolverProgram, CheckEndsACallAndLeavesNothing) {
  for (const char* name : {"stap-check-1-abcdef", "stap-failures-1-abcdef"}) {
    fs::create_directories(folder_.path("tmp/" + std::string(name) + "/scratch"));
    folder_.file("tmp/" + std::string(name) + "/.lock", "");
  }
  const std::string config = study(script("slow", "cp $1 $2; exec sleep 0.21"));

  const Finished result = run_stap({"solver", "check", config, "--calls", "7"});

  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(contains(result.out, "SIGTERM            ok       ended after"));
  EXPECT_TRUE(entries("tmp").empty());
}

TEST_F(SolverProgram, CheckNoticesFilesLeftBehind) {
  const std::string config =
      study(script("untidy", "cp $1 $2\ntouch $TMPDIR/mine " + folder_.path("core.dump")));

  const Finished result = run_stap({"solver", "check", config, "--calls", "2"});

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "1 in TMPDIR: mine"));
  EXPECT_TRUE(contains(result.out, "core.dump"));
}

TEST_F(SolverProgram, CheckOfASolverThatFailsStopsSoonAndLeavesABundle) {
  const std::string config = failing_study();

  const Finished result = run_stap({"solver", "check", config});

  EXPECT_EQ(result.exit_code, 7);
  EXPECT_TRUE(contains(result.out, "FAILED"));
  EXPECT_TRUE(contains(result.out, "exit code 4: no licence"));
  EXPECT_TRUE(contains(result.err, "failed: runs"));
  EXPECT_EQ(content(folder_.path("calls")), "call\ncall\ncall\n");
  const std::string from = "(kept in ";
  const std::size_t begin = result.out.find(from) + from.size();
  const std::string bundle = result.out.substr(begin, result.out.find(')', begin) - begin);
  EXPECT_TRUE(fs::exists(bundle + "/input.npy")) << bundle;
  EXPECT_TRUE(contains(content(bundle + "/log.txt"), "no licence"));
  run_stap({"solver", "check", config});
  EXPECT_TRUE(fs::exists(bundle + "/input.npy")) << "a bundle is for people, who may come later";
}

TEST_F(SolverProgram, CheckAsJson) {
  const Finished result =
      run_stap({"solver", "check", study(script("copy", "cp $1 $2")), "--json"});

  const json check = json::parse(result.out);
  EXPECT_EQ(check.at("format"), "solver-check/1");
  EXPECT_EQ(check.at("failed"), false);
  EXPECT_EQ(check.at("calls"), 8);
  EXPECT_GT(check.at("seconds_a_step").get<double>(), 0.0);
  EXPECT_EQ(check.at("rows").at(0).at("name"), "runs");
}

TEST_F(SolverProgram, CheckIsForProgramsOnly) {
  const Finished result = run_stap({"solver", "check", "demo"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "built in"));
}

TEST_F(SolverProgram, AFailedQueryIsReplayedUntilItWorks) {
  const std::string config = study(script("solver", "echo broken; exit 1"));
  ASSERT_NE(run_stap({"run", config, "--out", folder_.path("r")}).exit_code, 0);
  const std::string bundle = folder_.path("r/failures/001");
  ASSERT_TRUE(fs::exists(bundle));

  const Finished again = run_stap({"solver", "replay", bundle});
  script("solver", "echo mended; cp $1 $2");
  const Finished mended = run_stap({"solver", "replay", bundle, "--keep"});
  const Finished other =
      run_stap({"solver", "replay", bundle, R"(solver.argv=[/bin/cp, "{input}", "{output}"])"});

  EXPECT_EQ(again.exit_code, 7);
  EXPECT_TRUE(contains(again.out, "exit code 1: broken"));
  EXPECT_TRUE(contains(again.err, "still fails"));
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_TRUE(contains(mended.out, "now:    ok"));
  EXPECT_TRUE(contains(mended.out, "mended"));
  EXPECT_TRUE(fs::exists(bundle + "/replay-1"));
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_FALSE(fs::exists(bundle + "/replay-2"));
  EXPECT_TRUE(entries("tmp").empty());
}

TEST_F(SolverProgram, ReplayOfNoBundleIsADataError) {
  EXPECT_EQ(run_stap({"solver", "replay", folder_.path("tmp")}).exit_code, 3);
}

TEST_F(SolverProgram, CheckAndRunSayFirstWhatWillBeSpent) {
  const std::string config = study(script("copy", "cp $1 $2"));

  const Finished unknown = run_stap({"check", config});
  const Finished as_json = run_stap({"check", config, "--json"});
  ASSERT_EQ(run_stap({"solver", "check", config}).exit_code, 0);
  const Finished known = run_stap({"check", config});
  const Finished run = run_stap({"run", config, "--out", folder_.path("r")});

  // 2 x 5 for the test set, 2 x 5 to begin with, 11 in the round.
  EXPECT_EQ(unknown.out.rfind("# solver mine: 31 steps to be made", 0), 0u) << unknown.out;
  EXPECT_TRUE(contains(unknown.out, "stap solver check CONFIG"));
  EXPECT_TRUE(contains(unknown.out, "s of training"));  // as it is measured
  EXPECT_EQ(json::parse(as_json.out).at("spending").at(0).at("steps"), 31);
  EXPECT_TRUE(contains(known.out, "s a step"));
  EXPECT_TRUE(contains(known.out, "solver check"));
  EXPECT_TRUE(contains(known.out, "s of training"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "solver mine: 31 steps to be made"));
  EXPECT_LT(run.err.find("31 steps to be made"), run.err.find("solver steps"));
  EXPECT_TRUE(contains(run.err, "s of training"));
  EXPECT_FALSE(contains(run.err, "for networks"));  // nobody knows yet
  const Finished more = run_stap({"run", config, "rounds=2", "--out", folder_.path("r")});
  EXPECT_TRUE(contains(more.err, "s for networks ("));
  EXPECT_FALSE(contains(more.err, "s of training"));
  // What check prints can be run.
  EXPECT_EQ(run_stap({"check", folder_.file("again.yaml", known.out)}).exit_code, 0);
}

// A folder above that of the program may be anybody's: /tmp, for one. Broken by: any other place
// that is looked into.
TEST_F(SolverProgram, TheHelperProcessIsOfTheProgramsOwnFolders) {
  const std::string config = study(script("copy", "cp $1 $2"));
  const fs::path helper = fs::path(STAP_TEST_PROGRAM).parent_path() / "stap-warden";
  for (const char* place : {"mine", "tree/bin", "tree/libexec/stap"})
    fs::create_directories(folder_.path(place));
  for (const char* place : {"mine/stap", "tree/bin/stap"})
    fs::copy_file(STAP_TEST_PROGRAM, folder_.path(place));
  const auto leave_word = [&](const char* place, const std::string& file) {
    script(place, "echo >> " + folder_.path(file) + "\nexec " + helper.string() + " \"$@\"");
  };
  leave_word("stap-warden", "foreign");
  leave_word("tree/stap-warden", "foreign");
  leave_word("tree/libexec/stap/stap-warden", "installed");

  for (const char* program : {"mine/stap", "tree/bin/stap"}) {
    const Finished run = run_process({folder_.path(program), "generate", config, "--out",
                                      folder_.path(std::string(program, 4) + "-data")});
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }

  EXPECT_FALSE(fs::exists(folder_.path("foreign")));
  EXPECT_TRUE(fs::exists(folder_.path("installed")));
}

TEST_F(SolverProgram, BuiltInEquationsSayNothingOfIt) {
  const Finished result = run_stap({"check", "demo"});

  EXPECT_EQ(result.out.find("to be made"), std::string::npos);
}

// --- init ----------------------------------------------------------------------------------------

struct Variant {
  std::string from, language;
};
// Or GoogleTest prints its bytes.
void PrintTo(const Variant& variant, std::ostream* out) {
  *out << variant.from << ' ' << variant.language;
}

class InitProgram : public SolverProgram, public ::testing::WithParamInterface<Variant> {};

// Why a variant cannot be tried on this machine; empty: it can.
std::string missing_for(const Variant& variant) {
  const auto works = [](const std::string& command) {
    return run_process({"/bin/sh", "-c", "PATH=/usr/bin:$PATH; " + command}).exit_code == 0;
  };
  if (variant.language == "fortran" && !works("gfortran --version"))
    return "gfortran is not installed";
  if (variant.language == "python" && !works("python3 -c 'import numpy'"))
    return "python3 with NumPy is not installed";
  return {};
}

TEST_P(InitProgram, BuildsPassesItsCheckAndRunsToItsTable) {
  const Variant& variant = GetParam();
  if (const std::string reason = missing_for(variant); !reason.empty()) GTEST_SKIP() << reason;
  const Finished made = run_stap({"init", folder_.path("mine"), "--from", variant.from,
                                  "--language", variant.language, "--points", "32"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string program = STAP_TEST_PROGRAM,
                    small =
                        " train.epochs=3 test=2 study.initial=2 rounds=1 budget=9 network.width=4";
  if (variant.language != "python") {
    const Finished built = in_folder("make");
    ASSERT_EQ(built.exit_code, 0) << built.out << built.err;
  }

  const Finished checked = in_folder(program + " solver check study.yaml");
  const Finished run = in_folder(program + " run study.yaml --out my-run" + small);
  const Finished table = in_folder(program + " table my-run");

  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  EXPECT_EQ(checked.out.find("warning"), std::string::npos) << checked.out;
  EXPECT_EQ(checked.out.find("FAILED"), std::string::npos) << checked.out;
  EXPECT_TRUE(contains(checked.out, "two half steps     ok"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(table.out, "sbal+stap"));
  EXPECT_TRUE(contains(table.out, "mine: 8 steps, 32 points"));
  EXPECT_TRUE(contains(content(folder_.path("mine/README.md")), "stap run study.yaml"));
}

INSTANTIATE_TEST_SUITE_P(Starters, InitProgram,
                         ::testing::Values(Variant{"command", "python"}, Variant{"command", "c"},
                                           Variant{"command", "fortran"},
                                           Variant{"worker", "python"}, Variant{"worker", "c"},
                                           Variant{"worker", "fortran"}),
                         [](const auto& variant) {
                           return variant.param.from + "_" + variant.param.language;
                         });

// u_t = D u_xx + u - u^3 has its sign and its mirror, and no way back. What is found is what the
// check then agrees to.
TEST_F(SolverProgram, SymmetriesOfTheStarterAreFoundAndPassTheCheck) {
  const Finished made = run_stap(
      {"init", folder_.path("mine"), "--from", "command", "--language", "c", "--points", "32"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  ASSERT_EQ(in_folder("make").exit_code, 0);
  const std::string program = STAP_TEST_PROGRAM;

  const Finished found = in_folder(program + " solver symmetries study.yaml");
  const Finished few = in_folder(program + " solver symmetries study.yaml --calls 4 --json");
  const Finished checked =
      in_folder(program + R"( solver check study.yaml 'train.symmetries=["u -> -u", "x -> -x"]')");

  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_TRUE(contains(found.err, "9 calls of the solver"));
  EXPECT_TRUE(contains(found.out, "u -> -u  ok "));
  EXPECT_TRUE(contains(found.out, "t -> -t  no      off by "));
  EXPECT_TRUE(contains(found.out, "7 calls were made"));
  EXPECT_TRUE(found.out.ends_with("\n  symmetries: [\"u -> -u\", \"x -> -x\"]\n")) << found.out;
  const json cut = json::parse(few.out);
  EXPECT_EQ(cut.at("format"), "solver-symmetries/1");
  EXPECT_EQ(cut.at("calls"), 4);
  EXPECT_EQ(cut.at("not_tried"), 6);
  EXPECT_EQ(cut.at("symmetries"), json::array({"u -> -u"}));
  EXPECT_EQ(checked.exit_code, 0) << checked.out;
  EXPECT_TRUE(contains(checked.out, "the solver has them: u -> -u"));
}

TEST_F(SolverProgram, SymmetriesOfASolverThatFailsAreNotSearched) {
  const std::string config = failing_study();

  const Finished result = run_stap({"solver", "symmetries", config});

  EXPECT_EQ(result.exit_code, 7);
  EXPECT_TRUE(contains(result.err, "initial condition 0 fails: exit code 4: no licence"));
  EXPECT_EQ(content(folder_.path("calls")), "call\ncall\ncall\n");
}

// The program makes one step, of the initial condition, and fails then.
TEST_F(SolverProgram, SymmetriesOfWhichNoneCanBeToldAreExitCode7) {
  starter_that_from_call(2, "echo no licence >&2; exit 4");

  const Finished result =
      in_folder(std::string(STAP_TEST_PROGRAM) + " solver symmetries study.yaml");

  EXPECT_EQ(result.exit_code, 7) << result.err;
  EXPECT_TRUE(contains(result.out, "failed  fails: exit code 4: no licence"));
  EXPECT_TRUE(
      result.out.ends_with("8 calls were made\n\nNothing could be told: every call failed.\n"))
      << result.out;
  EXPECT_TRUE(contains(result.err, "exit code 4: no licence"));
  EXPECT_TRUE(contains(result.err, "stap solver check study.yaml"));
}

// While the fifth call is under way: four tell that the sign holds, two steps and their images.
TEST_F(SolverProgram, SymmetriesFoundBeforeCtrlCAreSaid) {
  const Finished result = symmetries_interrupted_in_call(5);

  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(contains(result.out, "u -> -u  ok "));
  EXPECT_TRUE(contains(result.out, "more were not tried: interrupted"));
  EXPECT_TRUE(result.out.ends_with("\n  symmetries: [\"u -> -u\"]\n")) << result.out;
  EXPECT_TRUE(contains(result.err, "interrupted"));
}

// In the first call, before anything could be told.
TEST_F(SolverProgram, SymmetriesInterruptedAtOnceAreAResultAsWell) {
  const Finished result = symmetries_interrupted_in_call(1, " --json");

  EXPECT_EQ(result.exit_code, 130) << result.err;
  const json said = json::parse(result.out);
  EXPECT_EQ(said.at("interrupted"), true);
  EXPECT_EQ(said.at("symmetries"), json::array());
}

// Networks would learn what is not so: whoever states a symmetry hears once how to try it.
TEST_F(SolverProgram, ARunSaysThatItsSymmetriesWereNotTried) {
  starter_that_from_call(1'000'000, "exit 1");
  const std::string program = STAP_TEST_PROGRAM, stated = R"('train.symmetries=["x -> -x"]')";
  const std::string sizes = " study.yaml study.rounds=0 train.epochs=1 ";
  const std::string run = program + " run" + sizes + stated + " --quiet --no-report --out r";

  const Finished first = in_folder(run);
  const Finished axis = in_folder(program + " sweep" + sizes + "--grid " + stated +
                                  " --grid seed=0,1 --quiet --no-report --out s");
  const Finished none = in_folder(program + " run" + sizes + "--quiet --no-report --out n");
  const Finished checked = in_folder(program + " solver check study.yaml " + stated);
  const Finished again = in_folder(run);

  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(contains(first.err, R"(train.symmetries has "x -> -x", which was never tried)"));
  EXPECT_TRUE(
      contains(first.err, "stap solver check study.yaml study.rounds=0 train.epochs=1 " + stated));
  EXPECT_EQ(std::ranges::count(first.err, '\n'), 1) << first.err;
  ASSERT_EQ(axis.exit_code, 0) << axis.err;
  EXPECT_EQ(std::ranges::count(axis.err, '\n'), 1) << axis.err;
  EXPECT_TRUE(contains(axis.err, stated));
  EXPECT_EQ(none.err, "");
  ASSERT_EQ(checked.exit_code, 0) << checked.out;
  EXPECT_EQ(again.err, "");
}

// Of all runs at once, with a command that tries them on the very solver of these runs.
TEST_F(SolverProgram, ASweepSaysAllThatWasNotTriedAndHowItWent) {
  starter_that_from_call(1'000'000, "exit 1");
  const std::string program = STAP_TEST_PROGRAM;
  const std::string sweep =
      program +
      R"( sweep --grid extends=study.yaml --grid 'train.symmetries=["x -> -x"],["t -> -t"]')"
      " --grid pde.dt=0.25 study.rounds=0 train.epochs=1 --quiet --no-report --out s";

  const Finished first = in_folder(sweep);
  const std::string command =
      R"(solver check study.yaml study.rounds=0 train.epochs=1 pde.dt=0.25 )"
      R"('train.symmetries=["x -> -x","t -> -t"]')";
  const Finished checked = in_folder(program + " " + command);
  const Finished again = in_folder(sweep);

  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(std::ranges::count(first.err, '\n'), 1) << first.err;
  EXPECT_TRUE(contains(first.err, R"("x -> -x", "t -> -t", which was never tried)"));
  EXPECT_TRUE(contains(first.err, "stap " + command)) << first.err;
  EXPECT_EQ(checked.exit_code, 7) << checked.out;  // heat does not run backwards
  EXPECT_TRUE(contains(again.err, "did not have when last tried")) << again.err;
}

TEST_F(SolverProgram, InitRefusesAFolderThatHoldsSomething) {
  const Finished result =
      run_stap({"init", folder_.path(""), "--from", "command", "--language", "c"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "not an empty folder"));
  EXPECT_FALSE(fs::exists(folder_.path("study.yaml")));
}

TEST_F(SolverProgram, HelpHasExamples) {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"solver"},
                                                  {"solver", "check"},
                                                  {"solver", "symmetries"},
                                                  {"solver", "replay"},
                                                  {"init"}}) {
    std::vector<std::string> words = command;
    words.push_back("--help");
    const Finished result = run_stap(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(contains(result.out, "Example:\n  stap " + command[0]));
    EXPECT_TRUE(contains(result.out, "--threads"));
  }
  EXPECT_TRUE(contains(run_stap({"solver", "chek"}).err, "did you mean 'check'?"));
}

}  // namespace
}  // namespace stap::test
