// What stands around a run whose parameters vary: files in and out, predictions, analyses, manual
// answers, a user's own solver.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <nlohmann/json.hpp>

#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "stap/data/transitions.h"
#include "support/contains.h"
#include "support/h5_writing.h"
#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

constexpr const char* kWideDraw = "pde.viscosity={between: [0.005, 0.2], draw: log}";

class ParametricSurface : public ::testing::Test {
 protected:
  ParametricSurface() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~ParametricSurface() override { unsetenv("STAP_CACHE"); }

  std::string path(const std::string& name) const { return folder_.path(name); }
  Finished demo(const std::string& command, const std::string& out,
                const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{command, "demo", kWideDraw};
    for (const std::string& setting : small_study()) words.push_back(setting);
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--out", path(out)});
    return run_stap(words);
  }
  void make_run() const {
    const Finished run = demo("run", "r", {"--quiet"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }

  TemporaryFolder folder_;
};

// Out in every format, and back in: each transition has the viscosity of its trajectory. Broken by:
// a column of another trajectory, a scalar that import does not look for, a hash without
// parameters.
TEST_F(ParametricSurface, DataGoOutAndComeIn) {
  make_run();
  const TransitionSet set = read_transitions(path("r/transitions.h5"));

  ASSERT_EQ(run_stap({"export", path("r"), "--format", "npy", "--out", path("n")}).exit_code, 0);
  const Array<double> column = read_npy(path("n/parameters.npy"));
  EXPECT_EQ(column.shape, (std::vector<std::size_t>{set.count(), 1}));
  EXPECT_EQ(column.values, set.parameters.values);
  EXPECT_TRUE(contains(content(path("n/README.txt")), "parameters.npy [n, 1] float64: viscosity"));
  ASSERT_EQ(run_stap({"export", path("r"), "--format", "xdmf", "--out", path("x.xdmf")}).exit_code,
            0);
  EXPECT_TRUE(contains(content(path("x.xdmf")), "round 0, viscosity 0."));
  ASSERT_EQ(
      run_stap({"export", path("r"), "--format", "the-well", "--out", path("w.hdf5")}).exit_code,
      0);
  const Array<double> candidates = read_array(path("w.hdf5"), "scalars/candidate");
  const Array<double> scalars = read_array(path("w.hdf5"), "scalars/viscosity");
  ASSERT_EQ(scalars.values.size(), candidates.values.size());

  const Finished imported = run_stap({"import", path("w.hdf5"), "--as", "transitions", "--out",
                                      path("first.h5"), "--name", "burgers"});

  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_TRUE(contains(imported.out, "parameters viscosity")) << imported.out;
  const TransitionSet back = read_transitions(path("first.h5"));
  EXPECT_EQ(back.parameters.names, std::vector<std::string>{"viscosity"});
  ASSERT_EQ(back.count(), set.count());
  for (std::size_t i = 0; i < back.count(); ++i)  // single precision
    EXPECT_NEAR(back.parameters.values[i], scalars.values[back.origins[i].candidate], 1e-8);
  const std::string first = "first={name: file, path: " + path("first.h5") + "}";
  const Finished checked = demo("check", "unused", {first});
  const Finished run = demo("run", "again", {first, "--quiet"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(read_transitions(path("again/transitions.h5")).parameters.values[0],
            back.parameters.values[0]);

  ASSERT_EQ(demo("generate", "d", {"--quiet"}).exit_code, 0);
  for (const char* as : {"pool", "test"}) {
    const std::string from = path(as == std::string("pool") ? "d/pool.h5" : "d/test.h5");
    const std::string to = path(as + std::string("-in.h5"));
    ASSERT_EQ(run_stap({"import", from, "--as", as, "--out", to}).exit_code, 0);
    EXPECT_EQ(read_array(to, "parameters").values, read_array(from, "parameters").values);
    EXPECT_EQ(read_text_attribute(to, "/", "sha256"), read_text_attribute(from, "/", "sha256"));
  }
  const Finished from_files =
      demo("run", "files",
           {"initial={name: file, path: " + path("pool-in.h5") + "}", "test.name=file",
            "test.path=" + path("test-in.h5"), "--quiet"});
  EXPECT_EQ(from_files.exit_code, 0) << from_files.err;
  EXPECT_EQ(content(path("files/transitions.h5")).size(), content(path("r/transitions.h5")).size());
}

TEST_F(ParametricSurface, FilesThatDoNotFitAreRefusedByName) {
  ASSERT_EQ(demo("generate", "d", {"--quiet"}).exit_code, 0);
  const std::string pool = path("d/pool.h5");
  const auto refused = [&](int exit_code, const std::vector<std::string>& more,
                           const std::string& part) {
    const Finished run = demo("run", "no", more);
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    EXPECT_TRUE(contains(run.err, part)) << run.err;
  };

  refused(3,
          {"initial={name: file, path: " + pool + "}", "study.test=0", "study.validation=0.2",
           "pde.viscosity={between: [0.1, 0.2]}"},
          "expected 0.1 to 0.2 as the configuration says");
  refused(3,
          {"initial={name: file, path: " + pool + "}", "study.test=0", "study.validation=0.2",
           "pde.viscosity=0.01"},
          "has rows with their own viscosity, but in the problem none varies");
  write_npy(path("plain.npy"), std::vector<std::size_t>{60, 1, 32},
            std::vector<double>(60 * 32, 1.0));
  refused(3,
          {"initial={name: file, path: " + path("plain.npy") + "}", "study.test=0",
           "study.validation=0.2"},
          "does not say the parameters of its rows, but viscosity vary");
  write_npy(path("nu.npy"), std::vector<std::size_t>{3}, std::vector<double>{0.01, 0.02, 0.03});
  const Finished short_column =
      run_stap({"import", path("plain.npy"), "--as", "pool", "--out", path("p.h5"), "--parameter",
                "viscosity=" + path("nu.npy")});
  EXPECT_EQ(short_column.exit_code, 3);
  EXPECT_TRUE(contains(short_column.err, "has shape 3, expected 60")) << short_column.err;
  ASSERT_EQ(run_stap({"import", path("plain.npy"), "--as", "pool", "--out", path("all.h5"),
                      "--parameter", "viscosity=0.02"})
                .exit_code,
            0);
  EXPECT_EQ(read_array(path("all.h5"), "parameters").values, std::vector<double>(60, 0.02));
  const Finished unknown =
      run_stap({"import", pool, "--as", "pool", "--out", path("p.h5"), "--parameter", "nu"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(contains(unknown.err, "has no number 'nu' for each of its 40 trajectories"));
}

TEST_F(ParametricSurface, PredictsWithWhatItIsTold) {
  make_run();
  ASSERT_EQ(demo("generate", "d", {"--quiet"}).exit_code, 0);
  const std::string test = path("d/test.h5");
  const auto predict = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{"predict", path("r"), "--steps", "3", "--out", path(out)};
    words.insert(words.end(), more.begin(), more.end());
    return run_stap(words);
  };
  const auto mean = [&](const std::string& out) { return read_array(path(out), "mean").values; };

  const Finished plain = predict("own.h5", {"--input", test});
  const Finished told = predict("told.h5", {"--input", test, "--parameter", "viscosity=0.05"});

  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_FALSE(contains(plain.err, "outside")) << plain.err;
  EXPECT_EQ(read_array(path("own.h5"), "parameters").values, read_array(test, "parameters").values);
  EXPECT_EQ(read_array(path("told.h5"), "parameters").values, std::vector<double>(8, 0.05));
  EXPECT_EQ(read_text_attribute(path("told.h5"), "/", "format"), "prediction/2");
  EXPECT_NE(mean("own.h5"), mean("told.h5"));
  // A file that says nothing is enough where all is given.
  Array<double> states = read_array(test, "trajectory");
  const std::size_t row = states.values.size() / 8, points = states.shape.back();
  std::vector<double> initial;
  for (std::size_t b = 0; b < 8; ++b)
    for (std::size_t i = 0; i < points; ++i) initial.push_back(states.values[b * row + i]);
  write_npy(path("initial.npy"), std::vector<std::size_t>{8, 1, points}, initial);
  ASSERT_EQ(predict("npy.h5", {"--input", path("initial.npy"), "--parameter", "viscosity=0.05"})
                .exit_code,
            0);
  EXPECT_EQ(mean("npy.h5"), mean("told.h5"));

  const Finished outside = predict("out.h5", {"--input", test, "--parameter", "viscosity=0.5"});
  EXPECT_EQ(outside.exit_code, 0);
  EXPECT_TRUE(contains(outside.err, "viscosity of 8 of 8 rows is outside 0.005 to 0.2"))
      << outside.err;
  const auto refused = [&](int exit_code, const std::vector<std::string>& more, const char* part) {
    const Finished result = predict("no.h5", more);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_TRUE(contains(result.err, part)) << result.err;
  };
  refused(3, {"--input", path("initial.npy")}, "or say --parameter viscosity=VALUE for all rows");
  refused(2, {"--input", test, "--parameter", "viscosty=0.1"}, "did you mean 'viscosity'?");
  refused(2, {"--input", test, "--parameter", "viscosity=-1"},
          "viscosity is -1 in row 0, expected a number above 0");
  refused(2, {"--input", test, "--parameter", "viscosity=thick"}, "expected NAME=VALUE");
  refused(2, {"--input", test, "--parameter", "viscosity=1", "--parameter", "viscosity=2"},
          "is given twice");
}

// Broken by: a section of the analysis without its numbers, a chart that has no row.
TEST_F(ParametricSurface, AnalysesAndReportsSayWhereItErrsAndWhatWasBought) {
  const Finished swept =
      demo("sweep", "s", {"--grid", "method=random,sbal+stap", "--grid", "seed=0,1", "--quiet"});
  ASSERT_EQ(swept.exit_code, 0) << swept.err;

  const Finished analysed = run_stap({"analyse", path("s"), "--json"});

  ASSERT_EQ(analysed.exit_code, 0) << analysed.err;
  const json methods = json::parse(analysed.out).at(0).at("methods");
  ASSERT_EQ(methods.size(), 2u);
  for (const json& method : methods) {
    const json& entry = method.at("parameters").at(0);
    EXPECT_EQ(entry.at("name"), "viscosity");
    EXPECT_EQ(entry.at("edges").size(), 9u);
    const auto sum = [&](const char* key) {
      std::size_t all = 0;
      for (const json& count : entry.at(key)) all += count.get<std::size_t>();
      return all;
    };
    EXPECT_EQ(sum("test_trajectories"), 8u);
    EXPECT_EQ(sum("pool"), 2 * 40u);             // of two seeds
    EXPECT_EQ(sum("bought_steps"), 2 * 2 * 9u);  // two rounds of nine steps
  }
  // By hand: the mean over the parts, weighted by their trajectories, is that of the run.
  const json one = json::parse(content(path("s/method=random,seed=0/analysis.json")));
  const json& entry = one.at("parameters").at(0);
  double weighted = 0;
  for (std::size_t i = 0; i < 8; ++i)
    if (entry.at("test_trajectories")[i].get<int>() > 0)
      weighted +=
          entry.at("test_trajectories")[i].get<double>() * entry.at("rmse")[i].get<double>();
  const std::string metrics = content(path("s/method=random,seed=0/metrics.jsonl"));
  const json last = json::parse(metrics.substr(metrics.rfind('\n', metrics.size() - 2) + 1));
  EXPECT_NEAR(weighted / 8, last.at("mean_model").at("rmse").get<double>(), 1e-12);
  EXPECT_EQ(read_array(path("s/method=random,seed=0/analysis.h5"), "parameters_test").shape,
            (std::vector<std::size_t>{8, 1}));

  const Finished words = run_stap({"analyse", path("s")});
  EXPECT_TRUE(contains(words.out, "viscosity: error from ")) << words.out;
  for (const char* figure : {"parameters", "values"}) {
    const Finished plotted = run_stap(
        {"plot", path("s"), "--figure", figure, "--out", path(figure + std::string(".svg"))});
    EXPECT_EQ(plotted.exit_code, 0) << plotted.err;
  }
  EXPECT_EQ(run_stap({"plot", path("s"), "--figure", "values", "--parameter", "nu", "--out",
                      path("no.svg")})
                .exit_code,
            2);
  ASSERT_EQ(run_stap({"report", path("s"), "--out", path("s.html")}).exit_code, 0);
  const std::string page = content(path("s.html"));
  EXPECT_TRUE(contains(page, "Error along viscosity"));
  EXPECT_TRUE(contains(page, "Which values of viscosity were bought"));
  EXPECT_EQ(run_stap({"fsck", path("s")}).exit_code, 0);
}

// One step of a diffusion of strength a, which stands for what people compute.
std::vector<double> diffused(std::vector<double> u, double a) {
  const std::vector<double> v = u;
  for (std::size_t i = 0; i < u.size(); ++i)
    u[i] += a * (v[(i + 1) % u.size()] - 2 * v[i] + v[(i + u.size() - 1) % u.size()]);
  return u;
}

// The questions say the strength of each row, in files and folders, and what was bought has it.
TEST_F(ParametricSurface, ManualAnswersAreToQuestionsWithParameters) {
  constexpr std::size_t kCells = 16;
  const std::string study = folder_.file("study.yaml", R"(
pde:
  name: external
  label: heat
  channels: [h]
  points: [16]
  dt: 0.1
  parameters: {a: {between: [0.05, 0.25]}}
solver: {name: by-hand}
initial: {name: sines, warm_up: 0}
network: {modes: [4], width: 4, lifting: 8, projection: 8, layers: 1}
train: {epochs: 4}
study: {steps: 4, pool: 20, test: 0, initial: 3, rounds: 2, budget: 6, validation: 0.2}
method: sbal+stap(proposals=4)
)");
  ASSERT_EQ(run_stap({"run", study, "--out", path("r")}).exit_code, 0);
  const std::string queries = path("queries.h5");
  for (int exchange = 0;; ++exchange) {
    ASSERT_LT(exchange, 30);
    // Not removed: it is replaced.
    const bool old = fs::exists(queries);
    const Finished asked = run_stap({"ask", path("r"), "--out", queries});
    ASSERT_EQ(asked.exit_code, 0) << asked.err;
    if (contains(asked.out, "is finished")) break;
    if (!old) {
      EXPECT_EQ(read_text_attribute(queries, "/", "parameter_names"), "a");
      ASSERT_EQ(run_stap({"ask", path("r"), "--out", path("queries")}).exit_code, 0);
      for (const auto& entry : fs::directory_iterator(path("queries"))) {
        const double a = json::parse(content((entry.path() / "query.json").string()))
                             .at("parameters")
                             .at("a")
                             .get<double>();
        EXPECT_TRUE(a >= 0.05 && a <= 0.25) << a;
      }
    }
    const Array<std::int64_t> id = read_integers(queries, "id"),
                              steps = read_integers(queries, "steps");
    const Array<double> state = read_array(queries, "state"),
                        own = read_array(queries, "parameters");
    ASSERT_EQ(own.shape, (std::vector<std::size_t>{id.values.size(), 1}));
    const auto longest = static_cast<std::size_t>(std::ranges::max(steps.values));
    std::vector<double> ids, states;
    for (std::size_t q = 0; q < id.values.size(); ++q) {
      ids.push_back(static_cast<double>(id.values[q]));
      const auto from = state.values.begin() + static_cast<std::ptrdiff_t>(q * kCells);
      std::vector<double> u(from, from + static_cast<std::ptrdiff_t>(kCells));
      for (std::size_t s = 0; s < longest; ++s) {
        u = diffused(u, own.values[q]);
        if (s >= static_cast<std::size_t>(steps.values[q]))
          u.assign(kCells, std::numeric_limits<double>::quiet_NaN());
        states.insert(states.end(), u.begin(), u.end());
      }
    }
    {
      H5File file(path("answers.h5"));
      file.dataset("id", {ids.size()}, ids, H5T_STD_I64LE);
      file.dataset("states", {ids.size(), longest, 1, kCells}, states);
    }
    const Finished told = run_stap({"tell", path("r"), path("answers.h5")});
    ASSERT_EQ(told.exit_code, 0) << told.err;
  }

  const TransitionSet set = read_transitions(path("r/transitions.h5"));
  ASSERT_EQ(set.parameters.values.size(), set.count());
  for (std::size_t i = 0; i < set.count(); ++i) {
    const auto from = set.inputs.begin() + static_cast<std::ptrdiff_t>(i * kCells);
    const auto expected =
        diffused({from, from + static_cast<std::ptrdiff_t>(kCells)}, set.parameters.values[i]);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           set.outputs.begin() + static_cast<std::ptrdiff_t>(i * kCells)))
        << i;
  }
  EXPECT_EQ(run_stap({"fsck", path("r")}).exit_code, 0);
  EXPECT_TRUE(contains(run_stap({"analyse", path("r")}).out, "parameter"));
}

// Broken by: names of channels that are not found, a part that is larger than the whole.
TEST_F(ParametricSurface, EvaluateAndTableNameTheChannels) {
  const Finished run =
      run_stap({"run", "walls/fhn", "method=random", "seed=0", "pde.points=[8,8]",
                "network.modes=[4,4]", "network.width=4", "train.steps=4", "study.steps=2",
                "study.pool=4", "study.test=2", "study.initial=2", "study.rounds=1",
                "study.budget=2", "initial.warm_up=0", "--quiet", "--out", path("r")});
  ASSERT_EQ(run.exit_code, 0) << run.err;

  const Finished evaluated = run_stap({"evaluate", path("r")});
  const Finished table = run_stap({"table", path("r")});

  EXPECT_TRUE(contains(evaluated.out, "\nRMSE, u  ")) << evaluated.out;
  EXPECT_TRUE(contains(evaluated.out, "\nRMSE, v  "));
  EXPECT_TRUE(contains(table.out, "last RMSE by channel")) << table.out;
  const json numbers = json::parse(run_stap({"evaluate", path("r"), "--json"}).out);
  EXPECT_EQ(numbers.at("rmse_by_channel").size(), 2u);
  for (const json& one : numbers.at("rmse_by_channel"))
    EXPECT_LT(one.get<double>(), numbers.at("rmse").get<double>());
}

// A program that is told a number and takes no notice of it.
TEST_F(ParametricSurface, SolverCheckNamesAParameterThatIsIgnored) {
  fs::permissions(folder_.file("step.sh", "#!/bin/sh\ncp \"$1\" \"$2\"\n"), fs::perms::owner_all);
  const std::string study = folder_.file("study.yaml", R"(
pde:
  name: external
  label: still
  channels: [h]
  points: [16]
  dt: 0.1
  parameters: {a: {between: [0.05, 0.25]}, b: 1}
solver: {name: command, argv: [./step.sh, "{input}", "{output}", "{a}"]}
initial: {name: sines, warm_up: 0}
study: {test: 0}
)");

  const Finished checked = run_stap({"solver", "check", study});

  EXPECT_TRUE(contains(checked.out, "the answer does not depend on a: does the solver read it?"))
      << checked.out << checked.err;
  const Finished untold = run_stap(
      {"solver", "check", study, "solver.argv=[" + path("step.sh") + ", '{input}', '{output}']"});
  EXPECT_EQ(untold.exit_code, 2);
  EXPECT_TRUE(contains(untold.err, "{a}")) << untold.err;
}

}  // namespace
}  // namespace stap::test
