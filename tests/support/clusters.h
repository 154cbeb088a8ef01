// Between the lists of the slow twin and the rows of the library.
#pragma once

#include <span>
#include <vector>

#include "reference/multistep.h"
#include "stap/core/grid.h"

namespace stap::test {

/// Values of k states of `grid`, one after the other, as lists.
template <class T>
reference::Cluster to_cluster(std::span<const T> values, const Grid& grid) {
  reference::Cluster cluster(
      values.size() / grid.values(),
      reference::Field(grid.channels, std::vector<double>(grid.points_total())));
  std::size_t i = 0;
  for (reference::Field& state : cluster)
    for (std::vector<double>& channel : state)
      for (double& value : channel) value = static_cast<double>(values[i++]);
  return cluster;
}

/// And back.
template <class T>
std::vector<T> to_values(const reference::Cluster& cluster) {
  std::vector<T> values;
  for (const reference::Field& state : cluster)
    for (const std::vector<double>& channel : state)
      for (double value : channel) values.push_back(static_cast<T>(value));
  return values;
}

}  // namespace stap::test
