#include "stap/run/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "run/clusters.h"
#include "stap/acquire/passes.h"
#include "stap/acquire/trust.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/resident_rows.h"
#include "stap/eval/metrics.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

Plan read_pass(const Run& run, std::size_t pass) {
  return run.folder.read_plan(run.round, pass, run.study.options.pool,
                              run.study.options.pattern_steps());
}

// --- the journal's answers ---

LoggedAnswer to_logged(const AnswerRecord& record) {
  return {record.candidate,
          record.step,
          std::string(to_string(record.answer.status)),
          record.answer.reason,
          record.answer.state,
          record.answer.seconds,
          record.answer.attempts,
          0};
}

Answer from_logged(LoggedAnswer logged) {
  Answer answer;
  answer.status = logged.status == "ok"        ? Answer::Status::ok
                  : logged.status == "refused" ? Answer::Status::refused
                                               : Answer::Status::failed;
  answer.reason = std::move(logged.reason);
  answer.state = std::move(logged.state);
  answer.seconds = logged.seconds;
  answer.attempts = logged.attempts;
  return answer;
}

// Measures a phase and writes its seconds down.
template <class Work>
auto timed(const Run& run, std::string_view phase, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  add_timing(run, phase,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

// How a purchase is made.
struct Terms {
  std::size_t budget = 0;
  OnUnstable on_unstable = OnUnstable::drop;
  BuyRules rules;
  std::string_view phase;  // under which its seconds are written down
};

// Buys what is planned, pass by pass, appends what comes, and puts the training set on disk.
void fulfil(Run& run, const Terms& terms, const MakePlan& plan_of, Committee& committee,
            Observer& observer) {
  const std::size_t acquisition = run.transitions.acquisitions;
  const LoggedAnswers known = run.log.recorded(acquisition);
  Answer at_hand;
  BuyHooks hooks;
  hooks.recorded = [&](std::size_t candidate, std::size_t step) -> const Answer* {
    auto found = known.find(candidate, step);
    if (!found) return nullptr;
    at_hand = from_logged(std::move(*found));
    return &at_hand;
  };
  hooks.record = [&](const AnswerRecord& record) {
    run.log.append(acquisition, to_logged(record));
    run.log.commit();
  };
  const auto queue = make_batch_queue(*run.solver);
  const BuyPlan buy_plan = [&](const Plan& plan, std::size_t budget) {
    for (const Purchase& p : plan.purchases) run.used[p.candidate] = 1;
    return timed(run, terms.phase, [&] {
      return buy(plan, budget, run.data->pool.view(), run.solver->dt(), *queue, committee, hooks,
                 terms.rules);
    });
  };
  const Delivery delivery = buy_in_passes(terms.budget, terms.on_unstable, plan_of, buy_plan);
  const std::size_t values = run.transitions.grid.values();
  for (auto* states : {&run.transitions.inputs, &run.transitions.outputs})
    states->reserve(states->size() + delivery.bought.size() * values);  // not twice of it
  for (const Bought& b : delivery.bought) {
    run.transitions.origins.push_back({acquisition, b.candidate, b.step});
    run.transitions.inputs.insert(run.transitions.inputs.end(), b.input.begin(), b.input.end());
    run.transitions.outputs.insert(run.transitions.outputs.end(), b.output.begin(), b.output.end());
  }
  ++run.transitions.acquisitions;
  const Ledger ledger = in_solver_steps(delivery.ledger, run.study.options.cluster);
  run.folder.write_transitions(run.transitions);
  // Once, when all it tells of is on disk.
  if (acquisition >= run.ledgers) {
    run.log.note("ledger", to_value(acquisition, ledger));
    run.ledgers = acquisition + 1;
  }
  if (const std::string trouble = trouble_text(ledger); !trouble.empty())
    observer.warning(fmt::format(
        "{}, {}: {} (see journal.jsonl)", run.folder.path().string(),
        acquisition == 0 ? "initial trajectories" : fmt::format("round {}", run.round), trouble));
}

// The initial trajectories: full ones, of ids drawn uniformly from the pool.
Plan initial_plan(const Run& run) {
  const StudyOptions& o = run.study.options;
  std::vector<std::uint32_t> order;
  shuffle(Rng(o.seed).split("initial"), o.pool, order);
  Plan plan;
  for (std::size_t i = 0; i < o.initial; ++i)
    plan.purchases.push_back({order[i], Pattern(o.pattern_steps(), true)});
  return plan;
}

// Mean and deviation per channel over all states of the initial trajectories, then frozen. All
// slots of a cluster have those of their channel.
Scaling initial_scaling(const TransitionSet& set, std::size_t steps) {
  const std::size_t channels = set.grid.channels / set.cluster, points = set.grid.points_total();
  const std::size_t values = set.grid.values();
  Scaling scaling = unit_scaling(set.grid.channels);
  for (std::size_t c = 0; c < channels; ++c) {
    // Two passes: the deviation of values far from 0 would drown in one.
    auto for_each = [&](const auto& visit) {
      auto visit_row = [&](const double* row) {
        for (std::size_t slot = 0; slot < set.cluster; ++slot)
          for (std::size_t p = 0; p < points; ++p) visit(row[(slot * channels + c) * points + p]);
      };
      for (std::size_t i = 0; i < set.count(); ++i) {
        if (set.origins[i].acquisition != 0) continue;
        visit_row(set.inputs.data() + i * values);
        if (set.origins[i].step + 1 == steps) visit_row(set.outputs.data() + i * values);
      }
    };
    double n = 0, sum = 0, squares = 0;
    for_each([&](double v) { n += 1, sum += v; });
    const double mean = sum / n;
    for_each([&](double v) { squares += (v - mean) * (v - mean); });
    const double deviation = std::sqrt(squares / n);
    for (std::size_t slot = 0; slot < set.cluster; ++slot) {
      scaling.mean[slot * channels + c] = static_cast<float>(mean);
      scaling.deviation[slot * channels + c] = deviation > 0 ? static_cast<float>(deviation) : 1.0f;
    }
  }
  return scaling;
}

// --- opening ---

// What the problem is, for the manifest.
Value identity_of(const Study& study, const Solver& solver, const StudyData& data) {
  const Grid grid = slot_grid(solver.grid(), study.options.cluster);
  Value::List channels;
  for (std::size_t c = 0; c < grid.channels; ++c)
    channels.emplace_back(grid.channels == 1 ? "u" : fmt::format("u{}", c + 1));
  Value value;
  value.set("name", solver.name());
  value.set("channels", Value(std::move(channels)));
  value.set("points", Value(Value::List(grid.points.begin(), grid.points.end())));
  value.set("lengths", Value(Value::List(grid.lengths.begin(), grid.lengths.end())));
  value.set("dt", solver.dt() / static_cast<double>(study.options.cluster));
  value.set("steps", study.options.steps);
  value.set("cluster", study.options.cluster);
  value.set("parameters", Value(Value::List{}));
  value.set("pool_sha256", data.pool_sha256);
  value.set("test_sha256", data.test_sha256);
  value.set("data_key", study_key(data_request(study.effective)));
  return value;
}

Manifest manifest_of(const Study& study, const Solver& solver, const StudyData& data) {
  Manifest manifest = this_machine();
  manifest.device = device_text(study.compute);
  manifest.solver = solver.name();
  manifest.seed = study.options.seed;
  manifest.data_seed = study.options.data_seed;
  manifest.identity = identity_of(study, solver, data);
  return manifest;
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
    const std::size_t batch = run.study.train.batch;
    const auto steps_per_epoch =
        static_cast<std::int64_t>((run.transitions.count() + batch - 1) / batch);
    run.epochs_done = static_cast<int>(run.members[0].steps / steps_per_epoch);
    return;
  }
  for (int m = 0; m < o.members; ++m)
    run.members.push_back(
        fresh_member(run.shape, run.scaling,
                     run.stream("weights").split("member", static_cast<std::uint64_t>(m))));
}

void begin_round(Run& run) {
  run.round = run.transitions.acquisitions - 1;
  load_training(run);
  run.folder.cut_losses(run.round, run.epochs_done);
  const bool evaluated = run.metrics.size() > run.round;
  const bool trained = run.epochs_done == run.study.train.epochs;
  run.phase = !trained                               ? Run::Phase::train
              : !evaluated                           ? Run::Phase::evaluate
              : run.round < run.study.options.rounds ? Run::Phase::acquire
                                                     : Run::Phase::done;
}

// The training set, less an acquisition whose ledger is missing: that is walked again, from the
// answers in the journal.
void read_training_set(Run& run) {
  run.transitions = read_transitions(run.folder.transitions_file(), run.solver->grid(),
                                     run.study.options.cluster);
  if (run.ledgers + 1 < run.transitions.acquisitions)
    throw Error(ErrorKind::data,
                fmt::format("{} holds {} acquisitions, but {} has the ledgers of {}: they are not "
                            "of the same run",
                            run.folder.transitions_file().string(), run.transitions.acquisitions,
                            run.folder.journal_file().string(), run.ledgers));
  if (run.ledgers < run.transitions.acquisitions) drop_last_acquisition(run.transitions);
}

// Largest spread after one step that a state of the mean model may have in this round.
double round_trust_limit(const Run& run, Committee& committee) {
  const StudyOptions& o = run.study.options;
  if (o.trust_quantile == 0) return BuyRules{}.trust_limit;
  const TransitionSet& set = run.transitions;
  States<float> inputs(set.grid, set.count());
  convert(set.inputs, inputs.values());
  std::vector<double> times;
  for (const Provenance& origin : set.origins)
    times.push_back(input_time(origin.step + 1, o.pattern_steps()));
  return trust_limit(one_step_spreads(committee, std::as_const(inputs).view(), times),
                     o.trust_quantile);
}

// The plan of a pass: from disk if it is there, else made and written.
Plan pass_plan(const Run& run, Spending& spending, std::size_t pass, std::size_t budget) {
  if (pass <= run.folder.passes(run.round)) {
    Plan plan = read_pass(run, pass);
    const bool fresh = std::none_of(plan.purchases.begin(), plan.purchases.end(),
                                    [&](const Purchase& p) { return run.used[p.candidate] != 0; });
    if (fresh && plan.cost() + plan.unspent == budget) {
      spending.pass_over(plan);
      return plan;
    }
    // Continued on another device, where the passes before came out differently.
    run.folder.remove_plans(run.round, pass);
  }
  Plan plan = timed(run, "select", [&] { return spending.next(budget); });
  add_timing(run, "score", spending.seconds().score);
  add_timing(run, "choose", spending.seconds().choose);
  run.folder.write_plan(run.round, pass, plan);
  return plan;
}

}  // namespace

Rng Run::stream(std::string_view purpose) const {
  return Rng(study.options.seed).split(purpose, round);
}

Run open_run(Study study, fs::path folder, std::shared_ptr<const StudyData> data,
             std::shared_ptr<const Solver> solver, Observer& observer) {
  const Grid grid = solver->grid();
  FnoShape shape = make_shape(grid, study.network);
  ClaimedFolder claimed = claim(RunFolder(std::move(folder)), study.effective,
                                manifest_of(study, *solver, *data), observer);
  const std::size_t pool = study.options.pool;
  Run run{.study = std::move(study),
          .folder = std::move(claimed.folder),
          .shape = std::move(shape),
          .log = std::move(claimed.log),
          .ledgers = claimed.ledgers,
          .data = std::move(data),
          .solver = std::move(solver),
          .transitions = {},
          .scaling = {},
          .used = std::vector<char>(pool, 0),
          .metrics = {},
          .members = {}};
  for (JsonLine& line : run.folder.read_metrics()) run.metrics.push_back(std::move(line.text));
  const Plan initial = initial_plan(run);
  if (fs::exists(run.folder.transitions_file())) read_training_set(run);
  if (run.transitions.acquisitions > 0) {
    for (const Purchase& p : initial.purchases) run.used[p.candidate] = 1;
    for (run.round = 0; run.round + 1 < run.transitions.acquisitions; ++run.round)
      for (std::size_t pass = 1; pass == 1 || pass <= run.folder.passes(run.round); ++pass)
        for (const Purchase& p : read_pass(run, pass).purchases) run.used[p.candidate] = 1;
  } else {
    run.transitions.grid = grid;
    run.transitions.cluster = run.study.options.cluster;
    run.transitions.equation = run.solver->name();
    run.transitions.dt = run.solver->dt() / static_cast<double>(run.study.options.cluster);
    // Full patterns never ask the mean model: any committee of this shape will do.
    const auto engine = make_cpu_engine(run.shape, 1, 1);
    Terms terms{.budget = initial.cost(), .rules = {}, .phase = "initial"};
    terms.rules.charge_failed = run.study.options.charge_failed;
    fulfil(
        run, terms, [&](std::size_t, std::size_t) { return initial; }, *engine->committee({0}),
        observer);
  }
  if (run.transitions.count() == 0)
    throw Error(ErrorKind::solver, fmt::format("{}: no step of the initial trajectories could be "
                                               "solved; see journal.jsonl",
                                               run.folder.path().string()));
  run.scaling = initial_scaling(run.transitions, run.study.options.pattern_steps());
  begin_round(run);
  return run;
}

void add_timing(const Run& run, std::string_view phase, double seconds) {
  run.folder.add_timing({run.round, std::string(phase), seconds});
}

void save_training(Run& run) {
  const Model model{run.shape, run.members, run.study.options.cluster};
  if (run.epochs_done < run.study.train.epochs) return run.folder.write_training(run.round, model);
  run.folder.write_committee(run.round, model);
  run.phase = run.metrics.size() > run.round ? Run::Phase::acquire : Run::Phase::evaluate;
}

void evaluate_round(Run& run, Committee& committee) {
  const Metrics metrics = timed(run, "evaluate", [&] {
    const States<double>& exact = run.data->test;
    States<float> test(exact.grid(), exact.count());
    convert(exact.values(), test.values());
    return evaluate(committee,
                    {std::as_const(test).view(), run.data->test_times, run.study.options.cluster});
  });
  Value head;
  head.set("round", run.round);
  head.set("transitions", run.transitions.count());
  run.metrics.push_back(to_json_line(metrics, std::move(head)));
  run.folder.write_metrics(run.metrics);
  if (run.round > 0 && run.study.options.keep_committees == StudyOptions::Keep::last)
    run.folder.remove_committee(run.round - 1);
  run.phase = run.round < run.study.options.rounds ? Run::Phase::acquire : Run::Phase::done;
}

void acquire_round(Run& run, Committee& committee, int threads, Observer& observer) {
  const StudyOptions& o = run.study.options;
  const Terms terms{.budget = o.pattern_budget(),
                    .on_unstable = o.on_unstable,
                    .rules = {o.charge_failed, round_trust_limit(run, committee)},
                    .phase = "acquire"};
  const auto selector = make_selector(run.study, threads);
  const auto chooser = make_chooser(run.study);
  States<float> pool(run.shape.grid, o.pool);
  convert(run.data->pool.values(), pool.values());
  std::vector<std::size_t> open;
  for (std::size_t id = 0; id < o.pool; ++id)
    if (!run.used[id]) open.push_back(id);
  Spending spending(*selector, *chooser, committee,
                    {std::as_const(pool).view(), open, o.pattern_steps()}, run.stream("select"));
  fulfil(
      run, terms,
      [&](std::size_t pass, std::size_t budget) { return pass_plan(run, spending, pass, budget); },
      committee, observer);
  begin_round(run);
}

}  // namespace stap
