// The committee and the scores against values of an independent program: every file whose name
// starts with "acquisition", tolerance from its attributes.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "acquire/utility.h"
#include "reference/stap.h"
#include "stap/acquire/pool.h"
#include "stap/nn/engine.h"
#include "support/acquiring.h"
#include "support/engine_under_test.h"
#include "support/golden.h"
#include "support/golden_networks.h"
#include "support/networks.h"

namespace stap {
namespace {

// The committee and the initial states of a file.
struct Case {
  explicit Case(const std::filesystem::path& path)
      : x(read_array(path, "X")),
        shape(test::golden_shape(path, x.shape, NetworkOptions::Target::delta)),
        members(static_cast<std::size_t>(test::stated(path, "members"))),
        steps(static_cast<std::size_t>(test::stated(path, "steps"))),
        tolerance(test::stated(path, "tolerance")),
        initial(test::golden_states(shape.grid, x)),
        engine(test::make_engine_under_test(shape, static_cast<int>(members), 2)) {
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
    committee = engine->committee(all);
    for (std::size_t b = 0; b < initial.count(); ++b) open.push_back(b);
  }

  Candidates candidates() const { return {initial.view(), open, steps}; }

  Array<double> x;
  NetworkSpec shape;
  std::size_t members, steps;
  double tolerance;
  States<float> initial;
  std::vector<std::size_t> open;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Committee> committee;
};

std::vector<std::filesystem::path> files() {
  const auto found = test::golden_files("acquisition");
  EXPECT_FALSE(found.empty()) << "no acquisition*.h5 in " << test::golden_folder();
  return found;
}

TEST(AcquisitionGolden, RolloutsAndVariances) {
  for (const auto& path : files()) {
    const Case golden(path);
    const auto& [x, shape, members, steps, tolerance, initial, open, engine, committee] = golden;
    const Array<double> rollouts = read_array(path, "rollouts");
    const std::size_t n = x.shape[0], values = shape.grid.values();

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
      committee->advance(rows, index, which, rows, index);
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
    EXPECT_EQ(spread_scores(*committee, golden.candidates(), open), score);
  }
}

// A value and the file's, relative to the file's; utilities of nothing are exactly 0.
void expect_close(double value, double expected, double tolerance, const std::string& where) {
  EXPECT_NEAR(value, expected, tolerance * expected) << where;
}

TEST(AcquisitionGolden, Utilities) {
  for (const auto& path : files()) {
    const Case golden(path);
    const Array<double> patterns = read_array(path, "S"), pairwise = read_array(path, "pairwise");
    const double m = static_cast<double>(golden.members);
    const std::size_t cases = patterns.shape[0], n = golden.initial.count();
    ASSERT_EQ(pairwise.shape, (std::vector<std::size_t>{cases, n}));
    Utility utility(*golden.committee, golden.candidates(), golden.open.size(),
                    ordered_pairs(static_cast<int>(golden.members)));
    test::roll_out(utility, golden.open);
    for (std::size_t k = 0; k < cases; ++k) {
      for (std::size_t b = 0; b < n; ++b) {
        Pattern pattern(golden.steps);
        for (std::size_t i = 0; i < golden.steps; ++i)
          pattern.set(i, patterns.values[(k * n + b) * golden.steps + i] != 0.0);

        const double value = test::utility_of(utility, b, pattern);

        // The file's mean counts a = b.
        expect_close(value, m / (m - 1) * pairwise.values[k * n + b], golden.tolerance,
                     fmt::format("{} {}", path.string(), pattern.text()));
      }
    }
  }
}

// Squared distance summed over steps, channels and grid points.
double distance2(const std::vector<reference::State>& x, const std::vector<reference::State>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += reference::distance2(x[i], y[i]);
  return sum;
}

// The file compares with the mean of the members' rollouts, the method with the rollout of the mean
// model. Both are computed here by plain sums over the committee's states and differ by that target
// alone: the first must be the file's, the second what the chooser uses.
TEST(AcquisitionGolden, MeanFieldByBothDefinitions) {
  for (const auto& path : files()) {
    Case golden(path);
    const Array<double> patterns = read_array(path, "S");
    const Array<double> mean_field = read_array(path, "mean_field");
    const std::size_t cases = patterns.shape[0], n = golden.initial.count(), m = golden.members;
    ASSERT_EQ(mean_field.shape, (std::vector<std::size_t>{cases, n}));
    test::World world;
    world.committee = std::move(golden.committee);
    const auto members = world.models();
    const auto mean = world.model(kMean);
    Utility utility(*world.committee, golden.candidates(), golden.open.size(),
                    mean_field_pairs(static_cast<int>(m)));
    test::roll_out(utility, golden.open);
    std::size_t told_apart = 0;
    for (std::size_t b = 0; b < n; ++b) {
      const auto row = golden.initial.row(b);
      const reference::State u0(row.begin(), row.end());
      std::vector<std::vector<reference::State>> rollouts;
      for (const auto& member : members)
        rollouts.push_back(reference::rollout(member, golden.steps, u0));
      auto mean_of_rollouts = rollouts[0];
      for (std::size_t i = 0; i < golden.steps; ++i)
        for (std::size_t v = 0; v < u0.size(); ++v) {
          double sum = 0.0;
          for (const auto& rollout : rollouts) sum += double{rollout[i][v]};
          mean_of_rollouts[i][v] = static_cast<float>(sum / static_cast<double>(m));
        }
      const auto rollout_of_mean = reference::rollout(mean, golden.steps, u0);

      for (std::size_t k = 0; k < cases; ++k) {
        Pattern pattern(golden.steps);
        for (std::size_t i = 0; i < golden.steps; ++i)
          pattern.set(i, patterns.values[(k * n + b) * golden.steps + i] != 0.0);
        double of_file = 0.0, of_method = 0.0;
        for (std::size_t j = 0; j < m; ++j) {
          const auto mixed = reference::mixed_rollout(mean, members[j], pattern, u0);
          of_file += distance2(mean_of_rollouts, rollouts[j]) - distance2(mean_of_rollouts, mixed);
          of_method += distance2(rollout_of_mean, rollouts[j]) - distance2(rollout_of_mean, mixed);
        }
        of_file /= static_cast<double>(m);
        of_method /= static_cast<double>(m);
        const double expected = mean_field.values[k * n + b];
        const std::string where = fmt::format("{} {}", path.string(), pattern.text());

        const double value = test::utility_of(utility, b, pattern);

        expect_close(of_file, expected, golden.tolerance, where);
        expect_close(value, of_method, golden.tolerance, where);
        told_apart += std::abs(value - expected) > 2 * golden.tolerance * expected ? 1 : 0;
      }
    }
    EXPECT_GT(told_apart, 0u) << path << ": either definition passes for the other";
  }
}

}  // namespace
}  // namespace stap
