#include "stap/core/condition.h"

#include <gtest/gtest.h>

namespace stap {
namespace {

using Kind = ParameterDraw::Kind;

std::vector<double> told(const ConditionInputs& inputs, std::uint32_t step,
                         const std::vector<double>& parameters) {
  std::vector<double> numbers(inputs.channels(), 99.0);
  inputs.tell(step, parameters, numbers.data());
  return numbers;
}

// Ends of a range are -1 and 1, its middle 0: of a logarithmic one the root of their product.
TEST(ConditionInputs, TellParametersByTheirRange) {
  const ConditionInputs inputs{.parameters = {{"a", Kind::uniform, {-2.0, 6.0}},
                                              {"b", Kind::log, {0.01, 100.0}},
                                              {"c", Kind::list, {3.0, 1.0, 5.0}},
                                              {"d", Kind::uniform, {7.0, 7.0}}}};

  EXPECT_EQ(told(inputs, 3, {-2.0, 0.01, 1.0, 7.0}), (std::vector{-1.0, -1.0, -1.0, 0.0}));
  EXPECT_EQ(told(inputs, 3, {6.0, 100.0, 5.0, 7.0}), (std::vector{1.0, 1.0, 1.0, 0.0}));
  const std::vector<double> middle = told(inputs, 3, {2.0, 1.0, 3.0, 7.0});
  for (const double number : middle) EXPECT_NEAR(number, 0.0, 1e-15);
  EXPECT_NEAR(told(inputs, 3, {8.0, 10.0, 6.0, 7.0})[0], 1.5, 1e-15);  // beyond the range
  EXPECT_NEAR(told(inputs, 3, {8.0, 10.0, 6.0, 7.0})[1], 0.5, 1e-15);
}

TEST(ConditionInputs, TellTheTimeFirst) {
  const ConditionInputs inputs{
      .time = true, .horizon = 8, .parameters = {{"a", Kind::uniform, {0.0, 2.0}}}};

  EXPECT_EQ(told(inputs, 2, {2.0}), (std::vector{0.25, 1.0}));
  EXPECT_EQ(told(inputs, 10, {0.0}), (std::vector{1.25, -1.0}));
}

// Mutation: parameters are told in the order of the configuration.
TEST(ConditionInputs, TellTheSameInAnyOrderOfParameters) {
  const ParameterDraw a{"a", Kind::uniform, {0.0, 1.0}}, b{"b", Kind::log, {1.0, 16.0}},
      c{"c", Kind::list, {0.0, 4.0}};

  const auto one = told({.parameters = {a, b, c}}, 0, {0.75, 2.0, 1.0});

  EXPECT_EQ(told({.parameters = {c, a, b}}, 0, {1.0, 0.75, 2.0}), one);
  EXPECT_EQ(told({.parameters = {b, c, a}}, 0, {2.0, 1.0, 0.75}), one);
  EXPECT_EQ(one, (std::vector{0.5, -0.5, -0.5}));
}

TEST(Conditions, PartsAreThoseOfTheirRows) {
  Conditions all;
  all.add(3, std::vector{1.0, 2.0});
  all.add(0, std::vector{3.0, 4.0});
  all.add(5, std::vector{5.0, 6.0});

  const ConditionsView part = all.view().part(1, 2);

  EXPECT_EQ(part.step(1), 5u);
  EXPECT_EQ(part.parameters_of(0)[1], 4.0);
  EXPECT_EQ(part.parameters_of(1)[0], 5.0);
  EXPECT_EQ(ConditionsView{}.part(1, 2).step(0), 0u);
}

}  // namespace
}  // namespace stap
