#include "stap/core/symmetry.h"

#include <gtest/gtest.h>

#include <numeric>

#include "stap/core/error.h"
#include "support/contains.h"
#include "support/refusals.h"

namespace stap {
namespace {

using State = std::vector<double>;

const Grid kLine = make_grid(1, {6}, {3.0});
const Grid kSquare = make_grid(3, {4, 4}, {1.0, 1.0});
const std::vector<std::string> kLineNames{"u"}, kSquareNames{"p", "vx", "vy"};

// Values that tell every place apart.
State numbered(const Grid& grid, std::size_t frames = 1) {
  State state(frames * grid.values());
  std::iota(state.begin(), state.end(), 1.0);
  return state;
}

State image(const std::string& text, const Grid& grid, const std::vector<std::string>& names,
            std::size_t frames = 1) {
  const StateMap map = make_state_map(parse_symmetry(text, grid, names), grid, frames);
  const State state = numbered(grid, frames);
  State to(state.size());
  map_state(map, state.data(), to.data());
  return to;
}

std::string complaint(const std::string& text, const Grid& grid = kSquare,
                      const std::vector<std::string>& names = kSquareNames) {
  try {
    parse_symmetry(text, grid, names);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return {};
}

TEST(Symmetry, MirrorsMoveAndTurnALine) {
  EXPECT_EQ(image("x -> -x", kLine, kLineNames), (State{1, 6, 5, 4, 3, 2}));
  EXPECT_EQ(image("x->-x,u->-u", kLine, kLineNames), (State{-1, -6, -5, -4, -3, -2}));
  // u'(x) = u(x + 1/3): two points on.
  EXPECT_EQ(image("x -> x + 1/3", kLine, kLineNames), (State{3, 4, 5, 6, 1, 2}));
  EXPECT_EQ(image("x -> x - 0.5", kLine, kLineNames), (State{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(image(" x -> 5 / 6 - x ", kLine, kLineNames), (State{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(image("x -> -x + 5/6", kLine, kLineNames), (State{6, 5, 4, 3, 2, 1}));
}

// (g u)_c(x, y) of a quarter turn with a shift, written out. Mutation: axes, signs or shifts of the
// one taken for those of the other.
TEST(Symmetry, TurnsASquareAndItsVelocities) {
  const State from = numbered(kSquare);
  const auto at = [&](std::size_t c, std::size_t x, std::size_t y) {
    return from[c * 16 + x % 4 * 4 + y % 4];
  };

  const State to = image("x -> 1/4 - y, y -> x, vx -> vy, vy -> -vx", kSquare, kSquareNames);

  for (std::size_t x = 0; x < 4; ++x)
    for (std::size_t y = 0; y < 4; ++y) {
      EXPECT_EQ(to[x * 4 + y], at(0, 5 - y, x));
      EXPECT_EQ(to[16 + x * 4 + y], at(2, 5 - y, x));
      EXPECT_EQ(to[32 + x * 4 + y], -at(1, 5 - y, x));
    }
}

// Mutation: a mirror about point 0, as on a ring; a shift that moves walls.
TEST(Symmetry, BetweenWallsMirrorsAreAboutTheMiddle) {
  for (const char* end : {"centres", "points"}) {
    const Grid line = with_walls(make_grid(1, {4}, {1.0}), {end});
    const std::vector<float> state{1, 2, 3, 4};
    std::vector<float> image(4);

    map_state(make_state_map(parse_symmetry("x -> -x, u -> -u", line, {"u"}), line), state.data(),
              image.data());

    EXPECT_EQ(image, (std::vector<float>{-4, -3, -2, -1}));
    EXPECT_EQ(parse_symmetry("x -> -1/4 - x", line, {"u"}), parse_symmetry("x -> -x", line, {"u"}));
    EXPECT_EQ(parse_symmetries({"x -> -x"}, line, {"u"}).size(), 2u);
    for (const char* moved : {"x -> x + 1/4", "x -> 1/4 - x"})
      EXPECT_TRUE(test::contains(
          test::error_text(ErrorKind::config, [&] { parse_symmetry(moved, line, {"u"}); }),
          "x has walls, which a shift would move"))
          << moved;
  }
  const Grid pipe = with_walls(make_grid(1, {4, 4}, {1.0, 1.0}), {"periodic", "centres"});
  EXPECT_NO_THROW(parse_symmetry("x -> x + 1/2, y -> -y", pipe, {"u"}));
  EXPECT_TRUE(test::contains(
      test::error_text(ErrorKind::config, [&] { parse_symmetry("x -> y, y -> x", pipe, {"u"}); }),
      "x and y end differently"));
}

TEST(Symmetry, TimeTurnsTheFramesOfAClusterRound) {
  const StateMap map =
      make_state_map(parse_symmetry("t -> - t, x -> -x", kLine, kLineNames), kLine, 2);

  EXPECT_TRUE(map.reversed);
  EXPECT_EQ(image("t -> -t, x -> -x", kLine, kLineNames, 2),
            (State{7, 12, 11, 10, 9, 8, 1, 6, 5, 4, 3, 2}));
  EXPECT_EQ(image("u -> -u", kLine, kLineNames, 2)[11], -12.0);
  EXPECT_FALSE(make_state_map(parse_symmetry("x -> -x", kLine, kLineNames), kLine).reversed);
}

// A group holds with any two maps the one that does both. Mutation: composing in the wrong order,
// or a shift that forgets a sign.
TEST(Symmetry, GroupsAreWhole) {
  const std::vector<std::pair<std::vector<std::string>, std::size_t>> cases{
      {{}, 1},
      {{"x -> -x"}, 2},
      {{"t -> -t"}, 2},
      {{"x -> x + 1/4"}, 4},
      {{"x -> -x, vx -> -vx", "x -> y, y -> x, vx -> vy, vy -> vx"}, 8},
      // Four turns and mirrors, and as many shifts along the diagonal, which come of them.
      {{"x -> 1/4 - x, y -> -y", "x -> y + 1/2, y -> x, p -> -p"}, 16},
      {{"x -> 1/4 - x", "p -> -p", "t -> -t"}, 8}};
  for (const auto& [texts, size] : cases) {
    std::vector<Symmetry> generators;
    for (const std::string& text : texts)
      generators.push_back(parse_symmetry(text, kSquare, kSquareNames));

    const std::vector<Symmetry> group = symmetry_group(kSquare, generators);

    EXPECT_EQ(group.size(), size);
    std::vector<std::pair<State, bool>> images;  // of the numbered state, under every map
    std::vector<StateMap> maps;
    for (const Symmetry& g : group) {
      maps.push_back(make_state_map(g, kSquare));
      State to(kSquare.values());
      map_state(maps.back(), numbered(kSquare).data(), to.data());
      EXPECT_EQ(std::ranges::count(images, std::pair(to, g.reversed)), 0);
      images.emplace_back(to, g.reversed);
    }
    EXPECT_EQ(images[0], std::pair(numbered(kSquare), false));
    for (const auto& [once, reversed] : images)
      for (const StateMap& map : maps) {
        State twice(kSquare.values());
        map_state(map, once.data(), twice.data());
        EXPECT_EQ(std::ranges::count(images, std::pair(twice, reversed != map.reversed)), 1);
      }
  }
}

// Mutation: maps that turn time round are kept; shifts are told apart for networks that are not
// placed; the one map that changes nothing counts as an image.
TEST(Symmetry, ImagesAreOfMapsThatKeepTimeAndDifferByMoreThanShifts) {
  const auto count = [](const std::vector<std::string>& texts, bool placed) {
    const std::vector<StateMap> maps = make_image_maps(texts, kSquare, kSquareNames, 1, placed);
    EXPECT_TRUE(std::ranges::none_of(maps, &StateMap::reversed));
    EXPECT_TRUE(std::ranges::all_of(
        maps, [](const StateMap& map) { return map.from.size() == kSquare.values(); }));
    return maps.size();
  };
  const std::vector<std::string> moved{"x -> 1/4 - x, y -> -y", "x -> y + 1/2, y -> x, p -> -p"};

  EXPECT_EQ(count(moved, false), 4u);
  EXPECT_EQ(count(moved, true), 16u);
  EXPECT_EQ(count({"x -> -x, t -> -t"}, false), 0u);
  EXPECT_EQ(count({"x -> -x, t -> -t", "y -> -y"}, false), 2u);
  EXPECT_EQ(count({"x -> x + 1/2"}, false), 0u);
  EXPECT_EQ(count({"x -> x + 1/2"}, true), 2u);
  EXPECT_EQ(count({}, false), 0u);
}

// Mutation: the map itself is taken for its inverse, which it is not of a quarter turn.
TEST(Symmetry, StatesAreMappedBack) {
  const std::string turn = "x -> y, y -> -x, vx -> -vy, vy -> vx";
  const State from = numbered(kSquare);
  const State there = image(turn, kSquare, kSquareNames);

  State back(from.size(), 0.0);
  add_mapped_back(make_state_map(parse_symmetry(turn, kSquare, kSquareNames), kSquare),
                  there.data(), back.data());

  EXPECT_EQ(back, from);
  EXPECT_NE(there, from);
}

TEST(Symmetry, OfThoseThatDifferByShiftsTheFirstIsLeft) {
  const auto parsed = [](const char* text) { return parse_symmetry(text, kLine, kLineNames); };
  const Symmetry shift = parsed("x -> x + 1/3"), mirror = parsed("x -> -x"),
                 moved = parsed("x -> 1/2 - x"), sign = parsed("u -> -u");

  EXPECT_EQ(without_shifts({shift, moved, mirror, sign, shift}),
            (std::vector<Symmetry>{shift, moved, sign}));
}

TEST(Symmetry, TooManyMapsAreRefused) {
  const Grid fine = make_grid(1, {65}, {1.0});
  const Grid less = make_grid(1, {64}, {1.0});

  EXPECT_EQ(symmetry_group(less, {parse_symmetry("x -> x + 1/64", less, {"u"})}).size(), 64u);
  EXPECT_THROW(symmetry_group(fine, {parse_symmetry("x -> x + 1/65", fine, {"u"})}), Error);
}

// Signs and swaps, as of channels. Mutation: a swap without its sign, or one of the other way.
TEST(Symmetry, ActsOnParametersOfTheRow) {
  const std::vector<std::string> names{"lid", "slope", "nu"};
  const auto own = [&](const Symmetry& symmetry) {
    const StateMap map = make_state_map(symmetry, kLine);
    const State values{1, 2, 3};
    State to(3);
    map_values(map.parameters, values.data(), to.data());
    return to;
  };
  const auto parsed = [&](const char* text) {
    return parse_symmetry(text, kLine, kLineNames, names);
  };

  EXPECT_EQ(own(parsed("x -> -x")), (State{1, 2, 3}));
  EXPECT_EQ(own(parsed("x -> -x, lid -> -lid")), (State{-1, 2, 3}));
  EXPECT_EQ(own(parsed("lid -> slope, slope -> -lid")), (State{2, -1, 3}));
  // Four times a quarter turn: (1, 2), (2, -1), (-1, -2), (-2, 1).
  const auto group = symmetry_group(kLine, {parsed("lid -> slope, slope -> -lid")});
  ASSERT_EQ(group.size(), 4u);
  EXPECT_EQ(own(group[2]), (State{-1, -2, 3}));
  EXPECT_EQ(own(group[3]), (State{-2, 1, 3}));
  EXPECT_TRUE(
      make_state_map(parse_symmetry("x -> -x", kLine, kLineNames), kLine).parameters.empty());
  const auto complaint_of = [&](const char* text) {
    try {
      parsed(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_TRUE(test::contains(complaint_of("v -> -v"),
                             "channels u, parameters that vary lid, slope, nu, and time"));
  EXPECT_TRUE(test::contains(complaint_of("lid -> slope"), "one parameter stands in two places"));
  EXPECT_TRUE(test::contains(complaint_of("lid -> u"),
                             "there is no parameter u; parameters may only be swapped"));
}

TEST(Symmetry, ComplaintsSayWhatIsWrong) {
  using test::contains;
  EXPECT_TRUE(contains(complaint(""), "expected parts like x -> -x"));
  EXPECT_TRUE(contains(complaint("x"), "expected parts like x -> -x, got \"x\""));
  EXPECT_TRUE(contains(complaint("x -> -x,"), "got \"\""));
  EXPECT_TRUE(contains(complaint("z -> -z"), "no z; axes are x, y, channels p, vx, vy"));
  EXPECT_TRUE(contains(complaint("x -> y"), "one axis stands in two places"));
  EXPECT_TRUE(contains(complaint("vx -> vy"), "one channel stands in two places"));
  EXPECT_TRUE(contains(complaint("x -> -x, x -> x"), "x is there twice"));
  EXPECT_TRUE(contains(complaint("x -> x + y"), "two axes"));
  EXPECT_TRUE(contains(complaint("x -> 1/4"), "expected an axis"));
  EXPECT_TRUE(contains(complaint("x -> "), "expected an axis"));
  EXPECT_TRUE(contains(complaint("x -> --x"), "expected an axis"));
  EXPECT_TRUE(contains(complaint("x -> 2x"), "2x is neither an axis nor a number"));
  EXPECT_TRUE(contains(complaint("x -> 1/0 - x"), "neither an axis nor a number"));
  EXPECT_TRUE(contains(complaint("x -> 0.3 - x"), "1.2 of its 4 points"));
  for (const char* far :
       {"x -> 1 - x", "x -> x + 8", "x -> x + 1e308/0.1", "x -> x + 1e308/0.1 - 1e308/0.1"})
    EXPECT_TRUE(contains(complaint(far), "more than the axis"));
  EXPECT_TRUE(contains(complaint("t -> t"), "t -> -t, and nothing else"));
  EXPECT_TRUE(contains(complaint("t -> "), "t -> -t, and nothing else"));
  EXPECT_TRUE(contains(complaint("p -> q"), "no channel q"));
  EXPECT_TRUE(contains(complaint("p -> 2 p"), "no channel 2 p"));
  const Grid oblong = make_grid(1, {4, 6}, {1.0, 1.5}), uneven = make_grid(1, {4, 4}, {1.0, 2.0});
  EXPECT_TRUE(contains(complaint("x -> y, y -> x", oblong, {"u"}), "4 points over 1 and y 6"));
  EXPECT_TRUE(contains(complaint("x -> y, y -> x", uneven, {"u"}), "over 1 and y 4 over 2"));
  EXPECT_EQ(complaint("x -> -x, y -> -y", oblong, {"u"}), "");
}

}  // namespace
}  // namespace stap
