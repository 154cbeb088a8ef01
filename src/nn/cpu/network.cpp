#include "nn/cpu/network.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace stap::cpu {

Network::Network(const FnoShape& s, Isa isa)
    : shape(s),
      layout(s),
      transform(s),
      kernels(cpu::kernels(isa)),
      positions(position_inputs(s)),
      field_ld(field_stride(s.options.width)),
      hidden_ld(field_stride(std::max(s.options.lifting, s.options.projection))) {}

SpectrumView Network::spectrum(float* spectra, std::size_t rows, std::size_t row) const {
  return {spectra + row * spectrum_row(), rows * spectrum_row(), layout.width_padded};
}

void Network::scale_input(const MemberView& member, const float* state, float time,
                          float* input) const {
  const std::size_t in = layout.in, points = layout.points;
  for (std::size_t c = 0; c < layout.out; ++c) {
    const float mean = member.scaling->mean[c], inverse = 1.0f / member.scaling->deviation[c];
    for (std::size_t p = 0; p < points; ++p)
      input[p * in + c] = (state[c * points + p] - mean) * inverse;
  }
  if (shape.options.time_input)
    for (std::size_t p = 0; p < points; ++p) input[p * in + layout.out] = time;
  const std::size_t placed = in - shape.position_channels();
  for (std::size_t c = placed; c < in; ++c)
    for (std::size_t p = 0; p < points; ++p)
      input[p * in + c] = positions[(c - placed) * points + p];
}

Dense Network::lifting_hidden(const MemberView& member, const float* input, std::size_t n,
                              float* hidden) const {
  Dense d{};
  d.points = n;
  d.in = layout.in;
  d.out_padded = layout.lifting_padded;
  d.x = input;
  d.ldx = layout.in;
  d.weight = member.packed + layout.lift1;
  d.bias = member.packed + layout.lift1_bias;
  d.y = hidden;
  d.ldy = hidden_ld;
  return d;
}

Dense Network::projection_hidden(const MemberView& member, const float* field, std::size_t n,
                                 float* hidden) const {
  Dense d{};
  d.points = n;
  d.in = layout.width;
  d.out_padded = layout.projection_padded;
  d.x = field;
  d.ldx = field_ld;
  d.weight = member.packed + layout.project1;
  d.bias = member.packed + layout.project1_bias;
  d.y = hidden;
  d.ldy = hidden_ld;
  return d;
}

void Network::lift(const MemberView& member, const float* input, float* hidden,
                   float* field) const {
  const Layout& y = layout;
  for (std::size_t p = 0; p < y.points; p += kChunk) {
    const std::size_t n = std::min(kChunk, y.points - p);
    kernels.dense_bias_gelu(lifting_hidden(member, input + p * y.in, n, hidden));

    Dense second{};
    second.points = n;
    second.in = y.lifting;
    second.out_padded = y.width_padded;
    second.x = hidden;
    second.ldx = hidden_ld;
    second.weight = member.packed + y.lift2;
    second.bias = member.packed + y.lift2_bias;
    second.y = field + p * field_ld;
    second.ldy = field_ld;
    kernels.dense_bias(second);
  }
}

Dense Network::layer(const MemberView& member, std::size_t l, const float* x, const float* add,
                     float* y) const {
  Dense d{};
  d.points = layout.points;
  d.in = layout.width;
  d.out_padded = layout.width_padded;
  d.x = x;
  d.ldx = field_ld;
  d.weight = member.packed + layout.skip[l];
  d.bias = member.packed + layout.bias[l];
  d.add = add;
  d.y = y;
  d.ldy = field_ld;
  return d;
}

void Network::unscale(const MemberView& member, const float* state, const float* output,
                      std::size_t first_point, std::size_t count, float* advanced) const {
  const bool delta = shape.options.target == FnoOptions::Target::delta;
  for (std::size_t c = 0; c < layout.out; ++c) {
    const float mean = member.scaling->mean[c], deviation = member.scaling->deviation[c];
    for (std::size_t p = 0; p < count; ++p) {
      const std::size_t at = c * layout.points + first_point + p;
      const float base = delta ? state[at] : mean;
      advanced[at] = base + deviation * output[p * layout.out + c];
    }
  }
}

void Network::conserved_means(const float* state, double* means) const {
  for (const std::size_t c : shape.conserved) {
    const float* values = state + c * layout.points;
    *means++ =
        std::accumulate(values, values + layout.points, 0.0) / static_cast<double>(layout.points);
  }
}

void Network::restore_means(const double* means, float* state) const {
  for (std::size_t i = 0; i < shape.conserved.size(); ++i) {
    float* values = state + shape.conserved[i] * layout.points;
    const double shift = means[i] - std::accumulate(values, values + layout.points, 0.0) /
                                        static_cast<double>(layout.points);
    for (std::size_t p = 0; p < layout.points; ++p)
      values[p] = static_cast<float>(static_cast<double>(values[p]) + shift);
  }
}

ForwardMemory::ForwardMemory(const Network& n)
    : fields((kForwardRows + 1) * n.field_size()),
      input(n.layout.points * n.layout.in),
      hidden(kChunk * n.hidden_ld),
      output(kChunk * n.layout.out),
      spectra(n.layout.modes * kForwardRows * n.spectrum_row()),
      products(n.layout.modes * kForwardRows * n.spectrum_row()),
      scratch(n.transform.scratch_size(n.layout.width_padded)),
      means(kForwardRows * n.shape.conserved.size()) {}

void forward(const Network& net, const MemberView& member, std::span<const float* const> states,
             const float* times, std::span<float* const> advanced, ForwardMemory& memory,
             const HiddenSink* sink) {
  const Layout& y = net.layout;
  const std::size_t rows = states.size(), cp = y.width_padded;
  // Row r's field stands at field[r]; a layer writes the next one into the spare place.
  std::array<float*, kForwardRows> field;
  for (std::size_t r = 0; r < rows; ++r) field[r] = memory.fields.data() + r * net.field_size();
  float* spare = memory.fields.data() + kForwardRows * net.field_size();
  auto to_modes = [&](std::size_t r) {
    net.transform.forward(field[r], net.field_ld, cp, net.spectrum(memory.spectra.data(), rows, r),
                          memory.scratch.data());
  };
  auto from_modes = [&](std::size_t r) {
    net.transform.inverse(net.spectrum(memory.products.data(), rows, r), cp, spare, net.field_ld,
                          memory.scratch.data());
  };

  const std::size_t conserved = net.shape.conserved.size();
  for (std::size_t r = 0; r < rows; ++r) {
    // Before anything is written: a state may be advanced in its place.
    net.conserved_means(states[r], memory.means.data() + r * conserved);
    net.scale_input(member, states[r], times != nullptr ? times[r] : 0.0f, memory.input.data());
    net.lift(member, memory.input.data(), memory.hidden.data(), field[r]);
    to_modes(r);
  }
  for (std::size_t l = 0; l < y.layers; ++l) {
    const std::size_t stride = rows * net.spectrum_row();
    for (std::size_t m = 0; m < y.modes; ++m)
      net.kernels.mode_product(rows, y.width, cp, cp, memory.spectra.data() + m * stride,
                               member.packed + y.spectral[l] + m * y.mode_size,
                               net.inverse_points(), memory.products.data() + m * stride);
    const bool last = l + 1 == y.layers;
    for (std::size_t r = 0; r < rows; ++r) {
      from_modes(r);
      const Dense d = net.layer(member, l, field[r], spare, spare);
      if (last) {
        net.kernels.dense_bias_add(d);
      } else {
        net.kernels.dense_bias_add_gelu(d);
      }
      std::swap(field[r], spare);
      if (!last) to_modes(r);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t p = 0; p < y.points; p += kChunk) {
      const std::size_t n = std::min(kChunk, y.points - p);
      const Dense d =
          net.projection_hidden(member, field[r] + p * net.field_ld, n, memory.hidden.data());
      if (sink == nullptr) {
        net.kernels.dense_bias_gelu(d);
      } else {
        net.kernels.dense_bias(d);
        (*sink)(r, p, n, memory.hidden.data(), net.hidden_ld);
        for (std::size_t q = 0; q < n; ++q) {
          float* h = memory.hidden.data() + q * net.hidden_ld;
          net.kernels.gelu(y.projection_padded, h, h, nullptr);
        }
      }
      net.kernels.project(n, y.projection_padded, y.out, memory.hidden.data(), net.hidden_ld,
                          member.packed + y.project2, member.packed + y.project2_bias,
                          memory.output.data());
      net.unscale(member, states[r], memory.output.data(), p, n, advanced[r]);
    }
    net.restore_means(memory.means.data() + r * conserved, advanced[r]);
  }
}

}  // namespace stap::cpu
