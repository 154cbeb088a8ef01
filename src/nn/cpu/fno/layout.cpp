#include "nn/cpu/fno/layout.h"

#include <algorithm>

#include "stap/core/error.h"

namespace stap::cpu::fno {
namespace {

// Calls visit(packed index, tensor, index in the tensor) for every value of every tensor.
template <class Visit>
void for_each_value(const Layout& y, const Visit& visit) {
  std::size_t t = 0;
  auto panels = [&](std::size_t offset, std::size_t in, std::size_t out) {
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t i = 0; i < in; ++i)
        visit(offset + o / kPanel * in * kPanel + i * kPanel + o % kPanel, t, o * in + i);
    ++t;
  };
  auto vector = [&](std::size_t offset, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) visit(offset + i, t, i);
    ++t;
  };
  panels(y.lift1, y.in, y.lifting);
  vector(y.lift1_bias, y.lifting);
  panels(y.lift2, y.lifting, y.width);
  vector(y.lift2_bias, y.width);
  for (std::size_t l = 0; l < y.layers; ++l) {
    for (std::size_t i = 0; i < y.width; ++i)
      for (std::size_t o = 0; o < y.width; ++o)
        for (std::size_t m = 0; m < y.modes; ++m)
          for (std::size_t part = 0; part < 2; ++part)
            visit(y.spectral[l] + m * y.mode_size + (part * y.width + i) * y.width_padded + o, t,
                  ((i * y.width + o) * y.modes + m) * 2 + part);
    ++t;
  }
  for (std::size_t l = 0; l < y.layers; ++l)
    for (std::size_t i = 0; i < y.width; ++i) visit(y.bias[l] + i, t, l * y.width + i);
  ++t;
  for (std::size_t l = 0; l < y.layers; ++l) panels(y.skip[l], y.width, y.width);
  for (std::size_t l = 0; l < y.layers; ++l)
    for (std::size_t i = 0; i < y.width; ++i)
      for (std::size_t s = 0; s < y.shifts; ++s)
        visit(y.shift[l] + s * y.width_padded + i, t, (l * y.width + i) * y.shifts + s);
  t += y.shifts > 0 ? 1 : 0;
  panels(y.project1, y.width, y.projection);
  vector(y.project1_bias, y.projection);
  for (std::size_t c = 0; c < y.out; ++c)
    for (std::size_t h = 0; h < y.projection; ++h)
      visit(y.project2 + c * y.projection_padded + h, t, c * y.projection + h);
  ++t;
  vector(y.project2_bias, y.out);
}

}  // namespace

Layout::Layout(const NetworkSpec& spec, const FnoOptions& options)
    : in(spec.in_channels()),
      out(spec.out_channels()),
      width(options.width),
      lifting(options.lifting),
      projection(options.projection),
      layers(options.layers),
      shifts(spec.shifts()),
      points(spec.body_grid().points_total()),
      modes(options.kept_total()),
      width_padded(padded(width)),
      lifting_padded(padded(lifting)),
      projection_padded(padded(projection)) {
  std::size_t next = 0;
  auto take = [&next](std::size_t n) {
    const std::size_t at = next;
    next += padded(n);
    return at;
  };
  lift1 = take(in * lifting_padded);
  lift1_bias = take(lifting);
  lift2 = take(lifting * width_padded);
  lift2_bias = take(width);
  for (std::size_t l = 0; l < layers; ++l) {
    skip.push_back(take(width * width_padded));
    bias.push_back(take(width));
    shift.push_back(take(shifts * width_padded));
  }
  project1 = take(width * projection_padded);
  project1_bias = take(projection);
  project2 = take(out * projection_padded);
  project2_bias = take(out);
  dense_size = next;
  mode_size = 2 * width * width_padded;
  for (std::size_t l = 0; l < layers; ++l) spectral.push_back(take(modes * mode_size));
  size = next;

  next = 0;
  lift2_t = take(width * lifting_padded);
  for (std::size_t l = 0; l < layers; ++l) skip_t.push_back(take(width * width_padded));
  project1_t = take(projection * width_padded);
  transposed_size = next;
}

void Layout::pack(const Parameters& parameters, float* packed) const {
  std::fill(packed, packed + size, 0.0f);
  for_each_value(*this, [&](std::size_t at, std::size_t t, std::size_t i) {
    packed[at] = parameters[t].values[i];
  });
}

void Layout::unpack(const float* packed, Parameters& parameters) const {
  for_each_value(*this, [&](std::size_t at, std::size_t t, std::size_t i) {
    parameters[t].values[i] = packed[at];
  });
}

}  // namespace stap::cpu::fno
