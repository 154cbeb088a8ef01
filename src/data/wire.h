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

void travel(Wire& wire, std::string& text);
void travel(Wire& wire, Grid& grid);
void travel(Wire& wire, StateInfo& info);
void travel(Wire& wire, States<double>& states);
void travel(Wire& wire, Trajectories& trajectories);
void travel(Wire& wire, Provenance& origin);
void travel(Wire& wire, TransitionSet& set);

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

}  // namespace stap::h5
