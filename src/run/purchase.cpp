#include "run/purchase.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "run/clusters.h"
#include "run/news.h"
#include "run/phases.h"
#include "stap/acquire/trust.h"
#include "stap/core/conserved.h"
#include "stap/core/error.h"
#include "stap/core/resident_rows.h"
#include "stap/study/clusters.h"
#include "stap/study/spending.h"

namespace stap {
namespace {

// Adds the seconds of its life to a sum, however that ends.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum) {}
  ~Stopwatch() {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    sum_ += seconds.count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Largest spread after one step that a state of the mean model may have in this round.
double round_trust_limit(const Run& run, Committee& committee) {
  const StudyOptions& o = run.study.options;
  if (o.trust_quantile == 0 || run.phase == Run::Phase::initial) return BuyRules{}.trust_limit;
  const TransitionSet& set = run.transitions;
  States<float> inputs(set.grid, set.count());
  convert(set.inputs, inputs.values());
  Conditions conditions;
  for (std::size_t i = 0; i < set.count(); ++i)
    conditions.add(set.origins[i].step, set.parameters.row(i));
  return trust_limit(one_step_spreads(committee, std::as_const(inputs).view(), conditions.view()),
                     o.trust_quantile);
}

// What the study says of means, held against the steps that were bought; no call is needed for it.
void warn_of_moved_means(const Run& run, const std::string& where, Observer& observer) {
  const TransitionSet& set = run.transitions;
  const std::vector<std::string>& channels = run.problem->identity.channels;
  for (const std::size_t c : run.network.conserved) {
    if (c >= channels.size()) continue;  // one state of a cluster tells
    const double share = mean_change(set.grid, set.inputs, set.outputs, c).share;
    if (share > kMeanKept)
      observer.warning(fmt::format(
          "{}: the solver moves the mean of {}, by {:.2g} % of what a step changes, and networks "
          "will not (network.conserve)",
          where, channels[c], 100.0 * share));
  }
}

}  // namespace

RoundPurchase::RoundPurchase(Run& run, Committee& committee, StatesView<const float> pool)
    : Customer(run.answers, run.transitions.acquisitions),
      run_(run),
      committee_(committee),
      pool_(pool),
      initial_(run.phase == Run::Phase::initial),
      recorded_(run.answers.recorded(acquisition_)),
      passes_(
          initial_ ? initial_plan(run.study.options).cost() : run.study.options.pattern_budget(),
          initial_ ? OnUnstable::drop : run.study.options.on_unstable),
      budget_(passes_.budget()) {
  steps_.ok = recorded_.count() - recorded_.in_vain().size();
  for (const AnswerKey& key : recorded_.in_vain())
    steps_.add(recorded_.find(key.candidate, key.step)->status);
}

std::size_t RoundPurchase::spent() const {
  const std::size_t failed = run_.study.options.charge_failed ? steps_.failed : 0;
  return std::min(warm_ups_ + steps_.ok + failed, budget_);
}

RunStatus RoundPurchase::status() const {
  const std::size_t frames = run_.study.options.cluster;
  return {.phase = initial_ ? "initial" : "acquire",
          .round = run_.round,
          .rounds = run_.study.options.rounds,
          .budget = budget_ * frames,
          .spent = spent() * frames,
          .failed = steps_.failed,
          .refused = steps_.refused,
          .open = orders_.open,
          .since = since_,
          .since_done = since_spent_ * frames};
}

Progress RoundPurchase::progress() const {
  const std::size_t frames = run_.study.options.cluster;
  return {.phase = "buying",
          .done = spent() * frames,
          .total = budget_ * frames,
          .unit = "solver steps"};
}

void RoundPurchase::show(OpenOrders open) const {
  RunStatus now = status();
  now.usual = open.usual;
  now.running = std::move(open.running);
  now.waiting = std::move(open.waiting);
  run_.folder.write_status(now);
}

std::vector<SolverOrder> RoundPurchase::ask() {
  for (;;) {
    if (!buyer_) {
      if (!passes_.more()) return {};
      begin_pass();
    }
    std::vector<SolverOrder> orders;
    for (Query& query : buyer_->ask())
      orders.push_back({run_.problem->solver.get(), buyer_->first_of(query.id), std::move(query)});
    if (since_ == 0) {
      since_ = seconds_since_1970();
      since_spent_ = spent();
    }
    if (!orders.empty() || !buyer_->done()) return orders;
    passes_.end(buyer_->deliver());
    buyer_.reset();
  }
}

void RoundPurchase::plan() {
  begin();
  plan_pass();
}

// Before the first pass.
void RoundPurchase::begin() {
  rules_ = {run_.study.options.charge_failed, round_trust_limit(run_, committee_)};
  if (initial_) return;
  planner_ = make_planner(run_.study);
  for (std::size_t id = 0; id < run_.used.size(); ++id)
    if (!run_.used[id]) open_.push_back(id);
  const Candidates candidates{.states = pool_,
                              .open = open_,
                              .steps = run_.study.options.pattern_steps(),
                              .warm_up = charged_warm_up(run_.study),
                              .conditions = conditions_of(run_.problem->pool.parameters)};
  round_plans_ = planner_->begin(committee_, candidates, run_.stream("select"));
}

void RoundPurchase::begin_pass() {
  if (!rules_) begin();
  const Plan plan = initial_ ? initial_plan(run_.study.options) : plan_pass();
  passes_.begin(plan);
  orders_ = {};
  warm_ups_ += plan.warm_up * plan.purchases.size();
  for (const Purchase& p : plan.purchases) run_.used[p.candidate] = 1;
  buyer_ = std::make_unique<Buyer>(
      plan, passes_.budget(), run_.problem->pool.states.view(), *run_.problem->solver, committee_,
      *rules_,
      [this](std::size_t candidate, std::size_t step) -> std::optional<AnswerRecord> {
        auto recorded = recorded_.find(candidate, step);
        // Elsewhere the mean model's last bits are others, and so are the inputs it makes.
        if (recorded && run_.other_device) recorded->input_hash = 0;
        return recorded;
      },
      run_.problem->pool.parameters);
}

// The plan of the next pass: from disk if it is there, else made and written.
Plan RoundPurchase::plan_pass() {
  const std::size_t pass = passes_.pass(), budget = passes_.budget();
  const StudyOptions& o = run_.study.options;
  if (pass <= run_.folder.passes(run_.round)) {
    Plan plan = run_.folder.read_plan(run_.round, pass, run_.used.size(), o.pattern_steps());
    const bool fresh = std::ranges::none_of(
        plan.purchases, [&](const Purchase& p) { return run_.used[p.candidate] != 0; });
    if (fresh && plan.cost() + plan.unspent == budget) {
      round_plans_->pass_over(plan);
      return plan;
    }
    // Continued on another device, where the passes before came out differently.
    run_.folder.remove_plans(run_.round, pass);
  }
  const double before = planning_seconds_;
  Plan plan = [&] {
    const Stopwatch watch(planning_seconds_);
    return round_plans_->next(budget);
  }();
  run_.folder.add_timing({run_.round, "select", planning_seconds_ - before});
  run_.folder.add_timing({run_.round, "score", round_plans_->seconds().score});
  run_.folder.add_timing({run_.round, "choose", round_plans_->seconds().choose});
  run_.folder.write_plan(run_.round, pass, plan);
  return plan;
}

void RoundPurchase::take(std::uint64_t query, std::vector<AnswerRecord> records) {
  buyer_->take(query, std::move(records));
}

std::optional<double> RoundPurchase::known_seconds(const Solver&) const {
  const std::filesystem::path journal = run_.folder.journal_file();
  const auto known = known_step_seconds(run_.study, {&journal, 1});
  if (!known) return std::nullopt;
  // All else is about single steps.
  return known->of_this_run ? known->seconds
                            : known->seconds * static_cast<double>(run_.study.options.cluster);
}

std::string RoundPurchase::text() const {
  return fmt::format("{}, {}", run_.folder.path().string(),
                     initial_ ? "initial trajectories" : fmt::format("round {}", run_.round));
}

void RoundPurchase::finish(Observer& observer) {
  Delivery delivery = passes_.deliver();
  TransitionSet& set = run_.transitions;
  if (initial_ && delivery.bought.empty() && budget_ > 0 && run_.problem->solver->expensive()) {
    // A run that has nothing to begin with ends here, and a mended solver must be able to begin it.
    log_.revoke(acquisition_, log_.recorded(acquisition_).in_vain(),
                "no initial trajectory could be solved");
    throw Error(ErrorKind::solver,
                fmt::format("{}: no step of the initial trajectories could be solved: {}\n"
                            "fix the solver and give the same command again, which asks again",
                            text(),
                            delivery.ledger.reasons.empty() ? std::string("nothing was asked")
                                                            : delivery.ledger.reasons[0]));
  }
  // No room to spare: these are the largest things in memory.
  const std::size_t values = delivery.bought.size() * set.grid.values();
  set.inputs.reserve(set.inputs.size() + values);
  set.outputs.reserve(set.outputs.size() + values);
  for (Bought& b : delivery.bought) {
    set.origins.push_back({acquisition_, b.candidate, b.step});
    set.inputs.insert(set.inputs.end(), b.input.begin(), b.input.end());
    set.outputs.insert(set.outputs.end(), b.output.begin(), b.output.end());
    std::ranges::copy(run_.problem->pool.parameters.row(b.candidate),
                      std::back_inserter(set.parameters.values));
    b = {};
  }
  ++set.acquisitions;
  // Of passes that were planned on failures that were revoked since.
  if (!initial_) run_.folder.remove_plans(run_.round, delivery.ledger.passes + 1);
  run_.folder.write_transitions(set);
  if (initial_) warn_of_moved_means(run_, text(), observer);
  const Ledger ledger = in_solver_steps(delivery.ledger, run_.study.options.cluster);
  run_.answers.note("ledger", to_value(acquisition_, ledger));
  if (const std::string trouble = trouble_text(ledger); !trouble.empty())
    observer.warning(fmt::format("{}: {} (see journal.jsonl)", text(), trouble));
  begin_round(run_);
}

}  // namespace stap
