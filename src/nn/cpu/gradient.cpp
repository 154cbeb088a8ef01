#include "nn/cpu/gradient.h"

namespace stap::cpu {

GradientPass::GradientPass(const Network& network, std::size_t batches, int threads)
    : net_(network),
      threads_(threads),
      asked_(batches, Asked{network}),
      rows_(batches),
      pass_(network.body->pass(batches, threads)) {
  for (std::size_t b = 0; b < batches; ++b) {
    Asked* asked = &asked_[b];
    rows_[b].input = [asked](std::size_t row, float* input) {
      const Batch& batch = *asked->batch;
      asked->network.scale_input(batch.member, batch.inputs[row], batch.told[row], input);
    };
    rows_[b].shifts = [asked](std::size_t row) {
      return asked->network.shifts_of(asked->batch->told[row]);
    };
    rows_[b].output = [asked](std::size_t row, std::size_t first, std::size_t n, float* output) {
      const Batch& batch = *asked->batch;
      const std::size_t values = batch.rows * asked->network.counted_values;
      asked->squares[row] = asked->network.loss_gradient(
          batch.member, batch.inputs[row], batch.targets[row], 2.0f / static_cast<float>(values),
          first, n, output, asked->squares[row]);
    };
  }
}

void GradientPass::run(std::span<const Batch> batches) {
  for (std::size_t b = 0; b < batches.size(); ++b) {
    asked_[b].batch = &batches[b];
    asked_[b].squares.fill(0.0);
    rows_[b].weights = batches[b].member.packed;
    rows_[b].count = batches[b].rows;
  }
  pass_->run({rows_.data(), batches.size()});
}

double GradientPass::loss(std::size_t batch) const {
  const Asked& asked = asked_[batch];
  double sum = 0.0;
  for (std::size_t r = 0; r < rows_[batch].count; ++r) sum += asked.squares[r];
  return sum / static_cast<double>(rows_[batch].count * net_.counted_values);
}

}  // namespace stap::cpu
