// What the data of the benchmark problems cost: for every preset as-coded/*, and for its faster
// scheme where there is one, learned steps per second and core, microseconds per internal step, the
// share of the transforms, and the minutes that the whole pool (warm-ups) and test set would take
// on `threads` cores, from a sample of rows. Each is measured in a process of its own, so that the
// peak of memory is its own.
//
// Internal steps are counted from outside: `max_steps` is the number a row may make before it
// fails, so the smallest one that suffices is the number it makes. The share of the transforms is
// the time of the same number of transforms of the same shape alone, on one core, by that of the
// solver; how many there are in an internal step follows from the scheme (see transforms_of).
//
// Usage: solver_bench [seconds per measurement] [threads]     one JSON object a line
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "stap/core/error.h"
#include "stap/core/fft.h"
#include "stap/core/isa.h"
#include "stap/core/warm_up.h"
#include "stap/market/problem.h"
#include "stap/study/data_request.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap {
namespace {

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Real transforms, forward or inverse, over the whole grid in one internal step; 0 for schemes
// without any.
double transforms_of(const config::Value& pde) {
  const auto is = [&](const char* key, const char* value) {
    const config::Value* found = pde.find(key);
    return found != nullptr && found->text() != nullptr && *found->text() == value;
  };
  // Runge-Kutta pair of six new stages, u^2 there and back in each; once more for the error norm.
  if (is("name", "kdv") && is("scheme", "dopri5")) return 13;
  // Four stages, u^2 there and back.
  if (is("name", "kdv") || is("name", "ks")) return 8;
  // Velocity and gradient back, their product there: 5; four stages of it.
  if (is("name", "ins")) return is("scheme", "crank_nicolson") ? 5 : 20;
  return 0;
}

// Seconds of one real transform of one row, rows in the lanes as in the solvers. In two dimensions
// along y for every x, then along x.
double transform_seconds(const Grid& grid) {
  const std::size_t lanes = active_isa() == Isa::avx512 ? 8 : active_isa() == Isa::avx2 ? 4 : 2;
  const std::size_t n = grid.points.back(), kept = n / 2 + 1;
  const std::size_t outer = grid.axes() == 2 ? grid.points[0] : 1;
  const Fft<double> along_last(n), along_first(outer);
  std::vector<double> in(outer * n * lanes, 0.5), re(outer * kept * lanes), im(re.size());
  std::vector<double> scratch(std::max(along_last.scratch_size(), along_first.scratch_size()));
  const auto once = [&] {
    for (std::size_t x = 0; x < outer; ++x)
      along_last.real_forward(&in[x * n * lanes], lanes, &re[x * kept * lanes],
                              &im[x * kept * lanes], lanes, lanes, kept, scratch.data());
    if (outer > 1)
      along_first.forward(re.data(), im.data(), kept * lanes, re.data(), im.data(), kept * lanes,
                          kept * lanes, scratch.data());
    std::fill(re.begin(), re.end(), 0.5);  // sums of sums would overflow
  };
  double best = 1e300;
  for (int repeat = 0; repeat < 5; ++repeat)
    best = std::min(best, seconds([&] {
                            for (int i = 0; i < 200; ++i) once();
                          }) / 200);
  return best / static_cast<double>(lanes);
}

std::vector<Answer> advance(const Solver& solver, const States<double>& states, std::size_t n) {
  std::vector<Query> queries(n);
  std::vector<Answer> answers(n);
  for (std::size_t i = 0; i < n; ++i)
    queries[i] = {.id = i, .state = {states.row(i).begin(), states.row(i).end()}};
  solver.solve(queries, answers);
  return answers;
}

// Internal steps of one learned step, the mean over the first rows.
double internal_steps(const config::Choice<PdeRow>& pde, const States<double>& states) {
  constexpr std::size_t kRows = 4;
  double sum = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    States<double> state(states.grid(), 1);
    std::copy(states.row(row).begin(), states.row(row).end(), state.row(0).begin());
    const auto enough = [&](std::size_t most) {
      try {
        const auto solver = make_solver({pde.row, pde.options.with("max_steps", most)}, 1);
        return advance(*solver, state, 1)[0].status == Answer::Status::ok;
      } catch (const Error&) {  // schemes of fixed steps know beforehand
        return false;
      }
    };
    std::size_t low = 0, high = 1;
    while (!enough(high)) low = high, high *= 2;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (enough(middle) ? high : low) = middle;
    }
    sum += static_cast<double>(high);
  }
  return sum / kRows;
}

// Seconds per row of work(n), for as many rows as it takes to fill the time.
double per_row(double fill, std::size_t first, const std::function<void(std::size_t)>& work) {
  for (std::size_t n = first;;) {
    const double took = seconds([&] { work(n); });
    if (took >= fill / 2) return took / static_cast<double>(n);
    const double more = std::clamp(fill / std::max(took, 1e-6), 2.0, 64.0);
    n = static_cast<std::size_t>(static_cast<double>(n) * more);
  }
}

struct Benchmark {
  std::string preset;
  std::vector<std::string> settings;  // laid over it

  std::string name() const {
    return settings.empty() ? preset : fmt::format("{} {}", preset, fmt::join(settings, " "));
  }
};

// The presets, and those whose equation has a faster scheme once more with it.
std::vector<Benchmark> problems() {
  std::vector<Benchmark> all;
  for (const Preset& preset : presets()) {
    if (!preset.name.starts_with("as-coded/")) continue;
    all.push_back({preset.name, {}});
    if (preset.name == "as-coded/kdv") all.push_back({preset.name, {"pde.scheme=etdrk4"}});
    if (preset.name == "as-coded/ins")
      all.push_back({preset.name, {"pde.scheme=ifrk4", "pde.step=0.05"}});
  }
  return all;
}

void measure(const Benchmark& problem, double fill, int threads) {
  config::Value document = load_config(problem.preset);
  for (const std::string& setting : problem.settings) apply_setting(document, setting);
  const Study study = make_study(std::move(document));
  const DataRequest request = data_request(study);
  const std::shared_ptr<const Solver> solver = make_solver(study, threads);
  const auto one_core = make_solver(study, 1);
  const auto sampler = make_sampler(study, solver->grid());
  const auto warm_up_solver =
      sampler->warm_up() > 0 ? make_warm_up_solver(solver, sampler->warm_up()) : nullptr;
  const auto initial = [&](std::size_t first, std::size_t n) {
    const Rng stream = Rng(request.data_seed).split("pool");
    States<double> states(solver->grid(), n);
    for (std::size_t i = 0; i < n; ++i) sampler->draw(stream, first + i, states.row(i));
    if (!warm_up_solver) return states;
    const std::vector<Answer> warm = advance(*warm_up_solver, states, n);
    for (std::size_t i = 0; i < n; ++i)
      std::copy(warm[i].states.begin(), warm[i].states.end(), states.row(i).begin());
    return states;
  };
  const std::size_t rows = 8 * static_cast<std::size_t>(threads);

  const States<double> sample = initial(0, std::max<std::size_t>(32, rows));
  std::size_t measured = 0;
  const double warm_up = per_row(fill, rows, [&](std::size_t n) {
    for (std::size_t first = 0; first < n; first += sample.count())
      initial(first, std::min(sample.count(), n - first));
    measured = n;
  });
  const auto steps_of = [&](const Solver& by) {
    return per_row(fill, sample.count(), [&](std::size_t n) {
      for (std::size_t done = 0; done < n; done += sample.count())
        advance(by, sample, std::min(sample.count(), n - done));
    });
  };
  const double step = steps_of(*solver), step_one_core = steps_of(*one_core);
  const double units = internal_steps(study.pde, sample);
  const double transforms = transforms_of(*study.effective.find("pde"));
  const double share =
      transforms * units * (transforms > 0 ? transform_seconds(solver->grid()) : 0) / step_one_core;
  const double pool_minutes = static_cast<double>(request.pool) * warm_up / 60;
  const double test_minutes = static_cast<double>(request.test) *
                              (warm_up + static_cast<double>(request.steps) * step) / 60;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      R"({{"bench":"solver","name":"{}","threads":{},"grid":"{}","states_per_second_core":{:.4g},"internal_steps":{:.4g},"us_per_internal_step":{:.4g},"transform_share":{},"warm_ups_measured":{},"ms_warm_up":{:.4g},"minutes_pool":{:.3g},"minutes_test":{:.3g},"peak_mib":{:.0f}}})"
      "\n",
      problem.name(), threads, solver->grid().shape_text(), 1 / step_one_core, units,
      1e6 * step_one_core / units, transforms > 0 ? fmt::format("{:.2f}", share) : "null", measured,
      1e3 * warm_up, pool_minutes, test_minutes, static_cast<double>(usage.ru_maxrss) / 1024);
  std::fflush(stdout);
}

// True if the child ended well.
bool in_own_process(const Benchmark& problem, double fill, int threads) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      measure(problem, fill, threads);
      _exit(0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "solver_bench: {}: {}\n", problem.name(), error.what());
      _exit(1);
    }
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  const double fill = argc > 1 ? std::atof(argv[1]) : 4.0;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  if (!(fill > 0) || threads < 1) {
    std::fputs("solver_bench: expected seconds above 0 and at least 1 thread\n", stderr);
    return 2;
  }
  bool ok = true;
  for (const stap::Benchmark& problem : stap::problems())
    ok = stap::in_own_process(problem, fill, threads) && ok;
  return ok ? 0 : 1;
}
