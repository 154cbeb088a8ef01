#include "acquire/features.h"

#include <gtest/gtest.h>

#include "reference/lcmd.h"
#include "support/acquiring.h"

namespace stap {
namespace {

// More candidates than one thread compares at a time. 1e-12: sums of 512 squares in another order.
TEST(NearestCentres, AreThoseOfAllDistances) {
  constexpr std::size_t kCandidates = 600;
  FeatureSpace space;
  for (std::size_t c = 0; c < kCandidates; ++c) {
    space.ids.push_back(c);
    for (std::size_t k = 0; k < kSketchSize; ++k)
      space.points.push_back(Rng(1).split("point", c).normal(k));
  }
  for (std::size_t k = 0; k < kSketchSize; ++k) space.centres.push_back(Rng(2).normal(k));
  const auto point = [&](std::size_t c) {
    return reference::Point(space.point(c).begin(), space.point(c).end());
  };

  NearestCentres nearest(space);
  for (std::size_t c : {599, 3, 256}) nearest.take(c);

  const std::vector<reference::Point> centres = {space.centres, point(599), point(3), point(256)};
  EXPECT_EQ(nearest.centres(), centres.size());
  for (std::size_t c = 0; c < kCandidates; ++c) {
    EXPECT_EQ(nearest.taken(c), c == 599 || c == 3 || c == 256) << c;
    if (nearest.taken(c)) continue;
    std::size_t best = 0;
    for (std::size_t k = 1; k < centres.size(); ++k)
      if (reference::squared_distance(point(c), centres[k]) <
          reference::squared_distance(point(c), centres[best]))
        best = k;
    const double expected = reference::squared_distance(point(c), centres[best]);
    EXPECT_EQ(nearest.centre(c), best) << c;
    EXPECT_NEAR(nearest.distance2(c), expected, 1e-12 * expected) << c;
  }
}

// More trajectories than are sketched at a time on the CPU.
TEST(SketchedFeatures, DoNotDependOnBlocks) {
  const test::World world = test::network_world(3, 2, 3, 300);

  const std::vector<double> together =
      sketched_features(*world.committee, world.candidates(), world.open);

  std::vector<double> apart;
  for (const std::size_t& id : world.open) {
    const auto one = sketched_features(*world.committee, world.candidates(), {&id, 1});
    apart.insert(apart.end(), one.begin(), one.end());
  }
  EXPECT_EQ(together, apart);
}

}  // namespace
}  // namespace stap
