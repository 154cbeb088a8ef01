#include "stap/config/value.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "stap/core/error.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap::config {
namespace {

Value parsed(std::string_view text) {
  return parse_yaml(text, "test.yaml");
}

/// The message of the Error(config) that parsing must throw.
std::string parse_error(std::string_view text) {
  return test::error_text(ErrorKind::config, [&] { parsed(text); });
}

// Expected kinds from the YAML 1.2 core schema (section 10.3.2).
TEST(ParseYaml, ResolvesPlainScalarsByTheCoreSchema) {
  for (const char* text : {"", "~", "null", "Null", "NULL"})
    EXPECT_EQ(parsed(text), Value()) << text;
  for (const char* text : {"true", "True", "TRUE"}) EXPECT_EQ(parsed(text), Value(true)) << text;
  for (const char* text : {"false", "False", "FALSE"})
    EXPECT_EQ(parsed(text), Value(false)) << text;
  EXPECT_EQ(parsed("12"), Value(12));
  EXPECT_EQ(parsed("+12"), Value(12));
  EXPECT_EQ(parsed("-7"), Value(-7));
  EXPECT_EQ(parsed("0x1F"), Value(31));
  EXPECT_EQ(parsed("0o17"), Value(15));
  EXPECT_EQ(parsed("007"), Value(7));
  EXPECT_EQ(parsed("1e-3"), Value(0.001));
  EXPECT_EQ(parsed("2."), Value(2.0));
  EXPECT_EQ(parsed(".5"), Value(0.5));
  EXPECT_EQ(parsed("-1.5E+2"), Value(-150.0));
  EXPECT_EQ(parsed("-.inf"), Value(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(std::isnan(*parsed(".nan").real()));
  for (const char* text : {"yes", "on", "1.2.3", "--1", "1e", "0x", "+", "e5", "nan", "inf", "0b1"})
    EXPECT_EQ(parsed(text), Value(text));
}

TEST(ParseYaml, QuotedScalarsAreText) {
  EXPECT_EQ(parsed("\"12\""), Value("12"));
  EXPECT_EQ(parsed("'true'"), Value("true"));
  EXPECT_EQ(parsed("''"), Value(""));
}

TEST(ParseYaml, KeepsAll64BitIntegersExact) {
  EXPECT_EQ(parsed("9223372036854775807").integer<std::int64_t>(), INT64_MAX);
  EXPECT_EQ(parsed("-9223372036854775808").integer<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(parsed("18446744073709551615").integer<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(parsed("18446744073709551615").integer<std::int64_t>(), std::nullopt);
  EXPECT_EQ(parsed("18446744073709551616").integer<std::uint64_t>(), std::nullopt);
  EXPECT_EQ(parsed("-9223372036854775809").integer<std::int64_t>(), std::nullopt);
}

TEST(ParseYaml, NumbersBeyondDoubleBecomeZeroOrInfinite) {
  EXPECT_EQ(parsed("1e999").real(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(parsed("-1e999").real(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parsed("1e-999").real(), 0.0);
  EXPECT_EQ(parsed("0." + std::string(400, '0') + "1").real(), 0.0);
}

TEST(ParseYaml, KeepsOrderAndPositions) {
  const Value value = parsed("b: 1\na:\n  - x\n  - [2, 3]\n");

  ASSERT_EQ(value.map()->size(), 2u);
  EXPECT_EQ((*value.map())[0].key, "b");
  EXPECT_EQ((*value.map())[1].key, "a");
  EXPECT_EQ((*value.map())[1].origin.text(), "test.yaml:2:1");
  EXPECT_EQ(value.find("a")->list()->at(1).list()->at(1).origin().text(), "test.yaml:4:9");
  EXPECT_EQ(*value.find("a"), Value(Value::List{"x", Value(Value::List{2, 3})}));
}

TEST(ParseYaml, ErrorsSayWhere) {
  EXPECT_NE(parse_error("a: 1\nb: [1, 2\n").find("test.yaml:"), std::string::npos);
  const std::string twice = parse_error("a: 1\nb: 2\na: 3\n");
  EXPECT_NE(twice.find("test.yaml:3:1"), std::string::npos) << twice;
  EXPECT_NE(twice.find("'a' is given twice"), std::string::npos) << twice;
}

// Keys of wide maps are found by an index.
TEST(ParseYaml, WideMapsKeepAllKeysAndRefuseOneGivenTwice) {
  std::string yaml, json = "{";
  for (int i = 0; i < 40; ++i) {
    yaml += fmt::format("k{}: {}\n", i, i);
    json += fmt::format("\"k{}\":{},", i, i);
  }
  for (int i = 0; i < 40; ++i) {
    const std::string key = fmt::format("k{}", i);
    EXPECT_EQ(*parsed(yaml).find(key), Value(i));
    EXPECT_EQ(*parse_json(json + "\"z\":0}", "s").find(key), Value(i));
    EXPECT_NE(parse_error(yaml + key + ": 0\n")
                  .find(fmt::format("test.yaml:41:1: key '{}' is given twice, first in line {}",
                                    key, i + 1)),
              std::string::npos);
    test::expect_error(ErrorKind::data, fmt::format("the key '{}' is given twice", key),
                       [&] { parse_json(json + '"' + key + "\":0}", "s"); });
  }
}

TEST(ParseYaml, RefusesWhatItDoesNotSupport) {
  EXPECT_NE(parse_error("a: &x 1\nb: *x\n").find("aliases"), std::string::npos);
  EXPECT_NE(parse_error("a: !!int 1\n").find("tag"), std::string::npos);
  EXPECT_NE(parse_error("a: !mine {b: 1}\n").find("tag"), std::string::npos);
  EXPECT_NE(parse_error("[1, 2]: 3\n").find("key"), std::string::npos);
  EXPECT_NE(parse_error("~: 3\n").find("key"), std::string::npos);
  EXPECT_NE(parse_error("a: 1\n---\nb: 2\n").find("more than one document"), std::string::npos);
  const std::string indented = parse_error("  a: 1\n  c: 3\nb: 2\n");
  EXPECT_NE(indented.find(":3:1: "), std::string::npos) << indented;
  EXPECT_NE(indented.find("check the indentation"), std::string::npos) << indented;
  EXPECT_NE(parse_error(std::string("a: \0b\n", 6)).find("test.yaml:1:4"), std::string::npos);
  EXPECT_NE(parse_error("a: 1\nb: \xff\n").find("test.yaml:2:4"), std::string::npos);
  EXPECT_NE(parse_error(std::string(70, '[') + std::string(70, ']')).find("deeper"),
            std::string::npos);
  EXPECT_NE(parse_error(std::string(kMaxYamlBytes + 1, ' ')).find("bytes"), std::string::npos);
}

TEST(ParseYaml, TakesTextOfTheLargestSize) {
  std::string text = "a: 1 #";
  text.resize(kMaxYamlBytes, 'x');

  EXPECT_EQ(*parsed(text).find("a"), Value(1));
}

// Before it is read: a pipe would be waited for, a device has no end.
TEST(ReadYaml, SaysWhichFileCannotBeReadAndWhy) {
  const test::TemporaryFolder folder;
  const std::string pipe = folder.path("pipe"), loop = folder.path("loop"),
                    large = folder.file("large", "");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(loop, loop);
  std::filesystem::resize_file(large, std::uintmax_t{1} << 40);
  const std::pair<std::string, const char*> cases[] = {{"/nonexistent/run.yaml", "No such file"},
                                                       {"/", "a folder"},
                                                       {pipe, "no regular file"},
                                                       {"/dev/zero", "no regular file"},
                                                       {loop, "Too many levels"},
                                                       {large, "expected at most 1048576"}};
  for (const auto& [path, why] : cases) {
    const std::string text = test::error_text(ErrorKind::config, [&] { read_yaml(path); });
    EXPECT_TRUE(text.starts_with(fmt::format("cannot read {}: ", path))) << text;
    EXPECT_NE(text.find(why), std::string::npos) << text;
  }
}

TEST(Value, IntegerTakesWholeRealsOnly) {
  EXPECT_EQ(Value(2.0).integer<int>(), 2);
  EXPECT_EQ(Value(2.5).integer<int>(), std::nullopt);
  EXPECT_EQ(Value(-1.0).integer<std::uint64_t>(), std::nullopt);
  EXPECT_EQ(Value(2147483647.0).integer<int>(), 2147483647);
  EXPECT_EQ(Value(2147483648.0).integer<int>(), std::nullopt);
  EXPECT_EQ(Value(9007199254740992.0).integer<std::int64_t>(), 9007199254740992);
  EXPECT_EQ(Value(9007199254740994.0).integer<std::int64_t>(), std::nullopt);
  EXPECT_EQ(Value(std::nan("")).integer<int>(), std::nullopt);
  EXPECT_EQ(Value(std::numeric_limits<double>::infinity()).integer<std::int64_t>(), std::nullopt);
  EXPECT_EQ(Value("2").integer<int>(), std::nullopt);
}

TEST(Value, KindsAreToldApart) {
  EXPECT_FALSE(Value(1) == Value(1.0));
  EXPECT_FALSE(Value(1) == Value(true));
  EXPECT_FALSE(Value() == Value(""));
  EXPECT_FALSE(Value(Value::List{}) == Value(Value::Map{}));
  EXPECT_EQ(Value(std::nan("")), Value(std::nan("")));
}

TEST(Override, SetsOneValueAndMakesMaps) {
  Value document = parsed("pde: {name: burgers, points: 64}\n");

  apply_override(document, "pde.points=128");
  apply_override(document, "train.decay.modes=[8, 16]");
  apply_override(document, "note=a=b");

  EXPECT_EQ(document,
            parsed("{pde: {name: burgers, points: 128}, train: {decay: {modes: [8, 16]}}, "
                   "note: a=b}"));
  EXPECT_EQ(document.find("pde")->find("points")->origin().text(), "pde.points=128");
}

TEST(Override, RefusesWhatIsMalformed) {
  for (const char* text : {"points", "=1", "a..b=1", ".a=1", "a.=1", "a=[1", "a={b: 1, b: 2}"}) {
    Value document;
    try {
      apply_override(document, text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
  Value document = parsed("a: 1");
  EXPECT_THROW(apply_override(document, "a.b=2"), Error);
}

// Whatever walks a document may call itself once a level.
TEST(Override, KeysHaveAtMostAsManyPartsAsDocumentsAreDeep) {
  const auto of_parts = [](std::size_t parts) {
    std::string key = "a";
    for (std::size_t i = 1; i < parts; ++i) key += ".a";
    return key + "=1";
  };
  Value document;

  apply_override(document, of_parts(kMaxDepth));

  test::expect_error(ErrorKind::config, "of 65 parts, expected at most 64",
                     [&] { apply_override(document, of_parts(kMaxDepth + 1)); });
  test::expect_error(ErrorKind::config, "50000 parts",
                     [&] { apply_override(document, of_parts(50000)); });
}

TEST(Override, MessagesCallItWhatTheUserWrote) {
  Value document;

  apply_override(document, "study.seed=x", "seed=x");

  EXPECT_EQ(document.find("study")->find("seed")->origin().text(), "seed=x");
}

TEST(Value, TextsOfAListWithoutTheRest) {
  const Value list(Value::List{Value("a"), Value(1), Value("b")}), text("a");

  EXPECT_EQ(texts_in(&list), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(texts_in(&text), std::vector<std::string>{});
  EXPECT_EQ(texts_in(nullptr), std::vector<std::string>{});
}

TEST(Paths, FindValuesBelowAndWhereTheyAreWritten) {
  const Value document = parsed("a:\n  b: {c: 1}\n  d: 2\n");

  EXPECT_EQ(*find_path(document, "a.b.c"), Value(1));
  EXPECT_EQ(find_path(document, "a.x"), nullptr);
  EXPECT_EQ(find_path(document, "a.d.e"), nullptr);
  EXPECT_EQ(find_path(document, ""), &document);
  EXPECT_EQ(origin_of(document, "a.d").line, 3);
  EXPECT_EQ(origin_of(document, "a.b.x").line, 2) << "the map around what is not there";
  EXPECT_EQ(origin_of(document, "x.y").line, 1) << "the document";
  EXPECT_EQ(origin_of(document, {"a.x", "a.d"}).line, 3) << "the first that is there";
  EXPECT_EQ(origin_of(document, {"a.b.x", "y"}).line, 2);
}

TEST(Origin, KnowsTheFolderOfAFile) {
  const test::TemporaryFolder folder;
  const std::string file = folder.file("a.yaml", "a: 1\n");
  Value setting;
  apply_override(setting, "a=sub/b");

  EXPECT_EQ(read_yaml(file).find("a")->origin().folder(), folder.path());
  EXPECT_EQ(setting.find("a")->origin().folder(), "");
  EXPECT_EQ(parsed("a: 1").find("a")->origin().folder(), "");
  EXPECT_EQ(Value(1).origin().folder(), "");
}

TEST(YamlText, IsReadable) {
  const char* text =
      "pde:\n  name: burgers\n  modes: [16, 16]\n  rate: 1.0\nlist:\n  -\n    a: 1\n"
      "  - []\nempty: {}\nnothing: null\nquoted: \"12\"\n";

  EXPECT_EQ(yaml_text(parsed(text)), text);
}

TEST(JsonText, IsJsonWithKeysInOrder) {
  const Value value = parsed("b: [1, 2.5, true, null, .nan]\na: \"x\\n\\\"\"\n");

  EXPECT_EQ(json_text(value, 0), R"({"b":[1,2.5,true,null,null],"a":"x\n\""})");
  EXPECT_EQ(nlohmann::ordered_json::parse(json_text(value)).dump(), json_text(value, 0));
}

TEST(ParseJson, GivesWhatJsonTextTook) {
  const Value value = parse_json(
      R"({"b":[1,-2,18446744073709551615,1.0,1e-3,true,null],"a":{"x\n\"":"12"},"c":[]})", "s");

  EXPECT_EQ(value, parsed("b: [1, -2, 18446744073709551615, 1.0, 1e-3, true, null]\n"
                          "a: {\"x\\n\\\"\": \"12\"}\nc: []\n"));
}

TEST(ParseJson, TakesLongerTextThanParseYaml) {
  const std::string text(kMaxYamlBytes + 1, 'x');

  const Value value = parse_json('"' + text + '"', "s");

  ASSERT_NE(value.text(), nullptr);
  EXPECT_EQ(*value.text(), text);
}

TEST(ParseJson, BadTextIsDamageAndNamesItsSource) {
  const std::string deep(1'000'000, '['), twice = R"({"a":{"b":1,"c":2,"b":1}})";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1,]"), std::string("nothing"),
        std::string("{} {}"), std::string("\"\xff\""), std::string("1e999"), deep, twice}) {
    try {
      parse_json(text, "file.json");
      ADD_FAILURE() << text.substr(0, 40);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::data) << e.what();
      EXPECT_NE(std::string(e.what()).find("file.json"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace stap::config
