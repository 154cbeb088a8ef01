#include "stap/ic/gaussian_field.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

using Complex = std::complex<double>;

const Grid& require_field(const GaussianFieldOptions& options, const Grid& grid) {
  if (options.wave_vectors == GaussianFieldOptions::WaveVectors::half && grid.axes() != 1)
    throw Error(ErrorKind::config,
                fmt::format("gaussian-field: the grid is {}, expected one axis: wave_vectors = "
                            "half has a meaning on an interval only, choose all",
                            grid.shape_text()));
  return grid;
}

// exp(2 pi i j / n), j = 0 .. n-1.
std::vector<Complex> roots_of_unity(std::size_t n) {
  std::vector<Complex> roots(n);
  for (std::size_t j = 0; j < n; ++j)
    roots[j] =
        std::polar(1.0, 2.0 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n));
  return roots;
}

class GaussianField final : public Sampler {
 public:
  GaussianField(const GaussianFieldOptions& options, const Grid& grid)
      : Sampler("gaussian-field", require_field(options, grid), options.warm_up),
        rows_(grid.axes() == 1 ? 1 : grid.points[0]),
        columns_(grid.points.back()),
        row_roots_(roots_of_unity(rows_)),
        column_roots_(roots_of_unity(columns_)),
        amplitudes_(rows_ * columns_) {
    const bool half = options.wave_vectors == GaussianFieldOptions::WaveVectors::half;
    for (std::size_t p = 0; p < rows_; ++p)
      for (std::size_t q = 0; q < columns_; ++q) {
        const double kx = static_cast<double>(wave_number(p, rows_));
        const double ky = static_cast<double>(wave_number(q, columns_));
        if ((kx == 0 && ky == 0) || (half && ky < 1)) continue;  // -N/2 is no part of a half
        const double square = 4.0 * std::numbers::pi * std::numbers::pi * (kx * kx + ky * ky);
        amplitudes_[p * columns_ + q] =
            options.amplitude * std::pow(square + options.shift, -options.exponent);
      }
  }

 private:
  // Of index p on an axis of n points: 0, 1, ..., then the negative ones; -n/2 for an even n.
  static std::int64_t wave_number(std::size_t p, std::size_t n) {
    return static_cast<std::int64_t>(p) - (2 * p >= n ? static_cast<std::int64_t>(n) : 0);
  }

  // The first channel has the stream's own draws, as a field alone has.
  void fill(const Rng& rng, std::span<double> state) const override {
    const std::size_t points = rows_ * columns_;
    for (std::size_t c = 0; c < state.size() / points; ++c)
      fill_channel(c == 0 ? rng : rng.split("channel", c), state.subspan(c * points, points));
  }

  void fill_channel(const Rng& rng, std::span<double> state) const {
    const Rng xi = rng.split("xi"), eta = rng.split("eta");
    // One axis at a time: first the sum over the second wave number, kept for every first one.
    std::vector<Complex> line(columns_), sums(rows_ * columns_);
    for (std::size_t p = 0; p < rows_; ++p) {
      for (std::size_t q = 0; q < columns_; ++q) {
        // The counter is the wave vector, so a finer grid has the same coefficients and more.
        const auto kx = static_cast<std::uint32_t>(wave_number(p, rows_));
        const auto ky = static_cast<std::uint32_t>(wave_number(q, columns_));
        const std::uint64_t counter = std::uint64_t{kx} << 32 | ky;
        const double amplitude = amplitudes_[p * columns_ + q];
        line[q] =
            amplitude == 0.0 ? 0.0 : amplitude * Complex(xi.normal(counter), eta.normal(counter));
      }
      for (std::size_t j = 0; j < columns_; ++j) {
        double re = 0.0, im = 0.0;
        for (std::size_t q = 0, turn = 0; q < columns_; ++q) {
          const Complex a = line[q], w = column_roots_[turn];
          re += a.real() * w.real() - a.imag() * w.imag();
          im += a.real() * w.imag() + a.imag() * w.real();
          turn = turn + j < columns_ ? turn + j : turn + j - columns_;
        }
        sums[p * columns_ + j] = {re, im};
      }
    }
    std::fill(state.begin(), state.end(), 0.0);
    for (std::size_t i = 0; i < rows_; ++i)
      for (std::size_t p = 0; p < rows_; ++p) {
        const Complex w = row_roots_[p * i % rows_];
        for (std::size_t j = 0; j < columns_; ++j) {
          const Complex a = sums[p * columns_ + j];
          state[i * columns_ + j] += a.real() * w.real() - a.imag() * w.imag();
        }
      }
  }

  std::size_t rows_, columns_;  ///< an interval is one row
  std::vector<Complex> row_roots_, column_roots_;
  std::vector<double> amplitudes_;  ///< 0 where there is no wave vector
};

}  // namespace

const config::Fields<GaussianFieldOptions>& gaussian_field_fields() {
  using O = GaussianFieldOptions;
  static const config::Fields<O> fields{
      {"amplitude", &O::amplitude, "factor of the spectrum", config::at_least(0)},
      {"shift", &O::shift, "a_k = amplitude (4 pi^2 |k|^2 + shift)^(-exponent)", config::above(0)},
      {"exponent", &O::exponent, "how fast the spectrum falls", config::at_least(0)},
      {"wave_vectors", &O::wave_vectors, "every one of the grid but 0, or 0 < k < N/2 only",
       config::choices<O::WaveVectors>(
           {{"all", O::WaveVectors::all}, {"half", O::WaveVectors::half}})},
      {"warm_up", &O::warm_up, "time a drawn state is evolved before it is used",
       config::at_least(0), "time"},
  };
  return fields;
}

std::unique_ptr<Sampler> make_gaussian_field(const GaussianFieldOptions& options,
                                             const Grid& grid) {
  // The field table is the one place that states ranges.
  const auto& fields = gaussian_field_fields();
  config::read(fields, config::to_value(fields, options), "gaussian-field");
  return std::make_unique<GaussianField>(options, grid);
}

}  // namespace stap
