// The five paper-size networks: a training step (batch 32, Adam apart) and a forward pass, in useful
// GFLOP/s and as a ratio to this machine's sgemm (1024^3, same threads) measured in between.
//
// Useful work, whatever is actually run: 2 per multiply-add of the pointwise layers, 8 per complex
// multiply-add of the kept modes, 2.5 N log2 N per real transform. A backward pass does the
// pointwise and spectral products twice more (the gradient of the network's input is not needed) and
// as many transforms as the forward pass.
//
// Usage: fno_bench [threads]; one JSON object a line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "nn/cpu/gradient.h"
#include "nn/cpu/member.h"
#include "stap/core/rng.h"
#include "stap/nn/engine.h"
#if defined(STAP_HAVE_OPENBLAS)
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif

namespace {

using namespace stap;  // a program of one file

struct Problem {
  std::string name;
  std::size_t channels;
  std::vector<std::size_t> points, modes;
};

struct Work {
  double forward, train;  // useful FLOP per state
};

Work useful_work(const FnoShape& shape) {
  const FnoOptions& o = shape.options;
  const double points = double(shape.grid.points_total());
  const double first = 2.0 * points * double(shape.in_channels() * o.lifting);
  const double dense =
      first + 2.0 * points *
                  double(o.lifting * o.width + o.layers * o.width * o.width +
                         o.width * o.projection + o.projection * shape.out_channels());
  const double spectral = 8.0 * double(o.layers * shape.kept_total() * o.width * o.width);
  const double transforms = 2.0 * double(o.layers * o.width) * 2.5 * points * std::log2(points);
  return {dense + spectral + transforms, 3.0 * dense - first + 3.0 * spectral + 2.0 * transforms};
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// GFLOP/s of sgemm 1024^3, the yardstick; 0 when there is no BLAS to measure.
double sgemm_rate([[maybe_unused]] int threads) {
#if defined(STAP_HAVE_OPENBLAS)
  constexpr int n = 1024;
  static std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
  openblas_set_num_threads(threads);
  double best = 1e30;
  for (int i = 0; i < 3; ++i)
    best = std::min(best, seconds([&] {
                      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f,
                                  a.data(), n, b.data(), n, 0.0f, c.data(), n);
                    }));
  return 2e-9 * n * n * n / best;
#else
  return 0.0;
#endif
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const Problem& problem, int threads) {
  FnoOptions options;
  options.modes = problem.modes;
  const FnoShape shape = make_shape(
      make_grid(problem.channels, problem.points, std::vector<double>(problem.points.size(), 1.0)),
      options);
  const Work work = useful_work(shape);
  const cpu::Network net(shape, active_isa());
  cpu::Member member(net);
  const MemberState state = fresh_member(shape, unit_scaling(problem.channels), Rng(1));
  net.layout.pack(state.weights, member.weights.data());
  States<float> inputs(shape.grid, kBatchRows), targets(shape.grid, kBatchRows);
  for (std::size_t i = 0; i < inputs.values().size(); ++i) {
    inputs.values()[i] = float(Rng(2).normal(i));
    targets.values()[i] = float(Rng(3).normal(i));
  }
  cpu::GradientPass pass(net, 1, threads);
  cpu::Batch batch;
  batch.member = member.view();
  batch.rows = kBatchRows;
  for (std::size_t r = 0; r < kBatchRows; ++r) {
    batch.inputs[r] = inputs.row(r).data();
    batch.targets[r] = targets.row(r).data();
  }
  const cpu::AdamStep adam{1e-3f, 0.9f, 0.999f, 1.0f, 1e-8f};
  constexpr std::size_t slice = 16384;
  auto adam_update = [&] {
    const std::size_t slices = (net.layout.size + slice - 1) / slice;
    parallel_for(threads, slices, [&](std::size_t s, int) {
      const std::size_t at = s * slice;
      net.kernels.adam(std::min(slice, net.layout.size - at), adam, pass.gradient(0) + at,
                       member.weights.data() + at, member.moment1.data() + at,
                       member.moment2.data() + at);
    });
  };
  const auto engine = make_cpu_engine(shape, 1, threads);
  engine->load(0, state);
  const auto committee = engine->committee({0});
  constexpr std::size_t forward_rows = 64;
  const RowsId rows = committee->rows(forward_rows);
  std::vector<std::size_t> index(forward_rows);
  for (std::size_t r = 0; r < forward_rows; ++r) index[r] = r;
  const std::vector<int> which(forward_rows, 0);
  committee->put(rows, 0, inputs.view());
  committee->put(rows, kBatchRows, inputs.view());

  // Interleaved with the yardstick, so that a busy neighbour slows both; medians of the ratios.
  std::vector<double> train, adam_time, forward, rate, ratio_train, ratio_forward;
  pass.run({&batch, 1});
  const int rounds = 7;
  for (int i = 0; i < rounds; ++i) {
    const double sgemm = sgemm_rate(threads);
    const double t = seconds([&] { pass.run({&batch, 1}); });
    const double a = seconds(adam_update);
    const double f = seconds([&] { committee->advance(rows, index, which, {}, rows, index); });
    committee->put(rows, 0, inputs.view());
    committee->put(rows, kBatchRows, inputs.view());
    rate.push_back(sgemm);
    train.push_back(t);
    adam_time.push_back(a);
    forward.push_back(f / double(forward_rows));
    if (sgemm > 0) {
      ratio_train.push_back(work.train * double(kBatchRows) * 1e-9 / t / sgemm);
      ratio_forward.push_back(work.forward * 1e-9 / forward.back() / sgemm);
    }
  }
  const double t = median(train), f = median(forward);
  std::string line = fmt::format(
      R"({{"bench":"fno","name":"{}","threads":{},"isa":"{}","ms_per_train_step":{:.4g},"ms_adam":{:.4g},"ms_per_forward_state":{:.4g},"gflops_train":{:.4g},"gflops_forward":{:.4g})",
      problem.name, threads, to_string(active_isa()), 1e3 * t, 1e3 * median(adam_time), 1e3 * f,
      work.train * double(kBatchRows) * 1e-9 / t, work.forward * 1e-9 / f);
  if (!ratio_train.empty())
    line += fmt::format(
        R"(,"sgemm_gflops":{:.4g},"ratio_to_sgemm":{:.4g},"ratio_to_sgemm_forward":{:.4g})",
        median(rate), median(ratio_train), median(ratio_forward));
  fmt::print("{}}}\n", line);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = thread_count(argc > 1 ? std::atoi(argv[1]) : 0);
  for (const Problem& problem : {Problem{"burgers", 1, {256}, {32}},
                                 Problem{"kdv", 1, {256}, {256}},
                                 Problem{"ks", 1, {256}, {128}},
                                 Problem{"ins", 1, {32, 32}, {16, 16}},
                                 Problem{"cns", 4, {32, 32}, {32, 32}}})
    measure(problem, threads);
}
