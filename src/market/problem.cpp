#include "stap/market/problem.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "market/data_source.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"
#include "stap/market/generate.h"
#include "stap/study/data_check.h"
#include "stap/study/data_request.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

void check_solver(const Study& study, const Solver& solver) {
  const auto text = [](const Grid& grid) {
    return fmt::format(
        "{} on lengths [{}]{}", grid.shape_text(), fmt::join(grid.lengths, ", "),
        grid.walled() ? fmt::format(" with walls [{}]", fmt::join(wall_names(grid), ", ")) : "");
  };
  if (!(solver.grid() == study.grid))
    throw Error(ErrorKind::config,
                fmt::format("{} works on states of {}, but the study's are {}", solver.name(),
                            text(solver.grid()), text(study.grid)));
  if (solver.dt() != study.dt)
    throw Error(ErrorKind::config, fmt::format("{} makes steps of {}, but the study's are {}",
                                               solver.name(), solver.dt(), study.dt));
}

}  // namespace

bool data_are_made(const Study& study) {
  const DataRequest request = data_request(study);
  if (request.pool == 0 && request.test == 0) return true;
  const fs::path cache = cache_folder();
  return !cache.empty() && is_generated(request, cache / data_key(request));
}

namespace {

// Warns of a file that another solver has made.
void check_file(const std::filesystem::path& file, const Solver& solver, Observer& observer) {
  const std::string name =
      check_described(file, solver.grid(), solver.dt(), "the study", solver.channels());
  if (!name.empty() && name != solver.name())
    observer.warning(fmt::format("{} was made by {}, the study's solver is {}", file.string(), name,
                                 solver.name()));
}

Problem make_problem(const Study& study, std::shared_ptr<const Solver> solver, DataRequest request,
                     Observer& observer, const StopAsked& stop,
                     AskForData ask = AskForData::anybody) {
  check_solver(study, *solver);
  const StudyOptions& o = study.options;
  Problem problem;
  problem.identity.name = solver->name();
  problem.identity.channels = solver->channels();
  problem.identity.grid = solver->grid();
  problem.identity.dt = solver->dt();
  problem.identity.parameters = solver->parameters();
  problem.identity.steps = o.steps;
  problem.identity.fixed_sha256 = sha256_of(solver->fixed());
  problem.identity.cluster = o.cluster;
  const std::vector<ParameterDraw> varied = varied_parameters(study.pde);
  if (!study.initial_file.empty()) {
    check_file(study.initial_file, *solver, observer);
    problem.pool =
        read_pool(study.initial_file, solver->grid(), o.cluster, o.pool, solver->parameters());
    check_ranges(study.initial_file, problem.pool.parameters, varied);
    problem.identity.pool_file = study.initial_file.string();
  }
  if (!study.test_file.empty()) {
    check_file(study.test_file, *solver, observer);
    problem.test = read_test_set(study.test_file, solver->grid(), o.cluster + o.steps, o.test,
                                 solver->parameters());
    check_ranges(study.test_file, problem.test->parameters, varied);
    problem.identity.test_file = study.test_file.string();
  }
  fill_data(problem, study, solver, std::move(request), observer, stop, ask);
  if (!study.first_file.empty()) {
    check_file(study.first_file, *solver, observer);
    FirstTransitions first =
        read_first(study.first_file, solver->grid(), o.cluster, o.pattern_steps(),
                   problem.pool.states.count(), study.network.time_input, solver->parameters());
    check_ranges(study.first_file, first.set.parameters, varied);
    if (first.left_out > 0)
      observer.warning(
          fmt::format("{}: {} transitions behind step {} are left out, since "
                      "network.time_input is on",
                      study.first_file.string(), first.left_out, o.steps));
    problem.first = std::move(first.set);
    problem.identity.first_sha256 = first.sha256;
    problem.identity.first_file = study.first_file.string();
  }
  const SharedFixedFields fixed = solver->fixed();
  clear_masked(fixed.get(), problem.pool.states.values());
  if (problem.test) clear_masked(fixed.get(), problem.test->states.values());
  clear_masked(fixed.get(), problem.first.inputs);
  clear_masked(fixed.get(), problem.first.outputs);
  problem.identity.pool_sha256 = problem.pool.sha256;
  if (problem.test) {
    problem.identity.test_sha256 = problem.test->sha256;
    problem.identity.test_trajectories = problem.test->trajectories();
  }
  problem.solver = o.cluster > 1
                       ? std::shared_ptr<const Solver>(make_clustered_solver(solver, o.cluster))
                       : solver;
  return problem;
}

}  // namespace

Problem make_problem(const Study& study, std::shared_ptr<const Solver> solver, Observer& observer,
                     const StopAsked& stop) {
  DataRequest request = data_request(study);
  if (!request.foreign && solver->name() != study.pde.row->name) request.solver = solver->name();
  return make_problem(study, std::move(solver), std::move(request), observer, stop);
}

Problem make_problem(const Study& study, int threads, Observer& observer, const StopAsked& stop) {
  return make_problem(study, make_solver(study, threads), data_request(study), observer, stop);
}

Problem make_problem_alone(const Study& study, int threads, Observer& observer,
                           const StopAsked& stop) {
  std::shared_ptr<const Solver> solver =
      study.pde.row->outline ? make_by_hand_solver(study.pde.row->outline(study.pde.options), {})
                             : make_solver(study, threads);
  return make_problem(study, std::move(solver), data_request(study), observer, stop,
                      AskForData::no_program);
}

}  // namespace stap
