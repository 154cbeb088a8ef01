// Properties of the network over several seeds.
#include <gtest/gtest.h>

#include <cmath>

#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/networks.h"

namespace stap {
namespace {

using test::small_shape;

States<float> advance(const NetworkSpec& shape, const MemberState& member,
                      const States<float>& in) {
  const auto engine = test::make_engine_under_test(shape, 1, 1);
  engine->load(0, member);
  const auto committee = engine->committee({0});
  const RowsId rows = committee->rows(in.count());
  std::vector<std::size_t> index(in.count());
  for (std::size_t r = 0; r < index.size(); ++r) index[r] = r;
  const std::vector<int> which(index.size(), 0);
  committee->put(rows, 0, in.view());
  committee->advance(rows, index, which, rows, index);
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

// A periodic network without positional inputs commutes with translations by whole cells: each mode
// is only turned, and taking the real part of the zero and Nyquist modes commutes with that, too.
// Mutation: a wrong sign or order of the modes on one axis, or negative wave numbers of the first
// axis taken from the wrong end. 5e-6: rounding of the transforms, whose sums run in another order
// on the moved grid.
TEST(FnoProperty, CommutesWithTranslations) {
  std::vector<NetworkSpec> shapes;
  for (std::size_t n = 20; n < 28; ++n) shapes.push_back(small_shape({n}, {8}, 2));
  for (std::size_t n = 9; n < 14; ++n) shapes.push_back(small_shape({n, 23 - n}, {6, 4}));
  shapes.push_back(small_shape({12}, {12}));
  shapes.push_back(small_shape({6, 8}, {6, 8}));
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const NetworkSpec& shape = shapes[s];
    const auto in = test::random_states(shape.grid, 3, Rng(s));
    const MemberState member = fresh_member(shape, test::some_scaling(shape.grid.channels), Rng(s));

    const auto left = moved(advance(shape, member, in), 2 + s, 3 + s);
    const auto right = advance(shape, member, moved(in, 2 + s, 3 + s));

    EXPECT_LT(test::relative_l2({left.values().begin(), left.values().end()},
                                {right.values().begin(), right.values().end()}),
              5e-6)
        << shape.grid.shape_text();
  }
}

// Members with equal weights make a committee without spread. Mutation: members mixed up.
TEST(FnoProperty, IdenticalMembersHaveNoSpread) {
  const NetworkSpec shape = small_shape({16}, {6});
  const auto engine = test::make_engine_under_test(shape, 3, 2);
  const MemberState member = fresh_member(shape, test::some_scaling(1), Rng(3));
  for (int m = 0; m < 3; ++m) engine->load(m, member);
  const auto committee = engine->committee({0, 1, 2});
  const RowsId rows = committee->rows(3);
  const auto in = test::random_states(shape.grid, 1, Rng(4));
  committee->put(rows, 0, in.view());
  const std::vector<std::size_t> from = {0, 0, 0}, to = {0, 1, 2};
  const std::vector<int> which = {0, 1, 2};
  const RowsId out = committee->rows(3);

  committee->advance(rows, from, which, out, to);
  double spread[1];
  committee->spread(out, to, spread);

  EXPECT_EQ(spread[0], 0.0);
}

}  // namespace
}  // namespace stap
