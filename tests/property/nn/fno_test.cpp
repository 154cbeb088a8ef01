// Properties of the network over several seeds.
#include <gtest/gtest.h>

#include <cmath>

#include "stap/nn/engine.h"
#include "support/networks.h"

namespace stap {
namespace {

using test::small_shape;

States<float> advance(const FnoShape& shape, const MemberState& member, const States<float>& in) {
  const auto engine = make_cpu_engine(shape, 1, 1);
  engine->load(0, member);
  const auto committee = engine->committee({0});
  const RowsId rows = committee->rows(in.count());
  std::vector<std::size_t> index(in.count());
  for (std::size_t r = 0; r < index.size(); ++r) index[r] = r;
  const std::vector<int> which(index.size(), 0);
  committee->put(rows, 0, in.view());
  committee->advance(rows, index, which, {}, rows, index);
  States<float> out(in.grid(), in.count());
  committee->get(rows, 0, out.view());
  return out;
}

// The state moved by (dx, dy) whole cells.
States<float> moved(const States<float>& in, std::size_t dx, std::size_t dy) {
  States<float> out(in.grid(), in.count());
  const bool two = in.grid().axes() == 2;
  const std::size_t nx = two ? in.grid().points[0] : 1, ny = in.grid().points.back();
  for (std::size_t b = 0; b < in.count(); ++b)
    for (std::size_t c = 0; c < in.grid().channels; ++c)
      for (std::size_t i = 0; i < nx; ++i)
        for (std::size_t j = 0; j < ny; ++j)
          out.row(b)[(c * nx + (i + dx) % nx) * ny + (j + dy) % ny] =
              in.row(b)[(c * nx + i) * ny + j];
  return out;
}

// A periodic network without positional inputs commutes with translations by whole cells.
// Mutation: a wrong sign or order of the modes on one axis. 5e-6: rounding of the transforms, whose
// sums run in another order on the moved grid.
// Where a Nyquist mode is kept its weight is complex but only a real part can come back, which a
// move by one cell turns: so all modes but that one, in two axes also without the unpaired row.
TEST(FnoProperty, CommutesWithTranslations) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const FnoShape line = small_shape({20 + seed}, {8}, 2);
    const auto in = test::random_states(line.grid, 3, Rng(seed));
    const MemberState member = fresh_member(line, test::some_scaling(2), Rng(seed));
    const auto a = moved(advance(line, member, in), 0, 3 + seed);
    const auto b = advance(line, member, moved(in, 0, 3 + seed));
    const std::vector<double> left(a.values().begin(), a.values().end());
    const std::vector<double> right(b.values().begin(), b.values().end());
    EXPECT_LT(test::relative_l2(left, right), 5e-6) << seed;
  }
}

// In two axes the complex inverse along x and the real part along y commute with translations for
// every mode but those of the last axis' zero column, whose unpaired row -k/2 counts as its
// Hermitian part. With that row's weights at 0 nothing is left that could break the symmetry.
// Mutation: negative wave numbers of the first axis taken from the wrong end.
TEST(FnoProperty, CommutesWithTranslationsOfThePlane) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const FnoShape plane = small_shape({9 + seed, 14 - seed}, {6, 4}, 1);
    const auto in = test::random_states(plane.grid, 2, Rng(seed));
    const MemberState member = fresh_member(plane, test::some_scaling(1), Rng(seed));
    const auto a = moved(advance(plane, member, in), 2 + seed, 5);
    const auto b = advance(plane, member, moved(in, 2 + seed, 5));
    const std::vector<double> left(a.values().begin(), a.values().end());
    const std::vector<double> right(b.values().begin(), b.values().end());
    EXPECT_LT(test::relative_l2(left, right), 5e-6) << seed;
  }
}

// Members with equal weights make a committee without spread. Mutation: members mixed up.
TEST(FnoProperty, IdenticalMembersHaveNoSpread) {
  const FnoShape shape = small_shape({16}, {6});
  const auto engine = make_cpu_engine(shape, 3, 2);
  const MemberState member = fresh_member(shape, test::some_scaling(1), Rng(3));
  for (int m = 0; m < 3; ++m) engine->load(m, member);
  const auto committee = engine->committee({0, 1, 2});
  const RowsId rows = committee->rows(3);
  const auto in = test::random_states(shape.grid, 1, Rng(4));
  committee->put(rows, 0, in.view());
  const std::vector<std::size_t> from = {0, 0, 0}, to = {0, 1, 2};
  const std::vector<int> which = {0, 1, 2};
  const RowsId out = committee->rows(3);

  committee->advance(rows, from, which, {}, out, to);
  double spread[1];
  committee->spread(out, to, spread);

  EXPECT_EQ(spread[0], 0.0);
}

}  // namespace
}  // namespace stap
