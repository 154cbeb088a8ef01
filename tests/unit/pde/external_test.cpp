#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "stap/pde/external.h"
#include "support/contains.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::contains;

ExternalOptions two_channels() {
  ExternalOptions options;
  options.label = "mine";
  options.channels = {"u", "v"};
  options.points = {4, 3};
  options.lengths = {2.0, 1.5};
  options.dt = 0.25;
  return options;
}

std::string refusal_of(const ExternalOptions& options) {
  return test::config_complaint([&] { outline_of(options); });
}

TEST(External, IsWhatItsOptionsSay) {
  ExternalOptions options = two_channels();
  options.parameters.fixed = {"nu=0.5", "k=-1e-3"};
  options.parameters.varied = {{"D", ParameterDraw::Kind::uniform, {1.0, 2.0}}};

  const Outline outline = outline_of(options);

  EXPECT_EQ(outline.name, "mine");
  EXPECT_EQ(outline.grid, make_grid(2, {4, 3}, {2.0, 1.5}));
  EXPECT_EQ(outline.channels, options.channels);
  EXPECT_EQ(outline.dt, 0.25);
  EXPECT_EQ(outline.parameters,
            (std::vector<Parameter>{{"nu", 0.5}, {"k", -1e-3}, {"D", 0.0, true}}));
  EXPECT_EQ(varied_names(outline), std::vector<std::string>{"D"});
  EXPECT_EQ(parameters_of(outline, {.params = {1.5}})[2].value, 1.5);
}

TEST(External, HasLengthsOfOneWhereNoneAreGiven) {
  ExternalOptions options = two_channels();
  options.lengths.clear();

  EXPECT_EQ(outline_of(options).grid.lengths, (std::vector<double>{1.0, 1.0}));
}

TEST(External, RefusesWhatDoesNotFit) {
  ExternalOptions options = two_channels();
  options.guard.max = {1.0, 2.0, 3.0};
  EXPECT_TRUE(contains(refusal_of(options), "guard.max has 3 values, expected 1 or 2"));

  options = two_channels();
  options.channels = {"u", "u"};
  EXPECT_TRUE(contains(refusal_of(options), "two channels are called 'u'"));

  options = two_channels();
  options.parameters.fixed = {"nu"};
  EXPECT_TRUE(contains(refusal_of(options), "a parameter is 'nu', expected name=number"));

  options.parameters.fixed = {"nu=inf"};
  EXPECT_TRUE(contains(refusal_of(options), "expected name=number"));

  options.parameters.fixed = {"dt=1"};
  EXPECT_TRUE(contains(refusal_of(options), "which has a meaning of its own"));

  options.parameters = {{"nu=1"}, {{"nu", ParameterDraw::Kind::uniform, {1.0, 2.0}}}};
  EXPECT_TRUE(contains(refusal_of(options), "two parameters are called 'nu'"));

  options = two_channels();
  options.label = "a/b";
  EXPECT_TRUE(contains(refusal_of(options), "a label is called 'a/b'"));
}

TEST(External, GuardsChannelByChannel) {
  ExternalOptions options = two_channels();
  options.guard.min = {0.0};
  options.guard.max = {10.0, 1.0};
  const Outline outline = outline_of(options);
  std::vector<double> state(24, 0.5);

  EXPECT_EQ(guard_refusal(outline, state), "");
  state[11] = 10.0;  // the last of u
  EXPECT_EQ(guard_refusal(outline, state), "");
  state[12] = 1.5;  // the first of v
  EXPECT_EQ(guard_refusal(outline, state), "v is 1.5 at point 0, above the guard of 1");
  state[12] = 0.5;
  state[3] = -1.0;
  EXPECT_EQ(guard_refusal(outline, state), "u is -1 at point 3, below the guard of 0");
}

}  // namespace
}  // namespace stap
