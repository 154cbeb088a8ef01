// The gradient of one batch, which training never hands out: for tests and benchmarks.
#pragma once

#include "stap/nn/engine.h"

namespace stap {

/// What the engines of this library are besides.
class Gradients {
 public:
  virtual ~Gradients() = default;

  /// Mean squared error of the batch in physical units, and its gradient. Arguments are right.
  virtual double gradient(int member, const TransitionsView& batch, Parameters& gradient) = 0;
};

/// Mean squared error of a batch (1 .. kBatchRows rows) in physical units, and its gradient. Throws
/// Error(config) for a member that is not there, Error(data) for another batch, and Error(internal)
/// for an engine that has no gradients to show.
double batch_gradient(Engine& engine, int member, const TransitionsView& batch,
                      Parameters& gradient);

}  // namespace stap
