#pragma once

#include <string>
#include <vector>

#include "stap/results/run_result.h"

namespace stap::test {

/// A run with these logarithms of the members' RMSE and, for metric number m, the same minus m;
/// `mean_model`: logarithms of the mean model's, where it was measured.
inline RunResult result(const std::string& method, std::uint64_t seed,
                        const std::vector<double>& log_rmse, std::size_t rounds = 1,
                        const std::vector<double>& mean_model = {}) {
  RunResult r;
  r.config = config::parse_yaml("pde: {name: none}\nstudy: {budget: 8}", "test");
  r.method = method;
  r.seed = seed;
  r.rounds = rounds;
  r.steps = 13;
  r.points = 256;
  for (std::size_t m = 0; m < kMetrics; ++m) {
    for (double log : log_rmse) r.members.logs[m].push_back(log - static_cast<double>(m));
    for (double log : mean_model) r.mean_model.logs[m].push_back(log - static_cast<double>(m));
  }
  return r;
}

}  // namespace stap::test
