#include "nn/cpu/dilated/body.h"

#include <algorithm>

#include "nn/bodies.h"

namespace stap::cpu {
namespace dilated {
namespace {

// Calls visit(packed index, tensor, index in the tensor) for every value of every tensor.
template <class Visit>
void for_each_weight(const DilatedBody& body, const Visit& visit) {
  std::size_t tensor = 0;
  for (const Layer& layer : body.layers) {
    const std::size_t tap_size = layer.in * padded(layer.out);
    for (std::size_t o = 0; o < layer.out; ++o)
      for (std::size_t i = 0; i < layer.in; ++i)
        for (std::size_t t = 0; t < body.taps; ++t)
          visit(layer.weight + t * tap_size + (o / kPanel * layer.in + i) * kPanel + o % kPanel,
                tensor, (o * layer.in + i) * body.taps + t);
    for (std::size_t o = 0; o < layer.out; ++o) visit(layer.bias + o, tensor + 1, o);
    for (std::size_t s = 0; s < body.shifts; ++s)
      for (std::size_t o = 0; o < layer.out; ++o)
        visit(layer.shift + s * padded(layer.out) + o, tensor + 2, o * body.shifts + s);
    tensor += body.shifts > 0 ? 3 : 2;
  }
}

}  // namespace

DilatedBody::DilatedBody(const NetworkSpec& spec, const DilatedOptions& o, Isa isa)
    : options(o),
      points(spec.body_grid().points_total()),
      taps(1),
      in(spec.in_channels()),
      out(spec.out_channels()),
      shifts(spec.shifts()),
      out_padded(padded(out)),
      width_padded(padded(o.width)),
      field_ld(field_stride(o.width)),
      transposed_size(0),
      biases_size(0),
      kernels(cpu::kernels(isa)),
      convolutions(dilated::convolutions(isa)),
      size_(0) {
  for (std::size_t axis = 0; axis < spec.grid.axes(); ++axis) taps *= o.taps;
  const std::vector<Beyond> padding = beyond(spec);
  std::vector<std::size_t> dilations;  // of the tables
  const auto take = [](std::size_t& next, std::size_t n) {
    const std::size_t at = next;
    next += padded(n);
    return at;
  };
  const auto add = [&](std::size_t from, std::size_t to, std::size_t dilation) {
    const auto found = std::ranges::find(dilations, dilation);
    const auto table = static_cast<std::size_t>(found - dilations.begin());
    if (found == dilations.end()) {
      dilations.push_back(dilation);
      forward_.push_back(neighbours(spec.body_grid().points, padding, o.taps, dilation));
      adjoint_.push_back(adjoint(forward_.back()));
    }
    Layer layer{from, to, 0, 0, 0, table, 0};
    layer.weight = take(size_, taps * from * padded(to));
    layer.bias = take(size_, to);
    layer.shift = take(size_, shifts * padded(to));
    if (shifts > 0) layer.shifted = take(biases_size, to);
    layer.transposed = take(transposed_size, taps * to * padded(from));
    layers.push_back(layer);
  };
  add(in, o.width, 1);
  for (std::size_t b = 0; b < o.blocks; ++b)
    for (const std::size_t dilation : o.dilations) add(o.width, o.width, dilation);
  add(o.width, out, 1);
}

void DilatedBody::pack(const Parameters& parameters, float* packed) const {
  std::fill(packed, packed + size_, 0.0f);
  for_each_weight(*this, [&](std::size_t at, std::size_t t, std::size_t i) {
    packed[at] = parameters[t].values[i];
  });
}

void DilatedBody::unpack(const float* packed, Parameters& parameters) const {
  for_each_weight(*this, [&](std::size_t at, std::size_t t, std::size_t i) {
    parameters[t].values[i] = packed[at];
  });
}

std::size_t DilatedBody::stride(const Layer& layer, bool of_input) const {
  if (of_input) return &layer == &lifting() ? in : field_ld;
  return &layer == &projection() ? out_padded : field_ld;
}

RowBias DilatedBody::row_bias(const Rows& rows, std::size_t row, float* biases) const {
  if (shifts == 0) return {};
  const float* by = rows.shifts(row);
  for (const Layer& layer : layers) {
    const std::size_t n = padded(layer.out);
    float* bias = biases + layer.shifted;
    std::copy_n(rows.weights + layer.bias, n, bias);
    for (std::size_t s = 0; s < shifts; ++s)
      for (std::size_t c = 0; c < n; ++c) bias[c] += by[s] * rows.weights[layer.shift + s * n + c];
  }
  return {by, biases};
}

Convolution DilatedBody::convolution(const float* weights, const RowBias& bias, const Layer& layer,
                                     const float* x, float* y) const {
  const Neighbours& table = forward_[layer.table];
  Convolution c{};
  c.points = points;
  c.in = layer.in;
  c.out_padded = padded(layer.out);
  c.entries = table.entries();
  c.source = table.source.data();
  c.tap = table.tap.data();
  c.x = x;
  c.ldx = stride(layer, true);
  c.weight = weights + layer.weight;
  c.bias = shifts > 0 ? bias.biases + layer.shifted : weights + layer.bias;
  c.y = y;
  c.ldy = stride(layer, false);
  return c;
}

Convolution DilatedBody::backward(const float* transposed, const Layer& layer, const float* d,
                                  float* d_in) const {
  const Neighbours& table = adjoint_[layer.table];
  Convolution c{};
  c.points = points;
  c.in = layer.out;
  c.out_padded = padded(layer.in);
  c.entries = table.entries();
  c.source = table.source.data();
  c.tap = table.tap.data();
  c.x = d;
  c.ldx = stride(layer, false);
  c.weight = transposed + layer.transposed;
  c.y = d_in;
  c.ldy = stride(layer, true);
  return c;
}

void DilatedBody::add_gradients(const Layer& layer, const float* x, const float* d,
                                const RowBias& bias, float* gradient) const {
  TapGradient t{};
  t.points = points;
  t.in = layer.in;
  t.out_padded = padded(layer.out);
  t.taps = taps;
  t.source = forward_[layer.table].source.data();
  t.x = x;
  t.ldx = stride(layer, true);
  t.d = d;
  t.ldd = stride(layer, false);
  t.gradient = gradient + layer.weight;
  convolutions.tap_gradient(t);
  if (shifts == 0) {
    kernels.column_sums(points, t.out_padded, d, t.ldd, gradient + layer.bias);
    return;
  }
  // The bias of a row is b + sum_s p_s w_s: both have its sums over points, the second times p_s.
  float* sums = bias.biases + layer.shifted;
  std::fill_n(sums, t.out_padded, 0.0f);
  kernels.column_sums(points, t.out_padded, d, t.ldd, sums);
  for (std::size_t c = 0; c < t.out_padded; ++c) gradient[layer.bias + c] += sums[c];
  for (std::size_t s = 0; s < shifts; ++s)
    for (std::size_t c = 0; c < t.out_padded; ++c)
      gradient[layer.shift + s * t.out_padded + c] += bias.by[s] * sums[c];
}

}  // namespace dilated

std::unique_ptr<Body> make_dilated(const NetworkSpec& spec, Isa isa) {
  return std::make_unique<dilated::DilatedBody>(spec, spec.family.options.as(dilated_fields()),
                                                isa);
}

}  // namespace stap::cpu
