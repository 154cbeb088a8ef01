#include "nn/cpu/fno/body.h"

#include <algorithm>

#include "nn/bodies.h"

namespace stap::cpu {
namespace fno {

FnoBody::FnoBody(const NetworkSpec& spec, const FnoOptions& options, Isa isa)
    : layout(spec, options),
      transform(spec.body_grid(), options),
      kernels(cpu::kernels(isa)),
      field_ld(field_stride(options.width)),
      hidden_ld(field_stride(std::max(options.lifting, options.projection))) {}

void FnoBody::pack(const Parameters& parameters, float* packed) const {
  layout.pack(parameters, packed);
}

void FnoBody::unpack(const float* packed, Parameters& parameters) const {
  layout.unpack(packed, parameters);
}

SpectrumView FnoBody::spectrum(float* spectra, std::size_t rows, std::size_t row) const {
  return {spectra + row * spectrum_row(), rows * spectrum_row(), layout.width_padded};
}

Dense FnoBody::lifting_hidden(const float* weights, const float* input, std::size_t n,
                              float* hidden) const {
  Dense d{};
  d.points = n;
  d.in = layout.in;
  d.out_padded = layout.lifting_padded;
  d.x = input;
  d.ldx = layout.in;
  d.weight = weights + layout.lift1;
  d.bias = weights + layout.lift1_bias;
  d.y = hidden;
  d.ldy = hidden_ld;
  return d;
}

Dense FnoBody::projection_hidden(const float* weights, const float* field, std::size_t n,
                                 float* hidden) const {
  Dense d{};
  d.points = n;
  d.in = layout.width;
  d.out_padded = layout.projection_padded;
  d.x = field;
  d.ldx = field_ld;
  d.weight = weights + layout.project1;
  d.bias = weights + layout.project1_bias;
  d.y = hidden;
  d.ldy = hidden_ld;
  return d;
}

void FnoBody::lift(const float* weights, const float* input, float* hidden, float* field) const {
  const Layout& y = layout;
  for (std::size_t p = 0; p < y.points; p += kChunk) {
    const std::size_t n = std::min(kChunk, y.points - p);
    kernels.dense_bias_gelu(lifting_hidden(weights, input + p * y.in, n, hidden));

    Dense second{};
    second.points = n;
    second.in = y.lifting;
    second.out_padded = y.width_padded;
    second.x = hidden;
    second.ldx = hidden_ld;
    second.weight = weights + y.lift2;
    second.bias = weights + y.lift2_bias;
    second.y = field + p * field_ld;
    second.ldy = field_ld;
    kernels.dense_bias(second);
  }
}

Dense FnoBody::layer(const Rows& rows, std::size_t row, std::size_t l, const float* x,
                     const float* add, float* y, float* bias) const {
  const float* weights = rows.weights;
  Dense d{};
  d.points = layout.points;
  d.in = layout.width;
  d.out_padded = layout.width_padded;
  d.x = x;
  d.ldx = field_ld;
  d.weight = weights + layout.skip[l];
  d.bias = weights + layout.bias[l];
  if (layout.shifts > 0) {
    const float* by = rows.shifts(row);
    std::copy_n(d.bias, layout.width_padded, bias);
    for (std::size_t s = 0; s < layout.shifts; ++s)
      for (std::size_t c = 0; c < layout.width_padded; ++c)
        bias[c] += by[s] * weights[layout.shift[l] + s * layout.width_padded + c];
    d.bias = bias;
  }
  d.add = add;
  d.y = y;
  d.ldy = field_ld;
  return d;
}

}  // namespace fno

std::unique_ptr<Body> make_fno(const NetworkSpec& spec, Isa isa) {
  return std::make_unique<fno::FnoBody>(spec, spec.family.options.as(fno_fields()), isa);
}

}  // namespace stap::cpu
