#pragma once

// What a network's family does on the CPU. A body takes channels and makes channels; it knows no
// scaling, target, loss or mean: they are done around it, by calls that it makes (src/nn/cpu).

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "stap/nn/network.h"

namespace stap::cpu {

/// Rows that a Forward takes at most.
inline constexpr std::size_t kForwardRows = 16;

/// Rows of one member on their way through its body. Calls about different rows may come from
/// different threads at once.
struct Rows {
  const float* weights = nullptr;  ///< packed
  std::size_t count = 0;
  /// Writes the input of a row, [points][in_channels].
  std::function<void(std::size_t row, float* input)> input{};
  /// What shifts the layers of a row: NetworkSpec::shifts() numbers. Not called where that is 0.
  std::function<const float*(std::size_t row)> shifts{};
  /// Is handed the output of n points of a row, [n][out_channels], and in training leaves the
  /// gradient of the loss there in its place. The points of a row come in order, each once, when
  /// its input was taken.
  std::function<void(std::size_t row, std::size_t first_point, std::size_t n, float* output)>
      output{};
};

/// Sees the last hidden activations (before their GELU) of a run of points of one row,
/// [points][ld], Body::hidden_channels() of them.
using HiddenSink = std::function<void(std::size_t row, std::size_t first_point, std::size_t points,
                                      const float* hidden, std::size_t ld)>;

/// The memory of one thread that applies bodies.
struct Forward {
  virtual ~Forward() = default;
  /// Up to kForwardRows rows, of any member; `sink` may be null.
  virtual void run(const Rows& rows, const HiddenSink* sink) = 0;
};

/// The memory of some gradients, and the threads that make them; its phases are its own.
struct Pass {
  virtual ~Pass() = default;
  /// Up to `batches` batches of up to kBatchRows rows; afterwards gradient(b) is that of batch b.
  virtual void run(std::span<const Rows> batches) = 0;
  /// In the packed layout.
  virtual const float* gradient(std::size_t batch) const = 0;
};

/// The arithmetic of one network. Every sum runs in one fixed order, so that no bit depends on
/// threads, on other rows or on other batches. Forward and Pass refer to the body.
struct Body {
  virtual ~Body() = default;

  /// Floats of packed weights, a multiple of 16; what is no weight is zero and has no gradient.
  virtual std::size_t size() const = 0;
  virtual std::size_t hidden_channels() const = 0;
  /// What a Pass takes for each batch, without its threads' memory.
  virtual std::size_t batch_bytes() const = 0;
  /// ... and what each of its threads does, if that is much beside it.
  virtual std::size_t thread_bytes() const { return 0; }
  virtual void pack(const Parameters& parameters, float* packed) const = 0;
  /// Into parameters of the right shapes.
  virtual void unpack(const float* packed, Parameters& parameters) const = 0;
  virtual std::unique_ptr<Forward> forward() const = 0;
  virtual std::unique_ptr<Pass> pass(std::size_t batches, int threads) const = 0;
};

}  // namespace stap::cpu
