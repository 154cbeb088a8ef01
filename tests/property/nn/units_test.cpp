// Units are no part of a problem: what happens to data in other units.
#include <gtest/gtest.h>

#include <cmath>

#include "stap/core/symmetry.h"
#include "stap/eval/metrics.h"
#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/networks.h"

namespace stap {
namespace {

using test::small_shape;

struct Losses : Observer {
  void epoch_done(const EpochDone& e) override { values.push_back(e.loss); }
  std::vector<double> values;
};

// A member before its training and the data it is trained on, all in units that are `unit[c]` times
// as small.
struct InUnits {
  InUnits(const NetworkSpec& s, const std::vector<double>& unit, const Rng& rng)
      : shape(s), data(s, 7, rng), member(fresh_member(s, test::some_scaling(unit.size()), rng)) {
    for (States<float>* states : {&data.inputs, &data.targets}) {
      const std::size_t points = shape.grid.points_total();
      for (std::size_t v = 0; v < states->values().size(); ++v)
        states->values()[v] = static_cast<float>(static_cast<double>(states->values()[v]) *
                                                 unit[v / points % unit.size()]);
    }
    for (std::size_t c = 0; c < unit.size(); ++c) {
      const auto in_unit = [&](float x) {
        return static_cast<float>(static_cast<double>(x) * unit[c]);
      };
      member.scaling.mean[c] = in_unit(member.scaling.mean[c]);
      member.scaling.deviation[c] = in_unit(member.scaling.deviation[c]);
    }
  }

  NetworkSpec shape;
  test::Transitions data;
  MemberState member;
};

// Channels count in a unit of theirs, each in another part of it.
std::vector<float> factors_of(const Scaling& scaling) {
  std::vector<float> factors;
  for (std::size_t c = 0; c < scaling.deviation.size(); ++c)
    factors.push_back((0.7f + static_cast<float>(c)) / scaling.deviation[c]);
  return factors;
}

// What comes of three epochs, and what a committee of the member before and after then says.
struct Outcome {
  Outcome(const InUnits& problem, FitOptions options, std::span<const StateMap> maps) {
    const auto engine = test::make_engine_under_test(problem.shape, 2, 2);
    engine->load(0, problem.member);
    engine->load(1, problem.member);
    const std::vector<float> units = factors_of(problem.member.scaling);
    FitJob job{.data = problem.data.view(),
               .options = options,
               .rng = Rng(3),
               .symmetries = maps,
               .loss_factors = units};
    Losses heard;
    engine->fit({&job, 1}, heard);
    losses = heard.values;
    trained = engine->save(0);

    const auto committee = engine->committee({0, 1});
    committee->weigh_channels({units.begin(), units.end()});
    const RowsId rows = committee->rows(3);
    const std::uint32_t half = test::kHorizon / 2;
    committee->put(rows, 0, problem.data.inputs.view().rows(0, 1), {{&half, 1}});
    const std::vector<std::size_t> from{0, 0}, to{1, 2};
    committee->advance(rows, from, std::vector{0, 1}, rows, to);
    advanced = States<float>(problem.shape.grid, 2);
    committee->get(rows, 1, advanced.view());
    measured.resize(2);
    committee->distance2(rows, std::vector<std::size_t>{1}, rows, std::vector<std::size_t>{2},
                         {measured.data(), 1});
    committee->spread(rows, to, {measured.data() + 1, 1});
  }

  std::vector<double> losses, measured;
  MemberState trained;
  States<float> advanced;
};

std::vector<NetworkSpec> shapes() {
  return {small_shape({16}, {6}, 3),
          small_shape({9}, {4}, 2, 5, 7, true, NetworkOptions::Target::state),
          test::with_positions(small_shape({6, 6}, {4, 4}, 2)), small_shape({12}, {4}, 2)};
}

// Multiplying a channel by a power of two, which rounds nothing, multiplies what is made of it, and
// changes no bit of anything else: weights, optimiser, losses, distances and spreads. Noise,
// images and averages included. Mutation: any number in the unit of the data,
// as of an error that is squared before it is counted in its deviation, or added to one of another
// channel.
TEST(Units, PowersOfTwoChangeNoBit) {
  for (std::size_t s = 0; s < shapes().size(); ++s)
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      NetworkSpec shape = shapes()[s];
      if (s == 3) shape.conserved = {1};
      SCOPED_TRACE(testing::Message() << "shape " << s << ", seed " << seed);
      const Rng rng = Rng(seed).split("units", s);
      const std::size_t channels = shape.grid.channels, points = shape.grid.points_total();
      std::vector<double> one(channels, 1.0), unit;
      for (std::size_t c = 0; c < channels; ++c)
        unit.push_back(std::ldexp(1.0, static_cast<int>(rng.below(c, 81)) - 40));
      FitOptions options;
      options.epochs = 3;
      options.batch = 3;
      options.noise = 0.1;
      options.average = seed == 1 ? 0.9 : 0.0;
      const std::vector<std::string> mirror(s == 0 ? 1 : 0, "x -> -x");
      std::vector<std::string> names{"a", "b", "c"};
      names.resize(channels);
      const std::vector<StateMap> maps = make_state_maps(mirror, shape.grid, names);

      const Outcome usual(InUnits(shape, one, rng), options, maps);
      const Outcome other(InUnits(shape, unit, rng), options, maps);

      EXPECT_EQ(other.losses, usual.losses);
      EXPECT_EQ(other.trained.weights, usual.trained.weights);
      EXPECT_EQ(other.trained.moment1, usual.trained.moment1);
      EXPECT_EQ(other.trained.moment2, usual.trained.moment2);
      EXPECT_EQ(other.trained.average, usual.trained.average);
      EXPECT_EQ(other.measured, usual.measured);
      EXPECT_GT(usual.measured[0], 0.0);
      for (std::size_t v = 0; v < usual.advanced.values().size(); ++v)
        ASSERT_EQ(double(other.advanced.values()[v]),
                  double(usual.advanced.values()[v]) * unit[v / points % channels]);
    }
}

// Of units that are no powers of two only last bits come: channels a million times smaller or
// larger than others have the errors that they have in units of their own. Mutation: Adam's epsilon
// or another channel beside errors that were not scaled; with physical units they differ by halves.
TEST(Units, AnyOtherChangesLastBits) {
  const NetworkSpec shape = small_shape({16}, {6}, 2);
  FitOptions options;
  options.epochs = 30;
  options.batch = 4;
  const auto errors = [&](std::vector<double> unit) {
    const InUnits problem(shape, unit, Rng(1));
    const auto engine = test::make_engine_under_test(shape, 1, 2);
    engine->load(0, problem.member);
    const std::vector<float> units = factors_of(problem.member.scaling);
    FitJob job{
        .data = problem.data.view(), .options = options, .rng = Rng(3), .loss_factors = units};
    Observer quiet;
    engine->fit({&job, 1}, quiet);
    States<float> pairs(shape.grid, 2 * problem.data.inputs.count());
    for (std::size_t i = 0; i < problem.data.inputs.count(); ++i) {
      std::ranges::copy(problem.data.inputs.row(i), pairs.row(2 * i).begin());
      std::ranges::copy(problem.data.targets.row(i), pairs.row(2 * i + 1).begin());
    }
    const auto committee = engine->committee({0});
    return evaluate(*committee, {std::as_const(pairs).view(), 2}).nrmse_by_channel;
  };
  const std::vector<double> usual = errors({1.0, 1.0});

  for (const double unit : {1e-12, 1e-6, 1e-3, 1e3, 1e6, 1e12}) {
    const std::vector<double> together = errors({unit, unit}), apart = errors({1.0, unit});
    for (std::size_t c = 0; c < 2; ++c) {
      EXPECT_NEAR(together[c], usual[c], 1e-5) << unit;
      EXPECT_NEAR(apart[c], usual[c], 1e-5) << unit;
    }
  }
}

}  // namespace
}  // namespace stap
