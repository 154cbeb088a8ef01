// A stop ends what chooses within one call of the committee, and nothing stays in its memory.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "acquire/features.h"
#include "stap/acquire/methods.h"
#include "stap/acquire/trust.h"
#include "support/acquiring.h"

namespace stap {
namespace {

using test::FakeCommittee;
using test::World;

// Three members, six steps, forty candidates.
class Stop : public testing::Test {
 protected:
  // Told to stop before its fourth or before its last call, the work makes three or all but one.
  void expect_to_stop(const std::function<void()>& work) {
    work();
    const std::size_t all = committee.advance_calls;
    ASSERT_GT(all, 4u);
    ASSERT_EQ(committee.blocks_in_use(), 0u);
    for (const std::size_t calls : {std::size_t{3}, all - 1}) {
      committee.advance_calls = 0;
      std::size_t asked = 0;
      committee.stop_when([&] { return ++asked > calls; });

      EXPECT_THROW(work(), Stopped);

      EXPECT_EQ(committee.advance_calls, calls);
      EXPECT_EQ(committee.blocks_in_use(), 0u);
    }
  }
  void choose(const StepChooser& chooser) {
    test::patterns_of(chooser, committee, world.candidates(), world.open, Rng(1));
  }

  World world = test::linear_world(1, 3, 6, 40);
  FakeCommittee& committee = dynamic_cast<FakeCommittee&>(*world.committee);
};

TEST_F(Stop, EndsScores) {
  expect_to_stop([&] { spread_scores(committee, world.candidates(), world.open); });
}

TEST_F(Stop, EndsSketches) {
  expect_to_stop([&] { sketched_features(committee, world.candidates(), world.open); });
}

TEST_F(Stop, EndsTheTrustBand) {
  expect_to_stop([&] { one_step_spreads(committee, world.pool.view(), {}, 4); });
}

TEST_F(Stop, EndsASearch) {
  expect_to_stop([&] { choose(*make_stap({})); });
}

TEST_F(Stop, EndsTheExactSearch) {
  expect_to_stop([&] { choose(*make_exact()); });
}

// The other searcher, on a thread of its own, is the first to hear of it. Breaks if its committee
// is not told, if what its thread throws is lost, or if this one goes on to the end.
TEST_F(Stop, EndsASearchOfTwo) {
  committee.has_another = true;
  const auto here = std::this_thread::get_id();
  std::atomic<bool> stop = false;
  committee.stop_when([&] {
    if (std::this_thread::get_id() != here) stop = true;
    return stop.load();
  });

  EXPECT_THROW(choose(*make_stap({})), Stopped);

  EXPECT_TRUE(stop.load());
  EXPECT_EQ(committee.blocks_in_use(), 0u);
}

}  // namespace
}  // namespace stap
