#include "stap/study/study.h"

#include <gtest/gtest.h>

#include <map>

#include "stap/core/error.h"
#include "stap/study/axes.h"
#include "stap/study/method.h"
#include "stap/study/presets.h"
#include "support/contains.h"
#include "support/fake_solver.h"
#include "support/own_study.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

config::Value demo(const std::vector<std::string>& settings = {}) {
  config::Value document = load_config("demo");
  for (const std::string& setting : settings) apply_setting(document, setting);
  return document;
}

// What a bad configuration says.
std::string complaint(const std::vector<std::string>& settings) {
  return test::config_complaint([&] { make_study(demo(settings)); });
}

TEST(Study, DemoPresetIsComplete) {
  const Study study = make_study(demo());

  EXPECT_EQ(method_text(study.effective), "sbal+stap");
  EXPECT_EQ(make_solver(study, 1)->name(), "burgers");
  EXPECT_EQ(make_sampler(study, study.grid)->name(), "sines");
  EXPECT_EQ(make_planner(study)->name(), "sbal+stap");
  EXPECT_EQ(study.grid.points, (std::vector<std::size_t>{64}));
  EXPECT_TRUE(study.complete());
}

// The printed behaviour: drop the rest of a trajectory, pay for failures, ask about any state.
TEST(Study, UnstableQueriesAreTreatedAsPrinted) {
  const StudyOptions options = make_study(demo()).options;

  EXPECT_EQ(options.on_unstable, OnUnstable::drop);
  EXPECT_TRUE(options.charge_failed);
  EXPECT_FALSE(options.charge_warm_up);
  EXPECT_EQ(options.trust_quantile, 0.0);
}

TEST(Study, MethodIsShortForBaseAndSteps) {
  config::Value document = demo();
  document.set("method", "sbal(exponent=2)+stap(proposals=10,epsilon=0.2)");
  const Study study = make_study(document);

  EXPECT_EQ(study.effective.find("base")->find("exponent")->real(), 2.0);
  EXPECT_EQ(study.effective.find("steps")->find("proposals")->integer<int>(), 10);
  EXPECT_EQ(method_text(study.effective), "sbal(exponent=2.0)+stap(proposals=10,epsilon=0.2)");
  document.set("method", "random");
  EXPECT_EQ(*make_study(document).effective.find("steps")->find("name")->text(), "full");
}

TEST(Study, ShortKeysReachTheStudySection) {
  EXPECT_EQ(make_study(demo({"seed=7"})).options.seed, 7u);
  EXPECT_EQ(make_study(demo({"study.seed=8"})).options.seed, 8u);
  EXPECT_EQ(full_key("train.epochs"), "train.epochs");
  EXPECT_EQ(full_key("method"), "method");
}

TEST(Study, BadInputIsSaidClearly) {
  EXPECT_NE(complaint({"budget=0"}).find("study.budget"), std::string::npos);
  EXPECT_NE(complaint({"study.initial=400"}).find("the pool has 400"), std::string::npos);
  EXPECT_NE(complaint({"study.initial=0"}).find("choose at least 1, or give first"),
            std::string::npos);
  EXPECT_NE(complaint({"members=1"}).find("at least 2"), std::string::npos);
  EXPECT_NE(complaint({"method=qbc", "members=1"}).find("qbc"), std::string::npos);
  EXPECT_EQ(complaint({"method=random", "members=1"}), "");
  EXPECT_NE(complaint({"method=sball"}).find("sbal"), std::string::npos);
  EXPECT_NE(complaint({"method=sbal+"}).find("a name is missing"), std::string::npos);
  EXPECT_NE(complaint({"method=sbal+stap(proposals=1"}).find("not closed"), std::string::npos);
  EXPECT_NE(
      complaint({"method=sbal+stap(proposals=1,proposals=2)"}).find("proposals is given twice"),
      std::string::npos);
  EXPECT_NE(
      complaint({"method=sbal+exact", "study.steps=26"}).find("study.steps is 26, but sbal+exact"),
      std::string::npos);
  EXPECT_EQ(complaint({"method=sbal+exact", "study.steps=16"}), "");
  EXPECT_EQ(complaint({"method=lcmd(sketch=sparse)", "device=cuda"}), "");
  EXPECT_NE(complaint({"method=sbal+bernoulli(p=0)"}).find("steps.p"), std::string::npos);
  EXPECT_NE(complaint({"method=random+stap-mf", "members=1"}).find("at least 2"),
            std::string::npos);
  EXPECT_EQ(complaint({"method=random+initial-bernoulli(p=0.125)", "members=1"}), "");
  EXPECT_NE(complaint({"method=random", "members=1", "trust_quantile=0.9"})
                .find("study.trust_quantile is 0.9, but a trust band compares members"),
            std::string::npos);
  EXPECT_EQ(complaint({"method=random", "members=1", "trust_quantile=0"}), "");
  EXPECT_EQ(complaint({"trust_quantile=1"}), "");
  EXPECT_NE(complaint({"trust_quantile=1.1"}).find("study.trust_quantile"), std::string::npos);
  EXPECT_NE(complaint({"trust_quantile=-0.1"}).find("study.trust_quantile"), std::string::npos);
  EXPECT_NE(complaint({"on_unstable=refil"}).find("did you mean 'refill'?"), std::string::npos);
  EXPECT_NE(complaint({"network.modes=[128]"}).find("network.modes"), std::string::npos);
  EXPECT_NE(complaint({"roundz=3"}).find("roundz"), std::string::npos);
  EXPECT_THROW(load_config("dem"), Error);
}

void add_unlimited(const config::Table& table, const std::string& path,
                   std::vector<std::string>& names) {
  for (const config::FieldInfo& field : table.fields()) {
    const std::string name = path + "." + field.name;
    if (field.section != nullptr) add_unlimited(*field.section, name, names);
    const bool counts = field.type == config::Type::integer || field.type == config::Type::integers;
    if (counts && !field.allowed.high) names.push_back(name);
  }
}

// Products of sizes cannot overflow unless a size has no limit. Seeds are no sizes.
TEST(Study, EverySizeHasALimitThatIsStated) {
  std::vector<std::string> names;
  for (const config::Family& family : study_families())
    for (const config::Entry& entry : family.entries)
      add_unlimited(*entry.fields, family.name, names);

  EXPECT_EQ(names, (std::vector<std::string>{"study.data_seed", "study.seed"}));
  for (const char* setting :
       {"pool=288230376151711744", "study.steps=18446744073709551615", "network.layers=1000000000",
        "budget=1e300", "train.epochs=2147483647", "members=2147483647"})
    EXPECT_NE(complaint({setting}).find("expected an integer >= "), std::string::npos) << setting;
}

// Every size may be allowed and their product not.
TEST(Study, SizesTogetherHaveLimits) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{"pool=1000000000", "pde.points=16777216", "pde.max_steps=1000000000000", "pde.dt=1e-6"},
       "study.pool is 1000000000, each of 1 states of 1"},
      {{"test=1000000000", "study.steps=1000000"},
       "study.test is 1000000000, each of 1000001 states"},
      {{"network.width=4096", "network.modes=[64]", "network.layers=256"}, "4294967296 weights"},
  };
  for (const auto& [settings, part] : cases)
    EXPECT_NE(complaint(settings).find(part), std::string::npos) << complaint(settings);
  EXPECT_EQ(complaint({"pool=1000000000", "study.steps=1000000", "test=1000", "method=random"}),
            "");
}

// What is said about a file of the user's own, and settings, but for its folder.
std::string complaint_about(const std::string& text,
                            const std::vector<std::string>& settings = {}) {
  const test::TemporaryFolder folder;
  config::Value document = load_config(folder.file("a.yaml", text));
  for (const std::string& setting : settings) apply_setting(document, setting);
  config::Complaints complaints;
  read_study(document, Purpose::run, complaints);
  std::string all;
  for (const config::Complaint& c : complaints.list()) {
    const std::string line = c.line();
    const std::size_t name = line.find("a.yaml");
    all += (name == std::string::npos ? line : line.substr(name)) + "\n";
  }
  return all;
}
testing::AssertionResult begins(const std::string& text, const std::string& part) {
  if (text.starts_with(part)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' does not begin: " << text;
}

// Also what no section can know by itself is said with the place of the key it is about, or of the
// other key of a pair where that one is left at its default.
TEST(Complaints, BetweenSectionsHaveTheirPlace) {
  const std::string demo = "extends: demo\n";

  EXPECT_TRUE(begins(complaint_about(demo + "study:\n  members: 1\n"),
                     "a.yaml:3:12: study.members is 1, but sbal+stap compares members"));
  EXPECT_TRUE(begins(complaint_about(demo + "study: {initial: 400}\n"),
                     "a.yaml:2:18: study.initial is 400, but the pool has 400"));
  EXPECT_TRUE(begins(complaint_about(demo, {"members=1"}), "members=1: study.members is 1"));
  EXPECT_TRUE(begins(complaint_about(demo + "network: {modes: [128]}\n"),
                     "a.yaml:2:18: network.modes[0] is 128, but that axis has 64 points"));
  EXPECT_TRUE(begins(complaint_about(demo, {"pde.points=8"}), "preset demo:6:18: network.modes"));
  EXPECT_TRUE(begins(complaint_about(demo + "study: {cluster: 8}\n"),
                     "a.yaml:2:18: study.cluster is 8: the warm-up is 0.6"));
  EXPECT_TRUE(begins(complaint_about(demo, {"cluster=3"}), "preset demo:9:10: study.steps is 8"));
  EXPECT_TRUE(begins(complaint_about(demo + "initial: {name: gas-waves}\n"),
                     "a.yaml:2:10: initial gas-waves: the grid is"));
  EXPECT_TRUE(
      begins(complaint_about(demo, {"pde.max_steps=1"}), "preset demo:4:6: pde burgers: dt"));
  EXPECT_TRUE(begins(complaint_about(demo + "method: sbal+exact\nstudy: {steps: 17}\n"),
                     "a.yaml:3:16: study.steps is 17, but sbal+exact takes at most 16"));
  EXPECT_TRUE(begins(complaint_about(demo + "train: {symmetries: [\"x -> -x, v -> -v\"]}\n"),
                     "a.yaml:2:21: train.symmetries \"x -> -x, v -> -v\" is no symmetry of these "
                     "states: there is no v; axes are x, channels u, and time is t"));
  EXPECT_TRUE(begins(complaint_about(demo, {"train.symmetries=[\"x -> -x\"]"}),
                     "train.symmetries=[\"x -> -x\"]: train.symmetries \"x -> -x\" is no symmetry "
                     "of burgers with these options: a step is off by"));
  EXPECT_TRUE(begins(complaint_about(demo, {"network.conserve=[v]"}),
                     "network.conserve=[v]: network.conserve names 'v', which is no channel: there "
                     "is u"));
  EXPECT_TRUE(begins(complaint_about(demo, {"network.conserve=[u, u]"}),
                     "network.conserve=[u, u]: network.conserve names 'u' twice"));
  EXPECT_NE(complaint_about("extends: as-coded/cns\n", {"network.conserve=[density, pressure]"})
                .find("network.conserve names pressure, whose mean cns does not keep"),
            std::string::npos);
  EXPECT_TRUE(begins(complaint_about(demo, {"network.conserve=[u]", "train.symmetries=[\"x\"]"}),
                     "train.symmetries=[\"x\"]: train.symmetries"));
  const std::string mirror = "train.symmetries=[\"x -> -x, u -> -u\"]";
  EXPECT_EQ(complaint_about(demo, {mirror}), "");
  EXPECT_EQ(complaint_about(demo, {mirror, "study.images=true"}), "");
  EXPECT_TRUE(
      test::contains(complaint_about(demo, {"study.images=true"}), "nothing to average over"));
  EXPECT_TRUE(test::contains(complaint_about(demo, {mirror, "study.images=true", "study.test=0"}),
                             "no test set to measure on"));
  EXPECT_NE(
      complaint_about(demo + "network: {time_input: true}\n", {"train.symmetries=[\"t -> -t\"]"})
          .find("train.symmetries turn time round"),
      std::string::npos);
}

// Vorticity changes its sign where x and y are swapped, and a forcing of x + y is its own image, so
// it must change its sign, too. Tried on the solver when the study is read.
TEST(Complaints, AboutSymmetriesOfParametersAreOfTheSolverAndTheirRanges) {
  const auto flow_with = [](const char* forcing) {
    return fmt::format(
        "extends: paper/ins\nnetwork: {{modes: [8, 8]}}\n"
        "pde: {{points: [16, 16], forcing: {{between: {}}}, mean_velocity: [0, 0]}}\n",
        forcing);
  };
  const std::string flow = flow_with("[-0.5, 0.5]");
  const auto stated = [](const char* text) {
    return std::vector<std::string>{fmt::format("train.symmetries=[\"{}\"]", text)};
  };

  EXPECT_EQ(complaint_about(flow, stated("x -> y, y -> x, u -> -u, forcing -> -forcing")), "");
  EXPECT_TRUE(test::contains(complaint_about(flow, stated("x -> y, y -> x, u -> -u")),
                             "is no symmetry of ins with these options"));
  EXPECT_TRUE(test::contains(
      complaint_about(flow_with("[-0.5, 1]"),
                      stated("x -> y, y -> x, u -> -u, forcing -> -forcing")),
      "forcing replaced by -forcing lies between -1 and 0.5, expected -0.5 to 1, its own range"));
}

TEST(Complaints, AboutAMethodHaveItsPlace) {
  EXPECT_TRUE(begins(complaint_about("extends: demo\nmethod: sbal+\n"),
                     "a.yaml:2:9: method 'sbal+': a name is missing"));
  EXPECT_TRUE(begins(complaint_about("extends: demo\nmethod: sbal+stap(epsilon=2)\n"),
                     "a.yaml:2:9: steps.epsilon is 2, expected"));
  EXPECT_TRUE(begins(complaint_about("extends: demo\nmethod: sball\n"),
                     "a.yaml:2:9: base.name is 'sball', which is not known"));
  EXPECT_TRUE(begins(complaint_about("method: sbal\nbase: {name: qbc}\n"),
                     "a.yaml:1:9: method is short for base and steps"));
  EXPECT_TRUE(begins(complaint_about("{}"), "a.yaml:1:1: pde is missing"));
}

// They are sections, and sizes of the study too.
TEST(Complaints, ASizeGivenAsASectionIsTakenForWhatItIsMeant) {
  EXPECT_EQ(complaint_about("extends: demo\n", {"steps=3"}),
            "steps=3: steps is 3, but steps is a section; for the number write study.steps=3\n");
  EXPECT_EQ(complaint_about("extends: demo\n", {"initial=5"}),
            "initial=5: initial is 5, but initial is a section; for the number write "
            "study.initial=5\n");
  EXPECT_EQ(complaint_about("extends: demo\ntest: 9\n"),
            "a.yaml:2:7: test is 9, but test is a section; for the number write study.test=9\n");
  EXPECT_EQ(complaint_about("extends: demo\n", {"test=9"}), "");
}

TEST(StudyFiles, ArePathsRelativeToTheFileThatNamesThem) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("data"));
  folder.file("data/pool.h5", "x");
  folder.file("data/test.h5", "x");
  folder.file("data/own.yaml",
              "extends: demo\ninitial: {name: file, path: pool.h5}\ntest: {name: file, path: "
              "./test.h5}\n");
  const std::string file = folder.file("a.yaml", "extends: data/own.yaml\nstudy: {seed: 3}\n");

  const Study study = make_study(load_config(file));
  const Study again = make_study(study.effective);

  const std::string pool = std::filesystem::absolute(folder.path("data/pool.h5")).string();
  EXPECT_EQ(study.initial_file, pool);
  EXPECT_EQ(study.test_file, std::filesystem::absolute(folder.path("data/test.h5")));
  EXPECT_EQ(*study.effective.find("initial")->find("path")->text(), pool);
  EXPECT_FALSE(study.initial);
  EXPECT_TRUE(study.complete());
  EXPECT_EQ(again.effective, study.effective);
  EXPECT_THROW(make_sampler(study, study.grid), Error);
  EXPECT_THROW(add_sampler({{"file", "would hide it", &file_fields()}, {}}), Error);
}

TEST(StudyFiles, GiveTheirSizesUnlessTheStudySaysLess) {
  const test::TemporaryFolder folder;
  const std::string pool = folder.file("pool.h5", "x"), test = folder.file("test.h5", "x");
  const auto study = [&](const std::string& sizes) {
    return make_study(load_config(folder.file(
        "a.yaml", "pde: {name: burgers}\nmethod: random\ninitial: {name: file, path: " + pool +
                      "}\ntest: {name: file, path: " + test + "}\n" + sizes)));
  };

  EXPECT_EQ(study("").options.pool, 0u);
  EXPECT_EQ(study("").options.test, 0u);
  EXPECT_EQ(study("").effective.find("study")->find("pool")->integer<int>(), 0);
  EXPECT_EQ(study("study: {pool: 50, test: 7}\n").options.pool, 50u);
  EXPECT_EQ(study("study: {pool: 50, test: 7}\n").options.test, 7u);
}

TEST(StudyFiles, MustBeThereToRunAndNeedNotToLook) {
  const std::string text = "extends: demo\ninitial: {name: file, path: gone.h5}\n";
  const test::TemporaryFolder folder;
  const config::Value document = load_config(folder.file("a.yaml", text));

  EXPECT_NE(complaint_about(text).find("a.yaml:2:29: initial.path is "), std::string::npos);
  EXPECT_NE(complaint_about(text).find("gone.h5, and there is no such file"), std::string::npos);
  EXPECT_NE(complaint_about("extends: demo\ntest: {name: file}\n").find("test.path is missing"),
            std::string::npos);
  EXPECT_NE(complaint_about("extends: demo\nfirst: {name: file, path: gone.h5}\n")
                .find("a.yaml:2:27: first.path is "),
            std::string::npos);
  EXPECT_NO_THROW(make_study(document, Purpose::look));
}

TEST(Study, TheTestSetMayBeAbsentAndThePoolMayNot) {
  EXPECT_EQ(make_study(demo({"test=0"})).options.test, 0u);
  EXPECT_EQ(make_study(demo({"validation=0.1"})).options.validation, 0.1);
  EXPECT_NE(complaint({"pool=0"}).find("pool=0: study.pool is 0, which means all of a file"),
            std::string::npos);
  EXPECT_NE(complaint({"validation=0.6"}).find("study.validation"), std::string::npos);
  EXPECT_EQ(make_study(demo({"validation=0.1", "stages=4"})).options.stages, 4u);
  EXPECT_NE(complaint({"stages=4"}).find("stages=4: study.stages is 4, but nothing is held back"),
            std::string::npos);
  EXPECT_NE(complaint({"validation=0.1", "stages=12", "train.epochs=250000"})
                .find("study.stages is 12, so that a round may take 1.02e+09 epochs"),
            std::string::npos);
}

// An equation of the program's own, whose table counts how often `points` is read.
struct FakeOptions {
  std::size_t points = 32;
  double dt = 0.1;
};
class CountingTable final : public config::Table {
 public:
  CountingTable()
      : Table({counted({"points", &FakeOptions::points, "grid points", config::at_least(1)}),
               config::Field<FakeOptions>("dt", &FakeOptions::dt, "learned step")},
              [](const void* copied) -> std::shared_ptr<void> {
                return copied
                           ? std::make_shared<FakeOptions>(*static_cast<const FakeOptions*>(copied))
                           : std::make_shared<FakeOptions>();
              }) {}
  static inline int reads = 0;

 private:
  static config::FieldInfo counted(config::Field<FakeOptions> field) {
    field.read = [inner = field.read](void* options, const config::Value& value,
                                      const std::string& path, config::Complaints& complaints) {
      ++reads;
      inner(options, value, path, complaints);
    };
    return field;
  }
};

std::unique_ptr<Solver> make_fake(const config::AnyOptions& options, const MakeContext&) {
  const config::Value value = options.value();
  const FakeOptions defaults;
  const auto given = [&](const char* key, double otherwise) {
    return value.is_null() ? otherwise : *value.find(key)->real();
  };
  const auto points =
      static_cast<std::size_t>(given("points", static_cast<double>(defaults.points)));
  return std::make_unique<test::FakeSolver>(make_grid(1, {points}, {1.0}),
                                            given("dt", defaults.dt));
}

// The embedding program adds an equation, and from then on a configuration may name it.
TEST(Study, EquationsCanBeAddedAndOptionsAreReadOnce) {
  static const CountingTable table;
  if (pde_table().find("fake") == nullptr)
    add_pde({{"fake", "an equation for tests", &table}, &make_fake, {}});
  config::Value document =
      demo({"pde={name: fake, points: 48}", "initial.warm_up=0", "method=sbal"});
  CountingTable::reads = 0;

  const Study study = make_study(document);
  make_solver(study, 1);
  make_planner(study);
  study.pde.value();

  EXPECT_EQ(CountingTable::reads, 1);
  EXPECT_EQ(study.pde.row, pde_table().find("fake"));
  EXPECT_EQ(study.grid.points, (std::vector<std::size_t>{48}));
  EXPECT_EQ(study.dt, 0.1);
}

// One of an earlier version, or of another program's own.
TEST(Study, WhoeverLooksNeedNotHaveTheMethod) {
  for (const auto& [sections, text] : std::map<std::string, std::string>{
           {"{base: {name: residual}, steps: {name: full}}", "residual"},
           {"{base: {name: lcmd, sketch: gaussian}, steps: {name: full}}", "lcmd(sketch=gaussian)"},
           {"{planner: {name: joint, exponent: 2}}", "joint(exponent=2)"}}) {
    config::Value document = demo();
    document.erase("method");
    const config::Value method = config::parse_yaml(sections, "test");
    for (const config::Value::Member& section : *method.map())
      document.set(section.key, section.value);

    const Study study = make_study(document, Purpose::look);

    EXPECT_EQ(method_text(study.effective), text);
    EXPECT_EQ(study.options.rounds, make_study(demo()).options.rounds);
    EXPECT_THROW(make_study(document), Error);
  }
}

struct NoChoice {};
const config::Fields<NoChoice>& joint_fields() {
  static const config::Fields<NoChoice> fields{};
  return fields;
}

// A method that chooses both together is named like any other, and excludes base and steps.
TEST(Study, JointMethodsCanBeAdded) {
  if (planner_table().find("unit-joint") == nullptr)
    add_planner({{"unit-joint", "both together", &joint_fields()},
                 [](const config::AnyOptions&, const MakeContext&) {
                   return make_two_part_planner(selector_table().find("qbc")->make({}, {}),
                                                chooser_table().find("full")->make({}, {}));
                 }});

  const Study study = make_study(demo({"method=unit-joint"}));

  EXPECT_EQ(method_text(study.effective), "unit-joint");
  EXPECT_EQ(study.effective.find("base"), nullptr);
  EXPECT_EQ(make_planner(study)->members_needed(), 2);
  EXPECT_NE(complaint({"method=unit-joint", "members=1"}).find("unit-joint compares members"),
            std::string::npos);
  EXPECT_NE(complaint({"method=unit-joint+stap"}).find("unit-joint chooses steps itself"),
            std::string::npos);
  EXPECT_EQ(
      method_text(
          make_study(demo({"method=unit-joint", "base.name=qbc", "steps.name=every"})).effective),
      "qbc+every");
  EXPECT_EQ(method_text(make_study(demo({"planner.name=unit-joint"})).effective), "unit-joint");
}

// The folder of a run that another program made.
// 3 to begin with, and each of 2 x 7 steps may be of another candidate; whole ones have 5 each.
TEST(Study, SaysWhenThePoolIsNearlyUsedUp) {
  const auto note = [](const char* method, const char* pool) {
    return pool_note(test::own_study({std::string("method=") + method, pool}));
  };
  EXPECT_TRUE(test::contains(note("sbal+stap", "pool=18"), "up to 17 of the pool's 18 candidates"));
  EXPECT_TRUE(test::contains(note("sbal+stap", "pool=9"), "up to 9 of the pool's 9 candidates"));
  EXPECT_EQ(note("sbal+stap", "pool=19"), "");
  EXPECT_TRUE(test::contains(note("sbal", "pool=7"), "up to 7 of the pool's 7 candidates"));
  EXPECT_EQ(note("sbal", "pool=8"), "");
}

TEST(Study, SaysWhenNarrowNetworksHaveWideEnds) {
  const auto note = [](std::vector<std::string> settings) {
    return hidden_channels_note(test::own_study(settings));
  };
  EXPECT_TRUE(test::contains(note({"network.width=16"}),
                             "network.lifting (256) and network.projection (256)"));
  EXPECT_TRUE(test::contains(note({"network.width=16", "network.lifting=256"}),
                             "network.projection (256) keeps the default although network.width is "
                             "16: about 64"));
  EXPECT_EQ(note({"network.width=64"}), "");
}

TEST(Study, TheMethodOfAnUnknownEntryIsWrittenOut) {
  const config::Value effective = config::parse_yaml(
      "base: {name: theirs, a: 1}\nsteps: {name: stap, proposals: 9, epsilon: 0.1}\n", "t");

  EXPECT_EQ(method_text(effective), "theirs(a=1)+stap(proposals=9)");
}

// The forcing of ins-forced turns round with time, and half a turn is its symmetry only where it
// begins. Mutation: trying what is stated at time 0.
TEST(Study, SymmetriesOfBuiltInProblemsAreTriedOnTheirWay) {
  const auto complaint_of = [](const std::string& problem) {
    return test::config_complaint([&] { make_study(load_config(problem, {"symmetries/ins"})); });
  };

  EXPECT_EQ(complaint_of("paper/ins"), "");
  EXPECT_NE(
      complaint_of("paper/ins-forced").find("\"x -> 1/4 - x, y -> -y\" is no symmetry of ins"),
      std::string::npos);
}

// Mutation: maps of single states where networks take clusters, or of the generators alone.
TEST(Study, SymmetriesBecomeMapsOfWhatNetworksTake) {
  const auto maps = [](const std::vector<std::string>& settings) {
    config::Value document = load_config("as-coded/ins", {"symmetries/ins"});
    for (const std::string& setting : settings) apply_setting(document, setting);
    return make_symmetries(make_study(document, Purpose::check));
  };

  const auto single = maps({}), cluster = maps({"study.cluster=2"}),
             none = maps({"train.symmetries=[]"});

  ASSERT_EQ(single.size(), 16u);
  ASSERT_EQ(cluster.size(), 16u);
  EXPECT_EQ(single[0].from.size(), 1024u);
  EXPECT_EQ(cluster[0].from.size(), 2048u);
  EXPECT_EQ(single[0].from[1000], 1000);
  EXPECT_TRUE(none.empty());
}

TEST(Grid, AxesAndNames) {
  const GridAxis methods =
      parse_axis("method=random,sbal(exponent=2)+stap(proposals=5,epsilon=0.2)");
  ASSERT_EQ(methods.values.size(), 2u);

  const auto runs = expand_grid(demo(), {methods, parse_axis("seed=0,1,2")});

  ASSERT_EQ(runs.size(), 6u);
  EXPECT_EQ(runs[1].name, "method=random,seed=1");
  EXPECT_EQ(make_study(runs[5].document).options.seed, 2u);
  EXPECT_THROW(parse_axis("seed"), Error);
  EXPECT_THROW(parse_axis("seed=1,,2"), Error);
}

TEST(Differences, NameEveryKeyThatDiffers) {
  const Study a = make_study(demo()), b = make_study(demo({"seed=1", "train.epochs=61"}));

  const auto list = differences(a.effective, b.effective, "r");

  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0], "train.epochs: 60 in this command, 61 in r");
  EXPECT_EQ(list[1], "study.seed: 0 in this command, 1 in r");
}

}  // namespace
}  // namespace stap
