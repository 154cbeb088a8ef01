#include "stap/config/fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "stap/core/error.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap::config {
namespace {

struct Inner {
  double depth = 1.5;
};

struct Sample {
  enum class Limiter : unsigned char { minmod, none };
  bool periodic = true;
  int steps = 10;
  std::int64_t offset = -3;
  std::uint64_t seed = 1;
  double rate = 1e-3;
  std::string title = "a title";
  std::string norm = "l2";
  Limiter limiter = Limiter::none;
  std::vector<double> lengths{1.0, 2.5};
  std::vector<std::size_t> modes{32};
  Inner inner;
};

const Fields<Inner>& inner_fields() {
  static const Fields<Inner> fields{{"depth", &Inner::depth, "depth of the inner part", above(0)}};
  return fields;
}

const Fields<Sample>& sample_fields() {
  using Limiter = Sample::Limiter;
  static const Fields<Sample> fields{
      {"periodic", &Sample::periodic, "whether it repeats"},
      {"steps", &Sample::steps, "number of steps", at_least(1)},
      {"offset", &Sample::offset, "any offset"},
      {"seed", &Sample::seed, "seed"},
      {"rate", &Sample::rate, "rate of change", above(0).at_most(1), "1/time"},
      {"title", &Sample::title, "free text"},
      {"norm", &Sample::norm, "which norm", one_of({"l1", "l2"})},
      {"limiter", &Sample::limiter, "slope limiter",
       choices<Limiter>({{"minmod", Limiter::minmod}, {"none", Limiter::none}})},
      {"lengths", &Sample::lengths, "domain lengths", above(0), "length"},
      {"modes", &Sample::modes, "modes per axis", at_least(2).multiple_of(2).length(1, 2)},
      {"inner", &Sample::inner, "inner part", inner_fields()},
  };
  return fields;
}

struct Outcome {
  Sample options;
  std::vector<Complaint> complaints;
};

Outcome parse_text(std::string_view text) {
  Outcome outcome;
  Complaints complaints;
  parse(sample_fields(), parse_yaml(text, "s.yaml"), "sample", outcome.options, complaints);
  outcome.complaints = complaints.list();
  return outcome;
}

/// The text of the one complaint that this map must have; the options must stay at their defaults.
std::string one_complaint(std::string_view text) {
  const Outcome outcome = parse_text(text);
  EXPECT_EQ(outcome.complaints.size(), 1u) << text;
  EXPECT_EQ(to_value(sample_fields(), outcome.options), to_value(sample_fields(), Sample{}))
      << text;
  return outcome.complaints.empty() ? "" : outcome.complaints.front().text;
}

TEST(Fields, ReadsEveryType) {
  const Outcome outcome = parse_text(
      "{periodic: false, steps: 2.0, offset: -9, seed: 18446744073709551615, rate: 1, "
      "title: \"12\", norm: l1, limiter: minmod, lengths: [3, 0.5], "
      "modes: [4, 8.0], inner: {depth: 7}}");

  const Sample& options = outcome.options;
  EXPECT_TRUE(outcome.complaints.empty());
  EXPECT_FALSE(options.periodic);
  EXPECT_EQ(options.steps, 2);
  EXPECT_EQ(options.offset, -9);
  EXPECT_EQ(options.seed, UINT64_MAX);
  EXPECT_EQ(options.rate, 1.0);
  EXPECT_EQ(options.title, "12");
  EXPECT_EQ(options.norm, "l1");
  EXPECT_EQ(options.limiter, Sample::Limiter::minmod);
  EXPECT_EQ(options.lengths, (std::vector<double>{3.0, 0.5}));
  EXPECT_EQ(options.modes, (std::vector<std::size_t>{4, 8}));
  EXPECT_EQ(options.inner.depth, 7.0);
}

TEST(Fields, MissingKeysKeepDefaults) {
  for (const char* text : {"", "{}", "steps: 3"}) {
    Sample expected;
    if (*text == 's') expected.steps = 3;

    const Outcome outcome = parse_text(text);

    EXPECT_TRUE(outcome.complaints.empty());
    EXPECT_EQ(to_value(sample_fields(), outcome.options), to_value(sample_fields(), expected));
  }
}

TEST(Fields, RefusesWrongTypes) {
  EXPECT_EQ(one_complaint("periodic: 1"), "is 1, expected true or false");
  EXPECT_EQ(one_complaint("steps: many"), "is 'many', expected an integer >= 1");
  EXPECT_EQ(one_complaint("steps: '3'"), "is '3', expected an integer >= 1");
  EXPECT_EQ(one_complaint("steps:"), "is empty, expected an integer >= 1");
  EXPECT_EQ(one_complaint("steps: 2.5"), "is 2.5, expected an integer >= 1");
  EXPECT_EQ(one_complaint("rate: fast"), "is 'fast', expected a finite number > 0 and <= 1");
  EXPECT_EQ(one_complaint("rate: true"), "is true, expected a finite number > 0 and <= 1");
  EXPECT_EQ(one_complaint("title: 12"), "is 12, expected a text (quote what looks like a number)");
  EXPECT_EQ(one_complaint("lengths: 3"), "is 3, expected a list of finite numbers > 0");
  EXPECT_EQ(one_complaint("inner: 3"), "is 3, expected a map of options");
  EXPECT_EQ(one_complaint("[1, 2]"), "is [1, 2], expected a map of options");
}

TEST(Fields, RefusesValuesOutOfRange) {
  EXPECT_EQ(one_complaint("steps: 0"), "is 0, expected an integer >= 1");
  EXPECT_EQ(one_complaint("steps: 2147483648"), "is 2147483648, expected an integer >= 1");
  EXPECT_EQ(one_complaint("seed: -1"), "is -1, expected an integer >= 0");
  EXPECT_EQ(one_complaint("rate: 0"), "is 0, expected a finite number > 0 and <= 1");
  EXPECT_EQ(one_complaint("rate: 1.5"), "is 1.5, expected a finite number > 0 and <= 1");
  EXPECT_EQ(one_complaint("rate: .nan"), "is .nan, expected a finite number > 0 and <= 1");
  EXPECT_EQ(one_complaint("lengths: [1, .inf]"),
            "has .inf in it, expected a list of finite numbers > 0");
  EXPECT_EQ(one_complaint("lengths: [1, 0]"), "has 0 in it, expected a list of finite numbers > 0");
  EXPECT_EQ(one_complaint("modes: [3]"),
            "has 3 in it, expected a list of integers >= 2, even, 1 to 2 of them");
  EXPECT_EQ(one_complaint("modes: []"),
            "is [], expected a list of integers >= 2, even, 1 to 2 of them");
  EXPECT_EQ(one_complaint("modes: [4, 4, 4]"),
            "is [4, 4, 4], expected a list of integers >= 2, even, 1 to 2 of them");
  EXPECT_EQ(one_complaint("inner: {depth: -1}"), "is -1, expected a finite number > 0");
}

TEST(Fields, RefusesUnknownChoicesWithASuggestion) {
  EXPECT_EQ(one_complaint("limiter: minmood"), "is 'minmood'; did you mean 'minmod'?");
  EXPECT_EQ(one_complaint("norm: 2"), "is 2, expected one of l1, l2");
}

TEST(Fields, RefusesUnknownKeysWithASuggestion) {
  const std::string near = one_complaint("stpes: 3");
  const std::string far = one_complaint("banana: 3");

  EXPECT_EQ(near, "is not known; did you mean 'steps'?");
  EXPECT_TRUE(far.starts_with("is not known (known keys: periodic")) << far;
}

TEST(Fields, CollectsAllProblemsWithPathsAndPositions) {
  const Outcome outcome = parse_text("steps: 0\nrate: 2\ninner:\n  dpeth: 3\n  depth: 2\n");

  ASSERT_EQ(outcome.complaints.size(), 3u);
  EXPECT_EQ(outcome.complaints[0].line(),
            "s.yaml:1:8: sample.steps is 0, expected an integer >= 1");
  EXPECT_EQ(outcome.complaints[1].path, "sample.rate");
  EXPECT_EQ(outcome.complaints[2].path, "sample.inner.dpeth");
  EXPECT_EQ(outcome.complaints[2].origin, "s.yaml:4:3");
  EXPECT_EQ(outcome.options.inner.depth, 2.0);
}

TEST(Fields, ReadThrowsAllProblems) {
  const std::string text = test::error_text(ErrorKind::config, [] {
    read(sample_fields(), parse_yaml("{steps: 0, rate: 2}", "s.yaml"), "sample");
  });

  EXPECT_EQ(text,
            "2 problems in the configuration\n"
            "  s.yaml:1:9: sample.steps is 0, expected an integer >= 1\n"
            "  s.yaml:1:18: sample.rate is 2, expected a finite number > 0 and <= 1");
}

TEST(Fields, EffectiveConfigReadsBackEqual) {
  Sample options;
  options.seed = UINT64_MAX;
  options.rate = 0.1 + 0.2;
  options.title = "true: # \"no\"\n";
  options.limiter = Sample::Limiter::minmod;
  options.lengths = {1.0 / 3.0};
  options.inner.depth = 1e300;

  const Value effective = to_value(sample_fields(), options);
  const Outcome outcome = parse_text(yaml_text(effective));

  EXPECT_TRUE(outcome.complaints.empty());
  EXPECT_EQ(outcome.options.title, options.title);
  EXPECT_EQ(to_value(sample_fields(), outcome.options), effective);
}

TEST(Fields, DescribeListsEveryField) {
  const std::vector<Row> rows = describe(sample_fields());

  ASSERT_EQ(rows.size(), 11u);
  EXPECT_EQ(rows[1].name, "steps");
  EXPECT_EQ(rows[1].type, "integer");
  EXPECT_EQ(rows[1].preset, "10");
  EXPECT_EQ(rows[3].allowed, ">= 0");
  EXPECT_EQ(rows[4].unit, "1/time");
  EXPECT_EQ(rows[4].allowed, "> 0 and <= 1");
  EXPECT_EQ(rows[7].preset, "none");
  EXPECT_EQ(rows[7].allowed, "minmod | none");
  EXPECT_EQ(rows[8].preset, "[1.0, 2.5]");
  EXPECT_EQ(rows[10].name, "inner.depth");
  EXPECT_EQ(rows[10].text, "depth of the inner part");
}

TEST(Fields, SchemaSaysWhatTheTableSays) {
  const auto json = nlohmann::json::parse(json_text(schema(sample_fields())));

  const auto& properties = json["properties"];
  EXPECT_EQ(json["additionalProperties"], false);
  EXPECT_EQ(properties.size(), sample_fields().fields().size());
  EXPECT_EQ(properties["periodic"]["type"], "boolean");
  EXPECT_EQ(properties["steps"]["type"], "integer");
  EXPECT_EQ(properties["steps"]["minimum"], 1);
  EXPECT_EQ(properties["steps"]["default"], 10);
  EXPECT_EQ(properties["rate"]["exclusiveMinimum"], 0);
  EXPECT_EQ(properties["rate"]["maximum"], 1);
  EXPECT_EQ(properties["rate"]["description"], "rate of change [1/time]");
  EXPECT_EQ(properties["limiter"]["enum"], (nlohmann::json{"minmod", "none"}));
  EXPECT_EQ(properties["norm"]["enum"], (nlohmann::json{"l1", "l2"}));
  EXPECT_EQ(properties["modes"]["items"]["multipleOf"], 2);
  EXPECT_EQ(properties["modes"]["minItems"], 1);
  EXPECT_EQ(properties["modes"]["maxItems"], 2);
  EXPECT_EQ(properties["inner"]["properties"]["depth"]["default"], 1.5);
  EXPECT_EQ(properties["inner"]["additionalProperties"], false);
}

TEST(Fields, SchemaSaysWhatIsInAList) {
  struct Options {
    std::vector<std::string> texts;
    std::vector<double> numbers;
    std::vector<std::size_t> counts;
  };
  const Fields<Options> fields{{"texts", &Options::texts, ""},
                               {"numbers", &Options::numbers, ""},
                               {"counts", &Options::counts, ""}};

  const auto properties = nlohmann::json::parse(json_text(schema(fields)))["properties"];

  EXPECT_EQ(properties["texts"]["items"], (nlohmann::json{{"type", "string"}}));
  EXPECT_EQ(properties["numbers"]["items"]["type"], "number");
  EXPECT_EQ(properties["counts"]["items"]["type"], "integer");
}

// A number that has a name, and a list that has one.
TEST(Fields, WordsMayStandForNumbersAndLists) {
  struct Options {
    std::size_t slots = 1;
    Arguments launch;
  };
  const Fields<Options> fields{
      {"slots", &Options::slots, "", between(1, 9).or_word("auto", 0)},
      {"launch", &Options::launch, "", one_of({"srun", "mpirun"})},
  };

  const Options words = read(fields, parse_yaml("{slots: auto, launch: mpirun}", "t"), "");
  const Options plain = read(fields, parse_yaml("{slots: 4, launch: [nice, \"5\"]}", "t"), "");

  EXPECT_EQ(words.slots, 0u);
  EXPECT_EQ(words.launch.words, std::vector<std::string>{"mpirun"});
  EXPECT_EQ(plain.slots, 4u);
  EXPECT_EQ(plain.launch.words, (std::vector<std::string>{"nice", "5"}));
  EXPECT_EQ(*to_value(fields, words).find("slots")->text(), "auto");
  EXPECT_EQ(read(fields, to_value(fields, words), "").slots, 0u);
  EXPECT_EQ(describe(fields)[0].allowed, ">= 1 and <= 9 or auto");
  for (const char* wrong : {"slots: 0", "slots: all", "launch: slurm"}) {
    Complaints complaints;
    Options options;
    parse(fields, parse_yaml(wrong, "t"), "", options, complaints);
    EXPECT_EQ(complaints.list().size(), 1u) << wrong;
  }
  const auto json = nlohmann::json::parse(json_text(schema(fields)))["properties"];
  EXPECT_EQ(json["slots"]["anyOf"][0]["type"], "integer");
  EXPECT_EQ(json["slots"]["anyOf"][1]["enum"], nlohmann::json({"auto"}));
  EXPECT_EQ(json["launch"]["anyOf"][1]["enum"], nlohmann::json({"srun", "mpirun"}));
}

TEST(Fields, TwoFieldsOfOneNameAreABug) {
  const auto make = [] {
    return Fields<Inner>{{"depth", &Inner::depth, "a"}, {"depth", &Inner::depth, "b"}};
  };

  EXPECT_THROW(make(), Error);
}

TEST(Suggest, FindsSlipsOfThePen) {
  const std::vector<std::string> known{"points", "viscosity", "learning_rate", "dt"};

  EXPECT_EQ(suggest("poitns", known), "points");
  EXPECT_EQ(suggest("viscosty", known), "viscosity");
  EXPECT_EQ(suggest("LearningRate", known), "learning_rate");
  EXPECT_EQ(suggest("td", known), "dt");
  EXPECT_EQ(suggest("epochs", known), "");
  EXPECT_EQ(suggest("x", known), "");
  EXPECT_EQ(suggest(std::string(1000000, 'p'), known), "");
}

struct Named {
  std::filesystem::path file;
};
const Fields<Named>& named_fields() {
  static const Fields<Named> fields{{"file", &Named::file, "a file"}};
  return fields;
}

// Whoever writes the document elsewhere must not change which file is meant.
TEST(Fields, PathsAreThoseOfTheFileThatNamesThem) {
  const test::TemporaryFolder folder;
  const std::string relative = folder.file("a.yaml", "file: sub/../pool.h5\n");
  const std::string absolute = folder.file("b.yaml", "file: /data/pool.h5\n");

  const Named named = read(named_fields(), read_yaml(relative), "");

  EXPECT_EQ(named.file, folder.path("pool.h5"));
  EXPECT_EQ(to_value(named_fields(), named).find("file")->text()->substr(0, 1), "/");
  EXPECT_EQ(read(named_fields(), read_yaml(absolute), "").file, "/data/pool.h5");
  EXPECT_EQ(read(named_fields(), parse_yaml("file: pool.h5", "a setting"), "").file,
            std::filesystem::current_path() / "pool.h5");
  EXPECT_EQ(read(named_fields(), parse_yaml("file: ''", "none"), "").file, "");
  EXPECT_THROW(read(named_fields(), parse_yaml("file: 3", "a number"), ""), Error);
  EXPECT_EQ(describe(named_fields())[0].type, "path");
}

TEST(Complaints, AboutADocumentGetTheirPlaceByPath) {
  Complaints complaints;
  complaints.about(parse_yaml("train:\n  epochs: 3\n", "a.yaml"));

  complaints.add("train.epochs", "is odd");
  complaints.add("train.batch", "is missing");
  complaints.add("train.epochs", "is three", parse_yaml("3", "b.yaml").origin());

  EXPECT_EQ(complaints.list()[0].line(), "a.yaml:2:11: train.epochs is odd");
  EXPECT_EQ(complaints.list()[1].line(), "a.yaml:2:3: train.batch is missing");
  EXPECT_EQ(complaints.list()[2].line(), "b.yaml:1:1: train.epochs is three");
}

TEST(Complaints, BeyondAHundredAreOnlyCounted) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += fmt::format("unknown{}: 1\n", i);

  const std::string message = test::error_text(
      ErrorKind::config, [&] { read(sample_fields(), parse_yaml(text, "s.yaml"), "sample"); });

  EXPECT_TRUE(message.starts_with("40000 problems in the configuration, the first 100 of them\n"))
      << message.substr(0, 200);
  EXPECT_EQ(std::ranges::count(message, '\n'), 100);
  EXPECT_NE(message.find("s.yaml:100:1: sample.unknown99 is not known"), std::string::npos);
}

}  // namespace
}  // namespace stap::config
