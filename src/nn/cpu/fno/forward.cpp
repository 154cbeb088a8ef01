// Inference.
#include <algorithm>
#include <array>
#include <utility>

#include "core/buffer.h"
#include "nn/cpu/fno/body.h"

namespace stap::cpu::fno {
namespace {

class FnoForward final : public Forward {
 public:
  explicit FnoForward(const FnoBody& body)
      : net_(body),
        fields_((kForwardRows + 1) * body.field_size()),
        input_(body.layout.points * body.layout.in),
        hidden_(kChunk * body.hidden_ld),
        output_(kChunk * body.layout.out),
        bias_(body.layout.width_padded),
        spectra_(body.layout.modes * kForwardRows * body.spectrum_row()),
        products_(body.layout.modes * kForwardRows * body.spectrum_row()),
        scratch_(body.transform.scratch_size(body.layout.width_padded)) {}

  void run(const Rows& rows, const HiddenSink* sink) override;

 private:
  const FnoBody& net_;
  Buffer<float> fields_, input_, hidden_, output_, bias_, spectra_, products_, scratch_;
};

void FnoForward::run(const Rows& rows, const HiddenSink* sink) {
  const Layout& y = net_.layout;
  const std::size_t count = rows.count, cp = y.width_padded;
  // Row r's field stands at field[r]; a layer writes the next one into the spare place.
  std::array<float*, kForwardRows> field;
  for (std::size_t r = 0; r < count; ++r) field[r] = fields_.data() + r * net_.field_size();
  float* spare = fields_.data() + kForwardRows * net_.field_size();
  auto to_modes = [&](std::size_t r) {
    net_.transform.forward(field[r], net_.field_ld, cp, net_.spectrum(spectra_.data(), count, r),
                           scratch_.data());
  };
  auto from_modes = [&](std::size_t r) {
    net_.transform.inverse(net_.spectrum(products_.data(), count, r), cp, spare, net_.field_ld,
                           scratch_.data());
  };

  for (std::size_t r = 0; r < count; ++r) {
    rows.input(r, input_.data());
    net_.lift(rows.weights, input_.data(), hidden_.data(), field[r]);
    to_modes(r);
  }
  for (std::size_t l = 0; l < y.layers; ++l) {
    const std::size_t stride = count * net_.spectrum_row();
    for (std::size_t m = 0; m < y.modes; ++m)
      net_.kernels.mode_product(count, y.width, cp, cp, spectra_.data() + m * stride,
                                rows.weights + y.spectral[l] + m * y.mode_size,
                                net_.inverse_points(), products_.data() + m * stride);
    const bool last = l + 1 == y.layers;
    for (std::size_t r = 0; r < count; ++r) {
      from_modes(r);
      const Dense d = net_.layer(rows, r, l, field[r], spare, spare, bias_.data());
      if (last) {
        net_.kernels.dense_bias_add(d);
      } else {
        net_.kernels.dense_bias_add_gelu(d);
      }
      std::swap(field[r], spare);
      if (!last) to_modes(r);
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t p = 0; p < y.points; p += kChunk) {
      const std::size_t n = std::min(kChunk, y.points - p);
      const Dense d =
          net_.projection_hidden(rows.weights, field[r] + p * net_.field_ld, n, hidden_.data());
      if (sink == nullptr) {
        net_.kernels.dense_bias_gelu(d);
      } else {
        net_.kernels.dense_bias(d);
        (*sink)(r, p, n, hidden_.data(), net_.hidden_ld);
        for (std::size_t q = 0; q < n; ++q) {
          float* h = hidden_.data() + q * net_.hidden_ld;
          net_.kernels.gelu(y.projection_padded, h, h, nullptr);
        }
      }
      net_.kernels.project(n, y.projection_padded, y.out, hidden_.data(), net_.hidden_ld,
                           rows.weights + y.project2, rows.weights + y.project2_bias,
                           output_.data());
      rows.output(r, p, n, output_.data());
    }
  }
}

}  // namespace

std::unique_ptr<Forward> FnoBody::forward() const {
  return std::make_unique<FnoForward>(*this);
}

}  // namespace stap::cpu::fno
