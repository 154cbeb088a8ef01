#include "data/wire.h"

#include <utility>

namespace stap::h5 {

void travel(Wire& wire, std::string& text) {
  std::size_t size = text.size();
  wire.count(size, 1);
  text.resize(size);
  wire.bytes(text.data(), size);
}

void travel(Wire& wire, Provenance& origin) {
  travel(wire, origin.acquisition);
  travel(wire, origin.candidate);
  travel(wire, origin.step);
}

void travel(Wire& wire, Grid& grid) {
  travel(wire, grid.channels);
  travel(wire, grid.points);
  travel(wire, grid.lengths);
  travel(wire, grid.ends);
}

void travel(Wire& wire, StateInfo& info) {
  travel(wire, info.equation);
  travel(wire, info.grid);
  travel(wire, info.dt);
}

void travel(Wire& wire, States<double>& states) {
  Grid grid = states.grid();
  std::size_t count = states.count(), values = states.values().size();
  travel(wire, grid);
  travel(wire, count);
  wire.count(values, sizeof(double));
  if (!wire.sending()) {
    std::size_t expected = count;
    bool fits = !__builtin_mul_overflow(expected, grid.channels, &expected);
    for (std::size_t n : grid.points)
      fits = fits && !__builtin_mul_overflow(expected, n, &expected);
    if (!fits || expected != values) wire.refuse();
    states = States<double>(std::move(grid), count);
  }
  wire.bytes(states.values().data(), values * sizeof(double));
}

void travel(Wire& wire, Trajectories& trajectories) {
  travel(wire, trajectories.states);
  travel(wire, trajectories.times);
}

void travel(Wire& wire, TransitionSet& set) {
  travel(wire, set.grid);
  travel(wire, set.cluster);
  travel(wire, set.equation);
  travel(wire, set.dt);
  travel(wire, set.acquisitions);
  travel(wire, set.origins);
  travel(wire, set.inputs);
  travel(wire, set.outputs);
  travel(wire, set.parameters.names);
  travel(wire, set.parameters.values);
}

}  // namespace stap::h5
