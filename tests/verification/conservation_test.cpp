// The means that docs/lab/recipes.md says the built-in solvers keep (network.conserve).
#include <gtest/gtest.h>

#include <cmath>

#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/solving.h"

namespace stap {
namespace {

using State = std::vector<double>;

// How far a step moves a channel's mean, as a share of the root of its mean squared change.
double moved_mean(const State& u, const State& v, std::size_t channel, std::size_t points) {
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = channel * points; i < (channel + 1) * points; ++i) {
    sum += v[i] - u[i];
    squares += std::pow(v[i] - u[i], 2);
  }
  const double n = static_cast<double>(points);
  return std::abs(sum / n) / std::sqrt(squares / n);
}

// 1e-10: rounding of some thousand internal steps. What is not named moves by more than a thousand
// times that: pressure and velocities of the gas.
TEST(Conservation, SolversKeepTheMeansThatNetworksMayKeep) {
  for (const std::string problem : {"burgers", "kdv", "ks", "ins", "cns"})
    for (const std::string family : {"paper/", "as-coded/"}) {
      SCOPED_TRACE(family + problem);
      const std::string named = problem == "cns" ? "density" : "u";
      config::Value document = load_config(family + problem);
      document.find("network")->set("conserve", config::Value(config::Value::List{named}));
      const Study study = make_study(document);
      const auto solver = make_solver(study, 1);
      const State u = test::initial_condition(study, *solver);

      const State v = test::solve_row(*solver, u);

      for (std::size_t c = 0; c < study.channels.size(); ++c) {
        const double moved = moved_mean(u, v, c, study.grid.points_total());
        if (study.channels[c] == named)
          EXPECT_LT(moved, 1e-10) << named;
        else
          EXPECT_GT(moved, 1e-7) << study.channels[c];
      }
    }
}

}  // namespace
}  // namespace stap
