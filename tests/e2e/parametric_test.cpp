// Studies of problems whose parameters vary, as a user runs them.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "stap/data/store.h"
#include "stap/data/transitions.h"
#include "stap/nn/model_file.h"
#include "stap/pde/burgers.h"
#include "support/fake_solver.h"
#include "support/killing.h"
#include "support/lasting_bytes.h"
#include "support/processes.h"
#include "support/small_study.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDrawn = "pde.viscosity={between: [0.003, 0.03], draw: log}";

class ParametricProgram : public ::testing::Test {
 protected:
  ParametricProgram() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~ParametricProgram() override { unsetenv("STAP_CACHE"); }

  std::vector<std::string> words(const std::string& command, const std::string& out,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> list{command, "demo", kDrawn};
    for (const std::string& setting : small_study()) list.push_back(setting);
    list.insert(list.end(), more.begin(), more.end());
    list.insert(list.end(), {"--quiet", "--out", folder_.path(out)});
    return list;
  }
  std::string essence(const std::string& run) const {
    std::string all;
    for (const char* file :
         {"metrics.jsonl", "transitions.h5", "losses.jsonl", "rounds/02/committee.safetensors"}) {
      const std::string bytes = content(folder_.path(run + "/" + file));
      EXPECT_NE(bytes, "") << file;
      all += bytes;
    }
    return all;
  }
  std::string first_line(const std::string& run) const {
    const std::string metrics = content(folder_.path(run + "/metrics.jsonl"));
    nlohmann::json line = nlohmann::json::parse(metrics.substr(0, metrics.find('\n')));
    for (const char* own : {"run", "crc"}) line.erase(own);
    return line.dump();
  }

  TemporaryFolder folder_;
};

// What was bought has the viscosity of its candidate, and the solver says that it was computed with
// it. Broken by: parameters of another row of the pool, or of another round.
TEST_F(ParametricProgram, BuysWithTheParametersOfTheCandidate) {
  const Finished result = run_stap(words("run", "r"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(run_stap(words("generate", "d")).exit_code, 0);

  const TransitionSet set = read_transitions(folder_.path("r/transitions.h5"));

  const std::vector<double> pool = read_array(folder_.path("d/pool.h5"), "parameters").values;
  ASSERT_EQ(set.parameters.names, std::vector<std::string>{"viscosity"});
  ASSERT_EQ(set.parameters.values.size(), set.count());
  for (std::size_t i = 0; i < set.count(); ++i) {
    EXPECT_EQ(set.parameters.values[i], pool.at(set.origins[i].candidate));
    if (i % 7 != 0) continue;
    BurgersOptions fixed;
    fixed.points = 32;
    fixed.dt = set.dt;
    fixed.viscosity = set.parameters.values[i];
    const auto values = set.grid.values();
    const auto at = [&](const std::vector<double>& all) {
      return std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(i * values),
                                 all.begin() + static_cast<std::ptrdiff_t>((i + 1) * values));
    };
    EXPECT_EQ(ask(*make_burgers(fixed), {.state = at(set.inputs)}).states, at(set.outputs));
  }
  const Model model = read_model(folder_.path("r/rounds/02/committee.safetensors"));
  EXPECT_EQ(model.spec.in_channels(), 2u);
  ASSERT_EQ(model.spec.parameters.size(), 1u);
  EXPECT_EQ(model.spec.parameters[0],
            (ParameterDraw{"viscosity", ParameterDraw::Kind::log, {0.003, 0.03}}));
}

TEST_F(ParametricProgram, KilledAnywhereEndsWithTheSameBytes) {
  expect_kills_change_nothing(
      kills_wanted(8),
      [&](const std::string& name) {
        return words("run", name, {"validation=0.3", "stages=2", "train.epochs=4"});
      },
      [&](const std::string& name) { return essence(name); });
}

// Networks of all methods begin with the same round; the test set has parameters of its own; what
// finished networks predict from its initial states is what the run has measured.
TEST_F(ParametricProgram, SweepsEvaluateAndPredict) {
  ASSERT_EQ(run_stap(words("sweep", "s", {"--grid", "method=random,lcmd,sbal+stap", "--no-report"}))
                .exit_code,
            0);

  EXPECT_EQ(first_line("s/method=random"), first_line("s/method=lcmd"));
  EXPECT_EQ(first_line("s/method=random"), first_line("s/method=sbal+stap"));
  const std::string run = folder_.path("s/method=lcmd");
  const Finished own = run_stap({"evaluate", run, "--json"});
  ASSERT_EQ(own.exit_code, 0) << own.err;
  const std::string metrics = content(run + "/metrics.jsonl");
  const auto last =
      nlohmann::json::parse(metrics.substr(metrics.rfind('\n', metrics.size() - 2) + 1));
  EXPECT_EQ(nlohmann::json::parse(own.out).at("rmse"), last.at("rmse"));
  ASSERT_EQ(run_stap(words("generate", "d")).exit_code, 0);
  const std::string test = folder_.path("d/test.h5"), out = folder_.path("p.h5");
  const Finished given = run_stap({"evaluate", run, "--test", test, "--json"});
  EXPECT_EQ(given.exit_code, 0) << given.err;
  EXPECT_EQ(nlohmann::json::parse(given.out).at("rmse"), last.at("rmse"));

  const Finished predicted =
      run_stap({"predict", run, "--input", test, "--steps", "5", "--output", out});

  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const Array<double> truth = read_array(test, "trajectory"), mean = read_array(out, "mean");
  ASSERT_EQ(truth.shape, mean.shape);
  double rmse = 0;  // of the averaged model, by hand
  const std::size_t points = truth.shape[3], row = truth.shape[1] * points;
  for (std::size_t b = 0; b < truth.shape[0]; ++b) {
    double sum = 0;
    for (std::size_t v = points; v < row; ++v)
      sum += std::pow(mean.values[b * row + v] - truth.values[b * row + v], 2);
    rmse += std::sqrt(sum / double(row - points)) / double(truth.shape[0]);
  }
  // The run has compared floats.
  EXPECT_NEAR(rmse, last.at("mean_model").at("rmse").get<double>(), 1e-6);
}

}  // namespace
}  // namespace stap::test
