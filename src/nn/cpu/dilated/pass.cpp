// Training: gradients of several batches at once. A row goes forward, through the loss and back in
// one visit. The gradients of kBlockRows rows are summed in one place, blocks then in order, so
// neither threads nor other members can change a bit.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "core/parallel.h"
#include "nn/cpu/dilated/body.h"
#include "stap/nn/engine.h"

namespace stap::cpu::dilated {
namespace {

constexpr std::size_t kBlockRows = 4, kBlocks = kBatchRows / kBlockRows;
// Values of a gradient summed over blocks in one task.
constexpr std::size_t kReduceSlice = 4096;

class DilatedPass final : public Pass {
 public:
  DilatedPass(const DilatedBody& body, std::size_t batches, int threads);

  void run(std::span<const Rows> batches) override;
  const float* gradient(std::size_t batch) const override { return held_[batch].gradient.data(); }

 private:
  struct Held {
    Buffer<float> blocks;  // gradients per block
    Buffer<float> gradient, transposed;
  };
  // What a row on its way leaves behind for the way back.
  struct Trail {
    explicit Trail(const DilatedBody& body);

    Buffer<float> input;
    std::vector<Buffer<float>> fields;  // that GELU layer l reads, and behind them the last one's
    std::vector<Buffer<float>> slopes;  // of the GELU of layer l
    Buffer<float> output;               // as the loss sees it, [points][out], later its gradient
    Buffer<float> d_output;             // [points][padded out]
    Buffer<float> d_block;              // gradient at a block's output, then at its input
    Buffer<float> d_field[2];
    Buffer<float> biases;
    RowBias bias{};
  };

  void forward(const Rows& rows, std::size_t row, Trail& trail) const;
  void backward(const float* transposed, Trail& trail, float* gradient) const;
  void transpose(const Rows& rows, const Layer& layer, float* transposed) const;

  const DilatedBody& net_;
  int threads_;
  std::vector<Held> held_;
  std::vector<Trail> trails_;  // per thread
};

DilatedPass::Trail::Trail(const DilatedBody& body)
    : input(body.input_size()),
      output(body.output_size()),
      d_output(body.output_size()),
      d_block(body.field_size()),
      biases(body.biases_size) {
  for (std::size_t l = 0; l <= body.depth(); ++l) fields.emplace_back(body.field_size());
  for (std::size_t l = 0; l < body.depth(); ++l) slopes.emplace_back(body.field_size());
  for (Buffer<float>& field : d_field) field = Buffer<float>(body.field_size());
}

DilatedPass::DilatedPass(const DilatedBody& body, std::size_t batches, int threads)
    : net_(body), threads_(threads) {
  for (std::size_t b = 0; b < batches; ++b)
    held_.push_back({Buffer<float>(kBlocks * body.size()), Buffer<float>(body.size()),
                     Buffer<float>(body.transposed_size)});
  for (int t = 0; t < threads; ++t) trails_.emplace_back(body);
}

void DilatedPass::run(std::span<const Rows> batches) {
  const std::size_t layers = net_.layers.size() - 1;  // the lifting's input has no gradient
  parallel_for(threads_, batches.size() * layers, [&](std::size_t index, int) {
    const std::size_t b = index / layers;
    transpose(batches[b], net_.layers[index % layers + 1], held_[b].transposed.data());
  });
  parallel_for(threads_, batches.size() * kBlocks, [&](std::size_t index, int thread) {
    const std::size_t b = index / kBlocks, block = index % kBlocks;
    Trail& trail = trails_[static_cast<std::size_t>(thread)];
    float* gradient = held_[b].blocks.data() + block * net_.size();
    std::memset(gradient, 0, net_.size() * sizeof(float));
    const std::size_t end = std::min(batches[b].count, (block + 1) * kBlockRows);
    for (std::size_t row = block * kBlockRows; row < end; ++row) {
      forward(batches[b], row, trail);
      backward(held_[b].transposed.data(), trail, gradient);
    }
  });
  const std::size_t slices = (net_.size() + kReduceSlice - 1) / kReduceSlice;
  parallel_for(threads_, batches.size() * slices, [&](std::size_t index, int) {
    Held& held = held_[index / slices];
    const std::size_t begin = index % slices * kReduceSlice;
    const std::size_t end = std::min(net_.size(), begin + kReduceSlice);
    const std::size_t blocks = (batches[index / slices].count + kBlockRows - 1) / kBlockRows;
    float* sum = held.gradient.data();
    std::copy(held.blocks.data() + begin, held.blocks.data() + end, sum + begin);
    for (std::size_t b = 1; b < blocks; ++b) {
      const float* part = held.blocks.data() + b * net_.size();
      for (std::size_t i = begin; i < end; ++i) sum[i] += part[i];
    }
  });
}

void DilatedPass::transpose(const Rows& rows, const Layer& layer, float* transposed) const {
  for (std::size_t t = 0; t < net_.taps; ++t)
    net_.kernels.transpose(layer.in, layer.out,
                           rows.weights + layer.weight + t * layer.in * padded(layer.out),
                           transposed + layer.transposed + t * layer.out * padded(layer.in));
}

void DilatedPass::forward(const Rows& rows, std::size_t row, Trail& trail) const {
  const auto& convolve = net_.convolutions.convolve;
  const std::size_t each = net_.options.dilations.size();
  std::vector<Buffer<float>>& fields = trail.fields;
  const RowBias& bias = trail.bias = net_.row_bias(rows, row, trail.biases.data());
  rows.input(row, trail.input.data());
  convolve(
      net_.convolution(rows.weights, bias, net_.lifting(), trail.input.data(), fields[0].data()));
  for (std::size_t l = 0; l < net_.depth(); ++l) {
    Convolution c = net_.convolution(rows.weights, bias, net_.layers[l + 1], fields[l].data(),
                                     fields[l + 1].data());
    c.slope = trail.slopes[l].data();
    if (net_.ends_block(l)) c.add = fields[l + 1 - each].data();
    convolve(c);
  }
  float *output = trail.output.data(), *d_output = trail.d_output.data();
  convolve(net_.convolution(rows.weights, bias, net_.projection(), fields.back().data(), d_output));
  for (std::size_t p = 0; p < net_.points; ++p)
    std::copy_n(d_output + p * net_.out_padded, net_.out, output + p * net_.out);
  rows.output(row, 0, net_.points, output);  // from here on: its gradient
  for (std::size_t p = 0; p < net_.points; ++p)
    std::copy_n(output + p * net_.out, net_.out, d_output + p * net_.out_padded);
}

void DilatedPass::backward(const float* transposed, Trail& trail, float* gradient) const {
  const auto& convolve = net_.convolutions.convolve;
  float *d_block = trail.d_block.data(), *d = trail.d_field[0].data();
  float* d_before = trail.d_field[1].data();
  net_.add_gradients(net_.projection(), trail.fields.back().data(), trail.d_output.data(),
                     trail.bias, gradient);
  convolve(net_.backward(transposed, net_.projection(), trail.d_output.data(), d_block));
  for (std::size_t l = net_.depth(); l-- > 0;) {
    // d is to be the gradient at what the GELU of layer l takes.
    if (net_.ends_block(l)) {
      const float* slope = trail.slopes[l].data();
      for (std::size_t i = 0; i < net_.points * net_.field_ld; ++i) d[i] = d_block[i] * slope[i];
    }
    const Layer& layer = net_.layers[l + 1];
    net_.add_gradients(layer, trail.fields[l].data(), d, trail.bias, gradient);
    Convolution c = net_.backward(transposed, layer, d, d_before);
    if (l == 0 || net_.ends_block(l - 1)) {
      c.add = c.y = d_block;
    } else {
      c.factor = trail.slopes[l - 1].data();
      std::swap(d, d_before);
    }
    convolve(c);
  }
  net_.add_gradients(net_.lifting(), trail.input.data(), d_block, trail.bias, gradient);
}

}  // namespace

std::size_t DilatedBody::batch_bytes() const {
  return sizeof(float) * ((kBlocks + 1) * size() + transposed_size);
}

std::size_t DilatedBody::thread_bytes() const {
  return sizeof(float) *
         (input_size() + 2 * output_size() + (2 * depth() + 4) * field_size() + biases_size);
}

std::unique_ptr<Pass> DilatedBody::pass(std::size_t batches, int threads) const {
  return std::make_unique<DilatedPass>(*this, batches, threads);
}

}  // namespace stap::cpu::dilated
