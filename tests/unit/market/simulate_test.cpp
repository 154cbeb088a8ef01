#include "stap/market/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "stap/data/store.h"
#include "stap/data/transitions.h"
#include "stap/study/data_files.h"
#include "support/contains.h"
#include "support/fake_committee.h"
#include "support/fake_solver.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using How = SimulationRules::How;
using Placing = SimulationRules::Placing;
using test::content;
using test::expect_error;
using test::FakeCommittee;
using test::FakeSolver;
using test::FarSolver;
using test::Fate;
using test::TemporaryFolder;

const Grid kSimulated = make_grid(1, {4}, {1.0});
constexpr std::size_t kSimulatedSteps = 7, kSimulatedRows = 5;
constexpr double kStepLength = 0.25;

// Members make the solver's step (fake_next at time 0) and are off by `error` (1 +- `apart`).
FakeCommittee::Member nearly(float error, float apart) {
  return [=](const std::vector<float>& state, double) {
    std::vector<float> next = state;
    for (std::size_t v = 1; v < next.size(); ++v)
      next[v] = 0.75f * state[v] + 1.0f / 3.0f + error * (1 + apart) * state[v];
    return next;
  };
}
std::unique_ptr<FakeCommittee> committee_off_by(float error) {
  return std::make_unique<FakeCommittee>(
      kSimulated, std::vector<FakeCommittee::Member>{nearly(error, 0.5f), nearly(error, -0.25f)});
}

// The solver does not look at the time.
class TimelessSolver : public BatchSolver {
 public:
  explicit TimelessSolver(test::Decide decide = test::always_ok)
      : BatchSolver("timeless", kSimulated, kStepLength), decide_(std::move(decide)) {}
  mutable std::size_t asked = 0;

 private:
  std::string guard(const Query& query) const override {
    return fate(query) == Fate::refused ? "told to refuse" : "";
  }
  Fate fate(const Query& query) const {
    return decide_(static_cast<std::size_t>(query.state[0]),
                   static_cast<std::size_t>(std::lround(query.time / kStepLength)));
  }
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    asked += queries.size();
    for (std::size_t i = 0; i < queries.size(); ++i)
      test::add_fake_step(fate(*queries[i]), queries[i]->state, 0.0, *answers[i]);
  }
  test::Decide decide_;
};

SimulationRequest request_for(SimulationRules rules) {
  rules.steps = kSimulatedSteps;
  SimulationRequest request{.rules = rules, .initial = States<double>(kSimulated, kSimulatedRows)};
  for (std::size_t row = 0; row < kSimulatedRows; ++row)
    for (std::size_t v = 0; v < 4; ++v)
      request.initial.row(row)[v] =
          v == 0 ? static_cast<double>(row) : std::sin(static_cast<double>(row + 3 * v));
  ErrorBars bars{.level = 0.9, .trajectories = 9, .steps = kSimulatedSteps, .floor = {1e-6}};
  bars.first.assign(3 * kSimulatedSteps, 4.0);
  bars.any.assign(3 * kSimulatedSteps, 2.0);
  bars.together = 1;
  request.bars = bars;
  request.about.set("weights", "none");
  return request;
}

Simulated run_it(const SimulationRules& rules, const fs::path& folder,
                 std::shared_ptr<const Solver> solver = std::make_shared<TimelessSolver>(),
                 float error = 0.1f, const StopAsked& stop = {}) {
  Observer silent;
  const auto committee = committee_off_by(error);
  return simulate(request_for(rules), *committee, std::move(solver),
                  {"timeless", kSimulated, kStepLength}, folder, silent, stop);
}

const std::vector<SimulationRules>& all_rules() {
  static const std::vector<SimulationRules> all{
      {.how = How::tolerance, .tolerance = 0.1},
      {.how = How::share, .share = 0.4},
      {.how = How::share, .share = 0.4, .placing = Placing::random, .seed = 3},
      {.how = How::verify, .tolerance = 0.05, .draft = 3},
      {.how = How::verify, .tolerance = 0.05, .draft = 3, .most = 33},
  };
  return all;
}

std::string bytes_of(const fs::path& folder) {
  return content(folder / "simulation.h5") + content(folder / "transitions.h5");
}

// Every state is what its maker makes of the state before it, and transitions are what the solver
// was asked for; what the tolerance promises is kept by construction here: the bars are far wider
// than errors.
TEST(Simulate, StatesAreOfWhoMadeThem) {
  for (const SimulationRules& rules : all_rules()) {
    const TemporaryFolder folder;
    const auto solver = std::make_shared<TimelessSolver>();
    const Simulated done = run_it(rules, folder.path("out"), solver);

    ASSERT_TRUE(done.finished);
    const std::string file = folder.path("out/simulation.h5");
    const Array<double> states = read_array(file, "trajectory"),
                        who = read_array(file, "by_solver"),
                        paid = read_array(file, "solver_steps");
    ASSERT_EQ(states.shape, (std::vector<std::size_t>{kSimulatedRows, kSimulatedSteps + 1, 1, 4}));
    const TransitionSet solved = read_transitions(folder.path("out/transitions.h5"));
    EXPECT_EQ(solved.count(), done.paid);
    EXPECT_EQ(solver->asked, done.paid);
    double in_all = 0;
    for (const double steps : paid.values) in_all += steps;
    EXPECT_EQ(in_all, static_cast<double>(done.paid));
    const auto committee = committee_off_by(0.1f);
    for (std::size_t row = 0; row < kSimulatedRows; ++row)
      for (std::size_t step = 0; step < kSimulatedSteps; ++step) {
        const double* at = states.values.data() + (row * (kSimulatedSteps + 1) + step) * 4;
        const std::vector<double> from(at, at + 4), to(at + 4, at + 8);
        const std::vector<float> single(from.begin(), from.end());
        const std::vector<float> mean = committee->apply(kMean, single, 0.0);
        const bool by_solver = who.values[row * kSimulatedSteps + step] != 0;
        EXPECT_EQ(to, by_solver ? test::fake_next(from, 0.0)
                                : std::vector<double>(mean.begin(), mean.end()))
            << row << " " << step;
        EXPECT_TRUE(!by_solver || paid.values[row * kSimulatedSteps + step] > 0);
      }
    for (std::size_t i = 0; i < solved.count(); ++i) {
      const std::span<const double> input = std::span(solved.inputs).subspan(4 * i, 4);
      const std::span<const double> output = std::span(solved.outputs).subspan(4 * i, 4);
      EXPECT_EQ(std::vector(output.begin(), output.end()), test::fake_next(input, 0.0));
    }
    EXPECT_GT(
        read_first(folder.path("out/transitions.h5"), kSimulated, 1, kSimulatedSteps, 0, false)
            .set.count(),
        0u);
  }
}

// Slots, batches and the order of answers never show.
TEST(Simulate, OrdersOfAnswersDoNotMatter) {
  class Shuffled final : public Solver {
   public:
    explicit Shuffled(std::uint64_t seed)
        : Solver("timeless", kSimulated, kStepLength),
          far_(kSimulated, kStepLength, [](std::size_t, std::size_t) { return Fate::ok; },
               {.shuffle = Rng(seed), .polls = 1}),
          near_() {}

   private:
    // Answers of the timeless solver in the order of the far one.
    class Queue final : public SolverQueue {
     public:
      Queue(std::unique_ptr<SolverQueue> far, const Solver& near)
          : far_(std::move(far)), near_(near) {}
      void submit(Query query) override {
        Answer answer;
        near_.solve({&query, 1}, {&answer, 1});
        answers_[query.id] = std::move(answer);
        far_->submit(std::move(query));
      }
      std::size_t open() const override { return far_->open(); }
      Outlook outlook() const override { return far_->outlook(); }
      std::optional<Reply> next(Clock::time_point until) override {
        auto reply = far_->next(until);
        if (reply) reply->answer = answers_.at(reply->id);
        return reply;
      }

     private:
      std::unique_ptr<SolverQueue> far_;
      const Solver& near_;
      std::map<std::uint64_t, Answer> answers_;
    };
    std::unique_ptr<SolverQueue> open_queue() const override {
      return std::make_unique<Queue>(far_.open(), near_);
    }

    FarSolver far_;
    TimelessSolver near_;
  };
  for (const SimulationRules& rules : all_rules()) {
    if (rules.most || rules.placing == Placing::random) continue;  // as quick, and no other way
    const TemporaryFolder folder;
    run_it(rules, folder.path("near"));
    ASSERT_TRUE(run_it(rules, folder.path("far"), std::make_shared<Shuffled>(1)).finished);
    EXPECT_EQ(bytes_of(folder.path("far")), bytes_of(folder.path("near")));
  }
}

// Stopped after every so many looks, and continued: nothing is asked twice.
TEST(Simulate, ContinuesWhereItWasStopped) {
  for (const SimulationRules& rules : all_rules()) {
    if (rules.placing == Placing::random) continue;  // not another way
    const TemporaryFolder folder;
    const Simulated whole = run_it(rules, folder.path("whole"));
    const auto solver = std::make_shared<TimelessSolver>();
    bool finished = false;
    for (int attempt = 0; !finished; ++attempt) {
      ASSERT_LT(attempt, 100);
      // Planning looks often, and is done again each time.
      const int most = rules.how == How::share ? 12 + 40 * attempt : 12;
      int looks = 0;
      finished =
          run_it(rules, folder.path("out"), solver, 0.1f, StopAsked([&] { return ++looks > most; }))
              .finished;
    }
    const Simulated again = run_it(rules, folder.path("out"), solver);  // all is there

    EXPECT_TRUE(again.finished);
    EXPECT_EQ(solver->asked, whole.paid);
    EXPECT_EQ(again.paid, whole.paid);
    EXPECT_EQ(bytes_of(folder.path("out")), bytes_of(folder.path("whole")));
  }
}

// Planning takes hours where steps are many. Broken by planning that does not look.
TEST(Simulate, PlanningIsStoppedToo) {
  const TemporaryFolder folder;
  SimulationRequest request = request_for({.how = How::share, .share = 0.4});
  request.rules.steps = 300;
  const auto committee = committee_off_by(0.1f);
  Observer silent;
  int looks = 0;
  const auto solver = std::make_shared<TimelessSolver>();

  const Simulated done =
      simulate(request, *committee, solver, {"timeless", kSimulated, kStepLength},
               folder.path("out"), silent, StopAsked([&] { return ++looks > 12; }));

  EXPECT_FALSE(done.finished);
  EXPECT_LT(looks, 20);
  EXPECT_EQ(solver->asked, 0u);
}

// A useless surrogate leaves all of it to the solver, and costs no more than that under a
// tolerance.
TEST(Simulate, OfAUselessSurrogateIsTheSolvers) {
  const TemporaryFolder folder;
  const Simulated tolerance = run_it({.how = How::tolerance, .tolerance = 1e-4}, folder.path("t"),
                                     std::make_shared<TimelessSolver>(), 3.0f);
  const Simulated verified = run_it({.how = How::verify, .tolerance = 1e-4, .draft = 2},
                                    folder.path("v"), std::make_shared<TimelessSolver>(), 3.0f);

  EXPECT_EQ(tolerance.by_solver, kSimulatedRows * kSimulatedSteps);
  EXPECT_EQ(tolerance.paid, kSimulatedRows * kSimulatedSteps);
  EXPECT_EQ(verified.by_solver, kSimulatedRows * kSimulatedSteps);
  EXPECT_EQ(verified.paid, kSimulatedRows * (kSimulatedSteps + 1));  // a first draft of two
  EXPECT_EQ(read_array(folder.path("t/simulation.h5"), "trajectory").values,
            read_array(folder.path("v/simulation.h5"), "trajectory").values);
}

TEST(Simulate, GoesOnAloneWhereTheSolverFails) {
  for (const SimulationRules& rules : all_rules()) {
    if (rules.how == How::share) continue;  // may never ask for this step
    const TemporaryFolder folder;
    const auto failing = std::make_shared<TimelessSolver>([](std::size_t row, std::size_t step) {
      return row == 2 && step == 0   ? Fate::failed
             : row == 3 && step == 0 ? Fate::refused
                                     : Fate::ok;
    });
    const Simulated done = run_it(rules, folder.path("out"), failing);

    EXPECT_TRUE(done.finished);
    EXPECT_EQ(done.failed, 1u);
    EXPECT_EQ(done.refused, 1u);
    EXPECT_TRUE(test::contains(done.trouble, "trajectory 2, step 1: failed: told to fail"));
    EXPECT_GE(done.beyond, 2u);
    const Array<double> failed = read_array(folder.path("out/simulation.h5"), "failed_step");
    EXPECT_EQ(failed.values, (std::vector<double>{-1, -1, 1, 1, -1}));
    const Array<double> states = read_array(folder.path("out/simulation.h5"), "trajectory");
    EXPECT_TRUE(std::ranges::all_of(states.values, [](double v) { return std::isfinite(v); }));
  }
}

// Of what can never become a simulation there is no folder.
TEST(Simulate, RefusesBeforeThereIsAFolder) {
  const TemporaryFolder folder;
  const auto refused = [&](ErrorKind kind, const std::string& part, const auto& spoil) {
    SimulationRequest request = request_for({.how = How::share, .share = 0.4});
    spoil(request);
    Observer silent;
    const auto committee = committee_off_by(0.1f);
    expect_error(kind, part, [&] {
      simulate(request, *committee, std::make_shared<TimelessSolver>(),
               {"timeless", kSimulated, kStepLength}, folder.path("out"), silent, {});
    });
    EXPECT_FALSE(fs::exists(folder.path("out")));
  };
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), -1e39})
    refused(ErrorKind::data, "in row 3, channel 0",
            [&](SimulationRequest& request) { request.initial.row(3)[2] = bad; });
  refused(ErrorKind::config, "of memory",
          [](SimulationRequest& request) { request.rules.steps = std::size_t{1} << 40; });
}

// A plan for each step of the solver, told before it is made.
TEST(Simulate, TellsOfItsPlans) {
  class Plans final : public Observer {
   public:
    void progress(const Progress& event) override {
      if (event.phase != "planning") return;
      EXPECT_EQ(event.done, told++);
      EXPECT_EQ(event.total, 15U);  // of five trajectories, three each
    }
    std::size_t told = 0;
  };
  const TemporaryFolder folder;
  Plans plans;
  const auto committee = committee_off_by(0.1f);
  const Simulated done =
      simulate(request_for({.how = How::share, .share = 0.4}), *committee,
               std::make_shared<TimelessSolver>(), {"timeless", kSimulated, kStepLength},
               folder.path("out"), plans, {});

  EXPECT_TRUE(done.finished);
  EXPECT_EQ(plans.told, 15U);
}

TEST(Simulate, KeepsToItsMost) {
  const TemporaryFolder folder;
  SimulationRules rules{.how = How::tolerance, .tolerance = 1e-4};
  rules.most = 12;  // of five trajectories: 3, 3, 2, 2, 2

  const Simulated done = run_it(rules, folder.path("out"));

  EXPECT_EQ(done.paid, 12u);
  EXPECT_EQ(done.beyond, kSimulatedRows);
  const Array<double> paid = read_array(folder.path("out/simulation.h5"), "solver_steps");
  for (std::size_t row = 0; row < kSimulatedRows; ++row)
    for (std::size_t step = 0; step < kSimulatedSteps; ++step)
      EXPECT_EQ(paid.values[row * kSimulatedSteps + step], step < (row < 2 ? 3U : 2U) ? 1 : 0);
  expect_error(ErrorKind::config, "holds another simulation",
               [&] { run_it({.how = How::tolerance, .tolerance = 2e-4}, folder.path("out")); });
  rules.steps = kSimulatedSteps;
  EXPECT_EQ(most_solver_steps(rules, 5), 12u);
  EXPECT_EQ(most_solver_steps({.how = How::share, .steps = 26, .share = 0.1}, 5), 15u);
  EXPECT_EQ(most_solver_steps({.how = How::share, .steps = 4, .share = 0.1}, 5), 5u);
}

}  // namespace
}  // namespace stap
