#include "stap/config/registry.h"

#include <gtest/gtest.h>

#include <functional>

#include "stap/core/error.h"

namespace stap::config {
namespace {

struct Tide {
  int points = 64;
};
const Fields<Tide>& tide_fields() {
  static const Fields<Tide> fields{{"points", &Tide::points, "grid points", at_least(8)}};
  return fields;
}
struct Bad {
  std::string name;
};
const Fields<Bad>& bad_fields() {
  static const Fields<Bad> fields{{"name", &Bad::name, "clashes with the entry's name"}};
  return fields;
}

struct Row : Entry {
  std::function<int(const AnyOptions&)> make{};
};
Registry<Row> table() {
  return Registry<Row>(
      "pde", "the equation", Affects::problem,
      {{{"wave", "wave equation", &tide_fields()},
        [](const AnyOptions& options) { return options.as(tide_fields()).points; }}},
      {"file"});
}

std::string refusal(const Row& row) {
  Registry<Row> rows = table();
  try {
    rows.add(row);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(rows.size(), 1u);
    return error.what();
  }
  return "";
}

TEST(Registry, RowsAreAddedFoundAndChosen) {
  Registry<Row> rows = table();
  int made = 0;
  rows.add({{"heat", "heat equation", &tide_fields()}, [&](const AnyOptions& options) {
              made = options.as(tide_fields()).points;
              return made;
            }});

  const Choice<Row> choice = rows.choose(parse_yaml("{name: heat, points: 9}", "t"));

  EXPECT_EQ(choice.row, rows.find("heat"));
  EXPECT_EQ(choice.row->make(choice.options), 9);
  EXPECT_EQ(made, 9);
  EXPECT_EQ(choice.value(), parse_yaml("{name: heat, points: 9}", "t"));
  EXPECT_EQ(rows.find("cold"), nullptr);
  EXPECT_EQ(rows.family().entries.size(), 2u);
}

// A study that was read before points at its rows.
TEST(Registry, RowsKeepTheirPlacesWhenMoreAreAdded) {
  Registry<Row> rows = table();
  const Row* wave = rows.find("wave");

  for (int i = 0; i < 1000; ++i) rows.add({{"more-" + std::to_string(i), "x", &tide_fields()}, {}});

  EXPECT_EQ(rows.find("wave"), wave);
  EXPECT_EQ(wave->name, "wave");
}

TEST(Registry, NamesAreGivenOnce) {
  EXPECT_EQ(refusal({{"wave", "again", &tide_fields()}, {}}),
            "the row 'wave' cannot be added to pde: it has a name that is taken: choose another");
  EXPECT_NE(refusal({{"file", "reserved", &tide_fields()}, {}}).find("taken"), std::string::npos);
  EXPECT_NE(refusal({{"", "no name", &tide_fields()}, {}}).find("expected letters"),
            std::string::npos);
  EXPECT_NE(refusal({{"a(b)", "a method's bracket", &tide_fields()}, {}}).find("expected letters"),
            std::string::npos);
  EXPECT_NE(refusal({{"none", "no fields", nullptr}, {}}).find("no field table"),
            std::string::npos);
  EXPECT_NE(refusal({{"bad", "a field `name`", &bad_fields()}, {}}).find("a field 'name'"),
            std::string::npos);
}

TEST(Registry, AnUnknownNameIsSaidWithTheKnownOnes) {
  Complaints complaints;

  const Choice<Row> choice = table().choose(parse_yaml("{name: waev}", "t"), complaints);

  EXPECT_FALSE(choice);
  ASSERT_EQ(complaints.list().size(), 1u);
  EXPECT_EQ(complaints.list()[0].line(),
            "t:1:8: pde.name is 'waev', which is not known; did you mean 'wave'?");
  EXPECT_THROW(table().choose(parse_yaml("{name: wave, points: 1}", "t")), Error);
}

}  // namespace
}  // namespace stap::config
