// Values on their way from a child process to its parent (child_read.h).
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "stap/data/store.h"
#include "stap/data/transitions.h"

namespace stap::h5 {

/// One end of the way: the child's sends, the parent's receives. What is received is not believed.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual bool sending() const = 0;
  /// Sends these bytes or fills them in.
  virtual void bytes(void* data, std::size_t size) = 0;
  /// The same for a number of things of `each` bytes, which follow. Throws Error(data), where they
  /// are received, if these are more than the file can hold.
  virtual void count(std::size_t& things, std::size_t each) = 0;
  [[noreturn]] virtual void refuse() const = 0;
};

template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
void travel(Wire& wire, T& value) {
  wire.bytes(&value, sizeof(T));
}

inline void travel(Wire& wire, std::string& text) {
  std::size_t size = text.size();
  wire.count(size, 1);
  text.resize(size);
  wire.bytes(text.data(), size);
}

inline void travel(Wire& wire, Provenance& origin) {
  travel(wire, origin.acquisition);
  travel(wire, origin.candidate);
  travel(wire, origin.step);
}

template <class T>
void travel(Wire& wire, std::vector<T>& list) {
  std::size_t size = list.size();
  wire.count(size, sizeof(T));
  list.resize(size);
  if constexpr (std::is_arithmetic_v<T>)
    wire.bytes(list.data(), size * sizeof(T));
  else
    for (T& one : list) travel(wire, one);
}

template <class T>
void travel(Wire& wire, Array<T>& array) {
  travel(wire, array.shape);
  travel(wire, array.values);
}

inline void travel(Wire& wire, Grid& grid) {
  travel(wire, grid.channels);
  travel(wire, grid.points);
  travel(wire, grid.lengths);
}

inline void travel(Wire& wire, StateInfo& info) {
  travel(wire, info.equation);
  travel(wire, info.grid);
  travel(wire, info.dt);
}

inline void travel(Wire& wire, States<double>& states) {
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

inline void travel(Wire& wire, Trajectories& trajectories) {
  travel(wire, trajectories.states);
  travel(wire, trajectories.times);
}

inline void travel(Wire& wire, TransitionSet& set) {
  travel(wire, set.grid);
  travel(wire, set.cluster);
  travel(wire, set.equation);
  travel(wire, set.dt);
  travel(wire, set.acquisitions);
  travel(wire, set.origins);
  travel(wire, set.inputs);
  travel(wire, set.outputs);
}

}  // namespace stap::h5
