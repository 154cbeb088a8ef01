// Seconds for choosing what to buy in one round, with fresh networks of paper size and a committee
// of two: scores of a pool of 10,000, and the search over the steps of SBAL's candidates until 8 L
// solver steps are spent. Candidates do not depend on each other, so both are measured on a part
// and extrapolated linearly: the search to as many candidates as the budget buys at the mean cost
// of the patterns found. Untrained members disagree at once, so their patterns are short and a
// round searches more candidates than it would with trained ones.
//
// Usage: select_bench [candidates] [threads]     one JSON object a line
//        select_bench cuda                       a whole selection (SBAL+STAP) from 10,000 on the
//        GPU
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

void measure(const Problem& problem, std::size_t count, std::size_t searched, int threads,
             bool on_gpu) {
  constexpr int members = 2;
  constexpr double pool = 10000.0;
  FnoOptions options;
  options.modes = problem.modes;
  const FnoShape shape = make_shape(
      make_grid(1, problem.points, std::vector<double>(problem.points.size(), 1.0)), options);
  const auto engine = on_gpu ? make_cuda_engine(shape, members, ComputeOptions::Precision::tf32)
                             : make_cpu_engine(shape, members, threads);
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
  if (on_gpu) {
    Plan plan;
    for (int i = 0; i < 3; ++i) {
      const double total = seconds([&] {
        plan = spend(budget, *make_sbal({}), *make_stap({}), *committee, candidates, Rng(3));
      });
      const double score =
          seconds([&] { make_sbal({})->order(*committee, candidates, count, Rng(3)); });
      fmt::print(
          R"({{"bench":"select","name":"{}","device":"cuda","members":{},"steps":{},"candidates":{},"budget":{},"trajectories":{},"seconds_score":{:.4g},"seconds_selection":{:.4g},"ratio_search_to_score":{:.4g}}})"
          "\n",
          problem.name, members, problem.steps, count, budget, plan.purchases.size(), score, total,
          (total - score) / score);
      std::fflush(stdout);
    }
    return;
  }
  Order order;
  const double score =
      seconds([&] { order = make_sbal({})->order(*committee, candidates, count, Rng(3)); }) /
      static_cast<double>(count) * pool;
  const auto first = std::span(order.ids).first(std::min(searched, order.ids.size()));
  std::vector<Pattern> patterns;
  const double search =
      seconds([&] { patterns = make_stap({})->choose(*committee, candidates, first, Rng(3)); });
  std::size_t cost = 0;
  for (const Pattern& pattern : patterns) cost += pattern.cost();
  const double trajectories =
      static_cast<double>(budget * patterns.size()) / static_cast<double>(cost);
  const double search_round = search / static_cast<double>(patterns.size()) * trajectories;
  fmt::print(
      R"({{"bench":"select","name":"{}","threads":{},"members":{},"steps":{},"scored":{},"searched":{},"extrapolated":"linearly to 10000 scores and to the budget's trajectories","budget":{},"trajectories":{:.4g},"seconds_score_10000":{:.4g},"seconds_search_round":{:.4g},"ratio":{:.4g}}})"
      "\n",
      problem.name, threads, members, problem.steps, count, patterns.size(), budget, trajectories,
      score, search_round, search_round / score);
  std::fflush(stdout);
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  const bool gpu = argc > 1 && std::string(argv[1]) == "cuda";
  const std::size_t count = gpu ? 10000 : argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 500;
  const int threads = stap::thread_count(argc > 2 ? std::atoi(argv[2]) : 0);
  if (count == 0) {
    std::fputs("select_bench: expected at least 1 candidate\n", stderr);
    return 2;
  }
  const stap::Problem burgers{"burgers", {256}, {32}, 13}, ins{"ins", {32, 32}, {16, 16}, 26};
  stap::measure(burgers, gpu ? 10000 : count, 64, threads, gpu);
  // About ten times the work a candidate.
  stap::measure(ins, gpu ? 10000 : (count + 9) / 10, 16, threads, gpu);
  return 0;
}
