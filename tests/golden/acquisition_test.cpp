// The committee against values of an independent program: every file whose name starts with
// "acquisition", tolerance from its attributes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "stap/nn/engine.h"
#include "support/golden.h"
#include "support/golden_networks.h"
#include "support/networks.h"

namespace stap {
namespace {

TEST(AcquisitionGolden, RolloutsAndVariances) {
  const auto files = test::golden_files("acquisition");
  ASSERT_FALSE(files.empty()) << "no acquisition*.h5 in " << test::golden_folder();
  for (const auto& path : files) {
    const Array<double> x = read_array(path, "X"), rollouts = read_array(path, "rollouts");
    const FnoShape shape = test::golden_shape(path, x.shape, FnoOptions::Target::delta);
    const auto members = static_cast<std::size_t>(test::stated(path, "members"));
    const auto steps = static_cast<std::size_t>(test::stated(path, "steps"));
    const double tolerance = test::stated(path, "tolerance");
    const std::size_t n = x.shape[0], values = shape.grid.values();
    const auto engine = make_cpu_engine(shape, static_cast<int>(members), 2);
    std::vector<int> all;
    for (std::size_t m = 0; m < members; ++m) {
      MemberState member;
      for (double v : read_array(path, "mean").values)
        member.scaling.mean.push_back(static_cast<float>(v));
      for (double v : read_array(path, "std").values)
        member.scaling.deviation.push_back(static_cast<float>(v));
      member.weights = test::golden_parameters(path, fmt::format("m{}/", m), shape);
      all.push_back(static_cast<int>(m));
      engine->load(all.back(), member);
    }
    const auto committee = engine->committee(all);
    const auto initial = test::golden_states(shape.grid, x);

    // Row b * members + m: trajectory b rolled out by member m.
    const RowsId rows = committee->rows(n * members);
    std::vector<std::size_t> index(n * members);
    std::vector<int> which(n * members);
    for (std::size_t r = 0; r < index.size(); ++r) {
      index[r] = r;
      which[r] = static_cast<int>(r % members);
      committee->put(rows, r, initial.view().rows(r / members, 1));
    }
    std::vector<double> score(n), spread(n);
    for (std::size_t step = 1; step <= steps; ++step) {
      committee->advance(rows, index, which, {}, rows, index);
      committee->spread(rows, index, spread);
      States<float> state(shape.grid, index.size());
      committee->get(rows, 0, state.view());
      for (std::size_t b = 0; b < n; ++b) {
        score[b] += spread[b];
        for (std::size_t m = 0; m < members; ++m) {
          const auto row = state.row(b * members + m);
          const std::size_t at = ((m * n + b) * (steps + 1) + step) * values;
          const std::vector<double> expected(
              rollouts.values.begin() + static_cast<long>(at),
              rollouts.values.begin() + static_cast<long>(at + values));
          EXPECT_LT(test::relative_l2({row.begin(), row.end()}, expected), tolerance)
              << path << " member " << m << " trajectory " << b << " step " << step;
        }
      }
    }
    const auto expected = read_array(path, "prior_variance").values;
    for (std::size_t b = 0; b < n; ++b)
      EXPECT_NEAR(score[b], expected[b], tolerance * expected[b]) << path << " trajectory " << b;
  }
}

}  // namespace
}  // namespace stap
