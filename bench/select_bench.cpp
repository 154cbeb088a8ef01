// What choosing costs in one round, with fresh networks of paper size and a committee of two:
// scores of a pool of 10,000, the search over the steps of SBAL's candidates until 8 L solver steps
// are spent, and the orders of LCMD and Core-Set over the pool. The search is that of a whole
// round; what scoring costs is measured all the while it runs, by steps of scoring a block in
// between, since a shared machine is not equally quick at all times. Candidates do not depend on
// each other, so scores and orders are measured on a part and extrapolated linearly, the orders
// from as many picks as the budget could need (their time is proportional to candidates, at a given
// number of picks). Untrained members disagree at once, so their patterns are short and a round
// searches more candidates than it would with trained ones. States advanced are counted too: unlike
// seconds they do not depend on what else the machine does.
//
// `select_one`: the single step of largest utility (stap-one, by an exact and by a quick search)
// against the search, for the same order of candidates and the same budget; the first takes a step
// of each, so it needs more of them (`ratio_each`: the ratio of seconds for each candidate looked
// at). `same`: for how many candidates the quick search finds the exact one's step.
//
// The memory of an order is that of 10,000 candidates of a narrow network (their sketches, the
// distances) beyond what there was before, and it is checked beside it what the blocks of the large
// network take.
//
// Usage: select_bench [candidates] [threads]     one JSON object a line
//        select_bench one [threads]              `select_one` alone, minutes
//        select_bench families [threads]         scoring by dilated networks against FNOs, in turns
//        select_bench cuda                       a whole selection (SBAL+STAP) from 10,000 on the
//        GPU
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "stap/acquire/methods.h"
#include "stap/acquire/planner.h"
#include "stap/core/resident_rows.h"
#include "stap/nn/dilated.h"
#include "stap/nn/engine.h"
#include "stap/nn/fno.h"

namespace stap {
namespace {

constexpr int kMembers = 2;
constexpr std::size_t kPool = 10000;

struct Problem {
  std::string name;
  std::vector<std::size_t> points, modes;
  std::size_t steps;
};

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A step of scoring a block of the pool, made again and again while something else is measured: on
// a shared machine seconds of different minutes are not the same seconds.
class ScoringStep {
 public:
  ScoringStep(Committee& committee, const Candidates& candidates)
      : committee_(committee),
        count_(std::min(candidates.states.count, 16 * committee.rows_at_once())),
        initial_(committee, count_),
        rows_(committee, count_ * kMembers),
        spread_(count_) {
    committee.put(initial_, 0, {candidates.states.values, count_, candidates.states.row_size});
    for (std::size_t r = 0; r < count_ * kMembers; ++r) {
      own_.push_back(r);
      parent_.push_back(r / kMembers);
      member_.push_back(static_cast<int>(r % kMembers));
    }
    make();  // to warm up
    sum_ = times_ = 0.0;
  }

  // Makes it if it is time to: for a third of all seconds.
  void now_and_then() {
    if (clock() - last_ > 2 * taken_) make();
  }
  double taken_in_all() const { return sum_; }
  double per_state() const { return sum_ / times_ / static_cast<double>(own_.size()); }

 private:
  static double clock() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void make() {
    taken_ = seconds([&] {
      committee_.advance(initial_, parent_, member_, rows_, own_);
      committee_.spread(rows_, own_, spread_);
    });
    sum_ += taken_;
    times_ += 1.0;
    last_ = clock();
  }

  Committee& committee_;
  std::size_t count_;
  ResidentRows initial_, rows_;
  std::vector<double> spread_;
  std::vector<std::size_t> own_, parent_;
  std::vector<int> member_;
  double sum_ = 0.0, times_ = 0.0, taken_ = 0.0, last_ = 0.0;
};

// Hands everything on and counts what is advanced, in states, and how often distances come back.
class Counting final : public Committee {
 public:
  explicit Counting(Committee& committee) : Committee(committee.told()), committee_(committee) {}

  mutable std::atomic<std::size_t> advanced = 0, waits = 0;
  ScoringStep* beside = nullptr;  ///< made now and then between measurements

  const Grid& grid() const override { return committee_.grid(); }
  int members() const override { return committee_.members(); }
  std::size_t rows_at_once() const override { return committee_.rows_at_once(); }

 private:
  // Counts with this one.
  std::unique_ptr<Committee> do_another() override {
    std::unique_ptr<Committee> other = committee_.another();
    if (!other) return nullptr;
    auto counting = std::make_unique<Counting>(*other);
    counting->own_ = std::move(other);
    counting->first_ = first_;
    return counting;
  }
  void do_rows(RowsId id, std::size_t n) override {
    const auto index = static_cast<std::size_t>(id);
    theirs_.resize(std::max(theirs_.size(), index + 1));
    theirs_[index] = committee_.rows(n);
  }
  void do_release(RowsId id) override { committee_.release(theirs(id)); }
  void do_put(RowsId id, std::size_t first, StatesView<const float> states) override {
    committee_.put(theirs(id), first, states);
  }
  void do_get(RowsId id, std::size_t first, StatesView<float> states) const override {
    committee_.get(theirs(id), first, states);
  }
  void do_advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                  std::span<const double>, RowsId to, std::span<const std::size_t> j) override {
    first_->advanced += i.size();
    committee_.advance(theirs(from), i, member, theirs(to), j);
  }
  void do_sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                 std::span<const double>, std::size_t step, RowsId to,
                 std::span<const std::size_t> j, std::span<double> features) override {
    first_->advanced += i.size();
    committee_.sketch(theirs(from), i, member, step, theirs(to), j, features);
  }
  void do_distance2(RowsId x, std::span<const std::size_t> i, RowsId y,
                    std::span<const std::size_t> j, std::span<double> out) const override {
    ++first_->waits;
    committee_.distance2(theirs(x), i, theirs(y), j, out);
    if (beside != nullptr) beside->now_and_then();
  }
  void do_spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const override {
    committee_.spread(theirs(x), i, out);
  }

  RowsId theirs(RowsId id) const { return theirs_[static_cast<std::size_t>(id)]; }

  Committee& committee_;
  std::unique_ptr<Committee> own_;
  std::vector<RowsId> theirs_;  // by the id here
  const Counting* first_ = this;
};

// MB of a line of this process's status; 0 where there is none (not Linux).
double status_megabytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":"))
      return std::strtod(line.c_str() + name.size() + 1, nullptr) / 1e3;
  return 0.0;
}

// What the work takes at its peak beyond what there was before.
double peak_megabytes(const std::function<void()>& work) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
  const double before = status_megabytes("VmRSS");
  work();
  return std::max(0.0, status_megabytes("VmHWM") - before);
}

// Fresh networks and a pool of noise.
struct World {
  World(const Problem& problem, std::size_t width, std::size_t count, int threads, bool on_gpu)
      : shape(make_network(
            make_grid(1, problem.points, std::vector<double>(problem.points.size(), 1.0)),
            network(problem, width))),
        engine(on_gpu ? make_cuda_engine(shape, kMembers, ComputeOptions::Precision::tf32)
                      : make_cpu_engine(shape, kMembers, threads)),
        states(shape.grid, count),
        open(count),
        steps(problem.steps) {
    for (int m = 0; m < kMembers; ++m)
      engine->load(m, fresh_member(shape, unit_scaling(1),
                                   Rng(1).split("member", static_cast<std::uint64_t>(m))));
    committee = engine->committee({0, 1});
    for (std::size_t i = 0; i < states.values().size(); ++i)
      states.values()[i] = static_cast<float>(Rng(2).normal(i));
    std::iota(open.begin(), open.end(), std::size_t{0});
  }
  static NetworkOptions network(const Problem& problem, std::size_t width) {
    FnoOptions options;
    options.modes = problem.modes;
    if (width > 0) options.width = options.lifting = options.projection = width;
    return {.family = fno(options)};
  }
  Candidates candidates() const { return {states.view(), open, steps}; }
  std::size_t budget() const { return 8 * steps; }

  NetworkSpec shape;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Committee> committee;
  States<float> states;
  std::vector<std::size_t> open;
  std::size_t steps;
};

// stap-one, in both ways, against the search, in turn.
void measure_one(const Problem& problem, const World& world, const char* device) {
  struct Measured {
    std::string name;
    std::unique_ptr<StepChooser> chooser;
    double seconds = 0.0;
    std::size_t rows = 0;
    std::vector<Pattern> found{};
  };
  const Candidates candidates = world.candidates();
  const std::vector<std::size_t> ids =
      make_random()->order(*world.committee, candidates, world.budget(), Rng(3)).ids;
  Measured all[] = {{"stap", make_stap({})},
                    {"quick", make_stap_one({.search = StapOneOptions::Search::quick})},
                    {"exact", make_stap_one()}};
  for (int i = 0; i < (device == std::string("cuda") ? 4 : 1); ++i)  // the first is to warm up
    for (Measured& m : all) {
      Counting committee(*world.committee);
      m.seconds = seconds(
          [&] { m.found = m.chooser->choose(committee, candidates, ids, world.budget(), Rng(3)); });
      m.rows = committee.advanced;
      fmt::print(stderr, "{}: {} {:.4g} s\n", problem.name, m.name, m.seconds);
    }
  const Measured& stap = all[0];
  for (const Measured& one : std::span(all).subspan(1)) {
    std::size_t same = 0;
    for (std::size_t k = 0; k < one.found.size(); ++k) same += one.found[k] == all[2].found[k];
    const double ratio = one.seconds / stap.seconds;
    fmt::print(
        R"({{"bench":"select_one","name":"{}","device":"{}","search":"{}","members":{},"steps":{},"budget":{},"trajectories_stap":{},"trajectories_one":{},"same":{},"seconds_stap":{:.4g},"seconds_one":{:.4g},"ratio":{:.4g},"ratio_each":{:.4g},"rows_stap":{},"rows_one":{},"rows_ratio":{:.4g}}})"
        "\n",
        problem.name, device, one.name, kMembers, problem.steps, world.budget(), stap.found.size(),
        one.found.size(), same, stap.seconds, one.seconds, ratio,
        ratio * static_cast<double>(stap.found.size()) / static_cast<double>(one.found.size()),
        stap.rows, one.rows, static_cast<double>(one.rows) / static_cast<double>(stap.rows));
  }
  std::fflush(stdout);
}

void measure_on_gpu(const Problem& problem) {
  const World world(problem, 0, kPool, 0, true);
  const Candidates candidates = world.candidates();
  make_sbal({})->order(*world.committee, candidates, 1, Rng(3));
  for (int i = 0; i < 3; ++i) {
    Counting committee(*world.committee);
    Plan plan;
    const double total = seconds([&] {
      const auto planner = make_two_part_planner(make_sbal({}), make_stap({}));
      plan = planner->begin(committee, candidates, Rng(3))->next(world.budget());
    });
    Counting scoring(*world.committee);
    const double score = seconds([&] { make_sbal({})->order(scoring, candidates, kPool, Rng(3)); });
    fmt::print(
        R"({{"bench":"select","name":"{}","device":"cuda","members":{},"steps":{},"candidates":{},"budget":{},"trajectories":{},"seconds_score":{:.4g},"seconds_selection":{:.4g},"ratio_search_to_score":{:.4g},"rows_ratio":{:.4g},"waits_search":{}}})"
        "\n",
        problem.name, kMembers, problem.steps, kPool, world.budget(), plan.purchases.size(), score,
        total, (total - score) / score,
        static_cast<double>(committee.advanced - scoring.advanced) /
            static_cast<double>(scoring.advanced),
        committee.waits.load());
    std::fflush(stdout);
  }
  measure_one(problem, world, "cuda");
  const double lcmd =
      seconds([&] { make_lcmd()->order(*world.committee, candidates, world.budget(), Rng(3)); });
  fmt::print(
      R"({{"bench":"select_lcmd","name":"{}","device":"cuda","candidates":{},"picks":{},"seconds_order":{:.4g}}})"
      "\n",
      problem.name, kPool, world.budget(), lcmd);
  std::fflush(stdout);
}

// A round's search by SBAL+STAP, whole, against scoring. Returns the seconds of 10,000 scores.
double measure_search(const Problem& problem, World& world, int threads) {
  Counting committee(*world.committee);
  const Candidates candidates = world.candidates();
  const std::size_t count = world.open.size();
  spread_scores(committee, candidates,
                std::span(world.open).first(std::min<std::size_t>(count, 32)));
  const double part = static_cast<double>(count) / static_cast<double>(kPool);
  const auto planner = make_two_part_planner(make_sbal({}), make_stap({}));
  const auto plans = planner->begin(committee, candidates, Rng(3));
  ScoringStep scoring(*world.committee, candidates);
  committee.beside = &scoring;
  committee.advanced = committee.waits = 0;
  const Plan plan = plans->next(world.budget());
  // Scoring measures spreads, never distances, so it is not disturbed.
  const std::size_t rows_score = count * kMembers * problem.steps;
  const std::size_t rows_search = committee.advanced - rows_score;
  const double search = plans->seconds().choose - scoring.taken_in_all();
  const double seconds_score = scoring.per_state() * static_cast<double>(rows_score) / part;
  fmt::print(
      R"({{"bench":"select","name":"{}","threads":{},"members":{},"steps":{},"scored":{},"extrapolated":"linearly to 10000 scores","budget":{},"unspent":{},"trajectories":{},"seconds_score_10000":{:.4g},"seconds_search_round":{:.4g},"ratio":{:.4g},"rows_score_10000":{:.4g},"rows_search_round":{},"rows_ratio":{:.4g},"waits_search":{}}})"
      "\n",
      problem.name, threads, kMembers, problem.steps, count, world.budget(), plan.unspent,
      plan.purchases.size(), seconds_score, search, search / seconds_score,
      static_cast<double>(rows_score) / part, rows_search,
      static_cast<double>(rows_search) * part / static_cast<double>(rows_score),
      committee.waits.load());
  std::fflush(stdout);
  return seconds_score;
}

void measure_orders(const Problem& problem, const World& world, double seconds_score, int threads) {
  const Problem one_step{problem.name, problem.points, problem.modes, 1};
  const World narrow(one_step, 8, kPool, threads, false);
  const std::size_t count = world.open.size();
  for (const auto& selector : {make_lcmd(), make_core_set()}) {
    double taken = 0.0;
    const double blocks = peak_megabytes([&] {
      taken = seconds(
          [&] { selector->order(*world.committee, world.candidates(), world.budget(), Rng(3)); });
    });
    const double whole = peak_megabytes(
        [&] { selector->order(*narrow.committee, narrow.candidates(), world.budget(), Rng(3)); });
    const double order = taken / static_cast<double>(count) * static_cast<double>(kPool);
    fmt::print(
        R"({{"bench":"select_{}","name":"{}","threads":{},"members":{},"steps":{},"candidates":{},"picks":{},"extrapolated":"linearly to 10000 candidates","seconds_order_10000":{:.4g},"ratio_to_score":{:.4g},"megabytes":{:.4g},"megabytes_10000_narrow":{:.4g}}})"
        "\n",
        selector->name(), problem.name, threads, kMembers, problem.steps, count,
        std::min(count, world.budget()), order, order / seconds_score, blocks, whole);
    std::fflush(stdout);
  }
}

// Scores of some candidates by a dilated network of this width and by an FNO of paper size, in
// turns: medians. The search advances the same rows, so what a selection costs has this ratio, too.
void measure_families(const Problem& problem, std::size_t count, std::size_t width, int threads) {
  World fno(problem, 0, count, threads, false), other(problem, 0, count, threads, false);
  other.shape = make_network(other.shape.grid, {.family = dilated({.width = width})});
  other.engine = make_cpu_engine(other.shape, kMembers, threads);
  for (int m = 0; m < kMembers; ++m)
    other.engine->load(m, fresh_member(other.shape, unit_scaling(1), Rng(1)));
  other.committee = other.engine->committee({0, 1});
  const auto score = [&](World& world) {
    return seconds([&] { spread_scores(*world.committee, world.candidates(), world.open); });
  };
  std::vector<double> fnos, others, ratios;
  for (int i = 0; i < 6; ++i) {
    const double a = score(fno), b = score(other);
    if (i == 0) continue;  // to warm up
    fnos.push_back(a), others.push_back(b), ratios.push_back(b / a);
  }
  const auto median = [](std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  const double all = static_cast<double>(kPool) / static_cast<double>(count);
  fmt::print(
      R"({{"bench":"select_families","name":"{}","threads":{},"members":{},"steps":{},"width":{},"scored":{},"seconds_score_10000_fno":{:.4g},"seconds_score_10000_dilated":{:.4g},"ratio":{:.4g}}})"
      "\n",
      problem.name, threads, kMembers, problem.steps, width, count, all * median(fnos),
      all * median(others), median(ratios));
  std::fflush(stdout);
}

void measure(const Problem& problem, std::size_t count, int threads) {
  World world(problem, 0, count, threads, false);
  const double score = measure_search(problem, world, threads);
  measure_one(problem, world, "cpu");
  measure_orders(problem, world, score, threads);
}

}  // namespace
}  // namespace stap

int main(int argc, char** argv) {
  const stap::Problem burgers{"burgers", {256}, {32}, 13}, ins{"ins", {32, 32}, {16, 16}, 26};
  if (argc > 1 && std::string(argv[1]) == "cuda") {
    stap::measure_on_gpu(burgers);
    stap::measure_on_gpu(ins);
    return 0;
  }
  if (argc > 1 && std::string(argv[1]) == "families") {
    const int threads = stap::thread_count(argc > 2 ? std::atoi(argv[2]) : 0);
    for (const std::size_t width : {64, 32}) {
      stap::measure_families(burgers, 32, width, threads);
      stap::measure_families(ins, 2, width, threads);
    }
    return 0;
  }
  if (argc > 1 && std::string(argv[1]) == "one") {
    const int threads = stap::thread_count(argc > 2 ? std::atoi(argv[2]) : 0);
    for (const stap::Problem& problem : {burgers, ins})
      stap::measure_one(problem, stap::World(problem, 0, 8 * problem.steps, threads, false), "cpu");
    return 0;
  }
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 500;
  const int threads = stap::thread_count(argc > 2 ? std::atoi(argv[2]) : 0);
  if (count == 0) {
    std::fputs("select_bench: expected at least 1 candidate\n", stderr);
    return 2;
  }
  stap::measure(burgers, count, threads);
  // About ten times the work a candidate.
  stap::measure(ins, (count + 9) / 10, threads);
  return 0;
}
