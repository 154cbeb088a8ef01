// The five paper-size networks, and dilated ones on the same grids: a training step (batch 32, Adam
// apart) and a forward pass, in useful GFLOP/s and as a ratio to this machine's sgemm (1024^3, same
// threads) measured in between.
//
// Usage: fno_bench [threads]                    one JSON object a line
//        fno_bench --peer NAME FILE [threads]    for bench/peers: writes one network, a batch and
//        our
//          results to FILE (safetensors), then answers each line read with the ms of one more step
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/parallel.h"
#include "nn/cpu/gradient.h"
#include "nn/cpu/member.h"
#include "nn/safetensors.h"
#include "paper_networks.h"
#include "stap/core/rng.h"
#include "stap/nn/engine.h"
#if defined(STAP_HAVE_OPENBLAS)
#include <cblas.h>
extern "C" void openblas_set_num_threads(int);
#endif

namespace stap {
namespace {

using bench::median;
using bench::paper_networks;
using bench::Problem;
using bench::shape_of;
using bench::useful_work;
using bench::Work;

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

// A network with fresh weights and a batch of random states, ready to step.
struct Trial {
  Trial(const NetworkSpec& spec, int thread_count)
      : threads(thread_count),
        shape(spec),
        state(fresh_member(shape, unit_scaling(spec.grid.channels), Rng(1))),
        net(shape, active_isa()),
        member(net),
        inputs(shape.grid, kBatchRows),
        targets(shape.grid, kBatchRows),
        pass(net, 1, thread_count) {
    net.body->pack(state.weights, member.weights.data());
    for (std::size_t i = 0; i < inputs.values().size(); ++i) {
      inputs.values()[i] = float(Rng(2).normal(i));
      targets.values()[i] = float(Rng(3).normal(i));
    }
    batch.member = member.view();
    batch.rows = kBatchRows;
    for (std::size_t r = 0; r < kBatchRows; ++r) {
      batch.inputs[r] = inputs.row(r).data();
      batch.targets[r] = targets.row(r).data();
    }
  }

  void step() { pass.run({&batch, 1}); }

  void adam() {
    constexpr std::size_t slice = 16384;
    const cpu::AdamStep update{1e-3f, 0.9f, 0.999f, 1.0f, 1e-8f};
    parallel_for(threads, (net.body->size() + slice - 1) / slice, [&](std::size_t s, int) {
      const std::size_t at = s * slice;
      net.kernels.adam(std::min(slice, net.body->size() - at), update, pass.gradient(0) + at,
                       member.weights.data() + at, member.moment1.data() + at,
                       member.moment2.data() + at);
    });
  }

  int threads;
  NetworkSpec shape;
  MemberState state;
  cpu::Network net;
  cpu::Member member;
  States<float> inputs, targets;
  cpu::GradientPass pass;
  cpu::Batch batch;
};

// Rows advanced by one member, over and over from the same states.
struct Rollout {
  explicit Rollout(const Trial& trial) : engine(make_cpu_engine(trial.shape, 1, trial.threads)) {
    engine->load(0, trial.state);
    committee = engine->committee({0});
    from = committee->rows(kRows);
    to = committee->rows(kRows);
    for (std::size_t r = 0; r < kRows; ++r) index.push_back(r);
    for (std::size_t r = 0; r < kRows; r += kBatchRows)
      committee->put(from, r, trial.inputs.view());
  }
  void advance() { committee->advance(from, index, which, to, index); }

  static constexpr std::size_t kRows = 2 * kBatchRows;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Committee> committee;
  RowsId from{}, to{};
  std::vector<std::size_t> index;
  std::vector<int> which = std::vector<int>(kRows, 0);
};

void measure(const std::string& name, const NetworkSpec& shape, int threads) {
  Trial trial(shape, threads);
  Rollout rollout(trial);
  const Work work = useful_work(trial.shape);

  // In turns with the yardstick, so that a busy neighbour slows both; medians of the ratios.
  std::vector<double> train, adam, forward, rate, ratio_train, ratio_forward;
  trial.step();
  for (int i = 0; i < 9; ++i) {
    rate.push_back(sgemm_rate(threads));
    train.push_back(seconds([&] { trial.step(); }));
    adam.push_back(seconds([&] { trial.adam(); }));
    forward.push_back(seconds([&] { rollout.advance(); }) / double(Rollout::kRows));
    if (rate.back() > 0) {
      const double unit = 1e-9 / rate.back();
      ratio_train.push_back(work.train * double(kBatchRows) * unit / train.back());
      ratio_forward.push_back(work.forward * unit / forward.back());
    }
  }
  const double t = median(train), f = median(forward);
  std::string line = fmt::format(
      R"({{"bench":"{}","name":"{}","threads":{},"isa":"{}","ms_per_train_step":{:.4g},"ms_adam":{:.4g},"ms_per_forward_state":{:.4g},"gflops_train":{:.4g},"gflops_forward":{:.4g})",
      shape.family.row->name, name, threads, to_string(active_isa()), 1e3 * t, 1e3 * median(adam),
      1e3 * f, work.train * double(kBatchRows) * 1e-9 / t, work.forward * 1e-9 / f);
  if (!ratio_train.empty())
    line += fmt::format(
        R"(,"sgemm_gflops":{:.4g},"ratio_to_sgemm":{:.4g},"ratio_to_sgemm_forward":{:.4g})",
        median(rate), median(ratio_train), median(ratio_forward));
  fmt::print("{}}}\n", line);
  std::fflush(stdout);
}

// What walls cost beside a ring of as many points as they have with their padding (32 x 32 and a
// quarter more per axis): medians of steps made in turns.
void measure_padding(int threads) {
  NetworkOptions options{.target = NetworkOptions::Target::state,
                         .family = fno({.modes = {16, 16}})};
  const Grid grid = make_grid(1, {32, 32}, {1.0, 1.0});
  Trial walls(make_network(with_walls(grid, {"centres", "centres"}), options), threads);
  Trial ring(make_network(make_grid(1, {40, 40}, {1.0, 1.0}), options), threads);
  std::vector<double> padded, plain, ratio;
  for (int i = 0; i < 10; ++i) {
    const double a = seconds([&] { walls.step(); }), b = seconds([&] { ring.step(); });
    if (i == 0) continue;  // memory is touched for the first time
    padded.push_back(a), plain.push_back(b), ratio.push_back(a / b);
  }
  fmt::print(
      R"({{"bench":"padding","threads":{},"ms_per_train_step":{:.4g},"ms_ring_of_as_many":{:.4g},"ratio":{:.4g}}}
)",
      threads, 1e3 * median(padded), 1e3 * median(plain), median(ratio));
}

// Hands a peer all it needs to do the same step, then steps when told to.
void serve_peer(const Problem& problem, const std::string& path, int threads) {
  Trial trial(shape_of(problem), threads);
  trial.step();
  TensorFile file;
  std::vector<std::size_t> states{kBatchRows, problem.channels};
  states.insert(states.end(), problem.points.begin(), problem.points.end());
  auto add_states = [&](const std::string& name, const States<float>& s) {
    file.tensors.push_back({name, states, {s.values().begin(), s.values().end()}});
  };
  add_states("x", trial.inputs);
  add_states("y", trial.targets);
  for (const Tensor& t : trial.state.weights)
    file.tensors.push_back({"weights/" + t.name, t.shape, t.values});
  Parameters gradient = zero_parameters(trial.shape);
  trial.net.body->unpack(trial.pass.gradient(0), gradient);
  for (const Tensor& t : gradient)
    file.tensors.push_back({"gradient/" + t.name, t.shape, t.values});
  Rollout rollout(trial);
  rollout.advance();
  States<float> out(trial.shape.grid, kBatchRows);
  rollout.committee->get(rollout.to, 0, out.view());
  add_states("out", out);
  write_tensors(path, file);

  fmt::print("{{\"threads\":{},\"layers\":{},\"modes\":[{}]}}\n", threads,
             fno_options(trial.shape.family)->layers, fmt::join(problem.modes, ","));
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    fmt::print("{}\n", 1e3 * seconds([&] { trial.step(); }));
    std::fflush(stdout);
  }
}

int run(const std::vector<std::string>& arguments) {
  const bool peer = !arguments.empty() && arguments[0] == "--peer";
  const std::size_t rest = peer ? 3 : 0;
  const int threads =
      thread_count(arguments.size() > rest ? std::atoi(arguments[rest].c_str()) : 0);
  if (!peer) measure_padding(threads);
  for (const Problem& problem : paper_networks()) {
    if (!peer) measure(problem.name, shape_of(problem), threads);
    if (peer && arguments.size() >= 3 && problem.name == arguments[1])
      serve_peer(problem, arguments[2], threads);
  }
  for (const std::size_t p : {0, 3, 4})  // KdV's and KS's grids are Burgers'
    if (!peer) measure(paper_networks()[p].name, dilated_on(paper_networks()[p]), threads);
  return 0;
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  return stap::run({argv + 1, argv + argc});
}
