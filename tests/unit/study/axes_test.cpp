#include "stap/study/axes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stap/core/error.h"
#include "stap/study/method.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::contains;

using config::Value;
using Texts = std::vector<std::string>;

Value yaml(const std::string& text) {
  return config::parse_yaml(text, "test");
}

// The message of the Error(config) that taking these axes, or making their runs, throws.
std::string complaint(const std::string& document, const Texts& settings, const Texts& grid) {
  return test::config_complaint([&] {
    Value value = yaml(document);
    for (const std::string& setting : settings) apply_setting(value, setting);
    const auto axes = take_axes(value, settings, grid);
    expand_grid(value, axes);
  });
}
// Of the folder of the only run of this axis.
std::string name_of(const std::string& axis) {
  const std::size_t equals = axis.find('=');
  return expand_grid(yaml("{}"), {{axis.substr(0, equals), {axis.substr(equals + 1)}}}).at(0).name;
}
TEST(Axis, CommasInsideBracketsDoNotSplit) {
  EXPECT_EQ(parse_axis("network.modes=[8, 8],[16,16]").values, (Texts{"[8, 8]", "[16,16]"}));
  EXPECT_EQ(parse_axis("method=sbal(exponent=2)+stap(proposals=10,epsilon=0.2),random").values,
            (Texts{"sbal(exponent=2)+stap(proposals=10,epsilon=0.2)", "random"}));
  EXPECT_EQ(parse_axis("pde={name: kdv, points: 32},{name: ks}").values,
            (Texts{"{name: kdv, points: 32}", "{name: ks}"}));
  EXPECT_EQ(parse_axis("compute.precision=tf32,fp32").key, "compute.precision");
}

TEST(Axis, MistakesAreRefused) {
  for (const char* text : {"seed", "=1", "seed=", "seed=0,,1", "seed=0,1,0"})
    EXPECT_THROW(parse_axis(text), Error) << text;
}

TEST(Axis, RangesAreIntegersFromTheFirstToTheLast) {
  EXPECT_EQ(parse_axis("seed=0..4").values, (Texts{"0", "1", "2", "3", "4"}));
  EXPECT_EQ(parse_axis("seed=7,0..1,9..9").values, (Texts{"7", "0", "1", "9"}));
  EXPECT_EQ(parse_axis("x=-2..1").values, (Texts{"-2", "-1", "0", "1"}));
  // Whatever is not two integers stays what it is.
  EXPECT_EQ(parse_axis("extends=../a.yaml").values, (Texts{"../a.yaml"}));
  EXPECT_EQ(parse_axis("x=0..").values, (Texts{"0.."}));
  EXPECT_EQ(parse_axis("x=0.5..1").values, (Texts{"0.5..1"}));
}

TEST(Axis, RangesThatMakeNoSenseAreRefused) {
  for (const char* text :
       {"seed=4..0", "seed=0..100000", "seed=0..1,1..2", "seed=0..60000,0..1",
        "seed=-9223372036854775808..9223372036854775807", "seed=0..60000,60001..120000"})
    EXPECT_THROW(parse_axis(text), Error) << text;
  EXPECT_EQ(parse_axis("seed=1..100000").values.size(), 100'000u);
}

TEST(Sweep, AnyKeyCanBeAnAxis) {
  const Value base = yaml("network: {width: 8}\nstudy: {seed: 3}\nbase: {name: qbc}");

  const auto runs =
      expand_grid(base, {parse_axis("network.modes=[8],[4]"), parse_axis("method=random,sbal+stap"),
                         parse_axis("seed=0,1"), parse_axis("precision=fp32")});

  ASSERT_EQ(runs.size(), 8u);
  EXPECT_EQ(runs[1].name, "network.modes=[8],method=random,seed=1,precision=fp32");
  EXPECT_EQ(runs[7].document,
            yaml("network: {width: 8, modes: [4]}\nstudy: {seed: 1}\nmethod: sbal+stap\n"
                 "compute: {precision: fp32}"));
}

// The options of one family are none of another.
TEST(Sweep, FamiliesOfNetworksAreAnAxis) {
  const Value base = yaml("network: {width: 20, modes: [8], conserve: [u]}");

  const auto runs = expand_grid(
      base, {parse_axis("network.name=fno,dilated"), parse_axis("network.position_input=true")});
  const auto sections =
      expand_grid(base, {parse_axis("network={name: fno, width: 8},{name: dilated, blocks: 2}")});

  EXPECT_EQ(runs[0].document, yaml("network: {width: 20, modes: [8], conserve: [u], name: fno, "
                                   "position_input: true}"));
  EXPECT_EQ(runs[1].document,
            yaml("network: {conserve: [u], name: dilated, position_input: true}"));
  EXPECT_EQ(sections[0].document, yaml("network: {name: fno, width: 8}"));
  EXPECT_EQ(sections[1].document, yaml("network: {name: dilated, blocks: 2}"));
}

TEST(Sweep, AnAxisOfFamiliesLosesNothingThatIsGivenBesideIt) {
  const char* base = "network: {width: 20}";
  const std::string lost = complaint(base, {"network.width=8"}, {"network.name=fno,dilated"});

  EXPECT_TRUE(contains(lost, "'network.width=8' would be lost, since network.name is an axis"));
  EXPECT_TRUE(contains(complaint(base, {}, {"network.width=8,16", "network.name=fno,dilated"}),
                       "'network.width' would be lost"));
  EXPECT_EQ(complaint(base, {"network.time_input=true"},
                      {"network.name=fno,dilated", "network.width=8,16"}),
            "");
}

// Folders that older versions began go on: what is plain keeps its name, to the letter.
TEST(Sweep, PlainValuesAreTheNamesOfFolders) {
  for (const char* part :
       {"method=sbal(exponent=2)+stap(proposals=10,epsilon=0.2)", "network.modes=[8,8]",
        "device=cuda:0", "train.symmetries=[]", "pde.dt=1e-3", "network.width=8"})
    EXPECT_EQ(name_of(part), part);
  EXPECT_EQ(name_of("study.note=" + std::string(244, 'a')).size(), 255u);
}

TEST(Sweep, OddValuesGetNamesThatAnyShellTakes) {
  // printf '%s' 'train.symmetries=["x -> -x, u -> -u"]' | sha256sum
  EXPECT_EQ(name_of(R"(train.symmetries=["x -> -x, u -> -u"])"),
            "train.symmetries=[_x_-_-x,_u_-_-u_]-be616fae");
  // What looks alike is told apart, also where it differs only in what was cut off.
  EXPECT_NE(name_of("study.note=a b"), name_of("study.note=a  b"));
  EXPECT_NE(name_of("study.note=a b/c"), name_of("study.note=a b_c"));
  EXPECT_NE(name_of("study.note=a " + std::string(99, 'b') + "c"),
            name_of("study.note=a " + std::string(99, 'b') + "d"));
  EXPECT_EQ(name_of("study.note=a " + std::string(99, 'b')).size(), 11u + 40u + 9u);
  for (const char* odd : {"a b", "\"a\"", "'a'", "a\nb", "$a", "a;b", "a*", "{a: b}", "m\xc3\xbc"})
    EXPECT_EQ(name_of(std::string("study.note=") + odd)
                  .find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.=_-:,"),
              std::string::npos)
        << odd;
}

TEST(Sweep, NamesAreNoLongerThanFoldersMayHave) {
  const std::string note(300, 'a');

  const auto runs =
      expand_grid(yaml("{}"), {parse_axis("seed=1,2"), {"study.note", {note, note + "b"}}});

  ASSERT_EQ(runs.size(), 4u);  // all of them different, or it would have been refused
  for (const SweepRun& run : runs) {
    EXPECT_EQ(run.name.size(), 180u + 9u);
    EXPECT_TRUE(run.name.starts_with(run.written.substr(0, 180)));
  }
}

TEST(Sweep, ExtendsIsAnAxis) {
  const Value base = yaml("study: {rounds: 3}\nmethod: random");

  const auto runs = expand_grid(base, {parse_axis("extends=paper/burgers,paper/ks")});

  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1].name, "extends=paper_ks");
  const Study burgers = make_study(runs[0].document), ks = make_study(runs[1].document);
  EXPECT_EQ(burgers.options.steps, 13u);  // as printed for each
  EXPECT_EQ(ks.options.steps, 26u);
  EXPECT_EQ(ks.options.rounds, 3u);
  EXPECT_EQ(method_text(ks.effective), "random");
  EXPECT_EQ(runs[0].document.find("extends"), nullptr);
}

TEST(Sweep, TheOrderOfAxesDoesNotChangeARun) {
  const Value base = yaml("study: {rounds: 3}");
  const GridAxis extends = parse_axis("extends=paper/burgers"), method = parse_axis("method=qbc"),
                 steps = parse_axis("study.steps=4");

  const auto first = expand_grid(base, {extends, method, steps});
  const auto last = expand_grid(base, {method, steps, extends});

  EXPECT_EQ(make_study(first[0].document).effective, make_study(last[0].document).effective);
}

TEST(Sweep, ADocumentNamesItsAxes) {
  Value document = yaml(
      "study: {rounds: 3}\n"
      "sweep: {method: [random, sbal+stap], network.modes: [[8, 8]], seed: [0, 1], budget: 8}");

  const auto axes = take_axes(document, {}, {});

  EXPECT_EQ(document, yaml("study: {rounds: 3}"));
  ASSERT_EQ(axes.size(), 4u);
  EXPECT_EQ(axes[0].values, (Texts{"random", "sbal+stap"}));
  EXPECT_EQ(axes[1].values, (Texts{"[8,8]"}));
  EXPECT_EQ(axes[2].values, (Texts{"0", "1"}));
  EXPECT_EQ(axes[3].values, (Texts{"8"}));
}

TEST(Sweep, TheCommandLineAddsAndReplacesAxes) {
  Value document = yaml("sweep: {method: [random, sbal], seed: [0, 1], budget: [8, 9]}");

  const auto axes = take_axes(document, {"study.budget=5"}, {"study.seed=7", "rounds=1,2"});

  ASSERT_EQ(axes.size(), 3u);
  EXPECT_EQ(axes[0].key, "method");
  EXPECT_EQ(axes[1].values, (Texts{"7"}));
  EXPECT_EQ(axes[2].key, "rounds");
}

TEST(Sweep, MistakesInAxesAreNamed) {
  EXPECT_TRUE(contains(complaint("sweep: [1]", {}, {}), "sweep is not a map"));
  EXPECT_TRUE(contains(complaint("sweep: {seed: []}", {}, {}), "sweep.seed has no value"));
  EXPECT_TRUE(contains(complaint("sweep: {seed: [1, 1]}", {}, {}), "twice"));
  EXPECT_TRUE(contains(complaint("sweep: {seed: 1, study.seed: 2}", {}, {}), "study.seed twice"));
  EXPECT_TRUE(contains(complaint("{}", {}, {"seed=1", "study.seed=2"}), "given twice"));
  EXPECT_TRUE(
      contains(complaint("{}", {"steps.proposals=9"}, {"method=sbal+stap"}), "would be lost"));
  EXPECT_TRUE(
      contains(complaint("pde: {name: kdv}", {}, {"extends=paper/ks"}), "would hide theirs"));
  EXPECT_TRUE(contains(complaint("{}", {}, {"extends=paper/k"}), "no preset 'paper/k'"));
  EXPECT_TRUE(contains(complaint("{}", {}, {"extends=studies/main"}), "is a sweep"));
  EXPECT_TRUE(
      contains(complaint("{}", {}, {"seed=0..999", "rounds=0..999"}), "more than 100000 runs"));
}

TEST(Sweep, ADocumentMayHaveRanges) {
  Value document = yaml("sweep: {seed: 0..2, data_seed: [0..1, 5], method: [random]}");

  const auto axes = take_axes(document, {}, {});

  EXPECT_EQ(axes[0].values, (Texts{"0", "1", "2"}));
  EXPECT_EQ(axes[1].values, (Texts{"0", "1", "5"}));
  EXPECT_EQ(axes[2].values, (Texts{"random"}));
}

// The document of the only run, or why there is none.
Value only(const std::string& name, const Texts& settings) {
  Value document = load_config(name);
  for (const std::string& setting : settings) apply_setting(document, setting);
  return only_run(std::move(document), settings, name);
}

TEST(OnlyRun, AStudyWhoseAxesAreSettledIsOne) {
  const Study study =
      make_study(only("studies/main", {"extends=paper/ks", "method=sbal", "seed=3"}));

  EXPECT_EQ(study.pde.row->name, "ks");
  EXPECT_EQ(method_text(study.effective), "sbal");
  EXPECT_EQ(study.options.seed, 3u);
  EXPECT_EQ(only("demo", {"seed=1"}).find("sweep"), nullptr);
}

TEST(OnlyRun, AxesOfOneValueNeedNoSettling) {
  const test::TemporaryFolder folder;
  const std::string file =
      folder.file("a.yaml", "extends: demo\nsweep: {method: [qbc], seed: 0..1, train.epochs: 7}\n");

  const Study study = make_study(only(file, {"seed=1"}));

  EXPECT_EQ(method_text(study.effective), "qbc");
  EXPECT_EQ(study.train.epochs, 7);
  EXPECT_EQ(study.options.seed, 1u);
}

TEST(OnlyRun, SaysWhichAxesAreOpenAndHowToSettleThem) {
  const std::string text =
      test::error_text(ErrorKind::config, [] { only("studies/small-burgers", {"method=qbc"}); });

  EXPECT_EQ(text,
            "studies/small-burgers is a sweep of 5 runs, expected one: settle seed (5 "
            "values), as in seed=0, or use 'stap sweep studies/small-burgers'");
}

// A study of a user's own: a file that extends a built-in one and replaces one of its axes.
TEST(Sweep, StudiesCanBeExtended) {
  const test::TemporaryFolder folder;
  const std::string file =
      folder.file("mine.yaml", "extends: studies/small-burgers\nsweep: {seed: [0, 1]}\n");

  Value document = load_config(file);
  const auto axes = take_axes(document, {}, {});

  ASSERT_EQ(axes.size(), 2u);
  EXPECT_EQ(axes[0].values.size(), 11u);
  EXPECT_EQ(axes[1].values, (Texts{"0", "1"}));
}

// A mistake among the values of an axis is found where the file says it, not on a command line.
TEST(Axes, AWrongValueOfAFileNamesItsLine) {
  Value document = load_config("demo");
  overlay(document, yaml("sweep:\n  network.width: [4, -3]\n"));
  const auto axes = take_axes(document, {}, {});
  const auto runs = expand_grid(document, axes);

  test::expect_error(ErrorKind::config, "test:2:3, network.width=-3: network.width",
                     [&] { make_study(runs.at(1).document); });
}

}  // namespace
}  // namespace stap
