// Studies with networks of another family than the usual one.
#include <gtest/gtest.h>

#include "stap/folder/model_of.h"
#include "stap/folder/run_id.h"
#include "stap/nn/model_file.h"
#include "stap/results/run_result.h"
#include "stap/run/sweep.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/contains.h"
#include "support/engine_under_test.h"
#include "support/environment.h"
#include "support/refusals.h"
#include "support/small_study.h"
#include "support/temporary_folder.h"
#include "support/toy_family.h"

namespace stap {
namespace {

using config::Value;
using test::contains;

Value with_network(const std::string& section) {
  Value document = load_config("demo");
  for (const std::string& setting : test::small_study()) apply_setting(document, setting);
  overlay(document, config::parse_yaml("network: " + section, "over.yaml"));
  return document;
}

// Broken by: a name in effective documents of what all runs were before there were families.
TEST(NetworkFamilies, WithoutANameAreWhatTheyWere) {
  const Value named = make_study(with_network("{name: fno}")).effective;

  EXPECT_EQ(named, make_study(with_network("{}")).effective);
  EXPECT_EQ(named.find("network")->find("name"), nullptr);
  EXPECT_EQ(run_id(make_study(load_config("demo")).effective, {}), "2e5e361977e3f72c");
}

// Options of one family are none of another.
TEST(NetworkFamilies, HaveOptionsOfTheirOwn) {
  test::add_toy_family();

  const Study study = make_study(with_network("{name: toy, width: 3, time_input: true}"));

  EXPECT_EQ(config::json_text(*study.effective.find("network"), 0),
            R"({"name":"toy","width":3,"target":"delta","time_input":true,)"
            R"("position_input":false,"conserve":[]})");
  EXPECT_TRUE(study.network.time_input);
  EXPECT_EQ(study.network.family.row->name, "toy");
  EXPECT_TRUE(
      contains(test::error_text(ErrorKind::config,
                                [] { make_study(with_network("{name: toy, modes: [4]}")); }),
               "network.modes is not known"));
}

// Known before anything is made. Networks of a family that says nothing of shifts take channels.
TEST(NetworkFamilies, MayTakeParametersAsChannelsOnly) {
  test::add_toy_family();
  const auto study = [](const std::string& network) {
    Value document = with_network(network);
    apply_setting(document, "pde.viscosity={between: [0.003, 0.03], draw: log}");
    return make_study(std::move(document));
  };

  EXPECT_TRUE(contains(
      test::error_text(ErrorKind::config, [&] { study("{name: toy, parameter_input: shifts}"); }),
      "networks of the family toy take parameters as channels only"));
  EXPECT_EQ(study_network(study("{name: toy}")).in_channels(), 2u);
  EXPECT_EQ(study_network(study("{parameter_input: shifts}")).in_channels(), 1u);
  // At its default the key is in no effective document: runs from before it are what they were.
  const Value effective = study("{parameter_input: channels}").effective;
  EXPECT_EQ(effective.find("network")->find("parameter_input"), nullptr);
}

// Two families in one sweep: both learn, are told apart by name, and are read from their files.
// Broken by: a label that leaves out what no name means, or has options that only one family has.
TEST(NetworkFamilies, AreComparedInASweep) {
  if (test::testing_cuda()) GTEST_SKIP() << "the toy family is for the CPU only";
  test::add_toy_family();
  const test::TemporaryFolder folder;
  const test::ScopedVariable cache("STAP_CACHE", folder.path("cache"));
  std::vector<SweepRun> runs;
  for (const char* name : {"fno", "toy"})
    runs.push_back({name, make_study(with_network(std::string("{name: ") + name + "}")).effective});
  Observer quiet;

  ASSERT_EQ(drive(runs, folder.path("sweep"), 1, quiet, {}), LoopEnd::finished);

  const std::vector<RunResult> results = read_results(folder.path("sweep"));
  ASSERT_EQ(results.size(), 2u);
  const std::vector<std::string> names = labels({&results[0], &results[1]});
  EXPECT_EQ(names[0], results[0].method + " network.name=fno");
  EXPECT_EQ(names[1], results[1].method + " network.name=toy");
  EXPECT_NE(results[0].members.logs, results[1].members.logs);
  const Surrogate toy = load_surrogate(model_of(folder.path("sweep/toy")), {}, 1);
  EXPECT_EQ(toy.engine->spec().family.row->name, "toy");
}

}  // namespace
}  // namespace stap
