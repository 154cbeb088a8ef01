// Laws of choosing among candidates that have parameters, for any selector with any chooser of the
// tables. Each names the mutation that would break it.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "stap/acquire/methods.h"
#include "stap/acquire/planner.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::spend;
using test::World;

constexpr std::size_t kBudget = 17;

// plan(world, selector, chooser) for all pairs but those with a selector that is left out.
template <class Expect>
void for_all_methods(const std::set<std::string>& left_out, const Expect& expect) {
  for (const SelectorRow& selector : selector_table())
    for (const ChooserRow& chooser : chooser_table()) {
      if (left_out.contains(selector.name)) continue;
      SCOPED_TRACE(selector.name + "+" + chooser.name);
      expect([&](const World& world) {
        return spend(kBudget, *selector.make({}, {}), *chooser.make({}, {}), *world.committee,
                     world.candidates(), Rng(3));
      });
    }
}

Conditions drawn(std::span<const ParameterDraw> parameters, std::size_t count, const Rng& rng) {
  Conditions conditions;
  for (std::size_t c = 0; c < count; ++c) conditions.add(0, draw_parameters(parameters, rng, c));
  return conditions;
}

// The same members where two parameters are told with weights of zero.
World with_ignored_parameters(const World& plain, int members) {
  World world;
  world.pool = plain.pool;
  world.open = plain.open;
  world.steps = plain.steps;
  const NetworkSpec without = plain.engine->spec();
  const NetworkSpec with = test::with_parameters(without, 2);
  world.conditions = drawn(with.parameters, world.pool.count(), Rng(8));
  world.engine = test::make_engine_under_test(with, members, 1);
  std::vector<int> all;
  for (int m = 0; m < members; ++m) {
    MemberState state = plain.engine->save_trained(m);
    Tensor& lifting = state.weights[0];  // [hidden][in][1]
    const std::size_t before = without.in_channels(), after = with.in_channels();
    std::vector<float> wider(lifting.shape[0] * after, 0.0f);
    for (std::size_t o = 0; o < lifting.shape[0]; ++o)
      for (std::size_t i = 0; i < before; ++i)
        wider[o * after + i] = lifting.values[o * before + i];
    lifting.shape[1] = after;
    lifting.values = std::move(wider);
    world.engine->load(m, state);
    all.push_back(m);
  }
  world.committee = world.engine->committee(all);
  return world;
}

// Mutation: a sum over input channels depends on how many there are; rows are drawn from the
// stream of their parameters; equal candidates are told by them.
TEST(ParameterLaws, AnIgnoredParameterChangesNoSelection) {
  const World plain = test::network_world(5, 3, 4, 9);
  const World ignored = with_ignored_parameters(plain, 3);

  for_all_methods({}, [&](const auto& plan) { EXPECT_EQ(plan(plain), plan(ignored)); });
}

// Two networks that are told three parameters, and candidates that have them, in this order.
World told_three(bool backwards) {
  World world;
  NetworkSpec spec = test::with_parameters(test::small_shape({8}, {4}, 1, 5, 7, true), 3);
  if (backwards) std::ranges::reverse(spec.parameters);
  test::fill_pool(world, spec.grid, 9, Rng(5));
  world.steps = spec.horizon = 4;
  world.conditions = drawn(spec.parameters, 9, Rng(8));
  world.engine = test::make_engine_under_test(spec, 2, 1);
  for (int m = 0; m < 2; ++m)
    world.engine->load(m, fresh_member(spec, test::some_scaling(1), Rng(m + 1)));
  world.committee = world.engine->committee({0, 1});
  return world;
}

// Mutation: weights, draws or what rows are told go by the order of the configuration.
TEST(ParameterLaws, TheirOrderChangesNoSelection) {
  const World there = told_three(false), back = told_three(true);

  EXPECT_NE(there.conditions.parameters, back.conditions.parameters);
  for_all_methods({}, [&](const auto& plan) { EXPECT_EQ(plan(there), plan(back)); });
}

// A parameter is as good as a value of the state that no member changes: all members agree on it,
// so it counts in no distance. (Not so where values are features: those methods are left out.)
// Mutation: a candidate gets another's parameters, or keeps its own for the first step only.
TEST(ParameterLaws, AParameterIsChosenAmongLikeAValueThatStays) {
  constexpr std::size_t kValues = 4, kCount = 9, kSteps = 5, kMembers = 3;
  const auto drift = test::linear_members(kMembers, kValues, Rng(6));
  const ParameterDraw ranged{"nu", ParameterDraw::Kind::uniform, {-1.0, 1.0}};  // told as it is
  World told = test::linear_world(6, kMembers, kSteps, kCount, kValues), stays;
  told.conditions = drawn({&ranged, 1}, kCount, Rng(2));
  // Drawn as floats are: a state holds no others.
  for (double& value : told.conditions.parameters) value = static_cast<double>(float(value));
  told.committee = std::make_unique<FakeCommittee>(told.pool.grid(), drift,
                                                   ConditionInputs{.parameters = {ranged}});
  const Grid wider = make_grid(1, {kValues + 1}, {1.0});
  stays.pool = States<float>(wider, kCount);
  stays.open = told.open;
  stays.steps = kSteps;
  for (std::size_t c = 0; c < kCount; ++c) {
    std::ranges::copy(told.pool.row(c), stays.pool.row(c).begin());
    stays.pool.row(c)[kValues] = static_cast<float>(told.conditions.parameters[c]);
  }
  std::vector<FakeCommittee::Member> members;
  for (const FakeCommittee::Member& member : drift)
    members.push_back([member](const std::vector<float>& state, double) {
      std::vector<float> next = member({state.begin(), state.end() - 1}, double{state.back()});
      next.push_back(state.back());
      return next;
    });
  stays.committee = std::make_unique<FakeCommittee>(wider, members);

  for_all_methods({"lcmd", "core-set"},
                  [&](const auto& plan) { EXPECT_EQ(plan(told), plan(stays)); });
}

// More rows than a block of gradients has, cut by batches of an odd size.
// Mutations: sums for shifts are made by thread; a row is shifted by another row's parameters where
// rows of a batch are worked on together.
TEST(ParameterLaws, ShiftsDependOnNoThreadsAndNoMates) {
  const NetworkSpec spec =
      test::with_shifts(test::with_parameters(test::small_shape({9}, {4}, 2, 19, 7, true), 2));
  const test::Transitions data(spec, 23, Rng(4));
  const auto trained = [&](int members, int threads) {
    const auto engine = make_cpu_engine(spec, members, threads);
    std::vector<FitJob> jobs;
    for (int m = 0; m < members; ++m) {
      engine->load(m, test::shifted(fresh_member(spec, test::some_scaling(2), Rng(1))));
      jobs.push_back({m, data.view()});
      jobs.back().options.epochs = 3;
      jobs.back().options.batch = 7;
    }
    Observer nobody;
    engine->fit(jobs, nobody);
    return engine->save(members - 1);
  };

  const MemberState alone = trained(1, 1);

  EXPECT_EQ(trained(1, 3), alone);
  EXPECT_EQ(trained(3, 2), alone);
  const auto engine = make_cpu_engine(spec, 1, 2);
  engine->load(0, alone);
  const auto committee = engine->committee({0});
  const RowsId rows = committee->rows(23), single = committee->rows(1);
  committee->put(rows, 0, data.inputs.view(), data.conditions.view());
  std::vector<std::size_t> all(23);
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = r;
  committee->advance(rows, all, std::vector<int>(23, 0), rows, all);
  States<float> together(spec.grid, 23), one(spec.grid, 1);
  committee->get(rows, 0, together.view());
  for (std::size_t r = 0; r < 23; ++r) {
    committee->put(single, 0, data.inputs.view().rows(r, 1), data.conditions.view().part(r, 1));
    committee->advance(single, std::vector<std::size_t>{0}, std::vector<int>{0}, single,
                       std::vector<std::size_t>{0});
    committee->get(single, 0, one.view());
    EXPECT_TRUE(std::ranges::equal(one.row(0), std::as_const(together).row(r))) << r;
  }
}

// Mutation: weights, or places of inputs, go by the order of the configuration.
TEST(ParameterLaws, TheirOrderChangesNoNetwork) {
  NetworkSpec there = test::with_parameters(test::small_shape({9}, {4}, 1, 5, 7, true), 3);
  NetworkSpec back = there;
  std::ranges::reverse(back.parameters);
  const test::Transitions data(there, 6, Rng(4)), turned(back, 6, Rng(4));
  const auto trained = [&](const NetworkSpec& spec, const test::Transitions& on) {
    const auto engine = test::make_engine_under_test(spec, 1, 1);
    engine->load(0, fresh_member(spec, test::some_scaling(1), Rng(1)));
    Observer nobody;
    FitJob job{0, on.view()};
    job.options.epochs = 2;
    job.options.batch = 4;
    engine->fit({&job, 1}, nobody);
    return engine->save(0);
  };

  EXPECT_NE(data.conditions.parameters, turned.conditions.parameters);
  EXPECT_EQ(trained(there, data), trained(back, turned));
}

}  // namespace
}  // namespace stap
