#include "stap/study/presets.h"
#include "stap/nn/fno.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "stap/core/error.h"
#include "stap/ic/ic.h"
#include "stap/pde/pde.h"
#include "stap/results/published.h"
#include "stap/run/sweep.h"
#include "stap/study/axes.h"
#include "stap/study/method.h"
#include "stap/study/study.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using test::contains;
using test::TemporaryFolder;

std::string preset_complaint(const std::string& name,
                             const std::vector<std::string>& overlays = {}) {
  return test::config_complaint([&] { load_config(name, overlays); });
}
Value yaml(const std::string& text) {
  return config::parse_yaml(text, "test");
}
Value laid(const std::string& below, const std::string& above) {
  Value document = yaml(below);
  overlay(document, yaml(above));
  return document;
}

TEST(Overlay, MergesKeyByKey) {
  EXPECT_EQ(laid("train: {epochs: 3, batch: 4}\nstudy: {pool: 7}", "train: {epochs: 9}"),
            yaml("train: {epochs: 9, batch: 4}\nstudy: {pool: 7}"));
  EXPECT_EQ(laid("network: {modes: [16, 16]}", "network: {modes: [8]}"),
            yaml("network: {modes: [8]}"));
  EXPECT_EQ(laid("train: {epochs: 3}", "train:"), yaml("train: {epochs: 3}"));
  EXPECT_EQ(laid("train:", "train: {epochs: 3}"), yaml("train: {epochs: 3}"));
}

TEST(Overlay, AnotherNameDropsTheOptionsOfTheOldEntry) {
  EXPECT_EQ(laid("pde: {name: burgers, points: 16}", "pde: {name: kdv, dt: 1}"),
            yaml("pde: {name: kdv, dt: 1}"));
  EXPECT_EQ(laid("pde: {name: burgers, points: 16}", "pde: {name: burgers, dt: 1}"),
            yaml("pde: {name: burgers, points: 16, dt: 1}"));
  EXPECT_EQ(laid("pde: {name: burgers, points: 16}", "pde: {dt: 1}"),
            yaml("pde: {name: burgers, points: 16, dt: 1}"));
}

// What every family has stays. Broken by: taking the width of the old network for that of the new
// one, or losing what its surroundings are.
TEST(Overlay, AnotherFamilyOfNetworksKeepsWhatAllFamiliesHave) {
  Value document = yaml("network: {modes: [8], width: 20, conserve: [u], time_input: true}");

  overlay(document, yaml("network: {name: dilated, blocks: 2}"));

  EXPECT_EQ(document, yaml("network: {conserve: [u], time_input: true, name: dilated, blocks: 2}"));
}

TEST(Settings, TheNameOfAFamilyComesBeforeItsOptions) {
  const Value before = yaml("network: {modes: [8], width: 20, conserve: [u]}");
  Value document = before;

  apply_settings(document, std::vector<std::string>{"network.width=32", "network.name=dilated"});

  EXPECT_EQ(document, yaml("network: {conserve: [u], name: dilated, width: 32}"));
  EXPECT_EQ(left_out_note(before, document),
            "network.name is dilated, so these options of fno are left out: network.modes");
  apply_settings(document, std::vector<std::string>{"network.name=dilated"});
  EXPECT_EQ(document, yaml("network: {conserve: [u], name: dilated, width: 32}"));
  EXPECT_EQ(left_out_note(before, before), "");
}

TEST(Overlay, ADrawReplacesAnother) {
  EXPECT_EQ(laid("pde: {viscosity: {between: [1, 2], draw: log}}", "pde: {viscosity: {from: [3]}}"),
            yaml("pde: {viscosity: {from: [3]}}"));
  EXPECT_EQ(
      laid("pde: {viscosity: {between: [1, 2], draw: log}}", "pde: {viscosity: {between: [1, 3]}}"),
      yaml("pde: {viscosity: {between: [1, 3]}}"));
  EXPECT_EQ(laid("pde: {viscosity: {between: [1, 2]}}", "pde: {viscosity: 0.5}"),
            yaml("pde: {viscosity: 0.5}"));
}

TEST(Overlay, MethodAndItsSectionsReplaceEachOther) {
  EXPECT_EQ(laid("base: {name: sbal}\nsteps: {name: stap}", "method: random"),
            yaml("method: random"));
  EXPECT_EQ(laid("method: sbal+stap", "steps: {proposals: 10}"),
            yaml("base: {name: sbal}\nsteps: {name: stap, proposals: 10}"));
}

TEST(Extends, FilesRelativeToTheirOwnAndPresets) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  folder.file("sub/first.yaml", "extends: demo\nstudy: {rounds: 7}\n");
  folder.file("sub/second.yaml", "extends: first.yaml\ntrain: {epochs: 3}\n");

  const Value document = load_config(folder.path("sub/second.yaml"));

  EXPECT_EQ(document.find("extends"), nullptr);
  const Study study = make_study(document);
  EXPECT_EQ(study.train.epochs, 3);
  EXPECT_EQ(study.options.rounds, 7u);
  EXPECT_EQ(study.options.pool, 400u);  // the demo's
}

TEST(Extends, AListIsMergedInOrder) {
  const TemporaryFolder folder;
  folder.file("a.yaml", "study: {rounds: 1, pool: 1}\n");
  folder.file("b.yaml", "study: {rounds: 2, test: 2}\n");
  folder.file("c.yaml", "extends: [a.yaml, b.yaml]\nstudy: {test: 3}\n");

  EXPECT_EQ(load_config(folder.path("c.yaml")), yaml("study: {rounds: 2, pool: 1, test: 3}"));
}

// Two ways to one document are no circle.
TEST(Extends, CirclesAreNamed) {
  const TemporaryFolder folder;
  folder.file("a.yaml", "extends: b.yaml\n");
  folder.file("b.yaml", "extends: a.yaml\n");
  folder.file("self.yaml", "extends: ./self.yaml\n");
  folder.file("base.yaml", "study: {pool: 1}\n");
  folder.file("left.yaml", "extends: base.yaml\n");
  folder.file("both.yaml", "extends: [left.yaml, base.yaml]\n");

  const std::string circle = preset_complaint(folder.path("a.yaml"));
  EXPECT_TRUE(contains(circle, "extends itself"));
  EXPECT_LT(circle.find("a.yaml -> "), circle.find("b.yaml -> ")) << circle;
  EXPECT_TRUE(contains(preset_complaint(folder.path("self.yaml")), "extends itself"));
  EXPECT_EQ(preset_complaint(folder.path("both.yaml")), "");
}

// Two names a file are 2^n readings, and each is one more on the stack.
TEST(Extends, DepthAndNumberOfDocumentsHaveLimits) {
  const TemporaryFolder folder;
  folder.file("double-0.yaml", "{}");
  folder.file("chain-0.yaml", "{}");
  for (int i = 1; i <= 40; ++i) {
    folder.file(fmt::format("double-{}.yaml", i),
                fmt::format("extends: [double-{}.yaml, double-{}.yaml]", i - 1, i - 1));
    folder.file(fmt::format("chain-{}.yaml", i), fmt::format("extends: chain-{}.yaml", i - 1));
  }
  const auto about = [&](const std::string& name) { return preset_complaint(folder.path(name)); };

  EXPECT_EQ(about("double-5.yaml"), "");  // 63 documents
  EXPECT_TRUE(contains(about("double-6.yaml"), "extends more than 100 documents"));
  EXPECT_TRUE(contains(about("double-15.yaml"), "extends more than 100 documents"));
  EXPECT_EQ(about("chain-15.yaml"), "");
  EXPECT_TRUE(contains(about("chain-16.yaml"), "more than 16 deep"));
  EXPECT_TRUE(contains(about("double-40.yaml"), "more than 16 deep"));
  EXPECT_TRUE(contains(preset_complaint("demo", std::vector<std::string>(100, "20-rounds")),
                       "100 documents"));
}

// Laid over a map, it would take its place.
TEST(Extends, OnlyMapsAreLaidOverEachOther) {
  const TemporaryFolder folder;
  folder.file("notes.txt", "my notes\n");
  folder.file("list.yaml", "[1, 2]\n");
  folder.file("empty.yaml", "");

  for (const char* name : {"notes.txt", "list.yaml"})
    for (const char* order : {"demo, {}", "{}, demo"}) {
      const std::string file =
          folder.file("a.yaml", "extends: [" + fmt::format(fmt::runtime(order), name) + "]\n");
      EXPECT_TRUE(contains(preset_complaint(file), fmt::format("{}:1:1: the document is a", name)));
      EXPECT_TRUE(
          contains(preset_complaint("demo", {folder.path(name)}), "expected a map of sections"));
    }
  EXPECT_EQ(load_config(folder.file("b.yaml", "extends: [demo, empty.yaml]\n")),
            load_config("demo"));
}

TEST(Extends, WhatIsNoFileIsRefusedUnread) {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe"), loop = folder.path("loop");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(loop, loop);
  const std::pair<std::string, const char*> cases[] = {
      {pipe, "no regular file"}, {"/dev/zero", "no regular file"}, {loop, "Too many levels"}};

  for (const auto& [path, why] : cases) {
    EXPECT_TRUE(contains(preset_complaint(path), why));
    EXPECT_TRUE(contains(preset_complaint("demo", {path}), "--with: "));
    EXPECT_TRUE(contains(preset_complaint(folder.file("a.yaml", "extends: " + path + "\n")),
                         "a.yaml:1:10: "));
  }
}

TEST(Extends, UnknownNamesComeWithPlaceAndSuggestion) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.yaml", "train: {}\nextends: paper/burger\n");

  EXPECT_TRUE(contains(preset_complaint(file),
                       "a.yaml:2:10: there is no file and no preset 'paper/burger'"));
  EXPECT_TRUE(contains(preset_complaint(file), "did you mean 'paper/burgers'?"));
  EXPECT_TRUE(contains(preset_complaint("demos"), "did you mean 'demo'?"));
  EXPECT_TRUE(contains(preset_complaint("demo", {"20-round"}), "did you mean '20-rounds'?"));
  EXPECT_TRUE(
      contains(preset_complaint(folder.file("b.yaml", "extends: {a: 1}\n")), "b.yaml:1:10"));
  EXPECT_TRUE(
      contains(preset_complaint(folder.file("c.yaml", "extends: [demo, 3]\n")), "c.yaml:1:17"));
}

// Messages about what was merged still name the file it stands in.
TEST(Extends, KeepsWhereThingsWereWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.yaml", "extends: demo\ntrain: {epoch: 3}\nnetz: 3\n");

  config::Complaints complaints;
  config::check(study_families(), load_config(file), complaints);

  // The demo's own sampler and equation may be unknown to nobody: only ours are problems.
  const auto origin = [&](const std::string& path) -> std::string {
    for (const config::Complaint& complaint : complaints.list())
      if (complaint.path == path) return complaint.origin;
    return "";
  };
  EXPECT_TRUE(contains(origin("train.epoch"), "a.yaml:2:9"));
  EXPECT_TRUE(contains(origin("netz"), "a.yaml:3:1"));
}

TEST(LoadConfig, ARunFolderStandsForItsConfiguration) {
  const TemporaryFolder folder;
  const Study study = make_study(load_config("demo"));
  std::filesystem::create_directories(folder.path("my-run"));
  const std::string file =
      folder.file("my-run/config.yaml", "format: run/3\n" + config::yaml_text(study.effective));
  const std::string over = folder.file("over.yaml", "extends: my-run\nstudy: {seed: 5}\n");

  EXPECT_EQ(make_study(load_config(folder.path("my-run"))).effective, study.effective);
  EXPECT_EQ(make_study(load_config(file)).effective, study.effective);
  EXPECT_EQ(make_study(load_config(over)).options.seed, 5u);
}

TEST(LoadConfig, SettingsReplaceWhatARunFolderSays) {
  const TemporaryFolder folder;
  const Study study = make_study(load_config("demo"));
  const std::string file =
      folder.file("config.yaml", "format: run/3\n" + config::yaml_text(study.effective));
  const auto method = [&](const std::vector<std::string>& settings) {
    Value document = load_config(file);
    for (const std::string& setting : settings) apply_setting(document, setting);
    return method_text(make_study(document).effective);
  };

  EXPECT_EQ(method({}), "sbal+stap");
  EXPECT_EQ(method({"method=qbc"}), "qbc");
  EXPECT_EQ(method({"method=qbc+every", "steps.k=3"}), "qbc+every(k=3)");
}

// A preset's own name must not change its meaning where a run has written a folder of that name.
TEST(LoadConfig, PresetsComeBeforeFoldersAndAfterFiles) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("demo"));
  folder.file("demo/config.yaml", "format: run/3\ntrain: {epochs: 3}\n");
  const std::string by_name = folder.file("a.yaml", "extends: demo\n");
  const std::string by_path = folder.file("b.yaml", "extends: ./demo\n");

  EXPECT_NE(load_config(by_name).find("pde"), nullptr);
  // What an earlier version did by not saying it is said.
  EXPECT_EQ(load_config(by_path), yaml("train: {epochs: 3, loss: physical}"));
}

TEST(LoadConfig, FoldersAndFormatsOfOtherThingsAreRefused) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("empty"));
  const std::string data = folder.file("config.yaml", "format: data/2\npool: 3\n");

  EXPECT_TRUE(contains(preset_complaint(folder.path("empty")),
                       "there is no file config.yaml in the folder"));
  EXPECT_TRUE(
      contains(preset_complaint(data), "config.yaml:1:9 has the format data/2, expected run/3"));
}

TEST(Presets, OverlaysCombineWithAnything) {
  const Study study = make_study(load_config("demo", {"20-rounds", "overlays/one-trajectory"}));

  EXPECT_EQ(study.options.rounds, 20u);
  EXPECT_EQ(study.options.initial, 1u);
  EXPECT_EQ(study.options.budget, 24u);  // the demo's

  const Study accurate = make_study(load_config("as-coded/ks", {"recipes/accurate", "20-rounds"}));
  EXPECT_EQ(accurate.train.steps, 16'000);
  EXPECT_EQ(accurate.options.members, 4);
  EXPECT_TRUE(accurate.options.warm_start);  // of recipes/quick, which it extends
  EXPECT_EQ(accurate.options.rounds, 20u);
}

// Mutation: `test` is always the key of study.
TEST(Presets, SettingsOfSectionsAreMaps) {
  Value document;

  apply_setting(document, "test=50");
  apply_setting(document, "test={name: file, path: t.h5}");

  EXPECT_EQ(document.find("study")->find("test")->integer<int>(), 50);
  EXPECT_EQ(*document.find("test")->find("name")->text(), "file");
}

TEST(Presets, SettingsCannotExtend) {
  Value document;

  EXPECT_THROW(apply_setting(document, "extends=demo"), Error);
}

TEST(Presets, TheSummaryIsTheWholeFirstSentence) {
  EXPECT_EQ(preset_summary({"a", "# one line\npde: {}\n# and no more\n"}), "one line");
  EXPECT_EQ(preset_summary({"a", "# begins here,\n# goes on\n# and ends\n# Here is more.\n"}),
            "begins here, goes on and ends");
  EXPECT_EQ(preset_summary({"a", "# one line\n#\n# something else\n"}), "one line");
  EXPECT_EQ(preset_summary({"a", "pde: {}\n"}), "");
  EXPECT_TRUE(preset_summary(*find_preset("symmetries/ins"))
                  .ends_with("both moved to where the forcing is the same again"));
}

bool is_sweep(const Preset& preset) {
  return preset.name.starts_with("studies/") || load_config(preset.name).find("sweep") != nullptr;
}

// Every preset is a complete study, or an overlay that makes one of another: of any, or, if it
// states symmetries, of the problem that it is named after.
TEST(Presets, EveryOneIsWhole) {
  const std::string symmetries = "overlays/symmetries/";
  for (const Preset& preset : presets()) {
    EXPECT_NE(preset_summary(preset), "") << preset.name << ": say in its first line what it is";
    if (is_sweep(preset)) continue;  // below
    const bool overlay = preset.name.starts_with("overlays/");

    const std::string equation =
        preset.name.starts_with(symmetries) ? preset.name.substr(symmetries.size()) : "";
    const std::string below = equation.empty()    ? "demo"
                              : equation == "fhn" ? "walls/fhn"
                                                  : "as-coded/" + equation;
    Value document = overlay ? load_config(below, {preset.name}) : load_config(preset.name);
    take_axes(document, {}, {});
    if (equation == "fhn") document.set("method", "random");  // the study says it by its axes

    EXPECT_NO_THROW(make_study(document)) << preset.name;
  }
}

// Every run of every study is complete; one seed, since the others differ in nothing else.
TEST(Presets, EveryStudyIsWhole) {
  std::size_t studies = 0;
  for (const Preset& preset : presets()) {
    if (!is_sweep(preset)) continue;
    Value document = load_config(preset.name);
    const auto all = take_axes(document, {}, {});
    const auto seeds = std::ranges::find(all, "seed", &GridAxis::key);
    ASSERT_NE(seeds, all.end()) << preset.name;
    EXPECT_EQ(seeds->values.size(), 5u) << preset.name;
    document = load_config(preset.name);
    const auto axes = take_axes(document, {}, {"seed=0"});

    for (const SweepRun& run : expand_grid(document, axes))
      EXPECT_NO_THROW(make_study(run.document)) << preset.name << ": " << run.name;
    ++studies;
  }
  EXPECT_GE(studies, 13u);
}

TEST(Presets, ParametricOnesVaryWhatTheyAreNamedFor) {
  const std::pair<const char*, const char*> rows[] = {{"parametric/burgers", "viscosity"},
                                                      {"parametric/small-burgers", "viscosity"},
                                                      {"parametric/ks", "hyperviscosity"},
                                                      {"parametric/small-ks", "hyperviscosity"}};
  for (const auto& [name, parameter] : rows) {
    Value document = load_config(name);
    document.erase("sweep");

    const std::vector<ParameterDraw> varied = varied_parameters(make_study(document).pde);

    ASSERT_EQ(varied.size(), 1u) << name;
    EXPECT_EQ(varied[0].name, parameter);
    EXPECT_EQ(varied[0].kind, ParameterDraw::Kind::log);
  }
}

// The methods of the paper's tables, five problems each.
TEST(Presets, StudiesHaveTheRowsOfTheTables) {
  const std::pair<const char*, const char*> tables[] = {{"main", "studies/main"},
                                                        {"full", "studies/full"},
                                                        {"bernoulli", "studies/bernoulli"},
                                                        {"efficient", "studies/efficient"}};
  for (const auto& [table, study] : tables) {
    std::set<std::pair<std::string, std::string>> printed, ours;  // problem, method
    for (const Published& value : published_values())
      if (value.table == table) printed.emplace(value.problem, value.method);
    Value document = load_config(study);
    const auto axes = take_axes(document, {}, {"seed=0"});
    for (const SweepRun& run : expand_grid(document, axes)) {
      const Study one = make_study(run.document);
      ours.emplace(*one.effective.find("pde")->find("name")->text(), method_text(one.effective));
    }

    EXPECT_EQ(ours, printed) << study;
  }
}

// The numbers of the benchmark set-ups that are not the equation's own.
TEST(Presets, BenchmarksHaveThePaperSizes) {
  std::size_t benchmarks = 0;
  for (const Preset& preset : presets()) {
    if (!preset.name.starts_with("paper/") && !preset.name.starts_with("as-coded/")) continue;
    const Value document = load_config(preset.name);
    const auto study = config::read(study_fields(), *document.find("study"), "study");
    const NetworkOptions network = make_study(document, Purpose::look).network;
    const FnoOptions fno = *fno_options(network.family);
    const auto train = config::read(fit_fields(), *document.find("train"), "train");

    EXPECT_EQ(study.pool, 10'000u) << preset.name;
    EXPECT_EQ(study.test, 1'000u) << preset.name;
    EXPECT_EQ(study.initial, 32u) << preset.name;
    EXPECT_EQ(study.rounds, 10u) << preset.name;
    EXPECT_EQ(study.members, 2) << preset.name;
    EXPECT_EQ(study.budget, 8 * study.steps) << preset.name;
    EXPECT_EQ(fno.width, 64u) << preset.name;
    EXPECT_EQ(fno.lifting, 256u) << preset.name;
    EXPECT_EQ(fno.projection, 256u) << preset.name;
    EXPECT_EQ(fno.layers, 4u) << preset.name;
    EXPECT_EQ(network.target, preset.name == "as-coded/ks" ? NetworkOptions::Target::state
                                                           : NetworkOptions::Target::delta)
        << preset.name;
    EXPECT_EQ(train.epochs, 100) << preset.name;
    EXPECT_EQ(train.batch, 32u) << preset.name;
    ++benchmarks;
  }
  EXPECT_EQ(benchmarks, 17u);
}

// Learned steps as fractions, and the lengths of trajectories, by equation.
TEST(Presets, BenchmarksHaveTheStatedTimes) {
  struct Row {
    const char* name;
    std::size_t steps, modes;
    double dt, warm_up;
  };
  const Row rows[] = {{"paper/burgers", 13, 32, 2.0 / 13, 0.6},
                      {"as-coded/burgers", 13, 32, 20.0 / 199, 0.603},
                      {"paper/kdv", 13, 256, 52.0 / 13, 44},
                      {"as-coded/kdv", 13, 256, 1000.0 / 249, 43.8},
                      {"paper/ks", 26, 128, 13.0 / 26, 25},
                      {"as-coded/ks", 26, 128, 5 * 0.25, 25.25},
                      {"paper/ins", 26, 16, 13.0 / 26, 16},
                      {"paper/ins-forced", 26, 16, 13.0 / 26, 16},
                      {"as-coded/ins", 26, 16, 0.5, 16.1},
                      {"paper/cns", 26, 32, 0.5 / 26, 0.235},
                      {"as-coded/cns", 26, 32, 0.5 / 49, 0.235},
                      {"paper/burgers-8in8out", 8 * 13, 32, 2.0 / 13 / 8, 0.6},
                      {"paper/kdv-8in8out", 8 * 13, 256, 52.0 / 13 / 8, 44},
                      {"paper/ks-8in8out", 8 * 26, 128, 13.0 / 26 / 8, 25},
                      {"paper/ks-2in2out", 26, 128, 13.0 / 26, 25},
                      {"paper/ins-2in2out", 26, 16, 13.0 / 26, 16},
                      {"paper/cns-2in2out", 26, 32, 0.5 / 26, 0.235}};
  for (const Row& row : rows) {
    const Value document = load_config(row.name);
    const auto number = [&](const char* section, const char* key) {
      return document.find(section)->find(key)->real().value();
    };

    EXPECT_EQ(number("study", "steps"), static_cast<double>(row.steps)) << row.name;
    EXPECT_EQ(number("pde", "dt"), row.dt) << row.name;
    EXPECT_EQ(number("initial", "warm_up"), row.warm_up) << row.name;
    for (const Value& modes : *document.find("network")->find("modes")->list())
      EXPECT_EQ(modes.real(), static_cast<double>(row.modes)) << row.name;
  }
}

}  // namespace
}  // namespace stap
