// Training steps of the five paper-size networks, and of dilated ones on the same grids
// (dilated-NAME), on the GPU, E members stacked: ms per step and
// member. Beside it, measured in the same run, the share of the device's copy bandwidth that the
// bytes a step cannot avoid take (weights and moments read and written once and the weights once
// more; every layer's field written, read by the next layer and on the way back; its gradient
// written and read), and the share of cuBLAS' TF32 rate (8192^3) that the useful FLOP take
// (paper_networks.h). Without a GPU: one line that says so.
//
// Usage: cuda_bench [E ...] [NAME ...]          default 2 10 50, all networks
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "paper_networks.h"
#include "stap/core/rng.h"
#include "stap/nn/engine.h"

#if defined(STAP_HAVE_CUBLAS)
#include <cublas_v2.h>
#include <cuda_runtime.h>
#endif

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

struct Ceilings {
  double copy = 0, tf32 = 0;  // bytes/s read and written, FLOP/s; 0: not measured
};

Ceilings measure_ceilings() {
  Ceilings ceilings;
#if defined(STAP_HAVE_CUBLAS)
  const auto best = [](const auto& work) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    float least = 1e30f;
    for (int i = 0; i < 8; ++i) {
      cudaEventRecord(start);
      work();
      cudaEventRecord(stop);
      cudaEventSynchronize(stop);
      float ms = 0;
      cudaEventElapsedTime(&ms, start, stop);
      least = std::min(least, ms);
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return 1e-3 * double(least);
  };
  constexpr int n = 8192;
  constexpr std::size_t bytes = std::size_t{4} * n * n;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&a), 8 * bytes);
  cudaMalloc(reinterpret_cast<void**>(&b), 8 * bytes);
  cudaMalloc(reinterpret_cast<void**>(&c), bytes);
  std::vector<float> random(std::size_t{n} * n);  // zeros would run faster than real data
  for (std::size_t i = 0; i < random.size(); ++i) random[i] = float(Rng(9).uniform(i)) - 0.5f;
  cudaMemcpy(a, random.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, random.data(), bytes, cudaMemcpyHostToDevice);
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
  const float one = 1, zero = 0;
  const double product = best([&] {
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
  });
  const double copy =
      best([&] { cudaMemcpyAsync(a, b, 8 * bytes, cudaMemcpyDeviceToDevice, nullptr); });
  if (cudaDeviceSynchronize() == cudaSuccess)
    ceilings = {2.0 * 8 * double(bytes) / copy, 2.0 * double(n) * n * n / product};
  cublasDestroy(handle);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
#endif
  return ceilings;
}

double least_bytes(const NetworkSpec& shape) {
  const std::optional<FnoOptions> fno = fno_options(shape.family);
  const DilatedOptions dilated = fno ? DilatedOptions{} : shape.family.options.as(dilated_fields());
  const std::size_t width = fno ? fno->width : dilated.width;
  const std::size_t layers = fno ? fno->layers : dilated.layers();
  const auto parameters = double(parameter_count(shape));
  const double field = double(kBatchRows * shape.grid.points_total() * width);
  return 4.0 * (7.0 * parameters + 5.0 * double(layers) * field);
}

void measure(const std::string& name, const NetworkSpec& shape, int members,
             ComputeOptions::Precision precision, const Ceilings& ceilings) {
  const auto engine = make_cuda_engine(shape, members, precision);
  constexpr std::size_t kSteps = 20;
  States<float> inputs(shape.grid, kSteps * kBatchRows), targets(shape.grid, kSteps * kBatchRows);
  for (std::size_t i = 0; i < inputs.values().size(); ++i) {
    inputs.values()[i] = float(Rng(2).normal(i));
    targets.values()[i] = float(Rng(3).normal(i));
  }
  const MemberState state = fresh_member(shape, unit_scaling(shape.grid.channels), Rng(1));
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
      R"({{"bench":"cuda","name":"{}","members":{},"precision":"{}","ms_per_step_and_member":{:.4g},"useful_tflops":{:.4g},"share_of_copy_rate":{:.3f},"share_of_tf32_rate":{:.3f}}})"
      "\n",
      name, members, precision == ComputeOptions::Precision::fp32 ? "fp32" : "tf32", ms,
      flops / ms * 1e-9, ceilings.copy > 0 ? least_bytes(shape) / ms * 1e3 / ceilings.copy : 0.0,
      ceilings.tf32 > 0 ? flops / ms * 1e3 / ceilings.tf32 : 0.0);
  std::fflush(stdout);
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  if (const std::string problem = stap::cuda_problem(); !problem.empty()) {
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
  const stap::Ceilings ceilings = stap::measure_ceilings();
  fmt::print(R"({{"bench":"cuda","copy_tb_per_s":{:.3g},"tf32_tflops":{:.4g}}})"
             "\n",
             ceilings.copy * 1e-12, ceilings.tf32 * 1e-12);
  for (const auto precision :
       {stap::ComputeOptions::Precision::tf32, stap::ComputeOptions::Precision::fp32})
    for (const stap::bench::Problem& problem : stap::bench::paper_networks())
      for (const bool fno : {true, false}) {
        const std::string name = (fno ? "" : "dilated-") + problem.name;
        const auto shape = fno ? stap::bench::shape_of(problem) : stap::bench::dilated_on(problem);
        // Burgers' grid is that of KdV and KS.
        const bool wanted = names.empty()
                                ? fno || (problem.name != "kdv" && problem.name != "ks")
                                : std::find(names.begin(), names.end(), name) != names.end();
        if (wanted)
          for (int e : members) stap::measure(name, shape, e, precision, ceilings);
      }
}
