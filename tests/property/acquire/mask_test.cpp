// A law of choosing among states that are masked, for any selector with any chooser of the tables.
#include <gtest/gtest.h>

#include "stap/acquire/methods.h"
#include "stap/acquire/planner.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::World;

constexpr std::size_t kCount = 7, kMembers = 2;

// Walled; every third value is `hidden`, and those are under a mask if it is `told`.
World masked_world(float hidden, bool told) {
  World world;
  NetworkSpec spec = test::small_shape({6, 5}, {4, 4}, 1, 5, 7, true);
  const SharedFixedFields hole = test::with_hole(spec.grid);
  spec = test::with_padding(spec, {"centres", "points"}, {}, {}, told ? hole : nullptr);
  test::fill_pool(world, spec.grid, kCount, Rng(5));
  const std::vector<std::uint8_t>& mask = hole->mask;
  for (std::size_t v = 0; v < world.pool.values().size(); ++v)
    if (mask[v % mask.size()] == 0) world.pool.values()[v] = hidden * static_cast<float>(v % 7);
  world.steps = spec.horizon = 4;
  world.engine = test::make_engine_under_test(spec, kMembers, 1);
  for (int m = 0; m < static_cast<int>(kMembers); ++m)
    world.engine->load(m, fresh_member(spec, test::some_scaling(1), Rng(m + 1)));
  world.committee = world.engine->committee({0, 1});
  return world;
}

// Mutation: a distance, a spread or a feature goes over all points; a network reads what is masked.
TEST(MaskLaws, ValuesUnderItChangeNoSelection) {
  const World plain = masked_world(0.0f, true), hidden = masked_world(1e3f, true);
  const World seen = masked_world(0.0f, false), changed = masked_world(1e3f, false);
  std::size_t differ = 0;

  for (const SelectorRow& selector : selector_table())
    for (const ChooserRow& chooser : chooser_table()) {
      SCOPED_TRACE(selector.name + "+" + chooser.name);
      const auto plan = [&](const World& world) {
        return test::spend(13, *selector.make({}, {}), *chooser.make({}, {}), *world.committee,
                           world.candidates(), Rng(3));
      };
      EXPECT_EQ(plan(plain), plan(hidden));
      differ += plan(seen) == plan(changed) ? 0 : 1;
    }
  EXPECT_GT(differ, 10u);  // without a mask most look at these values
}

}  // namespace
}  // namespace stap
