#include "stap/run/run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/single_precision.h"
#include "run/bought_rows.h"
#include "run/phases.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/folder/claim.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

std::string states_text(std::size_t count, const Grid& grid) {
  return fmt::format("{} states of {}", count, grid.shape_text());
}

// Throws unless the problem is one that the study can be made on.
void check_fits(const Study& study, const Problem& problem) {
  const StudyOptions& o = study.options;
  const Identity& is = problem.identity;
  const auto require = [](bool holds, const auto& what) {
    if (!holds) throw Error(ErrorKind::config, what());
  };
  require(is.grid == study.grid && is.dt == study.dt, [&] {
    return fmt::format(
        "the problem has states of {} and steps of {}, but the study's are {} and "
        "{}, or on a domain of other lengths",
        is.grid.shape_text(), is.dt, study.grid.shape_text(), study.dt);
  });
  require(is.steps == o.steps && is.cluster == o.cluster, [&] {
    return fmt::format(
        "the problem has trajectories of {} steps in clusters of {}, but the "
        "study's are {} in clusters of {}",
        is.steps, is.cluster, o.steps, o.cluster);
  });
  const Grid clusters = cluster_grid(is.grid, o.cluster);
  const double dt = static_cast<double>(o.cluster) * is.dt;
  const Solver& solver = *problem.solver;
  require(solver.grid() == clusters && solver.dt() == dt, [&] {
    return fmt::format("{} makes steps of {} on states of {}, but the problem's are {} on {}",
                       solver.name(), solver.dt(), solver.grid().shape_text(), dt,
                       clusters.shape_text());
  });
  const std::vector<std::string> varied = names_of(varied_parameters(study.pde));
  require(solver.parameters() == varied && problem.pool.parameters.names == varied &&
              (!problem.test || problem.test->parameters.names == varied) &&
              (problem.first.count() == 0 || problem.first.parameters.names == varied),
          [&] {
            return fmt::format(
                "in the study [{}] vary, but solver, pool, test set and first transitions of the "
                "problem do not all have these parameters",
                fmt::join(varied, ", "));
          });
  const States<double>& pool = problem.pool.states;
  require(pool.grid() == clusters && (o.pool == 0 || pool.count() == o.pool), [&] {
    return fmt::format("the problem's pool has {}, but the study wants {}",
                       states_text(pool.count(), pool.grid()), states_text(o.pool, clusters));
  });
  require(o.initial < pool.count(), [&] {
    return fmt::format(
        "study.initial is {}, but the pool has {} initial conditions: choose fewer "
        "or a larger pool",
        o.initial, pool.count());
  });
  require(!is.pool_sha256.empty() && is.test_sha256.empty() == !problem.test &&
              is.first_sha256.empty() == (problem.first.count() == 0),
          [] {
            return std::string(
                "the problem's identity does not have the hashes of its pool, test set and first "
                "transitions");
          });
  require(problem.first.count() == 0 ||
              (problem.first.grid == clusters && problem.first.cluster == o.cluster),
          [&] {
            return fmt::format("the problem's first transitions are of {}, but its states of {}",
                               problem.first.grid.shape_text(), clusters.shape_text());
          });
  require(o.initial > 0 || problem.first.count() > 0,
          [] { return std::string("study.initial is 0, and the problem has no transitions"); });
  const std::size_t tests = problem.test ? problem.test->trajectories() : 0;
  require(o.test == 0 || tests == o.test, [&] {
    return fmt::format("the problem has {} test trajectories, but study.test is {}", tests, o.test);
  });
  if (!problem.test) return;
  const std::size_t times = o.cluster + o.steps;
  require(problem.test->times == times && problem.test->states.grid() == is.grid, [&] {
    return fmt::format("the problem's test trajectories have {}, but the study's have {}",
                       states_text(problem.test->times, problem.test->states.grid()),
                       states_text(times, is.grid));
  });
}

Manifest manifest_of(const Study& study, const Problem& problem, bool only_buys) {
  Manifest manifest = this_machine();
  (only_buys ? manifest.walked_on : manifest.device) =
      device_text(study.compute, study.network.family);
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
  const std::vector<Ledger> ledgers = run.folder.read_ledgers();
  for (std::size_t round = 0; round + 1 < run.transitions.acquisitions; ++round) {
    const std::size_t passes = run.folder.passes(round);
    // Or it would buy the same again.
    if (passes == 0 || (round + 1 < ledgers.size() && passes < ledgers[round + 1].passes))
      throw Error(ErrorKind::data, fmt::format("{} is missing: 'stap fsck --repair' rebuilds it",
                                               run.folder.plan_file(round, passes + 1).string()));
    for (std::size_t pass = 1; pass <= passes; ++pass)
      mark(run.folder.read_plan(round, pass, o.pool, o.pattern_steps()));
  }
}

// What was there before anything was bought.
void add_first(TransitionSet& set, const TransitionSet& first) {
  set.origins = first.origins;
  set.inputs = first.inputs;
  set.outputs = first.outputs;
  set.parameters.values = first.parameters.values;
}

// The training set as far as its ledgers are in the journal; what was there before if nothing was
// bought.
TransitionSet bought_so_far(const Run& run, std::size_t ledgers) {
  const fs::path file = run.folder.transitions_file();
  const Identity& identity = run.problem->identity;
  const std::vector<std::string> names = names_of(run.network.parameters);
  TransitionSet set{.grid = run.network.grid,
                    .cluster = run.study.options.cluster,
                    .equation = identity.name,
                    .dt = identity.dt,
                    .parameters = {names, {}}};
  if (fs::exists(file)) {
    set = run.folder.read_transitions();
    if (!(set.grid == run.network.grid) || set.cluster != run.study.options.cluster)
      throw Error(ErrorKind::data,
                  fmt::format("{} holds states of {}, expected {}", file.string(),
                              set.grid.shape_text(), run.network.grid.shape_text()));
    if (set.parameters.names != names)
      throw Error(ErrorKind::data,
                  fmt::format("{} holds parameters [{}], expected [{}]", file.string(),
                              fmt::join(set.parameters.names, ", "), fmt::join(names, ", ")));
  }
  // Killed before the ledger was written: the purchase is walked again, from the answers.
  if (set.acquisitions == ledgers + 1) drop_last_acquisition(set);
  if (set.acquisitions == 0) add_first(set, run.problem->first);
  if (set.acquisitions != ledgers)
    throw Error(ErrorKind::data,
                fmt::format("{} has {} acquisitions, but the journal the ledgers of {}: one of "
                            "them is missing, or was put in the other's place",
                            file.string(), set.acquisitions, ledgers));
  if (run.evaluated + 1 < ledgers)
    throw Error(ErrorKind::data,
                fmt::format("{} has {} lines, expected those of {} rounds: lines are missing",
                            run.folder.metrics_file().string(), run.evaluated, ledgers - 1));
  if (run.evaluated > ledgers)
    throw Error(ErrorKind::data,
                fmt::format("{} has {} lines, but only {} acquisitions were made",
                            run.folder.metrics_file().string(), run.evaluated, ledgers));
  return set;
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
             Observer& observer, bool only_buys) {
  check_fits(study, *problem);
  NetworkSpec network = make_network(problem->solver->grid(), study.network,
                                     problem->identity.channels, study.options.pattern_steps(),
                                     varied_parameters(study.pde), problem->solver->fixed());
  keep_older_meaning(study, RunFolder(folder));
  ClaimedFolder claimed = claim(RunFolder(std::move(folder)), study.effective,
                                manifest_of(study, *problem, only_buys), observer);
  study.options.pool = problem->pool.states.count();  // it may say: all
  Run run{.study = std::move(study),
          .folder = std::move(claimed.folder),
          .problem = std::move(problem),
          .network = std::move(network),
          .answers = std::move(claimed.log),
          .transitions = {},
          .scaling = {},
          .other_device = claimed.other_device,
          .used = {},
          .members = {}};
  run.answers.hold_reserve(run.network.grid.values());
  run.evaluated = run.folder.read_metrics().size();
  run.used.assign(run.study.options.pool, 0);
  run.transitions = bought_so_far(run, claimed.ledgers);
  if (run.transitions.acquisitions > 0) {
    mark_used(run);
    begin_round(run);
    if (claimed.raised) raise_rounds(run.folder, run.answers, *claimed.raised);
    return run;
  }
  // Known before anything is paid for.
  const States<double>& pool = run.problem->pool.states;
  if (const std::string clause = single_precision_problem(pool.values(), pool.grid().points_total(),
                                                          run.problem->identity.channels);
      !clause.empty())
    throw Error(ErrorKind::data, "of the pool, " + clause);
  const std::vector<Purchase> initial = initial_plan(run.study.options).purchases;
  if (training_rows(run).empty() &&
      std::ranges::all_of(initial, [&](const Purchase& p) { return run.held_back(p.candidate); }))
    throw Error(ErrorKind::config,
                fmt::format("study.validation holds back all {} initial trajectories of this seed: "
                            "choose a smaller share, more of them or another seed",
                            initial.size()));
  if (claimed.raised) raise_rounds(run.folder, run.answers, *claimed.raised);
  return run;
}

void begin_round(Run& run) {
  run.round = run.transitions.acquisitions - 1;
  if (training_rows(run).empty())
    throw Error(ErrorKind::solver,
                fmt::format("{}: no step of the initial trajectories could be solved; see "
                            "journal.jsonl",
                            run.folder.path().string()));
  if (run.scaling.mean.empty()) {
    const auto left_out = [&](std::size_t candidate) { return run.held_back(candidate); };
    DataUnits units = units_of(run.transitions, run.study.options.pattern_steps(), run.study.train,
                               run.network, left_out);
    run.scaling = std::move(units.scaling);
    run.loss_factors = std::move(units.loss_factors);
  }
  run.data = digest(run.transitions);
  load_training(run);
  const bool trained = run.epochs_done == run.epochs;
  run.phase = !trained                     ? Run::Phase::train
              : run.evaluated <= run.round ? Run::Phase::evaluate
                                           : after_evaluation(run);
  if (run.evaluated > run.round) drop_old_networks(run);
}

void drop_old_networks(const Run& run) {
  const bool last = run.study.options.keep_committees == StudyOptions::Keep::last;
  run.folder.remove_old_networks(run.round, last);
}

Model trained_model(const Run& run) {
  return {run.network,
          run.members,
          run.study.options.cluster,
          {run.folder.run(), run.round, run.data, run.stage, run.stage_errors}};
}

void save_training(Run& run) {
  if (run.epochs_done < run.epochs) {
    run.folder.write_training(run.round, trained_model(run));
    return;
  }
  run.folder.write_committee(run.round, trained_model(run));
  run.phase = run.evaluated > run.round ? after_evaluation(run) : Run::Phase::evaluate;
}

}  // namespace stap
