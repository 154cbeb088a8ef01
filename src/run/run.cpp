#include "stap/run/run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "run/phases.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/run/claim.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Throws unless the problem is one that the study can be made on.
void check_fits(const Study& study, const Problem& problem) {
  const StudyOptions& o = study.options;
  const Grid clusters = cluster_grid(problem.identity.grid, o.cluster);
  const auto refuse = [](const std::string& what) { throw Error(ErrorKind::config, what); };
  if (!(problem.solver->grid() == clusters))
    refuse(fmt::format("the problem's solver works on states of {}, but the study's are {}",
                       problem.solver->grid().shape_text(), clusters.shape_text()));
  if (!(problem.pool.states.grid() == clusters) || problem.pool.states.count() != o.pool)
    refuse(fmt::format("the problem's pool has {} states of {}, but the study wants {} of {}",
                       problem.pool.states.count(), problem.pool.states.grid().shape_text(), o.pool,
                       clusters.shape_text()));
  if (problem.test && problem.test->times != o.cluster + o.steps)
    refuse(
        fmt::format("the problem's test trajectories have {} times, but the study's {} steps "
                    "from {} states are {}",
                    problem.test->times, o.steps, o.cluster, o.cluster + o.steps));
}

Manifest manifest_of(const Study& study, const Problem& problem) {
  Manifest manifest = this_machine();
  manifest.device = device_text(study.compute);
  manifest.solver = problem.identity.name;
  manifest.seed = study.options.seed;
  manifest.data_seed = study.options.data_seed;
  manifest.identity = to_value(problem.identity);
  return manifest;
}

// Everything that acquisitions before this one have chosen.
void mark_used(Run& run) {
  const StudyOptions& o = run.study.options;
  const auto mark = [&](const Plan& plan) {
    for (const Purchase& p : plan.purchases) run.used[p.candidate] = 1;
  };
  mark(initial_plan(o));
  for (std::size_t round = 0; round + 1 < run.transitions.acquisitions; ++round)
    for (std::size_t pass = 1; pass <= run.folder.passes(round); ++pass)
      mark(run.folder.read_plan(round, pass, o.pool, o.pattern_steps()));
}

// Weights of this round: finished, half trained, or fresh.
void load_training(Run& run) {
  run.members.clear();
  run.epochs_done = 0;
  const StudyOptions& o = run.study.options;
  if (std::optional<Model> model = run.folder.read_networks(run.round)) {
    if (model->shape != run.shape || model->cluster != o.cluster ||
        model->members.size() != static_cast<std::size_t>(o.members))
      throw Error(ErrorKind::data, fmt::format("{} holds networks of another shape",
                                               run.folder.round_folder(run.round).string()));
    run.members = std::move(model->members);
    const std::size_t batch = run.study.train.batch, rows = training_rows(run).size();
    const auto steps_per_epoch = static_cast<std::int64_t>((rows + batch - 1) / batch);
    run.epochs_done = static_cast<int>(run.members[0].steps / steps_per_epoch);
    return;
  }
  for (int m = 0; m < o.members; ++m)
    run.members.push_back(
        fresh_member(run.shape, run.scaling,
                     run.stream("weights").split("member", static_cast<std::uint64_t>(m))));
}

Run::Phase after_evaluation(const Run& run) {
  return run.round < run.study.options.rounds ? Run::Phase::acquire : Run::Phase::done;
}

}  // namespace

Rng Run::stream(std::string_view purpose) const {
  return Rng(study.options.seed).split(purpose, round);
}

bool Run::held_back(std::size_t candidate) const {
  const StudyOptions& o = study.options;
  return o.validation > 0 && Rng(o.seed).split("validation").uniform(candidate) < o.validation;
}

Plan initial_plan(const StudyOptions& o) {
  std::vector<std::uint32_t> order;
  shuffle(Rng(o.seed).split("initial"), o.pool, order);
  Plan plan;
  for (std::size_t i = 0; i < o.initial; ++i)
    plan.purchases.push_back({order[i], Pattern(o.pattern_steps(), true)});
  return plan;
}

std::vector<std::size_t> training_rows(const Run& run) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < run.transitions.count(); ++i)
    if (!run.held_back(run.transitions.origins[i].candidate)) rows.push_back(i);
  return rows;
}

Run open_run(Study study, fs::path folder, std::shared_ptr<const Problem> problem,
             Observer& observer) {
  check_fits(study, *problem);
  FnoShape shape = make_shape(problem->solver->grid(), study.network);
  ClaimedFolder claimed =
      claim(RunFolder(std::move(folder)), study.effective, manifest_of(study, *problem), observer);
  const std::size_t pool = study.options.pool;
  Run run{.study = std::move(study),
          .folder = std::move(claimed.folder),
          .problem = std::move(problem),
          .shape = std::move(shape),
          .answers = std::move(claimed.log),
          .transitions = {},
          .scaling = {},
          .elsewhere = claimed.elsewhere,
          .used = std::vector<char>(pool, 0),
          .members = {}};
  run.evaluated = run.folder.read_metrics().size();
  TransitionSet& set = run.transitions;
  if (fs::exists(run.folder.transitions_file())) {
    set = run.folder.read_transitions();
    if (!(set.grid == run.shape.grid) || set.cluster != run.study.options.cluster)
      throw Error(ErrorKind::data, fmt::format("{} holds states of {}, expected {}",
                                               run.folder.transitions_file().string(),
                                               set.grid.shape_text(), run.shape.grid.shape_text()));
    // Killed before the ledger was written: the purchase is walked again, from the answers.
    if (claimed.ledgers < set.acquisitions) drop_last_acquisition(set);
  }
  if (set.acquisitions > 0) {
    mark_used(run);
    begin_round(run);
    return run;
  }
  const Identity& identity = run.problem->identity;
  set = {.grid = run.shape.grid,
         .cluster = run.study.options.cluster,
         .equation = identity.name,
         .dt = identity.dt};
  return run;
}

void begin_round(Run& run) {
  run.round = run.transitions.acquisitions - 1;
  if (training_rows(run).empty())
    throw Error(ErrorKind::solver,
                fmt::format("{}: no step of the initial trajectories could be solved{}; see "
                            "journal.jsonl",
                            run.folder.path().string(),
                            run.study.options.validation > 0 ? ", or all are held back" : ""));
  if (run.scaling.mean.empty())
    run.scaling = initial_scaling(run.transitions, run.study.options.pattern_steps());
  load_training(run);
  const bool trained = run.epochs_done == run.study.train.epochs;
  run.phase = !trained                     ? Run::Phase::train
              : run.evaluated <= run.round ? Run::Phase::evaluate
                                           : after_evaluation(run);
}

void save_training(Run& run) {
  const Model model{run.shape, run.members, run.study.options.cluster};
  if (run.epochs_done < run.study.train.epochs) {
    run.folder.write_training(run.round, model);
    return;
  }
  run.folder.write_committee(run.round, model);
  run.phase = run.evaluated > run.round ? after_evaluation(run) : Run::Phase::evaluate;
}

}  // namespace stap
