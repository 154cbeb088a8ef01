#include "stap/config/options.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "support/refusals.h"

namespace stap::config {
namespace {

struct Wave {
  int points = 64;
  double speed = 1.0;
};
struct Heat {
  int points = 8;
};
const Fields<Wave>& wave_fields() {
  static const Fields<Wave> fields{{"points", &Wave::points, "grid points", at_least(8)},
                                   {"speed", &Wave::speed, "of the wave", above(0)}};
  return fields;
}
const Fields<Heat>& heat_fields() {
  static const Fields<Heat> fields{{"points", &Heat::points, "grid points", at_least(8)}};
  return fields;
}
AnyOptions waves(std::string_view yaml) {
  const Table& table = wave_fields();
  return read(table, parse_yaml(yaml, "t.yaml"), "pde");
}

TEST(AnyOptions, GiveBackWhatWasRead) {
  const AnyOptions options = waves("{speed: 2}");

  EXPECT_EQ(options.as(wave_fields()).speed, 2.0);
  EXPECT_EQ(options.as(wave_fields()).points, 64);
  EXPECT_EQ(options.value(), parse_yaml("{points: 64, speed: 2.0}", "t"));
}

struct Wake {
  double height = 1.0, damping = 0.5;
};
const Fields<Wake>& wake_fields() {
  static const Fields<Wake> fields{
      {"height", &Wake::height, "of the wake", above(0)},
      later<Wake>({"damping", &Wake::damping, "of the wake", at_least(0)})};
  return fields;
}

// Documents, and their hashes, from before there was the key stay as they were.
TEST(AnyOptions, LeaveOutWhatCameLaterAtItsDefault) {
  const auto value_of = [](const char* yaml) {
    return read(static_cast<const Table&>(wake_fields()), parse_yaml(yaml, "t.yaml"), "pde")
        .value();
  };

  EXPECT_EQ(value_of("{height: 2}"), parse_yaml("{height: 2.0}", "t"));
  EXPECT_EQ(value_of("{height: 2, damping: 0.5}"), parse_yaml("{height: 2.0}", "t"));
  EXPECT_EQ(value_of("{damping: 0.25}"), parse_yaml("{height: 1.0, damping: 0.25}", "t"));
  EXPECT_EQ(describe(wake_fields()).size(), 2u);
  EXPECT_NE(schema(wake_fields()).find("properties")->find("damping"), nullptr);
}

TEST(AnyOptions, OfNothingAreTheDefaultsOfAnyone) {
  EXPECT_EQ(AnyOptions().as(wave_fields()).points, 64);
  EXPECT_EQ(AnyOptions().as(heat_fields()).points, 8);
  EXPECT_TRUE(AnyOptions().value().is_null());
}

// Bytes of one struct read as another would be garbage.
TEST(AnyOptions, OfAnotherTableAreABug) {
  EXPECT_THROW(waves("{}").as(heat_fields()), Error);
}

struct Sea {
  double depth = 1.0;
};
const Fields<Sea>& sea_fields() {
  static const Fields<Sea> fields{{"depth", &Sea::depth, "of the water", above(0)}};
  return fields;
}

TEST(JoinedFields, AreReadAsOneMapAndComeApartAgain) {
  const JoinedFields joined(wave_fields(), sea_fields());

  const AnyOptions options = read(joined, parse_yaml("{depth: 3, speed: 2}", "t"), "pde");

  EXPECT_EQ(options.value(), parse_yaml("{points: 64, speed: 2.0, depth: 3.0}", "t"));
  EXPECT_EQ(joined.first(options).as(wave_fields()).speed, 2.0);
  EXPECT_EQ(joined.second(options).as(sea_fields()).depth, 3.0);
  EXPECT_TRUE(joined.first({}).value().is_null());
  EXPECT_THROW(read(joined, parse_yaml("{depth: 0}", "t"), "pde"), Error);
}

TEST(JoinedFields, WithOneNameTwiceAreABug) {
  EXPECT_THROW(JoinedFields(wave_fields(), heat_fields()), Error);
}

TEST(AnyOptions, BadOnesAreRefusedWithTheirPlace) {
  EXPECT_EQ(test::error_text(ErrorKind::config, [] { waves("{points: 4}"); }),
            "t.yaml:1:10: pde.points is 4, expected an integer >= 8");
}

}  // namespace
}  // namespace stap::config
