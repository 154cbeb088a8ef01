// The laws of the family, for every sampler there is: a state is a function of (stream, index)
// alone. What is drawn is tested beside each sampler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "stap/core/error.h"
#include "stap/ic/ic.h"
#include "support/changed_options.h"

namespace stap {
namespace {

const Grid& line() {
  static const Grid grid = make_grid(1, {16}, {2.0});
  return grid;
}

// A grid that the sampler fits, and one that it must refuse, where there is one.
struct Small {
  Grid grid;
  std::optional<Grid> other;
};
const std::map<std::string, Small>& small() {
  static const Grid plane = make_grid(1, {8, 10}, {1.0, 1.5});
  static const Grid gas = make_grid(4, {8, 10}, {1.0, 1.5}), two = make_grid(2, {16}, {2.0});
  static const std::map<std::string, Small> rows{
      {"burgers-as-coded", {line(), plane}}, {"sines", {line(), plane}},
      {"gaussian-field", {plane, {}}},       {"white-noise", {two, {}}},
      {"gas-waves", {gas, plane}},
  };
  return rows;
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const SamplerRow& row : sampler_table()) list.push_back(row.name);
  return list;
}

class SamplerLaws : public ::testing::TestWithParam<std::string> {
 protected:
  const Small& the_case() const {
    const auto found = small().find(GetParam());
    if (found == small().end())
      throw std::runtime_error("there is no grid for '" + GetParam() +
                               "': add a line to small() in tests/property/ic/laws_test.cpp");
    return found->second;
  }
  const SamplerRow& entry() const {
    for (const SamplerRow& row : sampler_table())
      if (row.name == GetParam()) return row;
    throw std::runtime_error("no such entry");
  }
  std::unique_ptr<Sampler> make() const { return entry().make({}, {.grid = &the_case().grid}); }
};
INSTANTIATE_TEST_SUITE_P(EveryEntry, SamplerLaws, ::testing::ValuesIn(names()), [](const auto& i) {
  std::string name = i.param;
  std::erase(name, '-');
  return name;
});

std::vector<double> drawn(const Sampler& sampler, const Rng& stream, std::uint64_t i) {
  std::vector<double> state(sampler.grid().values());
  sampler.draw(stream, i, state);
  return state;
}

// Broken by: a counter that is kept from draw to draw, keys made of positions.
TEST_P(SamplerLaws, AStateIsAFunctionOfStreamAndIndex) {
  const auto sampler = make(), again = make();
  const std::uint64_t forth[] = {0, 1, 7, 1'000'000'000'000}, back[] = {1'000'000'000'000, 7, 1, 0};

  std::vector<std::vector<double>> a, b;
  for (const std::uint64_t i : forth) a.push_back(drawn(*sampler, Rng(3), i));
  for (const std::uint64_t i : back) b.push_back(drawn(*again, Rng(3), i));

  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(a[i], b[3 - i]) << i;
    EXPECT_EQ(a[i], drawn(*sampler, Rng(3), forth[i])) << i;
  }
}

// Broken by: a key without the stream or without the index, values that are left as they were.
TEST_P(SamplerLaws, StreamsAndIndicesGiveOtherStates) {
  const auto sampler = make();
  std::vector<std::vector<double>> states;
  for (std::uint64_t i = 0; i < 20; ++i) {
    states.push_back(drawn(*sampler, Rng(3), i));
    states.push_back(drawn(*sampler, Rng(4), i));
    states.push_back(drawn(*sampler, Rng(3).split("pool"), i));
  }

  std::ranges::sort(states);

  EXPECT_EQ(std::ranges::adjacent_find(states), states.end());
}

// Broken by: a value that is never written, a division by a maximum of 0.
TEST_P(SamplerLaws, EveryValueIsWrittenAndFinite) {
  const auto sampler = make();
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::vector<double> a(sampler->grid().values(), std::nan("")), b(a.size(), 7.0);
    sampler->draw(Rng(1), i, a);
    sampler->draw(Rng(1), i, b);

    ASSERT_EQ(a, b) << i;  // NaN is equal to nothing
    EXPECT_TRUE(std::ranges::all_of(a, [](double v) { return std::isfinite(v); })) << i;
  }
}

// Broken by: a wave number of 0 for every term, channels that are all the mean state.
TEST_P(SamplerLaws, StatesVaryInSpace) {
  const auto sampler = make();
  const std::size_t points = sampler->grid().points_total();
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::vector<double> state = drawn(*sampler, Rng(2), i);
    for (std::size_t c = 0; c < sampler->grid().channels; ++c) {
      const auto [low, high] = std::ranges::minmax(std::span(state).subspan(c * points, points));

      EXPECT_GT(high - low, 1e-6) << "draw " << i << ", channel " << c;
    }
  }
}

TEST_P(SamplerLaws, WarmUpIsAnOption) {
  const config::AnyOptions options = config::read(*entry().fields, {}, "initial");

  EXPECT_EQ(entry()
                .make(test::changed(*entry().fields, options, "warm_up", 0.125),
                      {.grid = &the_case().grid})
                ->warm_up(),
            0.125);
  EXPECT_THROW(test::changed(*entry().fields, options, "warm_up", -1.0), Error);
}

TEST_P(SamplerLaws, SaysItsNameAndGridAndRefusesOthers) {
  const auto sampler = make();

  EXPECT_EQ(sampler->name(), GetParam());
  EXPECT_EQ(sampler->grid(), the_case().grid);
  if (const std::optional<Grid>& other = the_case().other; other) try {
      entry().make({}, {.grid = &*other});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
    }
  config::Value options;
  options.set("no_such_option", 1);
  EXPECT_THROW(config::read(*entry().fields, options, "initial"), Error);
}

}  // namespace
}  // namespace stap
