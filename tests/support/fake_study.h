// A study on a problem made by hand: a fake solver on 8 points, networks of a few weights.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stap/core/hash64.h"
#include "stap/core/rng.h"
#include "stap/run/by_hand.h"
#include "stap/run/loop.h"
#include "stap/run/run.h"
#include "stap/study/presets.h"
#include "support/fake_solver.h"
#include "support/lasting_bytes.h"
#include "support/temporary_folder.h"

namespace stap::test {

/// In a test's body `Run` is GoogleTest's.
using Runs = std::vector<Run>;

/// Takes milliseconds. The section `pde` only says grid and dt.
inline Study fake_study(const std::vector<std::string>& settings = {}) {
  config::Value document = config::parse_yaml(R"(
pde: {name: burgers, points: 8, dt: 0.25}
initial: {name: sines}
network: {modes: [2], width: 4, lifting: 4, projection: 4, layers: 1}
train: {epochs: 4, batch: 4}
study: {steps: 4, pool: 14, test: 3, initial: 2, rounds: 2, budget: 7, checkpoint_epochs: 2}
compute: {device: cpu}
method: sbal+stap(proposals=6)
)",
                                              "the study of the test");
  for (const std::string& setting : settings) apply_setting(document, setting);
  return make_study(std::move(document));
}

/// A pool of states that no float holds, candidate c's value 0 being c, and test trajectories of
/// the fakes' problem where the study wants any.
inline std::shared_ptr<const Problem> fake_problem(const Study& study,
                                                   std::shared_ptr<const Solver> solver) {
  const StudyOptions& o = study.options;
  const Rng rng(5);
  Problem problem{.solver = solver,
                  .pool = {States<double>(study.grid, o.pool), "pool of the fakes"},
                  .test = {},
                  .identity = {}};
  for (std::size_t c = 0; c < o.pool; ++c) {
    problem.pool.states.row(c)[0] = static_cast<double>(c);
    for (std::size_t v = 1; v < study.grid.values(); ++v)
      problem.pool.states.row(c)[v] = rng.split("pool", c).uniform(v) / 3.0;
  }
  if (o.test > 0) {
    TestSet test{States<double>(study.grid, o.test * (o.steps + 1)), o.steps + 1, "test"};
    for (std::size_t b = 0; b < o.test; ++b)
      for (std::size_t t = 0; t <= o.steps; ++t) {
        const auto row = test.states.row(b * test.times + t);
        for (std::size_t v = 0; t == 0 && v < row.size(); ++v)
          row[v] = rng.split("test", b).uniform(v);
        if (t == 0) continue;
        const auto before = std::as_const(test.states).row(b * test.times + t - 1);
        const auto next = fake_next(before, static_cast<double>(t - 1) * study.dt);
        std::copy(next.begin(), next.end(), row.begin());
      }
    problem.test = std::move(test);
  }
  problem.identity = {.name = solver->name(),
                      .channels = solver->channels(),
                      .grid = study.grid,
                      .dt = study.dt,
                      .steps = o.steps,
                      .cluster = 1,
                      .pool_sha256 = problem.pool.sha256,
                      .test_sha256 = problem.test ? problem.test->sha256 : "",
                      .test_trajectories = o.test,
                      .pool_file = {},
                      .test_file = {},
                      .data_key = {}};
  return std::make_shared<const Problem>(std::move(problem));
}

/// Trouble of every kind with this probability, decided by the state.
inline Judge trouble_by_state(double probability) {
  return [probability](std::span<const double> state, double) {
    const Rng rng(hash64(std::as_bytes(state)));
    if (rng.uniform(0) >= probability) return Fate::ok;
    constexpr Fate kinds[] = {Fate::refused, Fate::failed, Fate::not_finite, Fate::wrong_size};
    return kinds[rng.split("kind").below(0, 4)];
  };
}

/// Makes every step, whoever made the state.
inline std::shared_ptr<FarSolver> willing_solver(const Study& study, Manners manners = {}) {
  return std::make_shared<FarSolver>(study.grid, study.dt, trouble_by_state(0.0),
                                     std::move(manners));
}

/// Opens the folder and drives it, on one thread.
inline LoopEnd drive_fake(const Study& study, const std::string& folder,
                          std::shared_ptr<const Solver> solver, const StopAsked& stop = {}) {
  Observer quiet;
  Runs runs;
  runs.push_back(open_run(study, folder, fake_problem(study, std::move(solver)), quiet));
  return run_loop(runs, 1, quiet, stop);
}

}  // namespace stap::test
