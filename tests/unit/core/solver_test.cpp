#include "stap/core/solver.h"

#include <gtest/gtest.h>

#include <limits>

#include "stap/core/error.h"

namespace stap {
namespace {

// Doubles every value; refuses states that start with 13.
class Doubler final : public BatchSolver {
 public:
  explicit Doubler(double dt = 0.5) : BatchSolver("doubler", make_grid(1, {3}, {1.0}), dt) {}
  mutable std::size_t calls = 0;

 private:
  std::string guard(const Query& query) const override {
    return query.state[0] == 13.0 ? "unlucky" : "";
  }
  void compute(std::span<const Query* const> queries,
               std::span<Answer* const> answers) const override {
    calls += queries.size();
    for (std::size_t i = 0; i < queries.size(); ++i) {
      answers[i]->status = Answer::Status::ok;
      for (double value : queries[i]->state) answers[i]->states.push_back(2 * value);
    }
  }
};

TEST(Solver, RefusesBeforeComputing) {
  const Doubler solver;
  const std::vector<Query> queries = {
      {.id = 1, .state = {1, std::numeric_limits<double>::quiet_NaN(), 0}},
      {.id = 2, .state = {1, 2, 3}},
      {.id = 3, .state = {13, 0, 0}}};
  std::vector<Answer> answers(3);

  solver.solve(queries, answers);

  EXPECT_EQ(solver.calls, 1u);
  EXPECT_EQ(answers[0].status, Answer::Status::refused);
  EXPECT_EQ(answers[0].reason, "input value 1 is nan");
  EXPECT_EQ(answers[0].attempts, 0);
  EXPECT_EQ(answers[1].status, Answer::Status::ok);
  EXPECT_EQ(answers[1].states, (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(answers[1].attempts, 1);
  EXPECT_EQ(answers[2].reason, "unlucky");
  EXPECT_TRUE(answers[2].states.empty());
}

// Mutation: a value under the mask that is looked at, or handed out.
TEST(Solver, AnswersAreZeroWhereThereIsNoState) {
  struct Holed final : BatchSolver {
    Holed() : BatchSolver("holed", make_grid(2, {3}, {1.0}), 0.5) {}
    SharedFixedFields fixed() const override { return make_fixed_fields(grid(), {{1, 0, 1}, {}}); }
    void compute(std::span<const Query* const>, std::span<Answer* const> answers) const override {
      constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
      for (Answer* answer : answers) *answer = {Answer::Status::ok, {}, {1, kNan, 2, 3, 7, 4}};
    }
  };
  const Holed solver;
  const Query query{.id = 1, .state = {1, 1, 1, 1, 1, 1}, .steps = 2};
  Answer answer;

  solver.solve({&query, 1}, {&answer, 1});

  EXPECT_EQ(answer.status, Answer::Status::ok) << answer.reason;
  EXPECT_EQ(answer.states, (std::vector<double>{1, 0, 2, 3, 0, 4, 1, 0, 2, 3, 0, 4}));
}

TEST(Solver, SaysWhyItRefusesWithoutComputing) {
  const Doubler solver;

  EXPECT_EQ(solver.refusal({.state = {1, 2, 3}}), "");
  EXPECT_EQ(solver.refusal({.state = {13, 2, 3}}), "unlucky");
  EXPECT_EQ(solver.refusal({.state = {13, 2, std::numeric_limits<double>::infinity()}}),
            "input value 2 is inf");  // a guard sees finite states only
  EXPECT_EQ(solver.calls, 0u);
}

TEST(Solver, AnswersQueriesOfTheSameIdAndOfSeveralSteps) {
  const Doubler solver;
  const std::vector<Query> queries = {{.id = 4, .state = {1, 0, 0}, .steps = 3},
                                      {.id = 4, .state = {5, 0, 0}}};
  std::vector<Answer> answers(2);

  solver.solve(queries, answers);

  EXPECT_EQ(answers[0].states, (std::vector<double>{2, 0, 0, 4, 0, 0, 8, 0, 0}));
  EXPECT_EQ(answers[1].states, (std::vector<double>{10, 0, 0}));
}

TEST(Solver, RefusesStatesOfAnotherGrid) {
  const Doubler solver;
  const Query query{.id = 1, .state = {1, 2}};
  Answer answer;

  EXPECT_THROW(solver.solve({&query, 1}, {&answer, 1}), Error);
  EXPECT_THROW(solver.solve({&query, 1}, {}), Error);
  EXPECT_THROW(solver.refusal(query), Error);
}

TEST(Solver, ItsStepIsATime) {
  EXPECT_THROW(Doubler(0.0), Error);
  EXPECT_THROW(Doubler(-1.0), Error);
  EXPECT_THROW(Doubler(std::numeric_limits<double>::infinity()), Error);
}

TEST(Solver, MakesNoOtherStepUnlessItSaysSo) {
  EXPECT_EQ(Doubler().with_step(1.0), nullptr);
}

}  // namespace
}  // namespace stap
