// Networks as nested loops in double precision, one state at a time: what surrounds every one of
// them, and the FNO of spec/method with direct DFTs. Slow and obvious: the oracle for the engines.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stap/nn/engine.h"
#include "stap/nn/fno.h"

namespace stap::reference {

/// Weights in double, so that finite differences are not drowned by rounding.
struct DoubleParameters {
  explicit DoubleParameters(const Parameters& parameters) {
    for (const Tensor& t : parameters) {
      names.push_back(t.name);
      values.emplace_back(t.values.begin(), t.values.end());
    }
  }
  const std::vector<double>& operator[](const std::string& name) const {
    for (std::size_t t = 0; t < names.size(); ++t)
      if (names[t] == name) return values[t];
    throw std::out_of_range(name);
  }
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
};

inline double gelu(double x) {
  return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
}

class Network {
 public:
  using Field = std::vector<std::vector<double>>;  // [channel][point]

  Network(const NetworkSpec& shape, const DoubleParameters& weights, const Scaling& scaling)
      : shape_(shape), w_(weights), scaling_(scaling) {}
  virtual ~Network() = default;

  /// The state one learned step later of a row that is told these numbers; `hidden`, if given, gets
  /// the last hidden activations before their GELU.
  std::vector<double> advance(std::span<const float> state, std::span<const float> told,
                              Field* hidden = nullptr) const {
    const std::size_t channels = shape_.grid.channels, own = shape_.grid.points_total();
    const std::size_t points = sizes_[0] * sizes_[1];
    Field x;
    for (std::size_t c = 0; c < channels; ++c) {
      std::vector<double> values(state.begin() + long(c * own),
                                 state.begin() + long((c + 1) * own));
      for (double& value : x.emplace_back(padded(values, true)))
        value = (value - double(scaling_.mean[c])) / double(scaling_.deviation[c]);
    }
    const auto shifts = told.subspan(told.size() - shape_.shifts());
    for (const float value : told.first(told.size() - shifts.size()))
      x.emplace_back(points, double(value));
    if (shape_.inputs.position) add_positions(x);
    if (shape_.fixed) add_fixed(x);

    x = body(std::move(x), shifts, hidden);
    for (std::size_t c = 0; hidden != nullptr && c < hidden->size(); ++c)
      (*hidden)[c] = cropped((*hidden)[c]);

    std::vector<double> result(channels * own);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::vector<double> made = cropped(x[c]);
      for (std::size_t p = 0; p < own; ++p) {
        const double base = shape_.target == NetworkOptions::Target::delta
                                ? double(state[c * own + p])
                                : double(scaling_.mean[c]);
        if (is_open(p)) result[c * own + p] = base + double(scaling_.deviation[c]) * made[p];
      }
    }
    return result;
  }

  /// Mean over rows, channels and points of the squared error times its channel's factor.
  double loss(const TransitionsView& batch, std::span<const float> factors = {}) const {
    const std::size_t points = shape_.grid.points_total();
    double sum = 0.0;
    std::size_t counted = 0;
    for (std::size_t r = 0; r < batch.count(); ++r) {
      const std::size_t each = batch.told.size() / batch.count();
      const auto out = advance(batch.inputs.row(r), batch.told.subspan(r * each, each));
      for (std::size_t v = 0; v < out.size(); ++v) {
        if (!is_open(v % points)) continue;
        ++counted;
        const double e = (out[v] - double(batch.targets.row(r)[v])) *
                         (factors.empty() ? 1.0 : double(factors[v / points]));
        sum += e * e;
      }
    }
    return sum / double(counted);
  }

 protected:
  // What a family makes of its channels, and of what shifts its layers.
  virtual Field body(Field x, std::span<const float> shifts, Field* hidden) const = 0;

  static Field activated(Field x) {
    for (auto& channel : x)
      for (double& value : channel) value = gelu(value);
    return x;
  }

  const NetworkSpec shape_;
  const DoubleParameters& w_;

 private:
  // Grid points of a line, and that line behind its end, as far as walls ask for it.
  std::vector<double> line_padded(const std::vector<double>& line, std::size_t axis,
                                  bool signs) const {
    std::vector<double> all = line;
    if (shape_.padding.empty()) return all;
    const long n = long(line.size()), q = std::lround(shape_.padding[axis].share * double(n));
    const bool centres = shape_.grid.end(axis) == Boundary::centres;
    const auto at = [&](double x) {
      return line[std::size_t(std::clamp(std::lround(x), 0L, n - 1))];
    };
    for (long k = 1; k <= q; ++k) {
      const double last = 0.5 + 0.5 * std::cos(std::numbers::pi * double(k) / double(q + 1));
      // Coordinates of walls, and this point's as seen from either.
      const double first_wall = centres ? -0.5 : 0.0, last_wall = double(n - 1) - first_wall;
      const double x = double(n - 1 + k), from_first = x - double(n + q);
      double one = line.back(), other = line.front();
      switch (shape_.padding[axis].kind) {
        case Padding::Kind::blended:
        case Padding::Kind::conv_zero:
        case Padding::Kind::conv_mirror:
          break;
        case Padding::Kind::zero:
          one = other = 0.0;
          break;
        case Padding::Kind::odd:
        case Padding::Kind::even:
          one = at(2 * last_wall - x);
          other = at(2 * first_wall - from_first);
      }
      const bool turned = signs && shape_.padding[axis].kind == Padding::Kind::odd;
      all.push_back((turned ? -1.0 : 1.0) * (last * one + (1.0 - last) * other));
    }
    return all;
  }
  // A field without what is masked, on the grid with its padding: along the last axis, then the
  // first.
  std::vector<double> padded(std::vector<double> field, bool signs) const {
    const std::vector<std::size_t>& n = shape_.grid.points;
    const bool two = n.size() == 2;
    for (std::size_t p = 0; p < field.size(); ++p)
      if (!is_open(p)) field[p] = 0.0;
    std::vector<std::vector<double>> lines;
    for (std::size_t i = 0; i < (two ? n[0] : 1); ++i)
      lines.push_back(line_padded(
          {field.begin() + long(i * n.back()), field.begin() + long((i + 1) * n.back())},
          n.size() - 1, signs));
    std::vector<double> all(sizes_[0] * sizes_[1]);
    for (std::size_t j = 0; j < sizes_[1]; ++j) {
      std::vector<double> column;
      for (const auto& line : lines) column.push_back(line[j]);
      if (two) column = line_padded(column, 0, signs);
      for (std::size_t i = 0; i < sizes_[0]; ++i) all[i * sizes_[1] + j] = column[i];
    }
    return all;
  }
  std::vector<double> cropped(const std::vector<double>& field) const {
    const std::vector<std::size_t>& n = shape_.grid.points;
    std::vector<double> inside;
    for (std::size_t i = 0; i < (n.size() == 2 ? n[0] : 1); ++i)
      for (std::size_t j = 0; j < n.back(); ++j) inside.push_back(field[i * sizes_[1] + j]);
    return inside;
  }
  bool is_open(std::size_t point) const {
    return !shape_.fixed || shape_.fixed->mask.empty() || shape_.fixed->mask[point] != 0;
  }

  void add_fixed(Field& x) const {
    const std::vector<std::uint8_t>& mask = shape_.fixed->mask;
    const std::vector<float>& all = shape_.fixed->channels;
    const std::size_t own = shape_.grid.points_total();
    if (!mask.empty()) x.push_back(padded({mask.begin(), mask.end()}, false));
    for (std::size_t first = 0; first < all.size(); first += own)
      x.push_back(padded({all.begin() + long(first), all.begin() + long(first + own)}, false));
  }

  // Sine and cosine of the angle at which a point lies on the circle that an axis is: between
  // walls, of length L, pi x / L; the rest of the circle is that of the padding's cells.
  void add_positions(Field& x) const {
    const std::size_t axes = shape_.grid.axes();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const double n = double(shape_.grid.points[axis]);
      const double all = double(axes == 2 ? sizes_[axis] : sizes_[1]);
      Field wave(2, std::vector<double>(x[0].size()));
      for (std::size_t p = 0; p < x[0].size(); ++p) {
        const double i = double(axis + 1 == axes ? p % sizes_[1] : p / sizes_[1]);
        const double pi = std::numbers::pi;
        double angle = 2.0 * pi * i / n;
        if (shape_.grid.end(axis) == Boundary::centres)
          angle = i < n ? pi * (i + 0.5) / n : 2.0 * pi - pi * (all - i - 0.5) / (all - n);
        if (shape_.grid.end(axis) == Boundary::points)
          angle = i < n ? pi * i / (n - 1.0) : 2.0 * pi - pi * (all - i) / (all - n + 1.0);
        wave[0][p] = std::sin(angle);
        wave[1][p] = std::cos(angle);
      }
      x.insert(x.end(), wave.begin(), wave.end());
    }
  }

  // Points of either axis with padding; of one axis it is the second.
  static std::array<std::size_t, 2> sizes(const NetworkSpec& shape) {
    std::array<std::size_t, 2> all{1, 1};
    const std::size_t axes = shape.grid.axes();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const double n = double(shape.grid.points[axis]);
      const double share = shape.padding.empty() ? 0.0 : shape.padding[axis].share;
      all[2 - axes + axis] = std::size_t(n) + std::size_t(std::lround(share * n));
    }
    return all;
  }

  const Scaling scaling_;

 protected:
  const std::array<std::size_t, 2> sizes_ = sizes(shape_);  // of either axis with padding
};

class Fno final : public Network {
 public:
  Fno(const NetworkSpec& shape, const DoubleParameters& weights, const Scaling& scaling)
      : Network(shape, weights, scaling), options_(*fno_options(shape.family)) {}

 private:
  using Complex = std::complex<double>;

  Field body(Field x, std::span<const float> shifts, Field* hidden) const override {
    x = pointwise(x, "lifting.fcs.0", true);
    x = pointwise(activated(x), "lifting.fcs.1", true);
    const std::vector<double>& bias = w_["fno_blocks.convs.bias"];
    for (std::size_t l = 0; l < options_.layers; ++l) {
      Field next = spectral(x, w_["fno_blocks.convs.weight." + std::to_string(l) + ".tensor"]);
      const Field skip = pointwise(x, "fno_blocks.fno_skips." + std::to_string(l), false);
      for (std::size_t c = 0; c < next.size(); ++c)
        for (std::size_t p = 0; p < next[c].size(); ++p)
          next[c][p] += skip[c][p] + bias[l * next.size() + c] + shift(l * next.size() + c, shifts);
      x = l + 1 < options_.layers ? activated(next) : next;
    }
    x = pointwise(x, "projection.fcs.0", true);
    if (hidden != nullptr) *hidden = x;
    return pointwise(activated(x), "projection.fcs.1", true);
  }

  // Of channel `channel` of the layers, one behind the other.
  double shift(std::size_t channel, std::span<const float> by) const {
    double sum = 0.0;
    for (std::size_t s = 0; s < by.size(); ++s)
      sum += w_["fno_blocks.shifts"][channel * by.size() + s] * double(by[s]);
    return sum;
  }

  Field pointwise(const Field& x, const std::string& layer, bool with_bias) const {
    const std::vector<double>& weight = w_[layer + ".weight"];
    const std::size_t in = x.size(), out = weight.size() / in, points = x[0].size();
    Field y(out, std::vector<double>(points));
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t p = 0; p < points; ++p) {
        y[o][p] = with_bias ? w_[layer + ".bias"][o] : 0.0;
        for (std::size_t i = 0; i < in; ++i) y[o][p] += weight[o * in + i] * x[i][p];
      }
    return y;
  }

  // exp(2 pi i k p / n) with the angle reduced exactly, from a table: most of the time would go
  // into sines.
  class Turn {
   public:
    explicit Turn(std::size_t n) {
      for (std::size_t m = 0; m < n; ++m)
        values_.push_back(std::polar(1.0, 2.0 * std::numbers::pi * double(m) / double(n)));
    }
    Complex operator()(long k, std::size_t p) const {
      const long n = long(values_.size());
      return values_[std::size_t(((k * long(p)) % n + n) % n)];
    }

   private:
    std::vector<Complex> values_;
  };

  // A one-axis grid is treated as nx = 1, with the single wave number 0 along x.
  Field spectral(const Field& x, const std::vector<double>& weight) const {
    const bool two = shape_.grid.axes() == 2;
    const std::size_t nx = sizes_[0], ny = sizes_[1];
    const std::size_t kx = two ? options_.modes[0] : 1;
    const std::size_t ky = options_.modes.back() / 2 + 1;
    const std::size_t width = x.size();
    const Turn turn_x(nx), turn_y(ny);
    auto wave = [&](std::size_t a) { return two ? long(a) - long(kx / 2) : 0L; };

    std::vector<std::vector<Complex>> modes(width, std::vector<Complex>(kx * ky));
    for (std::size_t c = 0; c < width; ++c)
      for (std::size_t a = 0; a < kx; ++a)
        for (std::size_t b = 0; b < ky; ++b)
          for (std::size_t i = 0; i < nx; ++i)
            for (std::size_t j = 0; j < ny; ++j)
              modes[c][a * ky + b] +=
                  x[c][i * ny + j] * std::conj(turn_x(wave(a), i) * turn_y(long(b), j));

    Field y(width, std::vector<double>(nx * ny));
    for (std::size_t o = 0; o < width; ++o) {
      std::vector<Complex> product(kx * ky);
      for (std::size_t m = 0; m < kx * ky; ++m)
        for (std::size_t i = 0; i < width; ++i) {
          const double* w = &weight[((i * width + o) * kx * ky + m) * 2];
          product[m] += modes[i][m] * Complex(w[0], w[1]);
        }
      // Complex inverse along x first, then complex to real along y.
      for (std::size_t i = 0; i < nx; ++i)
        for (std::size_t b = 0; b < ky; ++b) {
          Complex column = 0;
          for (std::size_t a = 0; a < kx; ++a) column += product[a * ky + b] * turn_x(wave(a), i);
          const bool single = b == 0 || 2 * b == ny;
          for (std::size_t j = 0; j < ny; ++j)
            y[o][i * ny + j] += (single ? column.real() * turn_y(long(b), j).real()
                                        : 2.0 * (column * turn_y(long(b), j)).real()) /
                                double(nx * ny);
        }
    }
    return y;
  }

  const FnoOptions options_;
};

}  // namespace stap::reference
