#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "support/process.h"

namespace stap::test {
namespace {

using nlohmann::json;

/// Every error is one message on stderr and nothing on stdout.
void expect_refused(const Finished& result, int exit_code, const std::string& part) {
  EXPECT_EQ(result.exit_code, exit_code);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.err.starts_with("stap: ")) << result.err;
  EXPECT_TRUE(contains(result.err, part));
}

TEST(Program, AloneShowsHelp) {
  const Finished result = run_stap({});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "Usage: stap"));
  EXPECT_EQ(result.err, "");
}

TEST(Program, SaysItsVersion) {
  const Finished result = run_stap({"--version"});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "stap "));
  EXPECT_EQ(std::ranges::count(result.out, '.'), 2) << result.out;
}

TEST(Program, HelpGroupsCommandsByTask) {
  const std::string help = run_stap({"--help"}).out;

  EXPECT_TRUE(contains(help, "\nRun it:\n  run "));
  EXPECT_TRUE(contains(help, "\nSee what came out:\n  report "));
  EXPECT_FALSE(contains(help, "\n  man "));  // hidden
  for (const char* option : {"--quiet", "--threads", "--device", "--precision"})
    EXPECT_TRUE(contains(run_stap({"table", "--help"}).out, std::string("\n  ") + option));
}

TEST(Program, VersionSaysWhatABugReportNeeds) {
  const json version = json::parse(run_stap({"version", "--json", "--threads", "3"}).out);

  EXPECT_EQ(run_stap({"version"}).out, run_stap({"--version"}).out);
  EXPECT_TRUE(contains(run_stap({"version", "--verbose"}).out, "instruction set"));
  EXPECT_EQ(version["threads"], "3");
  for (const char* key : {"version", "build", "compiler", "cpu", "instruction_set", "gpu",
                          "cuda_architectures", "hdf5", "cache_folder"})
    EXPECT_NE(version[key], "") << key;
}

// Only what is near is named, or one sees nothing for names.
TEST(Program, AfterANearMatchNothingElseIsListed) {
  for (const auto& [words, meant] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"run", "demmo"}, "'demo'"},
           {{"describe", "sball"}, "'sbal'"},
           {{"run", "demo", "method=sbl"}, "'sbal'"},
           {{"run", "demo", "epochs=5"}, "'train.epochs'"},
           {{"check", "demo", "train.schedule=cosin"}, "'cosine'"},
           {{"plot", "x", "--figure", "error"}, "'errors'"},
           {{"rn", "demo"}, "'run'"}}) {
    const Finished result = run_stap(words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.err.ends_with("; did you mean " + meant + "?\n")) << result.err;
  }
  EXPECT_TRUE(contains(run_stap({"run", "nothing-like-it"}).err, "'stap list'"));
  expect_refused(run_stap({"run", "demo", "--seed", "1"}), 2, "write seed=1;");
  expect_refused(run_stap({"run", "demo", "--epochs=5"}), 2, "write train.epochs=5;");
  expect_refused(run_stap({"sweep", "demo", "--method", "sbal"}), 2, "write method=sbal;");
  expect_refused(run_stap({"table", "x", "--seed", "1"}), 2, "unknown option '--seed'");
}

TEST(Program, BadUsageIsExitCode2WithAHint) {
  expect_refused(run_stap({"lits"}), 2, "unknown command 'lits'; did you mean 'list'?");
  expect_refused(run_stap({"completion", "bash"}), 2,
                 "unknown command 'completion'; see 'stap --help'");
  expect_refused(run_stap({"solver", "fly"}), 2, "known commands: check, symmetries, replay");
  expect_refused(run_stap({"check", "--jsno", "x.yaml"}), 2, "did you mean '--json'?");
  expect_refused(run_stap({"check"}), 2, "see 'stap check --help'");
  // Misspelt, so what is required is missing as well.
  expect_refused(run_stap({"run", "demo", "--ouput", "x"}), 2,
                 "unknown option '--ouput'; did you mean '--out'?");
  expect_refused(run_stap({"run", "demo", "--output=x"}), 2,
                 "unknown option '--output'; did you mean '--out'?");
  expect_refused(run_stap({"sweep", "demo", "--gird", "a=1"}), 2, "did you mean '--grid'?");
  expect_refused(run_stap({"run", "demo", "--stop", "9s"}), 2, "did you mean '--stop-after'?");
  expect_refused(run_stap({"table", "x", "--trheads", "2"}), 2, "did you mean '--threads'?");
  expect_refused(run_stap({"list", "train", "more"}), 2, "unexpected argument 'more'");
  expect_refused(run_stap({"--threads", "0", "list"}), 2, "--threads");
  expect_refused(run_stap({"--threads", "many", "list"}), 2, "--threads");
}

TEST(Program, OutputThatCannotBeWrittenIsExitCode6) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";

  const Finished result = run_process({STAP_TEST_PROGRAM, "schema"}, "/dev/full");

  EXPECT_EQ(result.exit_code, 6);
  EXPECT_TRUE(contains(result.err, "cannot write to standard output: No space left"));
}

TEST(Program, GlobalOptionsMayStandBeforeAndAfterTheCommand) {
  const Finished before = run_stap({"--quiet", "--threads", "2", "list"});
  const Finished after = run_stap({"list", "--quiet", "--threads", "2"});

  EXPECT_EQ(before.exit_code, 0);
  EXPECT_EQ(after.exit_code, 0);
  EXPECT_EQ(before.out, after.out);
}

TEST(Program, ListsAndDescribes) {
  const Finished list = run_stap({"list"});
  const Finished one = run_stap({"describe", "train"});
  const Finished unknown = run_stap({"describe", "trian"});

  EXPECT_EQ(list.exit_code, 0);
  EXPECT_TRUE(contains(list.out, "network"));
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_TRUE(contains(one.out, "learning_rate"));
  EXPECT_TRUE(contains(one.out, "0.001"));
  expect_refused(unknown, 2, "did you mean 'train'?");
  expect_refused(run_stap({"list", "nothing"}), 2, "known families");
}

// The laws of every entry of every family: it has a text, every field has one, and its defaults
// pass its own checks.
TEST(Program, EveryEntryDescribesItselfAndAcceptsItsDefaults) {
  const TemporaryFolder folder;
  const json families = json::parse(run_stap({"list", "--json"}).out);

  std::set<std::string> left_out;
  ASSERT_FALSE(families.empty());
  for (const json& family : families)
    for (const json& entry : family["entries"]) {
      const std::string section = family["family"];
      const std::string name = entry["name"];
      const bool named = family["named"];
      const std::string title = named ? section + "." + name : section;
      SCOPED_TRACE(title);

      const json described = json::parse(run_stap({"describe", "--json", title}).out);
      const Finished checked = run_stap(
          {"check", folder.file("c.yaml", section + ": {" + (named ? "name: " + name : "") + "}")});
      const Finished again = run_stap({"check", folder.file("again.yaml", checked.out)});

      EXPECT_NE(entry["text"], "");
      ASSERT_EQ(described.size(), 1u);
      for (const json& field : described[0]["fields"]) {
        EXPECT_NE(field["text"], "") << field["name"];
        const std::string key = field["name"];
        if (!contains(checked.out, key.substr(key.rfind('.') + 1) + ":")) left_out.insert(key);
      }
      EXPECT_EQ(checked.exit_code, 0) << checked.err;
      EXPECT_EQ(again.exit_code, 0) << again.err;
      EXPECT_EQ(again.out, checked.out);
    }
  // Keys that came later than their entry and stand at what was done before.
  EXPECT_EQ(left_out, (std::set<std::string>{"fixed", "hyperviscosity", "mask", "padding.kind",
                                             "padding.share", "parameter_input", "walls"}));
}

TEST(Program, CheckPrintsTheEffectiveConfig) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.yaml", "network: {width: 8}\ntrain:\n  epochs: 3\n");

  const Finished result = run_stap({"check", file, "train.batch=4", "network.modes=[16, 8]"});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(contains(result.out, "  modes: [16, 8]\n  width: 8\n"));
  EXPECT_TRUE(contains(result.out, "  epochs: 3\n  steps: 0\n  batch: 4\n"));
}

// What people try first leads on.
TEST(Program, FirstAttemptsAreAnswered) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_stap({"help", "solver", "check"}).out, run_stap({"solver", "check", "--help"}).out);
  EXPECT_EQ(run_stap({"help"}).out, run_stap({"--help"}).out);
  EXPECT_EQ(run_stap({"help", "rum"}).exit_code, 2);
  const Finished key = run_stap({"describe", "train.epochs"});
  EXPECT_EQ(key.exit_code, 0) << key.err;
  EXPECT_TRUE(contains(key.out, "epochs") && !contains(key.out, "batch")) << key.out;
  EXPECT_TRUE(contains(run_stap({"list", "presets"}).out, "demo"));
  ASSERT_EQ(
      run_stap({"init", folder.path("mine"), "--from", "worker", "--language", "python"}).exit_code,
      0);
  EXPECT_TRUE(contains(run_stap({"run", folder.path("mine")}).err,
                       "did you mean " + folder.path("mine") + "/study.yaml?"));
  const Finished range = run_stap({"sweep", "demo", "seed=0..4"});
  EXPECT_EQ(range.exit_code, 2);
  EXPECT_TRUE(contains(range.err, "--grid seed=0..4")) << range.err;
}

TEST(Program, CheckEndsWithWhatAStudyTakes) {
  const Finished one = run_stap({"check", "demo"});
  const json sweep = json::parse(run_stap({"check", "studies/small-burgers", "--json"}).out);

  EXPECT_TRUE(contains(
      one.err,
      "\nplan: 1 run, 144 solver steps, 512 for the test set, 1856 for 464 warm-ups; about "));
  // 400 trajectories of 8 steps are all that there is, 48 of them bought first.
  const json huge = json::parse(run_stap({"check", "demo", "budget=1000000", "--json"}).out);
  EXPECT_EQ(huge["plan"]["solver_steps"], 3200);
  EXPECT_EQ(huge["plan"]["unspent_steps"], 48 + 4 * 1000000 - 3200);
  EXPECT_EQ(huge["plan"]["warm_up_steps"], 4 * 464);
  EXPECT_TRUE(one.err.ends_with(" on disk\n")) << one.err;
  EXPECT_EQ(sweep["plan"]["runs"], sweep["runs"].size());
  const json& study = sweep["config"]["study"];
  EXPECT_EQ(
      sweep["plan"]["solver_steps"].get<int>(),
      sweep["plan"]["runs"].get<int>() * (study["initial"].get<int>() * study["steps"].get<int>() +
                                          study["rounds"].get<int>() * study["budget"].get<int>()));
  EXPECT_EQ(sweep["plan"]["test_set_steps"].get<int>(),
            study["test"].get<int>() * study["steps"].get<int>());  // shared by all runs
  EXPECT_FALSE(json::parse(run_stap({"check", "20-rounds", "--json"}).out).contains("plan"));
}

TEST(Program, CheckTakesTheAxesOfASweep) {
  const std::vector<std::string> words{"check",  "demo",     "--grid", "method=random,sbal+stap",
                                       "--grid", "seed=0..4"};
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");

  const Finished checked = run_stap(words);
  const json sweep = json::parse(run_stap(as_json).out);

  EXPECT_TRUE(checked.out.starts_with("# a sweep of 10 runs:\n#   method: random, sbal+stap\n"))
      << checked.out;
  // 144 steps each; they share the test set.
  EXPECT_TRUE(contains(checked.err, "\nplan: 10 runs, 1440 solver steps, 512 for the test set"));
  EXPECT_EQ(sweep["runs"].size(), 10);
  EXPECT_EQ(sweep["runs"][9], "method=sbal+stap,seed=4");
  EXPECT_EQ(run_stap({"check", "demo", "--grid", "train.batch=4,0"}).exit_code, 2);
}

TEST(Program, CheckSaysHowMuchMemoryAStudyTakes) {
  const Finished whole = run_stap({"check", "demo", "device=cpu"});
  const Finished part = run_stap({"check", "20-rounds"});

  EXPECT_TRUE(contains(whole.err, "memory: about")) << whole.err;
  EXPECT_TRUE(contains(whole.err, "(cpu)"));
  EXPECT_FALSE(contains(part.err, "memory"));
}

// Eight maps of 4 bytes a value, and images of 32 rows, inputs and targets, for one thread.
TEST(Program, CheckCountsTheMemoryOfSymmetries) {
  const auto training = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"check",
                                   "as-coded/cns",
                                   "device=cpu",
                                   "pde.points=[1024, 1024]",
                                   "network.width=4",
                                   "network.layers=1",
                                   "network.lifting=4",
                                   "network.projection=4",
                                   "members=2",
                                   "--threads",
                                   "1"};
    words.insert(words.end(), more.begin(), more.end());
    const std::string said = run_stap(words).err, before = "pool and test set, ";
    const std::size_t at = said.find(before);
    return at == std::string::npos ? 0.0 : std::stod(said.substr(at + before.size()));
  };

  const double plain = training({}), with = training({"--with", "symmetries/cns"});

  // Both are rounded to a tenth of a GiB.
  EXPECT_GT(plain, 1.0);
  EXPECT_NEAR(with - plain, (8 + 2 * 32) * 4.0 * 4 / 1024, 0.1001);
}

TEST(Program, CheckShowsAllProblemsAtOnce) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.yaml",
                                       "netwrok: {}\n"
                                       "network: {widht: 8, modes: [3], layers: four}\n"
                                       "train: {epochs: 2.5}\n");

  const Finished result = run_stap({"check", file, "train.batch=64"});

  expect_refused(result, 2, "6 problems");
  EXPECT_TRUE(contains(result.err, file + ":1:1: netwrok is not known; did you mean 'network'?"));
  EXPECT_TRUE(
      contains(result.err, file + ":2:11: network.widht is not known; did you mean 'width'?"));
  EXPECT_TRUE(contains(result.err, "network.modes has 3 in it"));
  EXPECT_TRUE(
      contains(result.err, "network.layers is 'four', expected an integer >= 1 and <= 256"));
  EXPECT_TRUE(
      contains(result.err, "train.epochs is 2.5, expected an integer >= 1 and <= 10000000"));
  EXPECT_TRUE(contains(result.err, "train.batch=64: train.batch is 64"));
}

TEST(Program, CheckAnswersInJson) {
  const TemporaryFolder folder;
  const std::string good = folder.file("good.yaml", "train: {epochs: 3}\n");
  const std::string bad = folder.file("bad.yaml", "train: {epochs: 0}\n");

  const Finished passed = run_stap({"check", "--json", good});
  const Finished failed = run_stap({"check", "--json", bad});

  EXPECT_EQ(passed.exit_code, 0);
  EXPECT_EQ(json::parse(passed.out)["config"]["train"]["epochs"], 3);
  EXPECT_EQ(failed.exit_code, 2);
  EXPECT_EQ(json::parse(failed.out)["ok"], false);
  EXPECT_EQ(json::parse(failed.out)["problems"][0]["path"], "train.epochs");
}

TEST(Program, CheckRefusesFilesItCannotUse) {
  const TemporaryFolder folder;
  const std::string empty = folder.file("empty.yaml", "");

  expect_refused(run_stap({"check", folder.path("missing.yaml")}), 2, "missing.yaml");
  expect_refused(run_stap({"check", folder.path(".")}), 2, "there is no file");
  expect_refused(run_stap({"check", folder.file("cut.yaml", "train: {epochs: 3\n")}), 2,
                 "cut.yaml:");
  expect_refused(run_stap({"check", folder.file("twice.yaml", "train: {}\ntrain: {}\n")}), 2,
                 "twice.yaml:2:1");
  expect_refused(run_stap({"check", folder.file("bytes.yaml", "\xff\xfe\x01")}), 2, "UTF-8");
  expect_refused(run_stap({"check", folder.file("list.yaml", "[1, 2]\n")}), 2, "expected a map");
  expect_refused(run_stap({"check", empty, "train.epochs"}), 2, "key.path=value");
  expect_refused(run_stap({"check", empty, "network.layers=1000000000"}), 2, "<= 256");
  EXPECT_EQ(run_stap({"check", empty}).exit_code, 0);
}

TEST(Program, SchemaNamesEveryField) {
  const json schema = json::parse(run_stap({"schema"}).out);
  const json described = json::parse(run_stap({"describe", "--json", "train"}).out);

  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  const json& properties = schema["properties"]["train"]["properties"];
  EXPECT_EQ(properties.size(), described[0]["fields"].size());
  for (const json& field : described[0]["fields"])
    EXPECT_TRUE(properties.contains(field["name"])) << field["name"];
}

}  // namespace
}  // namespace stap::test
