// The gradient of one batch, which training never hands out: for tests and benchmarks.
#pragma once

#include <span>

#include "stap/nn/engine.h"

namespace stap {

/// What the engines of this library are besides.
class Gradients {
 public:
  virtual ~Gradients() = default;

  /// Mean squared error of the batch, and its gradient. Arguments are right.
  virtual double gradient(int member, const TransitionsView& batch, Parameters& gradient,
                          std::span<const float> loss_factors) = 0;
};

/// Mean squared error of a batch (1 .. kBatchRows rows), of errors times FitJob::loss_factors, and
/// its gradient. Throws Error(config) for a member that is not there, Error(data) for another batch
/// or other factors, and Error(internal) for an engine that has no gradients to show.
double batch_gradient(Engine& engine, int member, const TransitionsView& batch,
                      Parameters& gradient, std::span<const float> loss_factors = {});

}  // namespace stap
