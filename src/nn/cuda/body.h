// What a family does on the GPU. The engine has members, data and steps; a body has the kernels
// between a bundle's rows and what becomes of them, and steps its weights itself.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "nn/cuda/device_array.h"
#include "nn/cuda/kernels.h"
#include "stap/nn/network.h"

namespace stap::cuda {

/// Memory for some bundles; the rest of it is the body's.
struct Workspace {
  explicit Workspace(int of_bundles) : bundles(of_bundles) {}
  virtual ~Workspace() = default;

  const int bundles;
  /// In the place of rows (augment()); empty unless the owner makes them.
  DeviceArray<float> inputs, targets;
};

struct Body {
  virtual ~Body() = default;

  // Without a GPU.
  /// Throws Error(config), naming the option, if the kernels cannot hold the network.
  virtual void check_limits() const = 0;
  /// The network's sizes; pointers are null.
  virtual Net net() const = 0;
  /// Floats of a member's weights in the order that kernels read them (order_weights()).
  virtual std::size_t fragments_size() const = 0;
  virtual std::size_t hidden_channels() const = 0;
  virtual std::size_t workspace_bytes(int bundles, bool training) const = 0;
  /// Net::member_size floats.
  virtual void pack(const Parameters& parameters, std::span<float> packed) const = 0;
  virtual void unpack(std::span<const float> packed, Parameters& parameters) const = 0;

  // With one, behind prepare().
  virtual void prepare() = 0;
  virtual std::unique_ptr<Workspace> workspace(int bundles, bool training) const = 0;
  /// Needed whenever weights have changed elsewhere than in train_step().
  virtual void order_weights(const Launch& launch) const = 0;
  /// Advances the rows of a launch; `hidden` as project() (kernels.h) says.
  virtual void forward(const Launch& launch, Workspace& work, float* hidden) const = 0;
  /// Gradients and, unless `gradient` (Net::member_size floats) is given, one Adam step of every
  /// bundle. Squared errors are added to squares[bundle].
  virtual void train_step(const Launch& launch, Workspace& work, double* squares,
                          float* gradient) const = 0;
};

}  // namespace stap::cuda
