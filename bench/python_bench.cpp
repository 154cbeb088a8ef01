// What Python costs: rollouts of 64 rows by the package beside the library's own, on one core, for
// the five paper-size networks; and a query to a solver that is a function of the calling process.
//
// Usage: python_bench [PYTHON]        one JSON object a line; PYTHON (/usr/bin/python3) has NumPy.
// PYTHONPATH, STAP_PROGRAM and STAP_LIBRARIES, where set, say which package, else the source
// tree's.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "paper_networks.h"
#include "stap/core/rng.h"
#include "stap/eval/rollout.h"
#include "stap/folder/model_of.h"
#include "stap/nn/model_file.h"

namespace stap {
namespace {

constexpr std::size_t kRows = 64, kSteps = 8;
constexpr int kTurns = 3;

// Of this thread: what neighbours take of the core does not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// What a shell command prints: a number of seconds; infinite where it fails.
double said(const std::string& command) {
  FILE* output = popen(command.c_str(), "r");
  double seconds = 0.0;
  const bool good = output != nullptr && std::fscanf(output, "%lf", &seconds) == 1;
  return (output != nullptr && pclose(output) == 0 && good)
             ? seconds
             : std::numeric_limits<double>::infinity();
}

void rollouts(const bench::Problem& problem, const std::string& python,
              const std::filesystem::path& file) {
  Model model{.spec = bench::shape_of(problem)};
  for (std::uint64_t m = 0; m < 2; ++m)
    model.members.push_back(
        fresh_member(model.spec, unit_scaling(problem.channels), Rng(1).split("member", m)));
  write_model(file, model);
  Surrogate same = load_surrogate(file, {.device = ComputeOptions::Device::cpu}, 1);
  States<float> states(same.grid(), kRows);
  for (std::size_t i = 0; i < states.values().size(); ++i)
    states.values()[i] = static_cast<float>(Rng(2).normal(i));
  std::vector<float> made(states.values().size() * kSteps);
  const auto own = [&] {
    const double start = now();
    roll_out(*same.committee, states.view(), kMean, kSteps, kRows,
             [&](std::size_t step, std::size_t first, StatesView<const float> block) {
               for (std::size_t r = 0; r < block.count; ++r)
                 std::ranges::copy(block.row(r), made.begin() + static_cast<std::ptrdiff_t>(
                                                                    ((first + r) * kSteps + step) *
                                                                    block.row_size));
             });
    return now() - start;
  };

  double library = std::numeric_limits<double>::infinity(), package = library;
  for (int turn = 0; turn < kTurns; ++turn) {
    library = std::min({library, own(), own(), own()});
    package = std::min(
        package, said(fmt::format("{} rollout '{}' {} {}", python, file.string(), kRows, kSteps)));
  }
  fmt::print(R"({{"bench":"python","name":"rollout {}","rows":{},"steps":{},"library_ms":{:.2f},)"
             R"("package_ms":{:.2f},"ratio":{:.3f}}})"
             "\n",
             problem.name, kRows, kSteps, 1e3 * library, 1e3 * package, package / library);
}

}  // namespace
}  // namespace stap

int main(int count, char** words) {
  namespace fs = std::filesystem;
  const fs::path here = fs::canonical("/proc/self/exe").parent_path();
  const fs::path source = STAP_BENCH_SOURCE_DIR;
  setenv("PYTHONPATH", (source / "../interfaces/python").c_str(), 0);
  setenv("STAP_PROGRAM", (here / "../stap").c_str(), 0);
  setenv("STAP_LIBRARIES", (here / "../python").c_str(), 0);
  const std::string python = fmt::format("{} -B '{}'", count > 1 ? words[1] : "/usr/bin/python3",
                                         (source / "python_bench.py").string());
  if (std::system((python + " there").c_str()) != 0) {
    fmt::print(stderr, "python_bench: there is no python3 with NumPy\n");
    return 0;
  }
  const fs::path file = fs::temp_directory_path() /
                        fmt::format("stap-bench-{}.safetensors", static_cast<long>(std::time({})));
  for (const stap::bench::Problem& problem : stap::bench::paper_networks())
    stap::rollouts(problem, python, file);
  fs::remove(file);
  std::fflush(stdout);
  return std::system((python + " queries").c_str()) == 0 ? 0 : 1;
}
