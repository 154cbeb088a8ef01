#include "stap/core/grid.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/sizes.h"
#include "stap/core/error.h"
#include "stap/core/states.h"
#include "support/contains.h"
#include "support/refusals.h"

namespace stap {
namespace {

TEST(Grid, CountsValuesAndSpacing) {
  const Grid plane = make_grid(4, {6, 10}, {3.0, 5.0});

  EXPECT_EQ(plane.axes(), 2u);
  EXPECT_EQ(plane.points_total(), 60u);
  EXPECT_EQ(plane.values(), 240u);
  EXPECT_EQ(plane.spacing(0), 0.5);
  EXPECT_EQ(plane.shape_text(), "4 x 6 x 10");
}

TEST(Sizes, AreTheLargestNumberWhereTheyWouldOverflow) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max(), half = most / 2;

  EXPECT_EQ(product_of({3, 5, 7}), 105u);
  EXPECT_EQ(product_of({half, 2}), most - 1);
  EXPECT_EQ(product_of({half + 1, 2}), most);
  EXPECT_EQ(product_of({most, most, 3}), most);
  EXPECT_EQ(product_of({most, most, 0}), 0u);
  EXPECT_EQ(sum_of({3, 5, 7}), 15u);
  EXPECT_EQ(sum_of({half, half, 1}), most);
  EXPECT_EQ(sum_of({half, half, 2, 5}), most);
}

TEST(Grid, RefusesWhatIsNoGrid) {
  constexpr double inf = std::numeric_limits<double>::infinity();

  EXPECT_THROW(make_grid(1, {}, {}), Error);
  EXPECT_THROW(make_grid(1, {2, 2, 2}, {1, 1, 1}), Error);
  EXPECT_THROW(make_grid(1, {8}, {1, 1}), Error);
  EXPECT_THROW(make_grid(0, {8}, {1}), Error);
  EXPECT_THROW(make_grid(1, {0}, {1}), Error);
  EXPECT_THROW(make_grid(2, {std::size_t{1} << 47}, {1}), Error);  // 2^51 bytes a state
  EXPECT_THROW(make_grid(4, {std::size_t{1} << 31, std::size_t{1} << 31}, {1, 1}), Error);
  EXPECT_THROW(make_grid(1, {8}, {0}), Error);
  EXPECT_THROW(make_grid(1, {8}, {inf}), Error);
}

TEST(Grid, HasWallsByName) {
  const Grid plane = make_grid(2, {8, 5}, {4.0, 2.0});

  const Grid walled = with_walls(plane, {"centres", "points"});

  EXPECT_EQ(walled.end(0), Boundary::centres);
  EXPECT_EQ(walled.end(1), Boundary::points);
  EXPECT_EQ(walled.spacing(0), 0.5);
  EXPECT_EQ(walled.spacing(1), 0.5);  // four cells from wall to wall
  EXPECT_EQ(wall_names(walled), (std::vector<std::string>{"centres", "points"}));
  EXPECT_NE(walled, plane);
  EXPECT_EQ(with_walls(walled, {"periodic", "periodic"}), plane);
  EXPECT_EQ(with_walls(walled, {}), plane);
  for (const auto& [names, why] : {
           std::pair(std::vector<std::string>{"centres"}, "say how each ends"),
           {{"centres", "wall"}, "an axis ends 'wall', expected periodic, or"},
       })
    EXPECT_TRUE(test::contains(
        test::error_text(ErrorKind::config, [&] { with_walls(plane, names); }), why));
  EXPECT_TRUE(
      test::contains(test::error_text(ErrorKind::config,
                                      [&] { with_walls(make_grid(1, {1}, {1.0}), {"points"}); }),
                     "one point between its walls"));
}

TEST(States, RowsLieOneAfterTheOther) {
  States<double> states(make_grid(2, {3}, {1.0}), 4);
  states.row(2)[5] = 7.0;

  EXPECT_EQ(states.values()[2 * 6 + 5], 7.0);
  EXPECT_EQ(states.view().rows(2, 1).row(0)[5], 7.0);
}

TEST(States, ConvertRoundsToNearestAndChecksSizes) {
  const std::vector<double> from = {1.0, 0.1, 1e300};
  std::vector<float> to(3), wrong(2);

  convert(from, to);

  EXPECT_EQ(to[0], 1.0f);
  EXPECT_EQ(to[1], 0.1f);
  EXPECT_EQ(to[2], std::numeric_limits<float>::infinity());
  EXPECT_THROW(convert(from, wrong), Error);
}

}  // namespace
}  // namespace stap
