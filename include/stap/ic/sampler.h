#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "stap/core/grid.h"
#include "stap/core/rng.h"

namespace stap {

/// Draws initial conditions. Which one is a pure function of (stream, i): never of the order, of
/// the other ones drawn, or of threads.
class Sampler {
 public:
  virtual ~Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  const std::string& name() const { return name_; }
  const Grid& grid() const { return grid_; }
  /// How long a drawn state is evolved before it is an initial condition, in the problem's time
  /// unit; 0: not at all.
  double warm_up() const { return warm_up_; }
  /// A draw takes long enough that it is better kept than made again.
  virtual bool expensive() const { return false; }

  /// State i of the stream, before the warm-up. Throws Error(internal) if `state` is not of the
  /// grid's size.
  void draw(const Rng& stream, std::uint64_t i, std::span<double> state) const;

 protected:
  /// Throws Error(config) unless `warm_up` is finite and 0 or more.
  Sampler(std::string name, Grid grid, double warm_up);

 private:
  /// Fills the state from a stream of its own.
  virtual void fill(const Rng& rng, std::span<double> state) const = 0;

  std::string name_;
  Grid grid_;
  double warm_up_;
};

}  // namespace stap
