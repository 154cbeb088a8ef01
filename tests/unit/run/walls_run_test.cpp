// A whole study between walls and round a hole.
#include <gtest/gtest.h>

#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"
#include "stap/nn/model_file.h"
#include "stap/run/sweep.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/environment.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

config::Value holed(const std::vector<std::string>& settings = {}) {
  config::Value document = config::parse_yaml(R"(
pde: {name: fhn, points: [8, 7], dt: 0.1, hole: [1, 1, 0.5], k: 0.01}
initial: {name: white-noise, deviation: 0.5}
network: {modes: [4, 4], width: 6, lifting: 8, projection: 8, position_input: true}
train: {epochs: 4}
study: {steps: 4, pool: 12, test: 3, initial: 2, rounds: 1, budget: 6}
compute: {device: cpu}
method: sbal+stap
)",
                                              "the study of the test");
  for (const std::string& setting : settings) apply_setting(document, setting);
  return document;
}

// Mutation: walls or a mask that a file of a run does not keep, or a state with a value under it.
TEST(WallsInARun, AreInItsFilesAndNetworks) {
  const test::TemporaryFolder folder;
  const test::ScopedVariable cache("STAP_CACHE", folder.path("cache"));
  Observer quiet;
  const Study study = make_study(holed());

  ASSERT_EQ(drive({{"", study.effective}}, folder.path("run"), 1, quiet, {}), LoopEnd::finished);

  const RunFolder run(folder.path("run"));
  const TransitionSet set = run.read_transitions();
  EXPECT_EQ(set.grid, study.grid);
  EXPECT_TRUE(set.grid.walled());
  ASSERT_NE(study.fixed, nullptr);
  const std::vector<std::uint8_t>& mask = study.fixed->mask;
  std::size_t masked = 0;
  for (const std::vector<double>* states : {&set.inputs, &set.outputs})
    for (std::size_t v = 0; v < states->size(); ++v)
      if (mask[v % mask.size()] == 0) {
        EXPECT_EQ((*states)[v], 0.0);
        ++masked;
      }
  EXPECT_GT(masked, 0u);
  const Surrogate surrogate = load_surrogate(model_of(folder.path("run")), {}, 1);
  EXPECT_EQ(surrogate.engine->spec().grid, study.grid);
  EXPECT_TRUE(equal(surrogate.engine->spec().fixed, study.fixed));
  EXPECT_EQ(surrogate.engine->spec().body_grid().points, (std::vector<std::size_t>{10, 9}));
  // Another hole is another problem: its run cannot continue here.
  test::expect_error(ErrorKind::config, "", [&] {
    drive({{"", make_study(holed({"pde.hole=[1, 1, 0.4]"})).effective}}, folder.path("run"), 1,
          quiet, {});
  });
}

}  // namespace
}  // namespace stap
