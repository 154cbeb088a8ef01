// Training steps of the five paper-size networks on the GPU, E members stacked: ms per step and
// member, with the share of the measured copy bandwidth (bytes of the fused bound) and of the
// measured TF32 matrix rate (useful FLOP as in fno_bench). Without a GPU: one line that says so.
//
// Usage: cuda_bench [E ...] [NAME ...]          default 2 10 50, all networks
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "paper_networks.h"
#include "stap/core/rng.h"
#include "stap/nn/engine.h"

namespace stap {
namespace {

struct Clock : Observer {
  using Time = std::chrono::steady_clock::time_point;
  void epoch_done(const EpochDone& e) override {
    if (e.member != 0) return;
    const Time now = std::chrono::steady_clock::now();
    if (last != Time{}) seconds.push_back(std::chrono::duration<double>(now - last).count());
    last = now;
  }
  Time last{};
  std::vector<double> seconds;
};

void measure(const bench::Problem& problem, int members, ComputeOptions::Precision precision) {
  const FnoShape shape = bench::shape_of(problem);
  const auto engine = make_cuda_engine(shape, members, precision);
  constexpr std::size_t kSteps = 20;
  States<float> inputs(shape.grid, kSteps * kBatchRows), targets(shape.grid, kSteps * kBatchRows);
  for (std::size_t i = 0; i < inputs.values().size(); ++i) {
    inputs.values()[i] = float(Rng(2).normal(i));
    targets.values()[i] = float(Rng(3).normal(i));
  }
  const MemberState state = fresh_member(shape, unit_scaling(problem.channels), Rng(1));
  std::vector<FitJob> jobs(std::size_t(members), FitJob{});
  for (int m = 0; m < members; ++m) {
    engine->load(m, state);
    FitJob& job = jobs[std::size_t(m)];
    job.member = m;
    job.data = {inputs.view(), targets.view(), {}};
    job.options.epochs = 100;
    job.epochs_stop = 8;
    job.rng = Rng(4).split("member", std::uint64_t(m));
  }
  Clock clock;
  engine->fit(jobs, clock);
  const double ms = 1e3 * bench::median(clock.seconds) / double(kSteps * std::size_t(members));
  const double flops = bench::useful_work(shape).train * double(kBatchRows);
  fmt::print(
      R"({{"bench":"cuda","name":"{}","members":{},"precision":"{}","ms_per_step_and_member":{:.4g},"useful_tflops":{:.4g}}})"
      "\n",
      problem.name, members, precision == ComputeOptions::Precision::fp32 ? "fp32" : "tf32", ms,
      flops / ms * 1e-9);
  std::fflush(stdout);
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  using namespace stap;
  if (const std::string problem = cuda_problem(); !problem.empty()) {
    fmt::print(R"({{"bench":"cuda","skipped":"{}"}})"
               "\n",
               problem);
    return 0;
  }
  std::vector<int> members;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::atoi(argv[i]) > 0)
      members.push_back(std::atoi(argv[i]));
    else
      names.push_back(argv[i]);
  }
  if (members.empty()) members = {2, 10, 50};
  for (const auto precision : {ComputeOptions::Precision::tf32, ComputeOptions::Precision::fp32})
    for (const bench::Problem& problem : bench::paper_networks())
      if (names.empty() || std::find(names.begin(), names.end(), problem.name) != names.end())
        for (int e : members) measure(problem, e, precision);
}
