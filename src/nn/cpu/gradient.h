// One training step's arithmetic: the losses of some batches, and their gradients.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "nn/cpu/network.h"
#include "stap/nn/engine.h"

namespace stap::cpu {

/// A batch of one member. Pointers are to states [C][points] and to what their rows are told.
struct Batch {
  MemberView member;
  std::size_t rows = 0;
  std::array<const float*, kBatchRows> inputs{}, targets{}, told{};
};

class GradientPass {
 public:
  /// For up to `batches` batches a call. Allocates all there is to allocate.
  GradientPass(const Network& network, std::size_t batches, int threads);

  int threads() const { return threads_; }
  /// Afterwards loss(b) and gradient(b) have the results of batch b.
  void run(std::span<const Batch> batches);
  /// Mean over rows, channels and points of the squared error, times its channel's factor before.
  double loss(std::size_t batch) const;
  /// In the packed layout.
  const float* gradient(std::size_t batch) const { return pass_->gradient(batch); }

 private:
  // A batch as the body asks about it.
  struct Asked {
    const Network& network;
    const Batch* batch = nullptr;
    std::array<double, kBatchRows> squares{};  // of each row
  };

  const Network& net_;
  int threads_;
  std::vector<Asked> asked_;
  std::vector<Rows> rows_;
  std::unique_ptr<Pass> pass_;
};

}  // namespace stap::cpu
