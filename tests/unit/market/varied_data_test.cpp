// Pools and test sets of problems whose parameters vary.
#include <gtest/gtest.h>

#include <algorithm>

#include "stap/data/store.h"
#include "stap/market/generate.h"
#include "stap/study/data_files.h"
#include "support/data_making.h"
#include "support/fake_solver.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using Kind = ParameterDraw::Kind;
using test::expect_error;

constexpr double kDt = 0.05;

// Value 0 names the row and stays; the others become (v + nu) k.
class Named final : public BatchSolver {
 public:
  explicit Named(std::vector<std::string> names, bool fails = false)
      : BatchSolver("named", make_grid(1, {3}, {1.0}), kDt),
        names_(std::move(names)),
        fails_(fails) {}
  std::vector<std::string> parameters() const override { return names_; }
  FailurePolicy failure_policy() const override { return {.breaker = true}; }

 private:
  double value(const Query& query, const char* name) const {
    return query.params.at(
        static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin()));
  }
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const Query& query = *queries[i];
      if (fails_ && value(query, "nu") > 5.5) {
        answers[i]->reason = "told to fail";
        continue;
      }
      std::vector<double> state = query.state;
      for (std::size_t v = 1; v < state.size(); ++v)
        state[v] = (state[v] + value(query, "nu")) * value(query, "k");
      answers[i]->status = Answer::Status::ok;
      answers[i]->states = std::move(state);
    }
  }

  std::vector<std::string> names_;
  bool fails_;  // where nu is above 5.5
};

const ParameterDraw kNu{"nu", Kind::uniform, {2.0, 6.0}}, kK{"k", Kind::list, {1.0, 0.5}};

// Draws the parameters as well: nu from 3 to 4, and k = 0.5.
class Drawing final : public Sampler {
 public:
  Drawing() : Sampler("drawing", make_grid(1, {3}, {1.0}), kDt) {}
  bool expensive() const override { return true; }
  bool draws_parameters() const override { return true; }

 private:
  void fill(const Rng&, std::span<double>) const override { FAIL() << "without parameters"; }
  void fill_row(const Rng& rng, std::span<double> state,
                std::span<double> parameters) const override {
    ASSERT_EQ(parameters.size(), 2u);
    for (std::size_t v = 0; v < state.size(); ++v) state[v] = rng.uniform(v);
    parameters[0] = rng.uniform(9, 3.0, 4.0);
    parameters[1] = 0.5;
  }
};

struct Making {
  std::vector<ParameterDraw> parameters{kNu, kK};
  bool fails = false;
  StopAsked stop{};
  const Sampler* sampler = nullptr;  // none: NamingSampler
};

void make(const std::string& folder, const Making& making = {}) {
  DataRequest request;
  request.pde.set("name", "named");
  request.initial.set("name", "naming");
  request.pool = 40;
  request.test = 6;
  request.steps = 3;
  request.parameters = making.parameters;
  const auto solver = std::make_shared<Named>(names_of(making.parameters), making.fails);
  const test::NamingSampler naming(solver->grid(), kDt);
  Observer silent;
  generate(request, making.sampler != nullptr ? *making.sampler : naming, solver, folder, silent,
           making.stop);
}

Pool pool_of(const std::string& folder, const std::vector<std::string>& names = {"nu", "k"}) {
  return read_pool(folder + "/pool.h5", make_grid(1, {3}, {1.0}), 1, 0, names);
}

class VariedData : public ::testing::Test {
 protected:
  std::string at(const char* name) const { return folder_.path(name); }
  std::string essence(const char* name) const {
    return test::content(at(name) + "/pool.h5") + test::content(at(name) + "/test.h5");
  }
  test::TemporaryFolder folder_;
};

// Against the parts. Mutation that breaks it: a warm-up or a step with another row's parameters.
TEST_F(VariedData, EveryRowIsMadeWithItsOwnParameters) {
  make(at("d"));

  const Pool pool = pool_of(at("d"));
  const TestSet set =
      read_test_set(at("d") + "/test.h5", make_grid(1, {3}, {1.0}), 0, 0, {"nu", "k"});
  const Named solver({"nu", "k"});
  const test::NamingSampler sampler(solver.grid(), kDt);
  const auto next = [&](std::span<const double> state, const std::vector<double>& params) {
    return test::ask(solver, {.state = {state.begin(), state.end()}, .params = params}).states;
  };
  const auto first = [&](const Rng& stream, std::size_t row, const RowParameters& parameters) {
    const std::vector<double> own = draw_parameters(std::vector{kNu, kK}, stream, row);
    EXPECT_TRUE(std::ranges::equal(parameters.row(row), own)) << row;
    std::vector<double> state(3);
    sampler.draw(stream, row, state);
    return next(state, own);
  };
  for (std::size_t row = 0; row < 40; ++row)
    EXPECT_TRUE(std::ranges::equal(pool.states.row(row),
                                   first(Rng(0).split("pool"), row, pool.parameters)));
  for (std::size_t row = 0; row < 6; ++row) {
    std::vector<double> state = first(Rng(0).split("test"), row, set.parameters);
    const std::span<const double> own = set.parameters.row(row);
    for (std::size_t time = 0; time < 4; ++time) {
      EXPECT_TRUE(std::ranges::equal(set.states.row(row * 4 + time), state)) << row << " " << time;
      state = next(state, {own.begin(), own.end()});
    }
  }
  EXPECT_EQ(read_text_attribute(at("d") + "/pool.h5", "/", "parameter_names"), "nu,k");
  EXPECT_EQ(read_text_attribute(at("d") + "/pool.h5", "/", "sha256"), pool.sha256);
}

// Mutation that breaks it: drawing parameters by position.
TEST_F(VariedData, TheOrderOfParametersChangesOnlyThatOfTheirNames) {
  make(at("one"));
  make(at("other"), {.parameters = {kK, kNu}});

  const Pool one = pool_of(at("one")), other = pool_of(at("other"));

  EXPECT_TRUE(std::ranges::equal(one.states.values(), other.states.values()));
  EXPECT_EQ(one.parameters.values, other.parameters.values);
  EXPECT_EQ(one.sha256, other.sha256);
  EXPECT_EQ(read_text_attribute(at("other") + "/pool.h5", "/", "parameter_names"), "k,nu");
  EXPECT_EQ(pool_of(at("one"), {"k", "nu"}).parameters.row(3)[1], one.parameters.row(3)[0]);
}

// Answers of the journal are those of rows with these parameters.
TEST_F(VariedData, StoppedAndContinuedItHasTheSameBytes) {
  make(at("whole"));
  for (const std::size_t looks : {1u, 2u, 4u}) {
    const std::string folder = at("cut") + std::to_string(looks);
    std::size_t left = looks;
    make(folder, {.stop = [&] { return left-- == 0; }});
    EXPECT_FALSE(std::filesystem::exists(folder + "/test.h5"));

    make(folder);

    EXPECT_TRUE(essence("whole") ==
                test::content(folder + "/pool.h5") + test::content(folder + "/test.h5"));
  }
}

// Mutation that breaks it: a warm-up, a step or a file with what the configuration would have
// drawn; parameters that are lost with the process that drew them.
TEST_F(VariedData, AreThoseOfASamplerThatDrawsThem) {
  const Drawing sampler;
  make(at("whole"), {.sampler = &sampler});

  const Pool pool = pool_of(at("whole"));
  const Named solver({"nu", "k"});
  for (std::size_t row = 0; row < 40; ++row) {
    std::vector<double> state(3), own(2);
    sampler.draw(Rng(0).split("pool"), row, state, own);
    EXPECT_TRUE(std::ranges::equal(pool.parameters.row(row), own)) << row;
    EXPECT_TRUE(std::ranges::equal(pool.states.row(row),
                                   test::ask(solver, {.state = state, .params = own}).states))
        << row;
  }
  for (const std::size_t looks : {1u, 20u, 45u, 48u}) {
    const std::string folder = at("cut") + std::to_string(looks);
    std::size_t left = looks;
    make(folder, {.stop = [&] { return left-- == 0; }, .sampler = &sampler});

    make(folder, {.sampler = &sampler});

    EXPECT_TRUE(essence("whole") ==
                test::content(folder + "/pool.h5") + test::content(folder + "/test.h5"));
  }
}

// The next draw brings its own parameters. Mutation that breaks it: parameters by row, states by
// draw.
TEST_F(VariedData, WhoTakesAFailedDrawsPlaceHasItsOwnParameters) {
  Making making{.parameters = {kNu, kK}, .fails = true};
  making.parameters[0].values = {2.0, 5.6};  // a few above 5.5, fewer than may fail
  make(at("d"), making);

  const Pool pool = pool_of(at("d"));
  for (std::size_t row = 0, i = 0; row < 40; ++row, ++i) {
    std::vector<double> own = draw_parameters(making.parameters, Rng(0).split("pool"), i);
    while (own[0] > 5.5) own = draw_parameters(making.parameters, Rng(0).split("pool"), ++i);
    EXPECT_TRUE(std::ranges::equal(pool.parameters.row(row), own)) << row;
  }
}

TEST_F(VariedData, IsReadByTheNamesOfTheProblemOnly) {
  make(at("d"));
  const auto refuse = [&](const std::vector<std::string>& names, const char* part) {
    expect_error(ErrorKind::data, part, [&] { pool_of(at("d"), names); });
  };

  refuse({}, "has rows with their own nu, k, but in the problem none varies");
  refuse({"nu"}, "has rows with their own nu, k, but in the problem nu varies");
  refuse({"nu", "D"}, "but in the problem nu, D vary");
}

}  // namespace
}  // namespace stap
