#include "stap/config/quantity.h"

#include <gtest/gtest.h>

#include "stap/config/fields.h"
#include "support/contains.h"
#include "support/refusals.h"

namespace stap::config {
namespace {

using Kind = ParameterDraw::Kind;
using test::contains;

struct Options {
  Quantity nu = 0.5;
  Quantities named;
};

const Fields<Options>& fields() {
  static const Fields<Options> table{{"nu", &Options::nu, "viscosity", at_least(0)},
                                     {"named", &Options::named, "numbers by name"}};
  return table;
}

Options read_text(const std::string& text) {
  return read(fields(), parse_yaml(text, "test"), "pde");
}

std::string complaint(const std::string& text) {
  return test::config_complaint([&] { read_text(text); });
}

TEST(Quantity, IsANumberOrADraw) {
  EXPECT_EQ(read_text("nu: 2").nu, Quantity(2.0));
  EXPECT_EQ(read_text("nu: {between: [1, 3]}").nu.draw,
            (ParameterDraw{"", Kind::uniform, {1.0, 3.0}}));
  EXPECT_EQ(read_text("nu: {draw: log, between: [1, 3]}").nu.draw,
            (ParameterDraw{"", Kind::log, {1.0, 3.0}}));
  EXPECT_EQ(read_text("nu: {from: [4, 1]}").nu.draw, (ParameterDraw{"", Kind::list, {4.0, 1.0}}));
}

TEST(Quantity, ByNameMayBeAListOrAMap) {
  const Quantities list = read_text("named: [F=0.040, k=3]").named;
  EXPECT_EQ(list.fixed, (std::vector<std::string>{"F=0.040", "k=3"}));
  const Quantities map = read_text("named: {k: 3, F: {from: [1]}, D: {between: [0, 1]}}").named;
  EXPECT_EQ(map.fixed, std::vector<std::string>{"k=3"});
  EXPECT_EQ(names_of(map.varied), (std::vector<std::string>{"F", "D"}));
  EXPECT_EQ(read_text("named: {k: 3}").named, read_text("named: [k=3]").named);
}

// What is written is read back as the same, and stays as it was where nothing varies.
TEST(Quantity, IsWrittenAsItIsRead) {
  for (const char* text :
       {"nu: 0.25", "nu: {between: [1, 3], draw: log}", "nu: {from: [4, 1.5]}", "named: [F=0.040]",
        "named: {k: 3, F: {from: [1, 2]}, D: {between: [0, 1]}}"}) {
    const Options options = read_text(text);

    const Options again = read(fields(), to_value(fields(), options), "pde");

    EXPECT_EQ(again.nu, options.nu) << text;
    EXPECT_EQ(again.named, options.named) << text;
  }
  EXPECT_EQ(json_text(to_value(fields(), read_text("{nu: 2.5, named: [F=0.040]}")), 0),
            R"({"nu":2.5,"named":["F=0.040"]})");
}

TEST(Quantity, RefusesWhatCannotBeDrawn) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"{beetween: [1, 2]}", "did you mean 'between'?"},
      {"{draw: log}", "has neither 'between' nor 'from'"},
      {"{between: [1, 2], from: [1]}", "has both 'between' and 'from'"},
      {"{from: [1], draw: log}", "has 'draw', which is for 'between'"},
      {"{between: [1]}", "has 'between' with 1 values"},
      {"{between: [2, 2]}", "lies between 2 and 2"},
      {"{between: [3, 2]}", "expected the least value before the greatest"},
      {"{between: [0, 2], draw: log}", "is drawn as log from 0 on, expected a least value above 0"},
      {"{between: [1, 2], draw: lag}", "did you mean 'log'?"},
      {"{from: []}", "has an empty list 'from'"},
      {"{from: [.inf]}", "finite"},
      {"text", "expected a finite number"}};
  for (const auto& [text, part] : wrong) {
    EXPECT_TRUE(contains(complaint("nu: " + text), part)) << complaint("nu: " + text);
    EXPECT_TRUE(contains(complaint("nu: " + text), "pde.nu")) << text;
    if (text == "text") continue;
    EXPECT_TRUE(contains(complaint("named: {a: 1, b: " + text + "}"), part)) << text;
    EXPECT_TRUE(contains(complaint("named: {a: 1, b: " + text + "}"), "pde.named.b")) << text;
  }
  EXPECT_TRUE(contains(complaint("nu: {between: [-1, 2]}"), ">= 0"));  // the field's own range
  EXPECT_TRUE(contains(complaint("named: {a: b}"), "pde.named.a"));
  std::string many = "named: {";
  for (int i = 0; i < 9; ++i) many += "p" + std::to_string(i) + ": {from: [1]}, ";
  EXPECT_TRUE(contains(complaint(many + "}"), "has 9 parameters that vary, expected at most 8"));
}

}  // namespace
}  // namespace stap::config
