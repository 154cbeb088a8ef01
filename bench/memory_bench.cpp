// What a run keeps in memory beyond its training set (inputs and outputs in double, held once)
// after few and after many bought states; and how long the loop takes to have 8,000 answers of a
// solver that costs nothing on disk. Each measurement is a process of its own. One JSON object a
// line.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "stap/run/by_hand.h"
#include "stap/run/loop.h"
#include "stap/run/run.h"

namespace {

namespace fs = std::filesystem;

// Hands every state on.
class FreeSolver final : public stap::BatchSolver {
 public:
  FreeSolver(const stap::Grid& grid, double dt) : BatchSolver("free", grid, dt) {}

 private:
  void compute(std::span<const stap::Query* const> queries,
               std::span<stap::Answer* const> answers) const override {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      answers[i]->status = stap::Answer::Status::ok;
      answers[i]->states = queries[i]->state;
    }
  }
};

struct Sizes {
  std::string pde, initial_conditions, modes;
  std::size_t pool, initial, rounds, budget;
};

constexpr std::size_t kSteps = 10;

// Buys them all and hands the finished run on.
void run(const Sizes& sizes, const fs::path& folder,
         const std::function<void(const stap::Run&)>& measure) {
  const std::string text = fmt::format(
      "pde: {}\ninitial: {}\n"
      "network: {{modes: {}, width: 1, lifting: 1, projection: 1, layers: 1}}\n"
      "train: {{epochs: 1}}\n"
      "study: {{steps: {}, pool: {}, test: 0, initial: {}, rounds: {}, budget: {}, members: 1}}\n"
      "compute: {{device: cpu}}\nmethod: random\n",
      sizes.pde, sizes.initial_conditions, sizes.modes, kSteps, sizes.pool, sizes.initial,
      sizes.rounds, sizes.budget);
  stap::Study study = stap::make_study(stap::config::parse_yaml(text, "memory_bench"));
  const stap::Grid grid = study.grid;
  auto problem = std::make_shared<stap::Problem>();
  problem->solver = std::make_shared<FreeSolver>(grid, study.dt);
  problem->pool = {stap::States<double>(grid, sizes.pool), "free"};
  for (std::size_t i = 0; i < problem->pool.states.values().size(); ++i)
    problem->pool.states.values()[i] = static_cast<double>(i % 17);
  problem->identity = {.name = "free",
                       .channels = problem->solver->channels(),
                       .grid = grid,
                       .dt = study.dt,
                       .steps = kSteps,
                       .cluster = 1,
                       .pool_sha256 = "free",
                       .test_sha256 = {},
                       .test_trajectories = 0,
                       .pool_file = {},
                       .test_file = {},
                       .data_key = {}};
  stap::Observer quiet;
  std::vector<stap::Run> runs;
  runs.push_back(stap::open_run(std::move(study), folder, std::move(problem), quiet));
  stap::run_loop(runs, 1, quiet);
  measure(runs[0]);
}

// A line of /proc/self/status, in MB.
double megabytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kilobytes = 0;
  while (status >> word)
    if (word == key && status >> kilobytes) break;
  return kilobytes * 1024 / 1e6;
}

void memory_after(const Sizes& sizes, const fs::path& folder) {
  run(sizes, folder, [](const stap::Run& done) {
    const double training =
        static_cast<double>(2 * sizeof(double) * done.transitions.inputs.size()) / 1e6;
    malloc_trim(0);
    const double resident = megabytes("VmRSS:");
    fmt::print(R"({{"bench":"memory","name":"{} states of {}","training_set_megabytes":{:.4g},)"
               R"("megabytes_beyond_it":{:.4g},"at_the_peak":{:.4g}}})"
               "\n",
               done.transitions.count(), done.network.grid.shape_text(), training,
               resident - training, megabytes("VmHWM:") - training);
  });
}

void recording(const Sizes& sizes, const fs::path& folder) {
  run(sizes, folder, [](const stap::Run& done) {
    for (const stap::Timing& timing : done.folder.read_timings())
      if (timing.phase == "initial")
        fmt::print(R"({{"bench":"recording","name":"{} answers of {} through the loop",)"
                   R"("seconds":{:.4g}}})"
                   "\n",
                   done.transitions.count(), done.network.grid.shape_text(), timing.seconds);
  });
}

}  // namespace

int main() {
  const auto gas = [](std::size_t initial, std::size_t rounds, std::size_t budget) {
    return Sizes{"{name: cns}", "{name: gas-waves}", "[2, 2]", initial + 391, initial, rounds,
                 budget};
  };
  const Sizes line{"{name: burgers, points: 64}", "{name: sines}", "[2]", 801, 800, 0, 1};
  const std::vector<std::function<void(const fs::path&)>> measurements{
      [&](const fs::path& f) { memory_after(gas(10, 5, 40), f); },
      [&](const fs::path& f) { memory_after(gas(10, 5, 580), f); },
      [&](const fs::path& f) { recording(line, f); },
      [&](const fs::path& f) { recording(gas(800, 0, 1), f); }};
  std::string folder = (fs::temp_directory_path() / "stap-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  int worst = 0;
  for (const auto& measurement : measurements) {
    const pid_t child = fork();
    if (child == 0) {
      measurement(fs::path(folder) / "run");
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    worst = std::max(worst, status);
    fs::remove_all(fs::path(folder) / "run");
  }
  fs::remove_all(folder);
  return worst == 0 ? 0 : 1;
}
