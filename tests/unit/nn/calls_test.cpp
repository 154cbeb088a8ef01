// What is refused whatever is behind a committee or an engine: each wrong argument once, for a fake
// and for real networks. And how both are stopped.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/resident_rows.h"
#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/fake_committee.h"
#include "support/networks.h"
#include "support/refusals.h"

namespace stap {
namespace {

using test::expect_error;
using test::small_shape;
using test::Transitions;

using Indices = std::vector<std::size_t>;
using Members = std::vector<int>;

NetworkSpec small_timed_shape() {
  return small_shape({8}, {4}, 1, 5, 7, true);
}

// Two members with a time input on 8 points; blocks x of 4 rows (their states) and y of 3.
class CommitteeCalls : public testing::TestWithParam<std::string> {
 protected:
  CommitteeCalls() {
    if (GetParam() == "Fake") {
      committee = std::make_unique<test::FakeCommittee>(grid, test::linear_members(2, 8, Rng(1)));
    } else {
      engine = test::make_engine_under_test(small_timed_shape(), 2, 2);
      for (int m = 0; m < 2; ++m)
        engine->load(m, fresh_member(engine->spec(), unit_scaling(1), Rng(1).split("m", m)));
      committee = engine->committee({0, 1});
    }
    x = committee->rows(4);
    y = committee->rows(3);
    committee->put(x, 0, states.view());
  }
  std::vector<float> rows_of(RowsId id, std::size_t n) const {
    States<float> out(grid, n);
    committee->get(id, 0, out.view());
    return {out.values().begin(), out.values().end()};
  }
  // The call is refused and has changed nothing.
  void refused(ErrorKind kind, const std::string& part, const std::function<void()>& call) {
    SCOPED_TRACE(part);
    expect_error(kind, part, call);
    EXPECT_EQ(rows_of(x, 4), std::vector<float>(states.values().begin(), states.values().end()));
    EXPECT_EQ(rows_of(y, 3), std::vector<float>(3 * grid.values(), 0.0f));
    EXPECT_EQ(committee->blocks_in_use(), 2u);
  }
  void refused(const std::string& part, const std::function<void()>& call) {
    refused(ErrorKind::internal, part, call);
  }

  Grid grid = small_timed_shape().grid;
  States<float> states = test::random_states(grid, 4, Rng(2));
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Committee> committee;
  RowsId x{}, y{};
};
INSTANTIATE_TEST_SUITE_P(Kinds, CommitteeCalls, testing::Values("Fake", "Networks"),
                         [](const auto& test) { return test.param; });

TEST_P(CommitteeCalls, OnBlocksThatAreNotThereAreRefused) {
  const RowsId none{7}, released = committee->rows(2);
  committee->release(released);
  States<float> out(grid, 1);
  std::vector<double> number(1);

  for (const RowsId id : {none, released}) {
    refused("no block of rows", [&] { committee->release(id); });
    refused("no block of rows", [&] { committee->put(id, 0, states.view().rows(0, 1)); });
    refused("no block of rows", [&] { committee->get(id, 0, out.view()); });
    refused("no block of rows",
            [&] { committee->advance(id, Indices{0}, Members{0}, y, Indices{0}); });
    refused("no block of rows",
            [&] { committee->advance(x, Indices{0}, Members{0}, id, Indices{0}); });
    refused("no block of rows",
            [&] { committee->distance2(id, Indices{0}, x, Indices{0}, number); });
    refused("no block of rows",
            [&] { committee->distance2(x, Indices{0}, id, Indices{0}, number); });
    refused("no block of rows", [&] { committee->spread(id, Indices{0, 0}, number); });
  }
}

TEST_P(CommitteeCalls, WithStatesOfAnotherSizeAreRefused) {
  States<float> small(make_grid(1, {6}, {1.0}), 1);

  refused(ErrorKind::data, "states of 6 values, expected 8",
          [&] { committee->put(x, 0, small.view()); });
  refused(ErrorKind::data, "states of 6 values, expected 8",
          [&] { committee->get(x, 0, small.view()); });
}

TEST_P(CommitteeCalls, BeyondABlockAreRefused) {
  States<float> two(grid, 2);
  std::vector<double> number(1);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

  refused("rows 3 .. 5 of a block of 4", [&] { committee->put(x, 3, two.view()); });
  refused("rows 3 .. 5 of a block of 4", [&] { committee->get(x, 3, two.view()); });
  refused("of a block of 4", [&] { committee->get(x, most, two.view()); });
  refused("row 4 of a block of 4",
          [&] { committee->advance(x, Indices{4}, Members{0}, y, Indices{0}); });
  refused("row 3 of a block of 3",
          [&] { committee->advance(x, Indices{3}, Members{0}, y, Indices{3}); });
  refused("row 4 of a block of 4",
          [&] { committee->distance2(x, Indices{4}, y, Indices{0}, number); });
  refused("row 3 of a block of 3",
          [&] { committee->distance2(x, Indices{0}, y, Indices{3}, number); });
  refused("row 3 of a block of 3", [&] { committee->spread(y, Indices{0, 3}, number); });
}

TEST_P(CommitteeCalls, WithSpansOfDifferentLengthsAreRefused) {
  const Indices one{0}, two{0, 1};
  std::vector<double> number(1), features(2 * kSketchSize);

  refused("spans of 2 and 1", [&] { committee->advance(x, two, Members{0, 0}, y, one); });
  refused("spans of 1 and 2", [&] { committee->advance(x, one, Members{0, 0}, y, one); });
  refused("spans of 1 and 2", [&] {
    const std::vector<std::uint32_t> steps{0, 1};
    committee->put(x, 0, states.view().rows(0, 1), {steps});
  });
  refused("spans of 512 and 1024",
          [&] { committee->sketch(x, one, Members{0}, 0, y, one, features); });
  refused("spans of 1 and 2", [&] { committee->distance2(x, one, x, two, number); });
  refused("spans of 2 and 1", [&] { committee->distance2(x, two, x, two, number); });
  refused("spans of 1 and 2", [&] { committee->spread(x, one, number); });
}

TEST_P(CommitteeCalls, WithMembersThatCannotBeAreRefused) {
  const Indices one{0};
  std::vector<double> features(kSketchSize);
  const auto advance = [&](int member) {
    return [=, this] { committee->advance(x, one, Members{member}, y, one); };
  };

  refused("member 2 of a committee of 2", advance(2));
  refused("member -2 of a committee of 2", advance(-2));
  refused("mean model", [&] { committee->sketch(x, one, Members{kMean}, 0, y, one, features); });
}

TEST_P(CommitteeCalls, ThatWouldOverwriteWhatTheyReadAreRefused) {
  const auto advance = [&](Indices from, RowsId to, Indices j) {
    return [=, this] { committee->advance(x, from, Members{0, 1}, to, j); };
  };

  refused("row 2 is written twice", advance({0, 1}, y, {2, 2}));
  refused("row 1 is read for one row and written by another", advance({0, 1}, x, {1, 2}));
  refused("row 1 is read for one row and written by another", advance({1, 1}, x, {1, 2}));
  // In place, and from rows that nobody writes.
  EXPECT_NO_THROW(advance({2, 3}, x, {2, 3})());
  EXPECT_NO_THROW(advance({0, 0}, x, {1, 2})());
}

// Breaks if a row counts as written by the calls before.
TEST_P(CommitteeCalls, MayWriteARowAgainAndAgain) {
  for (int call = 0; call < 3; ++call)
    EXPECT_NO_THROW(committee->advance(x, Indices{0}, Members{0}, x, Indices{0}));
}

TEST_P(CommitteeCalls, OfNoRowsDoNothing) {
  EXPECT_NO_THROW(committee->advance(x, {}, {}, y, {}));
  EXPECT_NO_THROW(committee->sketch(x, {}, {}, 0, y, {}, {}));
  EXPECT_NO_THROW(committee->distance2(x, {}, y, {}, {}));
  EXPECT_NO_THROW(committee->spread(x, {}, {}));
  EXPECT_NO_THROW(committee->put(x, 4, states.view().rows(0, 0)));
  EXPECT_EQ(rows_of(y, 3), std::vector<float>(3 * grid.values(), 0.0f));
}

// Breaks if an id is given twice, or rows are those of the block that had it before.
TEST_P(CommitteeCalls, BlocksAreTheirOwnAndZero) {
  const RowsId first = committee->rows(4);
  committee->put(first, 0, states.view());
  committee->release(first);

  const RowsId again = committee->rows(2), other = committee->rows(1);

  EXPECT_NE(again, other);
  EXPECT_EQ(rows_of(again, 2), std::vector<float>(2 * grid.values(), 0.0f));
  EXPECT_EQ(committee->blocks_in_use(), 4u);
  committee->release(again);
  committee->release(other);
  EXPECT_EQ(committee->blocks_in_use(), 2u);
}

TEST_P(CommitteeCalls, StopWhenAskedTo) {
  const Indices one{0};
  std::vector<double> features(kSketchSize), number(1);
  std::atomic<bool> stop = false;
  committee->stop_when([&] { return stop.load(); });
  const auto advance = [&] { committee->advance(x, one, Members{0}, y, one); };

  advance();
  const std::vector<float> after_one = rows_of(y, 3);
  stop = true;

  EXPECT_THROW(advance(), Stopped);
  EXPECT_THROW(committee->sketch(x, one, Members{0}, 0, y, one, features), Stopped);
  EXPECT_EQ(rows_of(y, 3), after_one);
  EXPECT_EQ(features, std::vector<double>(kSketchSize, 0.0));
  // What is there can still be looked at.
  EXPECT_NO_THROW(committee->distance2(x, one, y, one, number));

  committee->stop_when({});

  EXPECT_NO_THROW(advance());
}

// A long call hears of a stop on its way: of 2000 rows by two members only the first blocks are
// made. Breaks if a call that has begun is made to its end.
TEST(CommitteeStop, IsHeardWithinACall) {
  if (test::testing_cuda()) GTEST_SKIP() << "a call on the GPU is short";
  constexpr std::size_t kCount = 2000;
  const NetworkSpec shape = small_shape({8}, {4});
  const auto engine = test::make_engine_under_test(shape, 2, 2);
  for (int m = 0; m < 2; ++m)
    engine->load(m, fresh_member(shape, unit_scaling(1), Rng(1).split("m", m)));
  const auto committee = engine->committee({0, 1});
  const ResidentRows from(*committee, kCount), to(*committee, kCount);
  committee->put(from, 0, test::random_states(shape.grid, kCount, Rng(2)).view());
  Indices all(kCount);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::atomic<int> asked = 0;
  committee->stop_when([&] { return ++asked > 5; });

  EXPECT_THROW(committee->advance(from, all, Members(kCount, kMean), to, all), Stopped);

  // By each of two threads once more at most.
  EXPECT_LE(asked.load(), 7);
}

TEST(CommitteeStop, IsHandedOnToAnother) {
  const Grid grid = make_grid(1, {2}, {1.0});
  test::FakeCommittee committee(grid, test::linear_members(2, 2, Rng(1)));
  committee.has_another = true;
  bool stop = false;
  committee.stop_when([&] { return stop; });

  const auto other = committee.another();
  const ResidentRows row(*other, 1);
  const auto advance = [&] { other->advance(row, Indices{0}, Members{0}, row, Indices{0}); };

  EXPECT_NO_THROW(advance());
  stop = true;
  EXPECT_THROW(advance(), Stopped);
}

// A row's step number goes with it: through another row, in its own place, into another block; a
// state that is put anew begins where its condition says. Members add 1 + 10 t.
// Mutation: steps are counted by call; a row keeps its number when another state is put there.
TEST(CommitteeConditions, StepsAreCountedByRow) {
  const auto later = [](const std::vector<float>& u, double time) {
    return std::vector<float>{u[0] + 1.0f + static_cast<float>(10 * time)};
  };
  test::FakeCommittee committee(make_grid(1, {1}, {1.0}), {later}, 10);
  const ResidentRows x(committee, 3), y(committee, 2);
  States<float> zeros(committee.grid(), 3), got(committee.grid(), 2);
  const std::vector<std::uint32_t> steps{0, 4, 7};
  committee.put(x, 0, zeros.view(), {steps});

  committee.advance(x, Indices{1, 0}, Members{0, 0}, y, Indices{0, 1});  // steps 5 and 1 now
  committee.advance(y, Indices{0, 1}, Members{0, 0}, y, Indices{0, 1});  // 6 and 2
  committee.get(y, 0, got.view());
  EXPECT_EQ(got.row(0)[0], 1 + 4 + 1 + 5);
  EXPECT_EQ(got.row(1)[0], 1 + 0 + 1 + 1);

  committee.put(y, 0, zeros.view().rows(0, 1));
  committee.advance(y, Indices{0, 1}, Members{0, 0}, y, Indices{0, 1});
  committee.get(y, 0, got.view());
  EXPECT_EQ(got.row(0)[0], 1);
  EXPECT_EQ(got.row(1)[0], 3 + 1 + 2);
}

// Likewise its parameters. Members add what they are told: 5 (t + 1) is the parameter again.
// Mutations: parameters stay behind where rows cross; they are written before all are read; another
// block's rows begin with them.
TEST(CommitteeConditions, ParametersGoWithTheirRow) {
  const auto parameter = [](const std::vector<float>& u, double told) {
    return std::vector<float>{u[0] + static_cast<float>(5.0 * (told + 1.0))};
  };
  const ParameterDraw ranged{"nu", ParameterDraw::Kind::uniform, {0.0, 10.0}};
  test::FakeCommittee committee(make_grid(1, {1}, {1.0}), {parameter},
                                ConditionInputs{.parameters = {ranged}});
  const ResidentRows x(committee, 3), y(committee, 2);
  States<float> zeros(committee.grid(), 3), got(committee.grid(), 2);
  const std::vector<double> parameters{1.0, 4.0, 9.0};
  committee.put(x, 0, zeros.view(), {{}, parameters, 1});

  committee.advance(x, Indices{2, 0}, Members{0, 0}, y, Indices{0, 1});
  committee.advance(y, Indices{0, 1}, Members{0, 0}, x, Indices{1, 0});
  committee.advance(x, Indices{1, 0}, Members{0, 0}, y, Indices{0, 1});
  committee.get(y, 0, got.view());
  EXPECT_FLOAT_EQ(got.row(0)[0], 3 * 9.0f);
  EXPECT_FLOAT_EQ(got.row(1)[0], 3 * 1.0f);

  committee.put(y, 1, zeros.view().rows(0, 1), {{}, {&parameters[1], 1}, 1});
  committee.advance(y, Indices{0, 1}, Members{0, 0}, y, Indices{0, 1});
  committee.get(y, 0, got.view());
  EXPECT_FLOAT_EQ(got.row(0)[0], 4 * 9.0f);
  EXPECT_FLOAT_EQ(got.row(1)[0], 4.0f);
  // A row without the parameters that members are told is nobody's.
  EXPECT_THROW(committee.put(y, 0, zeros.view().rows(0, 1)), Error);
}

// Counts what reaches it.
class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(NetworkSpec shape) : shape_(std::move(shape)) {}

  mutable int calls = 0;

  const NetworkSpec& spec() const override { return shape_; }
  int members() const override { return 2; }

 private:
  void do_fit(std::span<FitJob>, Observer&, const StopAsked& stop) override {
    ++calls;
    EXPECT_FALSE(stop());
  }
  MemberState do_save(int, bool) const override {
    ++calls;
    return {};
  }
  void do_load(int, const MemberState&) override { ++calls; }
  std::unique_ptr<Committee> do_committee(std::vector<int>) override {
    ++calls;
    return nullptr;
  }

  NetworkSpec shape_;
};

// Two members with a time input.
class EngineCalls : public testing::TestWithParam<std::string> {
 protected:
  EngineCalls() {
    if (GetParam() == "Fake")
      engine = std::make_unique<FakeEngine>(shape);
    else
      engine = test::make_engine_under_test(shape, 2, 2);
  }
  FitJob job(int member = 0) const {
    FitJob job{member, data.view()};
    job.options.epochs = 3;
    return job;
  }
  void fit_refused(ErrorKind kind, const std::string& part, std::vector<FitJob> jobs) {
    SCOPED_TRACE(part);
    Observer observer;
    expect_error(kind, part, [&] { engine->fit(jobs, observer); });
  }
  ~EngineCalls() override {
    if (const auto* fake = dynamic_cast<FakeEngine*>(engine.get())) {
      EXPECT_EQ(fake->calls, 0);
    }
  }

  NetworkSpec shape = small_timed_shape();
  Transitions data{shape, 4, Rng(3)};
  std::unique_ptr<Engine> engine;
};
INSTANTIATE_TEST_SUITE_P(Kinds, EngineCalls, testing::Values("Fake", "Networks"),
                         [](const auto& test) { return test.param; });

TEST_P(EngineCalls, OnMembersThatAreNotThereAreRefused) {
  const MemberState state = fresh_member(shape, unit_scaling(1), Rng(1));
  for (const int member : {-1, 2}) {
    const std::string part = "member " + std::to_string(member) + " asked for";
    fit_refused(ErrorKind::config, part, {job(), job(member)});
    expect_error(ErrorKind::config, part, [&] { engine->save(member); });
    expect_error(ErrorKind::config, part, [&] { engine->load(member, state); });
    expect_error(ErrorKind::config, part, [&] { engine->committee({0, member}); });
  }
  expect_error(ErrorKind::config, "at least one member", [&] { engine->committee({}); });
  fit_refused(ErrorKind::config, "member 1 has two jobs", {job(1), job(0), job(1)});
}

TEST_P(EngineCalls, WithDataOfAnotherShapeAreRefused) {
  const Transitions other(small_shape({6}, {4}, 1, 5, 7, true), 4, Rng(3));
  const auto refused = [&](const std::string& part, const TransitionsView& view) {
    FitJob wrong = job();
    wrong.data = view;
    fit_refused(ErrorKind::data, part, {wrong});
  };

  refused("no transitions", {});
  refused("6 and 6 values, but a state of the network has 8", other.view());
  refused("4 inputs but 3 targets",
          {data.inputs.view(), data.targets.view().rows(0, 3), data.told});
  refused("0 numbers of times and parameters for 4 transitions, expected 4",
          {data.inputs.view(), data.targets.view(), {}});
}

TEST_P(EngineCalls, WithOptionsThatCannotBeAreRefused) {
  const auto refused = [&](const std::string& part, const std::function<void(FitOptions&)>& set) {
    FitJob wrong = job();
    set(wrong.options);
    fit_refused(ErrorKind::config, part, {wrong});
  };

  refused("epochs 0", [](FitOptions& o) { o.epochs = 0; });
  refused("steps -1", [](FitOptions& o) { o.steps = -1; });
  refused("average 1", [](FitOptions& o) { o.average = 1; });
  refused("batch 0", [](FitOptions& o) { o.batch = 0; });
  refused("batch 33", [](FitOptions& o) { o.batch = 33; });
  refused("learning_rate 0", [](FitOptions& o) { o.learning_rate = 0; });
  refused("beta1 1", [](FitOptions& o) { o.beta1 = 1; });
  refused("beta2 -0.5", [](FitOptions& o) { o.beta2 = -0.5; });
  refused("epsilon 0", [](FitOptions& o) { o.epsilon = 0; });
  refused("noise -0.5", [](FitOptions& o) { o.noise = -0.5; });
  refused("noise nan", [](FitOptions& o) { o.noise = std::numeric_limits<double>::quiet_NaN(); });
  refused("noise inf", [](FitOptions& o) { o.noise = std::numeric_limits<double>::infinity(); });
}

TEST_P(EngineCalls, WithMapsOfOtherStatesAreRefused) {
  const auto refused = [&](ErrorKind kind, const std::string& part,
                           const std::function<void(StateMap&)>& set, std::size_t count = 1) {
    StateMap map = make_state_map(parse_symmetry("u -> -u", shape.grid, {"u"}), shape.grid);
    set(map);
    const std::vector<StateMap> maps(count, map);
    FitJob wrong = job();
    wrong.symmetries = maps;
    fit_refused(kind, part, {wrong});
  };

  refused(ErrorKind::data, "a map of 7 values, but a state has 8",
          [](StateMap& map) { map.from.pop_back(); });
  refused(ErrorKind::data, "takes value 8", [](StateMap& map) { map.from[3] = 8; });
  refused(ErrorKind::data, "takes value -9", [](StateMap& map) { map.from[3] = -9; });
  refused(ErrorKind::data, "a map of 1 parameters, but a network is told 0",
          [](StateMap& map) { map.parameters = {0}; });
  refused(ErrorKind::config, "told the time", [](StateMap& map) { map.reversed = true; });
  refused(
      ErrorKind::config, "65 maps of states, expected at most 64", [](StateMap&) {}, 65);
}

// Breaks if such a job is passed over in silence.
TEST_P(EngineCalls, ThatWouldTrainNothingAreRefused) {
  FitJob finished = job(), nowhere = job(), beyond = job(), before = job();
  finished.epochs_done = 3;
  nowhere.epochs_done = 2;
  nowhere.epochs_stop = 2;
  beyond.epochs_stop = 4;
  before.epochs_done = -1;

  fit_refused(ErrorKind::config, "no epoch to train: 3 of 3 are done", {job(1), finished});
  fit_refused(ErrorKind::config, "no epoch to train: 2 of 3 are done, and it is to stop at 2",
              {nowhere});
  fit_refused(ErrorKind::config, "from epoch 0 to 4 of 3", {beyond});
  fit_refused(ErrorKind::config, "from epoch -1 to 3 of 3", {before});
}

TEST_P(EngineCalls, WithStatesOfAnotherShapeAreRefused) {
  const auto refused = [&](const std::string& part,
                           const std::function<void(MemberState&)>& change) {
    SCOPED_TRACE(part);
    MemberState state = fresh_member(shape, unit_scaling(1), Rng(1));
    change(state);
    expect_error(ErrorKind::data, part, [&] { engine->load(0, state); });
  };
  const Parameters other = zero_parameters(small_shape({8}, {6}, 1, 5, 7, true));
  const std::string name = parameter_shapes(shape)[0].name;

  refused("expected tensor", [&](MemberState& s) { s.weights = other; });
  refused("expected tensor", [&](MemberState& s) { s.moment1 = other; });
  refused("expected tensor", [&](MemberState& s) { s.moment2 = other; });
  refused("expected tensor", [&](MemberState& s) { s.average = other; });
  refused("expected tensor " + name, [](MemberState& s) { s.weights[0].name = "other"; });
  refused("2 means and 1 deviations", [](MemberState& s) { s.scaling.mean.push_back(0); });
  refused("1 means and 0 deviations", [](MemberState& s) { s.scaling.deviation.clear(); });
  refused("deviation 0", [](MemberState& s) { s.scaling.deviation[0] = 0; });
}

TEST(RightEngineCalls, ReachTheDevice) {
  const NetworkSpec shape = small_timed_shape();
  const Transitions data(shape, 4, Rng(3));
  FakeEngine engine(shape);
  Observer observer;
  FitJob job{0, data.view()};

  engine.fit({&job, 1}, observer);
  engine.save(1);
  engine.save_trained(1);
  engine.load(1, fresh_member(shape, unit_scaling(1), Rng(1)));
  engine.committee({1, 1});

  EXPECT_EQ(engine.calls, 5);
}

TEST(MakeEngine, NeedsAMember) {
  expect_error(ErrorKind::config, "an engine of 0 members",
               [] { test::make_engine_under_test(small_timed_shape(), 0); });
}

}  // namespace
}  // namespace stap
