// One step of one state, on one core: stap_model.c, compiled with and without AVX2, beside the CPU
// engine, for the five paper-size networks and dilated ones on their grids; and the adjoint of a
// step.
//
// Usage: model_bench                              one JSON object a line (STAP_ISA=avx2 for an
//                                                 engine that has no more than the C code)
#include <dlfcn.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "paper_networks.h"
#include "stap/core/isa.h"
#include "stap/core/rng.h"
#include "stap/nn/engine.h"
#include "stap/nn/model_file.h"
#include "stap_model.h"

namespace stap {
namespace {

// Of this thread, which does all of the work: what neighbours take of the core does not count.
double seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

// The code of one compilation, with a model open.
struct Compiled {
  Compiled(const char* library, const std::string& path) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto load = [&]<class F>(F* function, const char* name) {
      *function = reinterpret_cast<F>(dlsym(handle, name));
    };
    decltype(&stap_model_open) open;
    decltype(&stap_model_work) make_work;
    load(&open, "stap_model_open");
    load(&make_work, "stap_model_work");
    load(&step, "stap_model_step");
    load(&adjoint, "stap_model_adjoint");
    model = open(path.c_str(), nullptr, 0);
    work = make_work(model);
  }
  double one_step(std::vector<double>& to, const std::vector<double>& from) const {
    return model == nullptr ? 0.0
                            : seconds([&] { step(model, work, 0, 0, from.data(), to.data()); });
  }

  stap_model* model = nullptr;  // benchmarks end before it would matter that nobody closes it
  stap_work* work = nullptr;
  decltype(&stap_model_step) step = nullptr;
  decltype(&stap_model_adjoint) adjoint = nullptr;
};

void measure(const bench::Problem& problem, const NetworkSpec& spec) {
  const MemberState member = fresh_member(spec, unit_scaling(problem.channels), Rng(1));
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("stap-model-bench-{}", problem.name);
  write_model(path, {spec, {member}});
  const Compiled fast(STAP_MODEL_FAST, path), plain(STAP_MODEL_DEFAULT, path);
  std::filesystem::remove(path);
  const auto engine = make_cpu_engine(spec, 1, 1);
  engine->load(0, member);
  const auto committee = engine->committee({0});
  States<float> state(spec.grid, 1);
  for (std::size_t i = 0; i < state.values().size(); ++i)
    state.values()[i] = static_cast<float>(Rng(2).normal(i));
  const RowsId from = committee->rows(1), to = committee->rows(1);
  committee->put(from, 0, state.view());
  const std::vector<std::size_t> row{0};
  const std::vector<int> which{0};
  const std::vector<double> u(state.values().begin(), state.values().end());
  std::vector<double> made(u.size());

  // In turns, so that a busy neighbour slows all; medians of the ratios.
  std::vector<double> ours, avx2, sse, back, ratio, plain_ratio;
  for (int i = 0; i < 41; ++i) {
    const double e = seconds([&] { committee->advance(from, row, which, to, row); });
    const double c = fast.one_step(made, u), p = plain.one_step(made, u);
    const Compiled& best = fast.model != nullptr ? fast : plain;
    back.push_back(seconds(
        [&] { best.adjoint(best.model, best.work, 0, 0, u.data(), u.data(), made.data()); }));
    ours.push_back(e);
    avx2.push_back(c);
    sse.push_back(p);
    ratio.push_back(c / e);
    plain_ratio.push_back(p / e);
  }
  fmt::print(
      R"({{"bench":"model","name":"{}","family":"{}","isa":"{}","ms_engine":{:.3g},"ms_c_avx2":{:.3g},"ms_c_default":{:.3g},"ms_c_adjoint":{:.3g},"ratio_avx2":{:.3g},"ratio_default":{:.3g}}})"
      "\n",
      problem.name, spec.family.row->name, to_string(active_isa()), 1e3 * bench::median(ours),
      1e3 * bench::median(avx2), 1e3 * bench::median(sse), 1e3 * bench::median(back),
      bench::median(ratio), bench::median(plain_ratio));
  std::fflush(stdout);
}

}  // namespace
}  // namespace stap

int main() {
  for (const stap::bench::Problem& problem : stap::bench::paper_networks()) {
    stap::measure(problem, stap::bench::shape_of(problem));
    stap::measure(problem, stap::bench::dilated_on(problem));
  }
  return 0;
}
