#pragma once

// Distance-based selection as a textbook would write it: all distances anew for every pick.

#include <cstddef>
#include <limits>
#include <vector>

namespace stap::reference {

using Point = std::vector<double>;

inline double squared_distance(const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

/// Candidates in the order they are taken; `clusters`: LCMD, else greedy k-centre.
inline std::vector<std::size_t> take_by_distance(const std::vector<Point>& candidates,
                                                 std::vector<Point> centres, bool clusters) {
  std::vector<std::size_t> order;
  std::vector<bool> taken(candidates.size(), false);
  while (order.size() < candidates.size()) {
    std::vector<double> distance(candidates.size());
    std::vector<std::size_t> nearest(candidates.size(), 0);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      distance[c] = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < centres.size(); ++k)
        if (squared_distance(candidates[c], centres[k]) < distance[c]) {
          distance[c] = squared_distance(candidates[c], centres[k]);
          nearest[c] = k;
        }
      if (centres.empty())
        distance[c] = squared_distance(candidates[c], Point(candidates[c].size()));
    }
    std::vector<double> weight(centres.size() + 1, -1.0);
    for (std::size_t c = 0; c < candidates.size(); ++c)
      if (!taken[c]) {
        double& w = weight[clusters && !centres.empty() ? nearest[c] : 0];
        w = (w < 0 ? 0 : w) + distance[c];
      }
    std::size_t heaviest = 0;
    for (std::size_t k = 0; k < weight.size(); ++k)
      if (weight[k] > weight[heaviest]) heaviest = k;
    std::size_t best = candidates.size();
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (taken[c]) continue;
      if (clusters && !centres.empty() && nearest[c] != heaviest) continue;
      if (best == candidates.size() || distance[c] > distance[best]) best = c;
    }
    taken[best] = true;
    order.push_back(best);
    centres.push_back(candidates[best]);
  }
  return order;
}

}  // namespace stap::reference
