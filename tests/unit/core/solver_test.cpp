#include "stap/core/solver.h"

#include <gtest/gtest.h>

#include <limits>

#include "stap/core/error.h"

namespace stap {
namespace {

// Doubles every value; refuses states that start with 13.
class Doubler final : public Solver {
 public:
  Doubler() : Solver("doubler", make_grid(1, {3}, {1.0}), 0.5) {}
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
      for (double value : queries[i]->state) answers[i]->state.push_back(2 * value);
    }
  }
};

TEST(Solver, RefusesBeforeComputing) {
  const Doubler solver;
  const std::vector<double> good = {1, 2, 3}, unlucky = {13, 0, 0};
  const std::vector<double> broken = {1, std::numeric_limits<double>::quiet_NaN(), 0};
  const std::vector<Query> queries = {{1, broken, 0, {}}, {2, good, 0, {}}, {3, unlucky, 0, {}}};
  std::vector<Answer> answers(3);

  solver.solve(queries, answers);

  EXPECT_EQ(solver.calls, 1u);
  EXPECT_EQ(answers[0].status, Answer::Status::refused);
  EXPECT_NE(answers[0].reason.find("value 1 is nan"), std::string::npos) << answers[0].reason;
  EXPECT_EQ(answers[0].attempts, 0);
  EXPECT_EQ(answers[1].status, Answer::Status::ok);
  EXPECT_EQ(answers[1].state, (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(answers[1].attempts, 1);
  EXPECT_EQ(answers[2].reason, "unlucky");
}

TEST(Solver, RefusesStatesOfAnotherGrid) {
  const Doubler solver;
  const std::vector<double> two = {1, 2};
  const Query query{1, two, 0, {}};
  Answer answer;

  EXPECT_THROW(solver.solve({&query, 1}, {&answer, 1}), Error);
  EXPECT_THROW(solver.solve({&query, 1}, {}), Error);
}

}  // namespace
}  // namespace stap
