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

  /// It draws the parameters of a row along with its state. Only of samplers that are `expensive`.
  virtual bool draws_parameters() const { return false; }

  /// State i of the stream, before the warm-up. `parameters` are those that were drawn for the row,
  /// and become its own where the sampler draws them. Throws Error(internal) if `state` is not of
  /// the grid's size.
  void draw(const Rng& stream, std::uint64_t i, std::span<double> state,
            std::span<double> parameters = {}) const;

 protected:
  /// Throws Error(config) unless `warm_up` is finite and 0 or more.
  Sampler(std::string name, Grid grid, double warm_up);

 private:
  /// Fills the state from a stream of its own.
  virtual void fill(const Rng& rng, std::span<double> state) const = 0;
  virtual void fill_row(const Rng& rng, std::span<double> state, std::span<double>) const {
    fill(rng, state);
  }

  std::string name_;
  Grid grid_;
  double warm_up_;
};

}  // namespace stap
