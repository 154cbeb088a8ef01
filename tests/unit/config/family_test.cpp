#include "stap/config/family.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "stap/core/error.h"

namespace stap::config {
namespace {

struct Wave {
  int points = 64;
};
struct Heat {
  double conductivity = 0.5;
};
struct Train {
  int epochs = 5;
};

const Fields<Wave>& wave_fields() {
  static const Fields<Wave> fields{{"points", &Wave::points, "grid points", at_least(8)}};
  return fields;
}
const Fields<Heat>& heat_fields() {
  static const Fields<Heat> fields{
      {"conductivity", &Heat::conductivity, "of the medium", above(0)}};
  return fields;
}
const Fields<Train>& train_fields() {
  static const Fields<Train> fields{{"epochs", &Train::epochs, "passes", at_least(1)}};
  return fields;
}

const std::vector<Entry>& equations() {
  static const std::vector<Entry> rows{{"wave", "wave equation", &wave_fields()},
                                       {"heat", "heat equation", &heat_fields()}};
  return rows;
}

std::vector<Family> families() {
  return {named_family("pde", "the equation", equations()),
          plain_family("train", "how to train", train_fields())};
}

Value parsed(std::string_view text) {
  return parse_yaml(text, "f.yaml");
}

std::vector<Complaint> complaints_of(std::string_view text) {
  Complaints complaints;
  check(families(), parsed(text), complaints);
  return complaints.list();
}

TEST(Family, ReadsASectionIntoItsEntrysOptions) {
  Complaints complaints;

  const auto section =
      read_section(families()[0], parsed("{conductivity: 2.5, name: heat}"), complaints);

  ASSERT_TRUE(section.has_value());
  EXPECT_TRUE(complaints.empty());
  EXPECT_EQ(section->entry, 1u);
  EXPECT_EQ(section->options.as(heat_fields()).conductivity, 2.5);
  EXPECT_EQ(section_value(equations()[1], section->options),
            parsed("{name: heat, conductivity: 2.5}"));
}

TEST(Family, EffectiveDocumentHasEveryField) {
  Complaints complaints;

  const Value effective = check(families(), parsed("pde: {name: heat}\n"), complaints);

  EXPECT_TRUE(complaints.empty());
  EXPECT_EQ(effective, parsed("{pde: {name: heat, conductivity: 0.5}, train: {epochs: 5}}"));
}

TEST(Family, NamedSectionsNotGivenStayOut) {
  Complaints complaints;

  EXPECT_EQ(check(families(), parsed(""), complaints), parsed("train: {epochs: 5}"));
  EXPECT_TRUE(complaints.empty());
}

TEST(Family, AMissingOrUnknownNameListsTheChoices) {
  const auto missing = complaints_of("pde: {points: 64}");
  const auto unknown = complaints_of("pde: {name: waev, points: 64}");
  const auto number = complaints_of("pde: {name: 3}");
  const auto empty = complaints_of("pde:");
  const auto text = complaints_of("pde: wave");

  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].line(), "f.yaml:1:6: pde.name is missing, expected one of wave, heat");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].line(),
            "f.yaml:1:13: pde.name is 'waev', which is not known; did you mean 'wave'?");
  ASSERT_EQ(number.size(), 1u);
  EXPECT_EQ(number[0].text, "is 3, expected one of wave, heat");
  ASSERT_EQ(empty.size(), 1u);
  EXPECT_EQ(empty[0].text, "is missing, expected one of wave, heat");
  ASSERT_EQ(text.size(), 1u);
  EXPECT_EQ(text[0].text, "is 'wave', expected a map such as {name: wave}");
}

TEST(Family, ReportsProblemsOfAllSectionsAtOnce) {
  const auto complaints =
      complaints_of("trian: {epochs: 3}\npde: {name: wave, points: 4}\ntrain: {epochs: 0}\n");

  ASSERT_EQ(complaints.size(), 3u);
  EXPECT_EQ(complaints[0].line(), "f.yaml:1:1: trian is not known; did you mean 'train'?");
  EXPECT_EQ(complaints[1].path, "pde.points");
  EXPECT_EQ(complaints[2].path, "train.epochs");
}

// What users forget first is the section.
TEST(Family, AKeyWithoutItsSectionIsNamedWithIt) {
  const auto forgotten = complaints_of("epochs: 3\n"), misspelt = complaints_of("epohcs: 3\n");

  ASSERT_EQ(forgotten.size(), 1u);
  EXPECT_EQ(forgotten[0].text, "is not known; did you mean 'train.epochs'?");
  ASSERT_EQ(misspelt.size(), 1u);
  EXPECT_EQ(misspelt[0].text, "is not known; did you mean 'train.epochs'?");
}

TEST(Family, ADocumentThatIsNoMapIsAProblem) {
  const auto complaints = complaints_of("[1, 2]");

  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_EQ(complaints[0].line(), "f.yaml:1:1: the document is [1, 2], expected a map of sections");
}

TEST(Family, SchemaTellsEntriesApartByName) {
  const auto json = nlohmann::json::parse(json_text(schema(families())));

  EXPECT_EQ(json["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(json["additionalProperties"], false);
  const auto& entries = json["properties"]["pde"]["oneOf"];
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1]["properties"]["name"]["const"], "heat");
  EXPECT_EQ(entries[1]["required"], nlohmann::json{"name"});
  EXPECT_EQ(entries[1]["properties"]["conductivity"]["default"], 0.5);
  EXPECT_EQ(entries[1]["additionalProperties"], false);
  EXPECT_EQ(json["properties"]["train"]["properties"]["epochs"]["minimum"], 1);
}

// Documents of a section that was plain once stay what they were.
TEST(Family, ASectionWithoutANameMayMeanAnEntry) {
  Family family = named_family("pde", "the equation", equations());
  family.preset = "wave";
  const std::vector<Family> these{family};
  Complaints complaints;
  const auto effective_of = [&](std::string_view text) {
    return check(these, parsed(text), complaints);
  };

  EXPECT_EQ(effective_of(""), parsed("{pde: {points: 64}}"));
  EXPECT_EQ(effective_of("pde: {points: 9}"), parsed("{pde: {points: 9}}"));
  EXPECT_EQ(effective_of("pde: {name: wave, points: 9}"), parsed("{pde: {points: 9}}"));
  EXPECT_EQ(effective_of("pde: {name: heat}"), parsed("{pde: {name: heat, conductivity: 0.5}}"));
  EXPECT_TRUE(complaints.empty());
  effective_of("pde: {name: none}");
  EXPECT_EQ(complaints.list().size(), 1u);
  const Value entries = *schema(these).find("properties")->find("pde")->find("oneOf");
  EXPECT_EQ((*entries.list())[0].find("required"), nullptr);
  EXPECT_NE((*entries.list())[1].find("required"), nullptr);
  const auto all = [](Affects) { return true; };
  EXPECT_EQ(counting(these, parsed("pde: {points: 9}"), true, all), parsed("pde: {points: 9}"));
}

TEST(Family, ClashingNamesAreABug) {
  struct Bad {
    std::string name;
  };
  static const Fields<Bad> bad{{"name", &Bad::name, "clashes with the entry's name"}};
  const std::vector<Entry> twice{{"wave", "a", &wave_fields()}, {"wave", "b", &wave_fields()}};
  const std::vector<Entry> reserved{{"bad", "a", &bad}};
  const std::vector<Entry> no_name{{"a b", "a", &wave_fields()}};

  EXPECT_THROW(named_family("pde", "x", twice), Error);
  EXPECT_THROW(named_family("pde", "x", reserved), Error);
  EXPECT_THROW(named_family("pde", "x", no_name), Error);
}

}  // namespace
}  // namespace stap::config
