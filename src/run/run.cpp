#include "stap/run/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "run/clusters.h"
#include "run/files.h"
#include "stap/acquire/passes.h"
#include "stap/acquire/trust.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"
#include "stap/core/resident_rows.h"
#include "stap/core/version.h"
#include "stap/eval/metrics.h"
#include "stap/nn/model_file.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char* kRunFormat = "run/1";
constexpr const char* kPlanFormat = "plan/1";

// --- plans ---

Value plan_to_value(const Plan& plan) {
  Value::List purchases;
  for (const Purchase& p : plan.purchases) {
    Value row;
    row.set("candidate", p.candidate);
    row.set("pattern", p.pattern.text());
    purchases.push_back(std::move(row));
  }
  Value value;
  value.set("format", kPlanFormat);
  value.set("cost", plan.cost());
  value.set("unspent", plan.unspent);
  value.set("not_finite", plan.not_finite);
  value.set("purchases", Value(std::move(purchases)));
  return value;
}

}  // namespace

Plan read_plan(const fs::path& path, std::size_t pool, std::size_t steps) {
  const Value value = read_document(path);
  if (field<std::string>(value, "format", path) != kPlanFormat)
    throw Error(ErrorKind::data, fmt::format("{} is not of format {}", path.string(), kPlanFormat));
  Plan plan;
  plan.unspent = field<std::uint64_t>(value, "unspent", path);
  plan.not_finite = field<std::uint64_t>(value, "not_finite", path);
  const Value* purchases = value.find("purchases");
  if (purchases == nullptr || !purchases->is_list())
    throw Error(ErrorKind::data, fmt::format("{}: purchases is not a list", path.string()));
  for (const Value& row : *purchases->list()) {
    Purchase p{field<std::uint64_t>(row, "candidate", path),
               Pattern::parse(field<std::string>(row, "pattern", path))};
    if (p.candidate >= pool || p.pattern.steps() != steps)
      throw Error(ErrorKind::data,
                  fmt::format("{}: candidate {} with pattern {} does not fit the study",
                              path.string(), p.candidate, p.pattern.text()));
    plan.purchases.push_back(std::move(p));
  }
  return plan;
}

namespace {

// Where the plan of a pass (1-based) of this round is.
fs::path plan_path(const Run& run, std::size_t pass) {
  return run.round_folder() / (pass == 1 ? "plan.json" : fmt::format("plan-{}.json", pass));
}

Plan read_pass(const Run& run, std::size_t pass) {
  return read_plan(plan_path(run, pass), run.study.options.pool, run.study.options.pattern_steps());
}

// --- the journal's answers ---

using AnswerKey = std::pair<std::size_t, std::size_t>;  // candidate, step

Value answer_to_value(std::size_t acquisition, const AnswerRecord& record) {
  Value body;
  body.set("acquisition", acquisition);
  body.set("candidate", record.candidate);
  body.set("step", record.step);
  body.set("status", to_string(record.answer.status));
  body.set("reason", record.answer.reason);
  body.set("attempts", record.answer.attempts);
  body.set("seconds", record.answer.seconds);
  body.set("state", encode_doubles(record.answer.state));
  return body;
}

std::map<AnswerKey, Answer> recorded_answers(const Run& run, std::size_t acquisition) {
  std::map<AnswerKey, Answer> answers;
  const fs::path path = run.folder / "journal.jsonl";
  for (const JournalLine& line : run.journal.lines()) {
    if (line.type != "answer" ||
        field<std::uint64_t>(line.body, "acquisition", path) != acquisition)
      continue;
    Answer answer;
    const auto status = field<std::string>(line.body, "status", path);
    answer.status = status == "ok"        ? Answer::Status::ok
                    : status == "refused" ? Answer::Status::refused
                                          : Answer::Status::failed;
    answer.reason = field<std::string>(line.body, "reason", path);
    answer.attempts = field<int>(line.body, "attempts", path);
    answer.seconds = field<double>(line.body, "seconds", path);
    answer.state = decode_doubles(field<std::string>(line.body, "state", path));
    answers[{field<std::uint64_t>(line.body, "candidate", path),
             field<std::uint64_t>(line.body, "step", path)}] = std::move(answer);
  }
  return answers;
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

Value ledger_to_value(std::size_t acquisition, const Ledger& l) {
  Value value;
  value.set("acquisition", acquisition);
  value.set("budget", l.budget);
  value.set("bought", l.bought);
  value.set("refused", l.refused);
  value.set("refused_by_trust", l.refused_by_trust);
  value.set("failed", l.failed);
  value.set("charged_failures", l.charged_failures);
  value.set("unspent", l.unspent);
  value.set("passes", l.passes);
  value.set("pool_exhausted", l.pool_exhausted);
  Value::List reasons;
  for (const std::string& reason : l.reasons) reasons.emplace_back(reason);
  value.set("reasons", Value(std::move(reasons)));
  return value;
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
  const auto known = recorded_answers(run, acquisition);
  BuyHooks hooks;
  hooks.recorded = [&](std::size_t candidate, std::size_t step) -> const Answer* {
    const auto found = known.find({candidate, step});
    return found == known.end() ? nullptr : &found->second;
  };
  hooks.record = [&](const AnswerRecord& record) {
    run.journal.append("answer", answer_to_value(acquisition, record));
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
  for (const Bought& b : delivery.bought) {
    run.transitions.origins.push_back({acquisition, b.candidate, b.step});
    run.transitions.inputs.insert(run.transitions.inputs.end(), b.input.begin(), b.input.end());
    run.transitions.outputs.insert(run.transitions.outputs.end(), b.output.begin(), b.output.end());
  }
  ++run.transitions.acquisitions;
  const Ledger ledger = in_solver_steps(delivery.ledger, run.study.options.cluster);
  run.journal.append("ledger", ledger_to_value(acquisition, ledger));
  write_transitions(run.folder / "transitions.h5", run.transitions);
  if (const std::string trouble = trouble_text(ledger); !trouble.empty())
    observer.warning(fmt::format(
        "{}, {}: {} (see journal.jsonl)", run.folder.string(),
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

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      if (const std::size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown";
}

std::string manifest(const Run& run) {
  Value value;
  value.set("format", "manifest/1");
  value.set("version", version());
  value.set("compiler", __VERSION__);
  value.set("device", device_text(run.study.compute));
  value.set("cpu", cpu_model());
  value.set("instruction_set", to_string(active_isa()));
  value.set("solver", run.solver->name());
  value.set("seed", run.study.options.seed);
  value.set("data_seed", run.study.options.data_seed);
  value.set("pool_sha256", run.data->pool_sha256);
  value.set("test_sha256", run.data->test_sha256);
  return config::json_text(value) + "\n";
}

// A folder without a configuration may hold what a run that was killed early has left, and nothing
// else: we do not scatter files among a user's own.
void check_ours(const fs::path& folder) {
  if (fs::exists(folder / "config.yaml") || !fs::exists(folder)) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == "journal.jsonl" || name == "rounds" || name.starts_with("manifest.json") ||
        name.starts_with("config.yaml"))
      continue;
    throw Error(ErrorKind::config, fmt::format("{} holds {} and no run: give a new or empty folder",
                                               folder.string(), name));
  }
}

Value document_of(const Study& study) {
  Value document;
  document.set("format", kRunFormat);
  for (const auto& member : *study.effective.map()) document.set(member.key, member.value);
  return document;
}

// Fresh folder: writes its first files, the configuration last, so that a folder with one is whole.
// Old folder: checks that it is this study's.
void claim_folder(const Run& run, Observer& observer) {
  const fs::path config_path = run.folder / "config.yaml";
  make_folder(run.folder / "rounds");
  if (!fs::exists(config_path)) {
    write_text(run.folder / "manifest.json", manifest(run));
    write_text(config_path, config::yaml_text(document_of(run.study)));
    return;
  }
  const Value there = read_document(config_path);
  const auto format = field<std::string>(there, "format", config_path);
  if (format != kRunFormat)
    throw Error(ErrorKind::data, fmt::format("{} is a folder of format '{}', expected '{}'",
                                             run.folder.string(), format, kRunFormat));
  // Where it is computed may change from one command to the next; what is computed may not.
  Value mine = document_of(run.study), theirs = there;
  mine.erase("compute");
  theirs.erase("compute");
  const auto differing = differences(mine, theirs);
  if (!differing.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} holds a run of another configuration; choose another folder or "
                            "the old configuration:\n  {}",
                            run.folder.string(), fmt::join(differing, "\n  ")));
  const fs::path manifest_path = run.folder / "manifest.json";
  const Value old = read_document(manifest_path);
  const auto isa = field<std::string>(old, "instruction_set", manifest_path);
  if (isa != to_string(active_isa()))
    observer.warning(
        fmt::format("{} was begun with instruction set {}, this is {}: the result will "
                    "not be bit-equal to an uninterrupted run (STAP_ISA={} would)",
                    run.folder.string(), isa, to_string(active_isa()), isa));
  const auto device = field<std::string>(old, "device", manifest_path);
  if (device != device_text(run.study.compute))
    observer.warning(
        fmt::format("{} was begun on {}, this is {}: the result will not be bit-equal "
                    "to an uninterrupted run",
                    run.folder.string(), device, device_text(run.study.compute)));
  if (field<std::string>(old, "pool_sha256", manifest_path) != run.data->pool_sha256 ||
      field<std::string>(old, "test_sha256", manifest_path) != run.data->test_sha256)
    throw Error(ErrorKind::data,
                fmt::format("{} was begun with another pool or test set", run.folder.string()));
}

void read_metrics(Run& run) {
  const fs::path path = run.folder / "metrics.jsonl";
  if (!fs::exists(path)) return;
  const std::string text = read_text_file(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos)
      throw Error(ErrorKind::data, fmt::format("{}: its last line is cut off", path.string()));
    run.metrics.push_back(text.substr(begin, end - begin));
    const Value line = config::parse_yaml(run.metrics.back(), path.string());
    if (field<std::uint64_t>(line, "round", path) + 1 != run.metrics.size())
      throw Error(ErrorKind::data, fmt::format("{}: line {} is of another round", path.string(),
                                               run.metrics.size()));
    begin = end + 1;
  }
}

// Weights of this round: finished, half trained, or fresh.
void load_training(Run& run) {
  run.members.clear();
  run.epochs_done = 0;
  const fs::path finished = run.round_folder() / "committee.safetensors";
  const fs::path half = run.round_folder() / "training.safetensors";
  const StudyOptions& o = run.study.options;
  if (fs::exists(finished) || fs::exists(half)) {
    Model model = read_model(fs::exists(finished) ? finished : half);
    if (model.shape != run.shape || model.cluster != o.cluster ||
        model.members.size() != static_cast<std::size_t>(o.members))
      throw Error(ErrorKind::data,
                  fmt::format("{} holds networks of another shape", run.round_folder().string()));
    run.members = std::move(model.members);
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
  make_folder(run.round_folder());
  load_training(run);
  const bool evaluated = run.metrics.size() > run.round;
  const bool trained = run.epochs_done == run.study.train.epochs;
  run.phase = !trained                               ? Run::Phase::train
              : !evaluated                           ? Run::Phase::evaluate
              : run.round < run.study.options.rounds ? Run::Phase::acquire
                                                     : Run::Phase::done;
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
  if (fs::exists(plan_path(run, pass))) {
    Plan plan = read_pass(run, pass);
    const bool fresh = std::none_of(plan.purchases.begin(), plan.purchases.end(),
                                    [&](const Purchase& p) { return run.used[p.candidate] != 0; });
    if (fresh && plan.cost() + plan.unspent == budget) {
      spending.pass_over(plan);
      return plan;
    }
    // Continued on another device, where the passes before came out differently.
    std::error_code ignored;
    std::size_t later = pass;
    while (fs::remove(plan_path(run, later), ignored)) ++later;
  }
  Plan plan = timed(run, "select", [&] { return spending.next(budget); });
  add_timing(run, "score", spending.seconds().score);
  add_timing(run, "choose", spending.seconds().choose);
  write_text(plan_path(run, pass), config::json_text(plan_to_value(plan), 1) + "\n");
  return plan;
}

}  // namespace

std::filesystem::path Run::round_folder() const {
  return folder / "rounds" / fmt::format("{:02}", round);
}

Rng Run::stream(std::string_view purpose) const {
  return Rng(study.options.seed).split(purpose, round);
}

Run open_run(Study study, fs::path folder, std::shared_ptr<const StudyData> data,
             std::shared_ptr<const Solver> solver, Observer& observer) {
  const Grid grid = solver->grid();
  FnoShape shape = make_shape(grid, study.network);
  check_ours(folder);
  make_folder(folder);
  Journal journal(folder / "journal.jsonl");
  const std::size_t pool = study.options.pool;
  Run run{.study = std::move(study),
          .folder = std::move(folder),
          .shape = std::move(shape),
          .journal = std::move(journal),
          .data = std::move(data),
          .solver = std::move(solver),
          .transitions = {},
          .scaling = {},
          .used = std::vector<char>(pool, 0),
          .metrics = {},
          .members = {}};
  remove_leftovers(run.folder);
  claim_folder(run, observer);
  read_metrics(run);
  const fs::path transitions = run.folder / "transitions.h5";
  const Plan initial = initial_plan(run);
  if (fs::exists(transitions)) {
    run.transitions = read_transitions(transitions, grid, run.study.options.cluster);
    for (const Purchase& p : initial.purchases) run.used[p.candidate] = 1;
    for (run.round = 0; run.round + 1 < run.transitions.acquisitions; ++run.round)
      for (std::size_t pass = 1; pass == 1 || fs::exists(plan_path(run, pass)); ++pass)
        for (const Purchase& p : read_pass(run, pass).purchases) run.used[p.candidate] = 1;
  } else {
    run.transitions.grid = grid;
    run.transitions.cluster = run.study.options.cluster;
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
                                               run.folder.string()));
  run.scaling = initial_scaling(run.transitions, run.study.options.pattern_steps());
  begin_round(run);
  return run;
}

void add_timing(const Run& run, std::string_view phase, double seconds) {
  std::ofstream out(run.folder / "timings.jsonl", std::ios::app);
  Value value;
  value.set("round", run.round);
  value.set("phase", phase);
  value.set("seconds", seconds);
  out << config::json_text(value, 0) << '\n';
}

void save_training(Run& run) {
  const bool finished = run.epochs_done == run.study.train.epochs;
  write_model(run.round_folder() / (finished ? "committee.safetensors" : "training.safetensors"),
              {run.shape, run.members, run.study.options.cluster});
  if (!finished) return;
  std::error_code ignored;
  fs::remove(run.round_folder() / "training.safetensors", ignored);
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
  write_text(run.folder / "metrics.jsonl", fmt::format("{}\n", fmt::join(run.metrics, "\n")));
  if (run.round > 0 && run.study.options.keep_committees == StudyOptions::Keep::last) {
    std::error_code ignored;
    fs::remove(
        run.folder / "rounds" / fmt::format("{:02}", run.round - 1) / "committee.safetensors",
        ignored);
  }
  run.phase = run.round < run.study.options.rounds ? Run::Phase::acquire : Run::Phase::done;
}

void acquire_round(Run& run, Committee& committee, int threads, Observer& observer) {
  const StudyOptions& o = run.study.options;
  const Terms terms{.budget = o.pattern_budget(),
                    .on_unstable = o.on_unstable,
                    .rules = {o.charge_failed, round_trust_limit(run, committee)},
                    .phase = "acquire"};
  const auto planner = make_planner(run.study, threads);
  States<float> pool(run.shape.grid, o.pool);
  convert(run.data->pool.values(), pool.values());
  std::vector<std::size_t> open;
  for (std::size_t id = 0; id < o.pool; ++id)
    if (!run.used[id]) open.push_back(id);
  const auto spending = planner->begin(
      committee, {std::as_const(pool).view(), open, o.pattern_steps()}, run.stream("select"));
  fulfil(
      run, terms,
      [&](std::size_t pass, std::size_t budget) { return pass_plan(run, *spending, pass, budget); },
      committee, observer);
  begin_round(run);
}

}  // namespace stap
