// The distribution of the gas-waves sampler against formulas. Statistics are compared at five
// standard errors: one comparison of a correct sampler fails with probability 6e-7, all of this
// file together (about 270) with less than 2e-4; the five Kolmogorov-Smirnov tests add 1e-5. The
// streams are fixed, so it does so always or never.
#include "stap/ic/gas_waves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "support/sampling.h"

namespace stap {
namespace {

using std::numbers::pi;
using Row = std::vector<double>;

constexpr std::size_t kX = 12, kY = 10, kCells = kX * kY;  // enough for wave numbers up to 4
constexpr std::uint64_t kDraws = 2000;
const Grid kGas = make_grid(4, {kX, kY}, {1.0, 2.0});

Row drawn(const Sampler& sampler, std::uint64_t i, std::uint64_t seed = 0) {
  Row state(sampler.grid().values());
  sampler.draw(Rng(seed), i, state);
  return state;
}

void expect_mean(const Row& samples, double expected, const std::string& what) {
  const double n = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (double s : samples) sum += s;
  for (double s : samples) squares += (s - sum / n) * (s - sum / n);
  EXPECT_NEAR(sum / n, expected, 5 * std::sqrt(squares) / n + 1e-15) << what;
}

double mean_of(const double* values) {
  double sum = 0;
  for (std::size_t i = 0; i < kCells; ++i) sum += values[i];
  return sum / kCells;
}
double contrast_of(const double* values) {
  const double mean = mean_of(values);
  double peak = 0;
  for (std::size_t i = 0; i < kCells; ++i) peak = std::max(peak, std::abs(values[i] / mean - 1));
  return peak;
}

// What was drawn, from the state: waves have no mean on the grid, and r / max|r| reaches 1.
struct Drawn {
  double density, temperature, density_contrast, pressure_contrast, mach;
};
Drawn parameters(const Row& state) {
  const double density = mean_of(state.data());
  const double temperature = mean_of(state.data() + 3 * kCells) / density;
  double speed = 0;
  for (std::size_t i = 0; i < kCells; ++i)
    speed += std::hypot(state[kCells + i], state[2 * kCells + i]) / kCells;
  return {density, temperature, contrast_of(state.data()), contrast_of(state.data() + 3 * kCells),
          speed / std::sqrt(5.0 / 3.0 * temperature)};
}

// Every drawn parameter scaled to [0, 1], by draw.
std::array<Row, 5> scaled_parameters() {
  const auto sampler = make_gas_waves({}, kGas);
  std::array<Row, 5> result;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const Drawn d = parameters(drawn(*sampler, i));
    result[0].push_back((d.density - 0.1) / 9.9);
    result[1].push_back((d.temperature - 0.1) / 9.9);
    result[2].push_back((d.density_contrast - 0.013) / (0.26 - 0.013));
    result[3].push_back((d.pressure_contrast - 0.04) / 0.76);
    result[4].push_back((d.mach - 0.1) / 0.9);
  }
  return result;
}

// Broken by: another range, max r for max|r|, a norm for the maximum, mean v^2 for mean |v|, gamma
// left out, temperature for pressure.
TEST(GasWaves, ParametersAreUniformInTheirRanges) {
  for (Row values : scaled_parameters()) {
    std::sort(values.begin(), values.end());
    double distance = 0;  // of the empirical distribution from the uniform one
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double below = static_cast<double>(i) / kDraws;
      distance = std::max(
          {distance, std::abs(values[i] - below), std::abs(values[i] - below - 1.0 / kDraws)});
    }

    EXPECT_GE(values.front(), -1e-10);  // rounding of the means
    EXPECT_LE(values.back(), 1 + 1e-10);
    // Kolmogorov-Smirnov: P(sqrt(n) D > 2.6) = 2 exp(-2 2.6^2) = 2.7e-6.
    EXPECT_LT(std::sqrt(static_cast<double>(kDraws)) * distance, 2.6);
  }
}

// Broken by: two quantities drawn from one stream.
TEST(GasWaves, ParametersAreIndependent) {
  const std::array<Row, 5> values = scaled_parameters();
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      Row products;
      for (std::size_t i = 0; i < kDraws; ++i)
        products.push_back((values[a][i] - 0.5) * (values[b][i] - 0.5));
      expect_mean(products, 0.0, std::to_string(a) + " and " + std::to_string(b));
    }
}

// Fourier coefficient of one channel at wave numbers (i, j).
std::complex<double> mode(const double* values, int i, int j) {
  std::complex<double> sum = 0;
  for (std::size_t a = 0; a < kX; ++a)
    for (std::size_t b = 0; b < kY; ++b)
      sum += values[a * kY + b] *
             std::polar(1.0 / kCells, -2 * pi *
                                          (i * (static_cast<double>(a) + 0.5) / kX +
                                           j * (static_cast<double>(b) + 0.5) / kY));
  return sum;
}

// The waves k and -k make the Fourier mode k. Times |k|^(1/2) all these modes are distributed alike
// and independent, so each of the 32 has on average 1/32 of the sum of their squares, whatever a
// field was scaled by; and their phases are uniform. With one wave instead of two all sizes would
// be equal: the mean square of a share would be 1/32^2, not 1.5/32^2.
// Broken by: another exponent, |k| without the lengths, phases in [0, pi], a wave left out, waves
// with i j = 0 or above 4, phases shared between fields or waves.
TEST(GasWaves, SpectrumOfEveryField) {
  const auto sampler = make_gas_waves({}, kGas);
  std::vector<std::pair<int, int>> waves, others;
  for (int i = 0; i <= 5; ++i)
    for (int j = -4; j <= 5; ++j)
      (i >= 1 && i <= 4 && j != 0 && j <= 4 ? waves : others).emplace_back(i, j);
  ASSERT_EQ(waves.size(), 32u);
  const std::uint64_t draws = 400;
  for (std::size_t channel = 0; channel < 4; ++channel) {
    std::vector<Row> share(32), cosine(32), sine(32);
    double squares = 0;
    for (std::uint64_t d = 0; d < draws; ++d) {
      const Row state = drawn(*sampler, d);
      const double* field = state.data() + channel * kCells;
      Row weighted;
      double total = 0;
      for (const auto& [i, j] : waves) {
        const std::complex<double> a = mode(field, i, j);
        weighted.push_back(std::norm(a) * std::hypot(i, j / 2.0));  // the lengths are 1 and 2
        total += weighted.back();
        cosine[weighted.size() - 1].push_back(a.real() / std::abs(a));
        sine[weighted.size() - 1].push_back(a.imag() / std::abs(a));
      }
      for (std::size_t w = 0; w < 32; ++w) share[w].push_back(weighted[w] / total);
      for (double part : weighted) squares += std::pow(32 * part / total, 2) / 32;
      if (d >= 5) continue;
      for (const auto& [i, j] : others)
        if (i != 0 || j != 0) {
          ASSERT_LT(std::norm(mode(field, i, j)), 1e-25 * total);
        }
    }
    EXPECT_NEAR(squares / static_cast<double>(draws), 1.5, 0.1);  // (the sum is not quite fixed)
    for (std::size_t w = 0; w < 32; ++w) {
      const std::string what = "channel " + std::to_string(channel) + ", wave " + std::to_string(w);
      expect_mean(share[w], 1.0 / 32, what);
      if (w % 8 != channel) continue;  // some
      expect_mean(cosine[w], 0.0, what);
      expect_mean(sine[w], 0.0, what);
    }
  }
}

// Fields of one state have nothing to do with one another. Broken by: phases keyed without the
// field.
TEST(GasWaves, FieldsAreUncorrelated) {
  const auto sampler = make_gas_waves({}, kGas);
  std::array<Row, 6> products;
  for (std::uint64_t d = 0; d < kDraws; ++d) {
    const Row state = drawn(*sampler, d);
    double at[4];
    for (std::size_t c = 0; c < 4; ++c) {
      const double* field = state.data() + c * kCells;
      double square = 0;
      for (std::size_t i = 0; i < kCells; ++i) square += std::pow(field[i] - mean_of(field), 2);
      at[c] = (field[17] - mean_of(field)) / std::sqrt(square);
    }
    std::size_t pair = 0;
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < a; ++b) products[pair++].push_back(at[a] * at[b]);
  }
  for (const Row& product : products) expect_mean(product, 0.0, "product of two fields");
}

// Broken by: another probability.
TEST(GasWaves, WindowsHappenAsOftenAsAsked) {
  GasWavesOptions options;
  options.window_probability = 0.5;
  const auto sampler = make_gas_waves(options, kGas);
  Row windowed;
  // A cell in the corner, 0.04 from the edges, lies outside any window: at rest up to 1e-5.
  for (std::uint64_t i = 0; i < kDraws; ++i)
    windowed.push_back(std::abs(drawn(*sampler, i)[kCells]) < 1e-4 ? 1.0 : 0.0);

  expect_mean(windowed, 0.5, "windowed");
}

// The same streams without and with a window: the ratio of what deviates from the mean state is the
// window, one for all fields, a product of one function of x and one of y. Edges at U[0.1, 0.45]
// and U[0.55, 0.9] of each axis: means 0.275 and 0.725.
// Broken by: another range, a width of 0.1, windows that differ between fields, one window for both
// axes, fields windowed to 0.
TEST(GasWaves, WindowLeadsToTheMeanState) {
  for (bool along_x : {true, false}) {
    const std::size_t fine = 100, few = 9, nx = along_x ? fine : few, ny = along_x ? few : fine;
    const std::size_t cells = nx * ny;
    const Grid grid = make_grid(4, {nx, ny}, {3.0, 0.7});  // fractions, whatever the lengths
    GasWavesOptions options;
    const auto plain = make_gas_waves(options, grid);
    options.window_probability = 1;
    const auto windowed = make_gas_waves(options, grid);
    Row left, right;
    for (std::uint64_t d = 0; d < 200; ++d) {
      const Row before = drawn(*plain, d), after = drawn(*windowed, d);
      double mean[4] = {0, 0, 0, 0};
      for (std::size_t c : {0u, 3u})
        for (std::size_t i = 0; i < cells; ++i)
          mean[c] += before[c * cells + i] / static_cast<double>(cells);
      const auto window = [&](std::size_t c, std::size_t i, std::size_t j) {
        const std::size_t at = (c * nx + i) * ny + j;
        return (after[at] - mean[c]) / (before[at] - mean[c]);
      };
      // Along the fine axis, in the middle of the other, where its window is 1 (edges are 5 widths
      // away: up to 1e-4).
      Row line;
      for (std::size_t i = 0; i < fine; ++i) {
        const std::size_t a = along_x ? i : few / 2, b = along_x ? few / 2 : i;
        line.push_back(window(1, a, b));
        for (std::size_t c : {0u, 2u, 3u})
          EXPECT_NEAR(after[(c * nx + a) * ny + b] - mean[c],
                      line.back() * (before[(c * nx + a) * ny + b] - mean[c]), 1e-9);
        // At the ends of the other axis: nothing is left.
        EXPECT_NEAR(after[(nx + (along_x ? i : 0)) * ny + (along_x ? 0 : i)], 0.0, 0.05);
      }
      const auto middle = line.begin() + fine / 2;
      left.push_back(
          static_cast<double>(std::lower_bound(line.begin(), middle, 0.5) - line.begin()) /
          static_cast<double>(fine));
      right.push_back(
          static_cast<double>(std::lower_bound(middle, line.end(), 0.5, std::greater<>()) -
                              line.begin()) /
          static_cast<double>(fine));
      EXPECT_NEAR(*middle, 1.0, 1e-3);
      EXPECT_LT(std::abs(line.front()), 1e-6);
    }
    // Counting cells rounds an edge to the nearest cell boundary.
    const auto [lowest, highest] = std::minmax_element(left.begin(), left.end());
    EXPECT_GE(*lowest, 0.1 - 0.006);
    EXPECT_LE(*highest, 0.45 + 0.006);
    expect_mean(left, 0.275, "left edge");
    expect_mean(right, 0.725, "right edge");
  }
}

// Broken by: one draw of the edges for both axes, or for left and right.
TEST(GasWaves, WindowsOfTheAxesAreIndependent) {
  const std::size_t n = 40;
  const Grid grid = make_grid(4, {n, n}, {1.0, 1.0});
  GasWavesOptions options;
  options.max_wave_number = 1;
  options.window_probability = 1;
  const auto sampler = make_gas_waves(options, grid);
  Row products;
  for (std::uint64_t d = 0; d < 300; ++d) {
    // The first cell along each axis where the gas moves.
    const Row state = drawn(*sampler, d);
    std::size_t first[2] = {n, n};
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (std::hypot(state[(n + i) * n + j], state[(2 * n + i) * n + j]) > 1e-2) {
          first[0] = std::min(first[0], i);
          first[1] = std::min(first[1], j);
        }
    products.push_back((static_cast<double>(first[0]) - 10.5) *
                       (static_cast<double>(first[1]) - 10.5));
  }

  // The edges' variance, (0.35 n)^2/12 = 16, would be the mean if both were one; the offset of
  // either mean from 10.5 adds less than 2.
  double mean = 0;
  for (double product : products) mean += product / 300;
  EXPECT_LT(std::abs(mean), 7.0);
}

// Broken by: a shared counter, keys made of positions.
TEST(GasWaves, StateDependsOnStreamAndIndexOnly) {
  GasWavesOptions options;
  options.window_probability = 0.5;
  test::expect_pure_draws(*make_gas_waves(options, kGas));
}

// A state is a function on the rectangle: three times as many cells have the same values, up to the
// scale (the largest |r| of the grid), at the centres both grids share. Broken by: a coordinate at
// the cells' corners, an index for x, the axes exchanged.
TEST(GasWaves, FinerGridsSampleTheSameFunction) {
  const Grid fine = make_grid(4, {3 * kX, 3 * kY}, kGas.lengths);
  const auto coarse_sampler = make_gas_waves({}, kGas), fine_sampler = make_gas_waves({}, fine);
  for (std::uint64_t d = 0; d < 10; ++d) {
    const Row a = drawn(*coarse_sampler, d), b = drawn(*fine_sampler, d);
    for (std::size_t c = 0; c < 4; ++c) {
      const double mean = c == 0 || c == 3 ? mean_of(a.data() + c * kCells) : 0.0;
      const auto coarse = [&](std::size_t i, std::size_t j) {
        return a[(c * kX + i) * kY + j] - mean;
      };
      const auto same = [&](std::size_t i, std::size_t j) {
        return b[(c * 3 * kX + 3 * i + 1) * 3 * kY + 3 * j + 1] - mean;
      };
      for (std::size_t i = 0; i < kX; ++i)
        for (std::size_t j = 0; j < kY; ++j)
          // Products of two values of size up to 80, to rounding.
          ASSERT_NEAR(coarse(i, j) * same(0, 0), same(i, j) * coarse(0, 0), 1e-9);
    }
  }
}

}  // namespace
}  // namespace stap
