// What two parameters cost a training step on the CPU: networks that are told two, as input
// channels or by shifts of their layers, against the same network without, in one run. A line for
// each size: seconds of a processor (of all threads together, so that neighbours matter less) of a
// step without, and the ratios.
//
// Usage: parameters_bench [threads]
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "paper_networks.h"
#include "stap/core/observer.h"
#include "stap/nn/engine.h"

namespace stap {
namespace {

constexpr std::size_t kRows = 96;
constexpr int kTurns = 9;

// A network with data to train on.
struct Trial {
  Trial(NetworkSpec of, int threads)
      : spec(std::move(of)),
        engine(make_cpu_engine(spec, 1, threads)),
        inputs(spec.grid, kRows),
        targets(spec.grid, kRows) {
    engine->load(0, fresh_member(spec, unit_scaling(spec.grid.channels), Rng(1)));
    for (std::size_t i = 0; i < inputs.values().size(); ++i) {
      inputs.values()[i] = static_cast<float>(Rng(2).normal(i));
      targets.values()[i] = static_cast<float>(Rng(3).normal(i));
    }
    Conditions conditions;
    for (std::size_t r = 0; r < kRows; ++r)
      conditions.add(0, draw_parameters(spec.parameters, Rng(4), r));
    told = told_rows(spec, conditions.view(), kRows);
  }

  double step_seconds() {
    Observer nobody;
    FitJob job{0, {std::as_const(inputs).view(), std::as_const(targets).view(), told}};
    job.options.epochs = 1;
    const std::clock_t start = std::clock();
    engine->fit({&job, 1}, nobody);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC /
           static_cast<double>(job.length().steps);
  }

  NetworkSpec spec;
  std::unique_ptr<Engine> engine;
  States<float> inputs, targets;
  std::vector<float> told;
};

NetworkSpec with_two(NetworkSpec spec, bool shifts) {
  for (const char* name : {"a", "b"})
    spec.parameters.push_back({name, ParameterDraw::Kind::uniform, {0.0, 1.0}});
  spec.inputs.shifts = shifts;
  return spec;
}

void measure(const std::string& name, const NetworkSpec& spec, int threads) {
  Trial without(spec, threads), channels(with_two(spec, false), threads),
      shifts(with_two(spec, true), threads);
  std::vector<double> plain, told, shifted;
  for (int turn = 0; turn < kTurns; ++turn) {  // side by side: the machine's mood is the same
    plain.push_back(without.step_seconds());
    told.push_back(channels.step_seconds() / plain.back());
    shifted.push_back(shifts.step_seconds() / plain.back());
  }
  fmt::print(R"({{"bench": "parameters", "name": "{}", "threads": {}, "step_seconds": {:.4g}, )"
             R"("channels": {:.3f}, "shifts": {:.3f}}})"
             "\n",
             name, threads, bench::median(plain), bench::median(told), bench::median(shifted));
  std::fflush(stdout);
}

void measure_all(int threads) {
  FnoOptions small;
  small.modes = {32};
  small.width = 24;
  small.lifting = small.projection = 64;
  measure("small-burgers", make_network(make_grid(1, {64}, {1.0}), {.family = fno(small)}),
          threads);
  for (const bench::Problem& problem : bench::paper_networks())
    if (problem.name != "cns") measure(problem.name, bench::shape_of(problem), threads);
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  stap::measure_all(argc > 1 ? std::atoi(argv[1]) : 1);
}
