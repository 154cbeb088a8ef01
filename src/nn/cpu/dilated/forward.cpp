// Inference.
#include <array>

#include "core/buffer.h"
#include "nn/cpu/dilated/body.h"

namespace stap::cpu::dilated {
namespace {

class DilatedForward final : public Forward {
 public:
  explicit DilatedForward(const DilatedBody& body)
      : net_(body),
        input_(body.input_size()),
        output_(body.output_size()),
        biases_(body.biases_size) {
    for (Buffer<float>& field : fields_) field = Buffer<float>(body.field_size());
  }

  void run(const Rows& rows, const HiddenSink* sink) override {
    for (std::size_t row = 0; row < rows.count; ++row) advance(rows, row, sink);
  }

 private:
  void advance(const Rows& rows, std::size_t row, const HiddenSink* sink);

  const DilatedBody& net_;
  Buffer<float> input_, output_, biases_;
  std::array<Buffer<float>, 3> fields_;
};

void DilatedForward::advance(const Rows& rows, std::size_t row, const HiddenSink* sink) {
  const auto& convolve = net_.convolutions.convolve;
  float *block = fields_[0].data(),
        *from = block;  // a block's input stays until its output is there
  const auto unused = [&] {
    for (Buffer<float>& field : fields_)
      if (field.data() != block && field.data() != from) return field.data();
    return static_cast<float*>(nullptr);
  };

  const RowBias bias = net_.row_bias(rows, row, biases_.data());
  rows.input(row, input_.data());
  convolve(net_.convolution(rows.weights, bias, net_.lifting(), input_.data(), block));
  for (std::size_t l = 0; l < net_.depth(); ++l) {
    float* to = unused();
    Convolution c = net_.convolution(rows.weights, bias, net_.layers[l + 1], from, to);
    c.gelu = true;
    if (net_.ends_block(l)) c.add = block;
    convolve(c);
    from = to;
    if (net_.ends_block(l)) block = to;
  }
  if (sink != nullptr) (*sink)(row, 0, net_.points, from, net_.field_ld);
  convolve(net_.convolution(rows.weights, bias, net_.projection(), from, output_.data()));
  for (std::size_t p = 1; p < net_.points; ++p)  // without the pad between points
    for (std::size_t c = 0; c < net_.out; ++c)
      output_.data()[p * net_.out + c] = output_.data()[p * net_.out_padded + c];
  rows.output(row, 0, net_.points, output_.data());
}

}  // namespace

std::unique_ptr<Forward> DilatedBody::forward() const {
  return std::make_unique<DilatedForward>(*this);
}

}  // namespace stap::cpu::dilated
