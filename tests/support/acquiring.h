// Small pools and committees to choose from.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "acquire/search.h"
#include "reference/stap.h"
#include "stap/acquire/planner.h"
#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/fake_committee.h"
#include "support/networks.h"

namespace stap::test {

/// A planner of two parts that live as long.
inline std::unique_ptr<Planner> two_parts(const Selector& selector, const StepChooser& chooser) {
  const std::shared_ptr<void> nobody;
  return make_two_part_planner(std::shared_ptr<const Selector>(nobody, &selector),
                               std::shared_ptr<const StepChooser>(nobody, &chooser));
}

/// A round of one plan.
inline Plan spend(std::size_t budget, const Planner& planner, Committee& committee,
                  const Candidates& candidates, const Rng& rng) {
  return planner.begin(committee, candidates, rng)->next(budget);
}
inline Plan spend(std::size_t budget, const Selector& selector, const StepChooser& chooser,
                  Committee& committee, const Candidates& candidates, const Rng& rng) {
  return spend(budget, *two_parts(selector, chooser), committee, candidates, rng);
}

/// A pool, all of it open, and a committee.
struct World {
  States<float> pool;
  std::vector<std::size_t> open;
  std::size_t steps = 0;
  std::size_t warm_up = 0;         // charged
  Conditions conditions{};         // of the pool
  std::unique_ptr<Engine> engine;  // of real networks; null otherwise
  std::unique_ptr<Committee> committee;

  Candidates candidates() const { return {pool.view(), open, steps, warm_up, conditions.view()}; }
  reference::State state(std::size_t id) const {
    return {pool.row(id).begin(), pool.row(id).end()};
  }
  /// The members one row at a time, for the slow twin.
  std::vector<reference::Model> models() const {
    std::vector<reference::Model> models;
    for (int m = 0; m < committee->members(); ++m) models.push_back(model(m));
    return models;
  }
  reference::Model model(int member) const {
    return [c = committee.get(), member](const reference::State& state, double time) {
      const RowsId row = c->rows(1);
      const std::size_t zero[] = {0};
      reference::State next(state.size());
      const auto step =
          static_cast<std::uint32_t>(std::lround(time * static_cast<double>(c->told().horizon)));
      c->put(row, 0, {state.data(), 1, state.size()}, {{&step, 1}});
      c->advance(row, zero, {&member, 1}, row, zero);
      c->get(row, 0, {next.data(), 1, next.size()});
      c->release(row);
      return next;
    };
  }
};

inline void fill_pool(World& world, const Grid& grid, std::size_t count, const Rng& rng) {
  world.pool = random_states(grid, count, rng.split("pool"));
  world.open.resize(count);
  std::iota(world.open.begin(), world.open.end(), std::size_t{0});
}

/// Random linear maps on `values` values.
inline World linear_world(std::uint64_t seed, std::size_t members, std::size_t steps,
                          std::size_t count, std::size_t values = 5) {
  World world;
  const Grid grid = make_grid(1, {values}, {1.0});
  fill_pool(world, grid, count, Rng(seed));
  world.steps = steps;
  world.committee =
      std::make_unique<FakeCommittee>(grid, linear_members(members, values, Rng(seed)), steps);
  return world;
}

/// Small networks with a time input, fresh weights.
inline World network_world(std::uint64_t seed, int members, std::size_t steps, std::size_t count,
                           int threads = 1) {
  World world;
  NetworkSpec shape = small_shape({8}, {4}, 1, 5, 7, true);
  shape.horizon = steps;
  fill_pool(world, shape.grid, count, Rng(seed));
  world.steps = steps;
  world.engine = make_engine_under_test(shape, members, threads);
  std::vector<int> all;
  for (int m = 0; m < members; ++m) {
    all.push_back(m);
    world.engine->load(m, fresh_member(shape, some_scaling(1),
                                       Rng(seed).split("weights", static_cast<std::uint64_t>(m))));
  }
  world.committee = world.engine->committee(all);
  return world;
}

/// Both kinds of world, several sizes; odd numbers of candidates on purpose.
inline std::vector<World> some_worlds(std::size_t count = 5) {
  std::vector<World> worlds;
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    worlds.push_back(linear_world(seed, 2 + seed % 3, 1 + 2 * seed, count));
  worlds.push_back(network_world(1, 2, 6, count));
  worlds.push_back(network_world(2, 3, 4, count));
  return worlds;
}

inline Pattern random_pattern(std::size_t steps, const Rng& rng, double density = 0.5) {
  return Pattern(steps).flipped(density, rng);
}

/// A pattern of each of the ids, whatever they cost.
inline std::vector<Pattern> patterns_of(const StepChooser& chooser, Committee& committee,
                                        const Candidates& candidates,
                                        std::span<const std::size_t> ids, const Rng& rng) {
  return chooser.choose(committee, candidates, ids, kNoLimit, rng);
}

/// search() with one utility.
inline std::vector<Found> search_alone(Utility& utility, std::span<const std::size_t> ids,
                                       std::size_t budget, const StapOptions& options,
                                       const Rng& rng) {
  Utility* const only[] = {&utility};
  return search(only, ids, budget, options, rng);
}

/// Lets these candidates enter places 0, 1, ... and makes the models' rollouts.
inline void roll_out(Utility& utility, std::span<const std::size_t> ids) {
  std::vector<std::size_t> places(ids.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (const std::size_t place : places) utility.enter(place, ids[place]);
  while (!utility.rolled_out(0)) utility.step(places, {});
}

/// a(u0,S), all of it rolled out.
inline double utility_of(Utility& utility, std::size_t place, const Pattern& pattern) {
  Trial trial = utility.begin(place, pattern);
  Trial* const only[] = {&trial};
  while (!utility.complete(trial)) utility.step({}, only);
  return utility.value(trial);
}

}  // namespace stap::test
