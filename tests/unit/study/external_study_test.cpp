// Studies whose solver is a program of the user's own.
#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/market/problem.h"
#include "stap/study/data_request.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/contains.h"
#include "support/environment.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::contains;
using test::TemporaryFolder;

constexpr const char* kStudy = R"(
pde: {name: external, label: mine, channels: [u], points: [16], dt: 0.5, parameters: [nu=2]}
solver: {name: command, argv: [./solver, "{input}", "{output}", "{nu}"]}
initial: {name: sines}
network: {modes: [4], width: 8, layers: 1}
study: {steps: 3, pool: 20, test: 2, initial: 2, rounds: 1, budget: 4}
method: random
)";

// A study of its own folder, with an empty program that can be started.
class ExternalStudy : public ::testing::Test {
 protected:
  ExternalStudy() {
    namespace fs = std::filesystem;
    fs::permissions(folder.file("solver", "#!/bin/sh\n"), fs::perms::owner_all);
  }

  config::Value document(const std::vector<std::string>& settings = {}) const {
    config::Value value = load_config(folder.file("study.yaml", kStudy));
    for (const std::string& setting : settings) apply_setting(value, setting);
    return value;
  }
  std::string complaint_about(const config::Value& value) const {
    return test::config_complaint([&] { make_study(value); });
  }
  std::string complaint(const std::vector<std::string>& settings) const {
    return complaint_about(document(settings));
  }

  TemporaryFolder folder;
};

TEST_F(ExternalStudy, MakesASolverOfItsOutline) {
  const Study study = make_study(document());

  const auto solver = make_solver(study, 1);

  EXPECT_EQ(solver->name(), "mine");
  EXPECT_EQ(solver->channels(), std::vector<std::string>{"u"});
  EXPECT_EQ(solver->dt(), 0.5);
  EXPECT_EQ(study.grid, make_grid(1, {16}, {1.0}));
  EXPECT_TRUE(solver->failure_policy().breaker);
}

TEST_F(ExternalStudy, FindsItsProgramBesideTheFile) {
  const Study study = make_study(document());

  const config::Value* argv = config::find_path(study.effective, "solver.argv");
  EXPECT_EQ(*(*argv->list())[0].text(), folder.path("solver"));
}

TEST_F(ExternalStudy, SaysHereWhereTheFileIs) {
  const Study study = make_study(document({"solver.argv=[sh, '{here}/x', 'a{here}', '5']"}));
  const config::Value* argv = config::find_path(study.effective, "solver.argv");

  // A setting of the command line is written in the working folder.
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(*argv, config::Value(config::Value::List{"sh", here + "/x", "a" + here, "5"}));
}

TEST_F(ExternalStudy, NothingDearIsADefault) {
  config::Value no_test = document();
  no_test.find("study")->erase("test");
  EXPECT_TRUE(contains(complaint_about(no_test), "study.test is missing: test trajectories are 3"));

  EXPECT_TRUE(contains(complaint({"initial={name: burgers-as-coded}"}), "warm_up is missing"));
  EXPECT_FALSE(
      contains(complaint({"initial={name: burgers-as-coded, warm_up: 0}"}), "warm_up is missing"));
  EXPECT_EQ(complaint({"study.test=0"}), "");
}

TEST_F(ExternalStudy, ComplainsAboutItsSolver) {
  config::Value without = document();
  without.erase("solver");
  EXPECT_TRUE(contains(complaint_about(without), "needs a section solver"));

  EXPECT_TRUE(contains(complaint({"solver.argv=[./none]"}), "does not exist"));
  EXPECT_TRUE(contains(complaint({"solver.argv=[no-such-program-at-all]"}), "is not in PATH"));
  EXPECT_TRUE(contains(complaint({"solver.argv=[sh, '{inputs}']"}), "did you mean 'input'?"));
  EXPECT_TRUE(contains(complaint({"solver.steps_at_once=4"}), "put {steps} into it"));
  EXPECT_TRUE(contains(complaint({"solver.argv=[sh, 007]"}), "quote what looks like a number"));
  EXPECT_TRUE(contains(complaint({"solver.argv=[sh, '{input']"}), "a brace is not closed"));
  EXPECT_TRUE(contains(complaint({"solver.argv=[/]"}), "cannot be run"));
  EXPECT_TRUE(contains(complaint({"solver.env=[A]"}), "expected NAME=value"));

  EXPECT_TRUE(contains(complaint({"pde.guard={min: [0], max: [-1]}"}),
                       "guard.min is 0 and guard.max -1 for the channel u"));

  config::Value built_in = document();
  built_in.set("pde", *load_config("demo").find("pde"));
  EXPECT_TRUE(contains(complaint_about(built_in), "solver is for pde: external"));
}

TEST_F(ExternalStudy, HowItIsReachedDecidesAboutNoData) {
  const auto key = [&](const std::vector<std::string>& settings) {
    return data_key(data_request(make_study(document(settings))));
  };

  EXPECT_EQ(key({}), key({"solver.slots=7", "solver.argv=[sh]", "solver.limits.seconds=3"}));
  EXPECT_NE(key({}), key({"pde.label=another"}));
  EXPECT_NE(key({}), key({"pde.parameters=[nu=3]"}));
}

TEST_F(ExternalStudy, ItsDataOutliveVersions) {
  const config::Value about = data_document(data_request(make_study(document())));

  EXPECT_EQ(about.find("version"), nullptr);
  EXPECT_EQ(about.find("instruction_set"), nullptr);
}

TEST_F(ExternalStudy, DrawsByAProgram) {
  namespace fs = std::filesystem;
  const std::string draw = folder.file("draw", "#!/bin/sh\nexit 3\n");
  fs::permissions(draw, fs::perms::owner_all);

  EXPECT_TRUE(contains(complaint({"initial={name: program, argv: [sh]}"}), "{seed} and {output}"));
  const auto with = [](const char* words) {
    return fmt::format("initial={{name: program, argv: [{}, '{{output}}']}}", words);
  };
  EXPECT_TRUE(contains(complaint({with("./none, '{seed}'")}), "none, which does not exist"));
  EXPECT_TRUE(contains(complaint({with("sh, '{seed}', '{time}'")}), "{time} in it, which is no"));
  const Study study = make_study(
      document({"initial={name: program, argv: ['" + draw + "', '{seed}', '{output}']}"}));
  const auto sampler = make_sampler(study, study.grid);
  std::vector<double> state(16);
  try {
    sampler->draw(Rng(0), 0, state);
    FAIL() << "a program that fails has drawn something";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::solver);
    EXPECT_TRUE(contains(error.what(), "exit code 3"));
  }
}

// The program is told what the configuration has drawn, and writes what it likes instead.
TEST_F(ExternalStudy, DrawsParametersByAProgram) {
  namespace fs = std::filesystem;
  using Kind = ParameterDraw::Kind;
  const test::TemporaryFolder own;
  const Grid grid = make_grid(1, {2}, {1.0});
  const auto drawn = [&](const std::string& json, std::vector<double> parameters) {
    // A .npy file of two doubles, 1.5 and 2.5, written by hand: 64 bytes of header, 16 of values.
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }";
    header.resize(117, ' ');
    std::string npy("\x93NUMPY\x01\x00\x76\x00", 10);
    npy += header + "\n";
    for (const double value : {1.5, 2.5})
      npy.append(reinterpret_cast<const char*>(&value), sizeof value);
    own.file("state.npy", npy);
    own.file("parameters", json);
    const std::string program = own.file(
        "draw", "#!/bin/sh\ncd " + own.path("") +
                    "\necho \"$3 $4\" > told\ncp state.npy \"$1\"\ncp parameters \"$2\"\n");
    fs::permissions(program, fs::perms::owner_all);
    ProgramSamplerOptions options;
    options.argv.words = {program, "{output}", "{parameters}", "{nu}", "{k}", "{seed}"};
    const auto sampler = make_program_sampler(
        options, grid, {{"nu", Kind::uniform, {1.0, 2.0}}, {"k", Kind::list, {3.0, 4.0}}});
    EXPECT_TRUE(sampler->draws_parameters());
    std::vector<double> state(2);
    sampler->draw(Rng(0), 0, state, parameters);
    EXPECT_EQ(state, (std::vector{1.5, 2.5}));
    return parameters;
  };
  const auto refused = [&](const char* json, const char* part) {
    test::expect_error(ErrorKind::solver, part, [&] { drawn(json, {1.25, 3.0}); });
  };

  EXPECT_EQ(drawn(R"({"k": 3.5, "nu": 2})", {1.25, 3.0}), (std::vector{2.0, 3.5}));
  EXPECT_EQ(test::content(own.path("told")), "1.25 3\n");
  refused(R"({"nu": 1.5})", "as parameters, expected a JSON map of nu, k");
  refused(R"({"nu": 1.5, "K": 3})", "parameters without a number for k");
  refused(R"({"nu": 2.5, "k": 3})", "wrote nu = 2.5, expected 1 to 2 as the configuration says");
  refused(R"({"nu": NaN, "k": 3})", "");
  refused("nu=2", "parameters that cannot be read");
}

// Who only looks or repairs starts no program of a folder, whatever is missing or damaged there.
TEST_F(ExternalStudy, NoProgramIsStartedByWhoOnlyLooks) {
  namespace fs = std::filesystem;
  const test::ScopedVariable cache("STAP_CACHE", folder.path("cache"));
  for (const char* name : {"draw", "solver"})
    fs::permissions(
        folder.file(name, fmt::format("#!/bin/sh\necho > {}\n", folder.path("started"))),
        fs::perms::owner_all);
  const std::string by_program =
      "initial={name: program, argv: [" + folder.path("draw") + ", '{seed}', '{output}']}";
  Observer quiet;
  const auto refused = [&](const Study& study) {
    test::expect_error(ErrorKind::data, "'stap generate'",
                       [&] { make_problem_alone(study, 1, quiet); });
    EXPECT_FALSE(fs::exists(folder.path("started")));
  };

  refused(make_study(document()));              // the test set is the solver's
  refused(make_study(document({by_program})));  // the pool is the program's
  const std::string key = data_key(data_request(make_study(document())));
  fs::create_directories(folder.path("cache/" + key));
  for (const char* name : {"config.yaml", "pool.h5", "test.h5"})
    folder.file("cache/" + key + "/" + name, "damaged");
  refused(make_study(document()));
  EXPECT_EQ(test::content(folder.path("cache/" + key + "/pool.h5")), "damaged");
  // What a sampler of ours draws takes no program.
  EXPECT_EQ(
      make_problem_alone(make_study(document({"study.test=0"})), 1, quiet).pool.states.count(),
      20u);
  EXPECT_FALSE(fs::exists(folder.path("started")));
}

}  // namespace
}  // namespace stap
