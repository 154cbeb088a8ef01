// The symmetries that the overlays symmetries/* state, on the solvers that they are stated of.
#include "stap/core/symmetry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/order.h"
#include "support/solving.h"

namespace stap {
namespace {

using State = std::vector<double>;

struct Stated {
  std::string problem;
  double off;         // at most, of what a step changes
  std::string wrong;  // what the equation does not have
  std::vector<std::string> families{"paper/", "as-coded/"};
};

// Rounding for all but KdV, whose step and the way back are each as exact as error control and the
// grid's highest modes let them be.
const Stated kAll[] = {
    {"burgers", 1e-10, "x -> -x"}, {"ks", 1e-10, "x -> -x"},
    {"kdv", 2e-3, "x -> -x"},      {"ins", 1e-10, "x -> -x, y -> -y"},
    {"cns", 1e-10, "x -> -x"},     {"fhn", 1e-10, "x -> -x, u -> -u", {"walls/"}},
};

class StatedSymmetries : public testing::TestWithParam<Stated> {};
INSTANTIATE_TEST_SUITE_P(Problems, StatedSymmetries, testing::ValuesIn(kAll),
                         [](const auto& test) { return test.param.problem; });

// How far a step of the image is from the image of the step, as a share of what it changes.
double distance_of(const std::string& text, const Solver& solver, const State& u, const State& v) {
  const StateMap map =
      make_state_map(parse_symmetry(text, solver.grid(), solver.channels()), solver.grid());
  State from(u.size()), to(u.size());
  map_state(map, (map.reversed ? v : u).data(), from.data());
  map_state(map, (map.reversed ? u : v).data(), to.data());
  const State made = test::solve_row(solver, from);
  double off = 0.0, change = 0.0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    off += std::pow(made[i] - to[i], 2);
    change += std::pow(v[i] - u[i], 2);
  }
  return std::sqrt(off / change);
}

TEST_P(StatedSymmetries, HoldForTheSolver) {
  const std::string& problem = GetParam().problem;
  for (const std::string& family : GetParam().families) {
    SCOPED_TRACE(family + problem);
    config::Value document = load_config(family + problem, {"symmetries/" + problem});
    document.erase("sweep");
    document.set("method", "random");
    const Study study = make_study(document);
    const auto solver = make_solver(study, 1);
    const State u = test::initial_condition(study, *solver);
    const State v = test::solve_row(*solver, u);

    ASSERT_FALSE(study.train.symmetries.empty());
    for (const std::string& text : study.train.symmetries)
      EXPECT_LE(distance_of(text, *solver, u, v), GetParam().off) << text;
    EXPECT_GT(distance_of(GetParam().wrong, *solver, u, v), 0.2);
  }
}

}  // namespace
}  // namespace stap
