// Seconds for choosing what to buy in one round, with fresh networks of paper size and a committee
// of two: scores of a pool, and the search over the steps of SBAL's candidates until 8 L solver
// steps are spent. Scores are measured on a part of the pool and extrapolated linearly to 10,000
// candidates (candidates do not depend on each other).
//
// Usage: select_bench [candidates] [threads]     one JSON object a line
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "stap/acquire/methods.h"
#include "stap/acquire/plan.h"
#include "stap/nn/engine.h"

namespace stap {
namespace {

struct Problem {
  std::string name;
  std::vector<std::size_t> points, modes;
  std::size_t steps;
};

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// An order that was made before: leaves only the search to be measured.
class Given final : public Selector {
 public:
  explicit Given(Order order) : order_(std::move(order)) {}
  std::string_view name() const override { return "given"; }
  Order order(Committee&, const Candidates&, std::size_t, const Rng&) const override {
    return order_;
  }

 private:
  Order order_;
};

void measure(const Problem& problem, std::size_t count, int threads) {
  constexpr int members = 2;
  constexpr double pool = 10000.0;
  FnoOptions options;
  options.modes = problem.modes;
  const FnoShape shape = make_shape(
      make_grid(1, problem.points, std::vector<double>(problem.points.size(), 1.0)), options);
  const auto engine = make_cpu_engine(shape, members, threads);
  for (int m = 0; m < members; ++m)
    engine->load(m, fresh_member(shape, unit_scaling(1),
                                 Rng(1).split("member", static_cast<std::uint64_t>(m))));
  const auto committee = engine->committee({0, 1});
  States<float> states(shape.grid, count);
  for (std::size_t i = 0; i < states.values().size(); ++i)
    states.values()[i] = static_cast<float>(Rng(2).normal(i));
  std::vector<std::size_t> open(count);
  std::iota(open.begin(), open.end(), std::size_t{0});
  const Candidates candidates{states.view(), open, problem.steps};
  const std::size_t budget = 8 * problem.steps;

  spread_scores(*committee, candidates, std::span(open).first(std::min<std::size_t>(count, 32)));
  Order order;
  const double score =
      seconds([&] { order = make_sbal({})->order(*committee, candidates, count, Rng(3)); }) /
      static_cast<double>(count) * pool;
  Plan plan;
  const double search = seconds(
      [&] { plan = spend(budget, Given(order), *make_stap({}), *committee, candidates, Rng(3)); });
  fmt::print(
      R"({{"bench":"select","name":"{}","threads":{},"members":{},"steps":{},"candidates_measured":{},"extrapolated":"linearly to 10000 candidates","seconds_score_10000":{:.4g},"budget":{},"trajectories":{},"seconds_search_round":{:.4g},"ratio":{:.4g}}})"
      "\n",
      problem.name, threads, members, problem.steps, count, score, budget, plan.purchases.size(),
      search, search / score);
  std::fflush(stdout);
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 500;
  const int threads = stap::thread_count(argc > 2 ? std::atoi(argv[2]) : 0);
  if (count == 0) {
    std::fputs("select_bench: expected at least 1 candidate\n", stderr);
    return 2;
  }
  stap::measure({"burgers", {256}, {32}, 13}, count, threads);
  stap::measure({"ins", {32, 32}, {16, 16}, 26}, count, threads);
  return 0;
}
