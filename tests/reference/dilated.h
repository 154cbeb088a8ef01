// The dilated network as nested loops in double precision (reference/fno.h has what surrounds it).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "reference/fno.h"
#include "stap/nn/dilated.h"

namespace stap::reference {

class Dilated final : public Network {
 public:
  Dilated(const NetworkSpec& shape, const DoubleParameters& weights, const Scaling& scaling)
      : Network(shape, weights, scaling), options_(shape.family.options.as(dilated_fields())) {}

  Field body(Field x, std::span<const float> shifts, Field* hidden) const override {
    x = convolved(x, "lifting", 1, shifts);
    for (std::size_t b = 0; b < options_.blocks; ++b) {
      Field inner = x;
      for (std::size_t d = 0; d < options_.dilations.size(); ++d)
        inner = activated(convolved(inner, "blocks." + std::to_string(b) + "." + std::to_string(d),
                                    options_.dilations[d], shifts));
      for (std::size_t c = 0; c < x.size(); ++c)
        for (std::size_t p = 0; p < x[c].size(); ++p) x[c][p] += inner[c][p];
    }
    if (hidden != nullptr) *hidden = x;
    return convolved(x, "projection", 1, shifts);
  }

 private:
  // The value of a channel at (i, j), which may lie outside the grid. One axis: nx = 1.
  double at(const std::vector<double>& channel, long i, long j) const {
    const bool two = shape_.grid.axes() == 2;
    const long nx = long(sizes_[0]), ny = long(sizes_[1]);
    const auto inside = [&](long k, long n, std::size_t axis) {
      const Padding::Kind kind =
          shape_.padding.empty() ? Padding::Kind::blended : shape_.padding[axis].kind;
      if (k >= 0 && k < n) return k;
      if (kind == Padding::Kind::conv_zero) return -1L;
      if (kind != Padding::Kind::conv_mirror) return (k + n) % n;
      if (shape_.grid.ends[axis] == Boundary::points) return k < 0 ? -k : 2 * n - k - 2;
      return k < 0 ? -k - 1 : 2 * n - k - 1;  // the mirror stands between two points
    };
    i = two ? inside(i, nx, 0) : i;
    j = inside(j, ny, two ? 1 : 0);
    return i < 0 || j < 0 ? 0.0 : channel[std::size_t(i * ny + j)];
  }

  Field convolved(const Field& x, const std::string& layer, std::size_t dilation,
                  std::span<const float> shifts) const {
    const bool two = shape_.grid.axes() == 2;
    const long ny = long(sizes_[1]), taps = long(options_.taps), half = taps / 2;
    const std::vector<double>&weight = w_[layer + ".weight"], &bias = w_[layer + ".bias"];
    Field y(bias.size(), std::vector<double>(x[0].size()));
    for (std::size_t o = 0; o < y.size(); ++o)
      for (std::size_t p = 0; p < x[0].size(); ++p) {
        y[o][p] = bias[o];
        for (std::size_t s = 0; s < shifts.size(); ++s)
          y[o][p] += double(shifts[s]) * w_[layer + ".shifts"][o * shifts.size() + s];
        const double* w = &weight[o * (weight.size() / bias.size())];
        for (const std::vector<double>& channel : x)
          for (long a = two ? 0 : half; a < (two ? taps : half + 1); ++a)
            for (long b = 0; b < taps; ++b)
              y[o][p] += *w++ * at(channel, long(p) / ny + (a - half) * long(dilation),
                                   long(p) % ny + (b - half) * long(dilation));
      }
    return y;
  }

  const DilatedOptions options_;
};

/// The twin of a network of one of our families.
inline std::unique_ptr<Network> make_twin(const NetworkSpec& shape, const DoubleParameters& weights,
                                          const Scaling& scaling) {
  if (shape.family.row->name == "dilated")
    return std::make_unique<Dilated>(shape, weights, scaling);
  return std::make_unique<Fno>(shape, weights, scaling);
}

}  // namespace stap::reference
