// The residual score of spec/method as nested loops over plain arrays.
#pragma once

#include <functional>
#include <vector>

#include "reference/stap.h"

namespace stap::reference {

/// F(u, t), t in the problem's unit.
using Rates = std::function<std::vector<double>(const std::vector<double>&, double time)>;

/// Mean over members of the sum over steps of |(u_i - u_{i-1})/dt - (F(u_i) + F(u_{i-1}))/2|^2.
inline double residual(const std::vector<Model>& members, const State& u0, std::size_t steps,
                       double dt, const Rates& f) {
  double total = 0.0;
  for (const Model& member : members) {
    std::vector<State> states = {u0};
    for (const State& state : rollout(member, steps, u0)) states.push_back(state);
    double of_member = 0.0;
    for (std::size_t i = 1; i <= steps; ++i) {
      const std::vector<double> a(states[i - 1].begin(), states[i - 1].end());
      const std::vector<double> b(states[i].begin(), states[i].end());
      const std::vector<double> fa = f(a, static_cast<double>(i - 1) * dt);
      const std::vector<double> fb = f(b, static_cast<double>(i) * dt);
      double of_step = 0.0;
      for (std::size_t v = 0; v < a.size(); ++v) {
        const double r = (b[v] - a[v]) / dt - 0.5 * (fb[v] + fa[v]);
        of_step += r * r;
      }
      of_member += of_step;
    }
    total += of_member;
  }
  return total / static_cast<double>(members.size());
}

}  // namespace stap::reference
