#include "acquire/residual.h"

#include <algorithm>

#include "acquire/candidate_rows.h"
#include "acquire/ranking.h"
#include "stap/acquire/methods.h"
#include "stap/core/error.h"

namespace stap {
namespace {

// Rows of a committee in double, and F of them.
struct EvaluatedRows {
  EvaluatedRows(const Committee& committee, RowsId rows, std::size_t count,
                const RightHandSide& rhs, double time)
      : states(committee.grid(), count), rates(committee.grid(), count) {
    States<float> resident(committee.grid(), count);
    committee.get(rows, 0, resident.view());
    convert(resident.values(), states.values());
    rhs.evaluate(time, states.view(), rates.view());
  }
  Evaluated row(std::size_t r) const { return {states.row(r), rates.row(r)}; }

  States<double> states, rates;
};

// Scores of a few candidates.
void score_block(Committee& committee, const Candidates& candidates,
                 std::span<const std::size_t> ids, const RightHandSide& rhs,
                 std::span<double> scores) {
  const MemberRollouts rollouts(committee, candidates, ids);
  const std::size_t rows = rollouts.own.size(), members = rows / ids.size();
  std::vector<double> sums(rows, 0.0);
  EvaluatedRows before(committee, rollouts.initial, ids.size(), rhs, 0.0);
  for (std::size_t step = 0; step < candidates.steps; ++step) {
    const MemberRollouts::Step s = rollouts.step(step);
    committee.advance(s.from, s.i, rollouts.member, s.time, rollouts.rows, rollouts.own);
    const double time = static_cast<double>(step + 1) * rhs.dt();
    EvaluatedRows after(committee, rollouts.rows, rows, rhs, time);
    for (std::size_t r = 0; r < rows; ++r)
      sums[r] += step_residual2(before.row(s.i[r]), after.row(r), rhs.dt());
    before = std::move(after);
  }
  for (std::size_t r = 0; r < rows; ++r) scores[r / members] += sums[r];
  for (double& score : scores) score /= static_cast<double>(members);
}

class ResidualSelector final : public Selector {
 public:
  explicit ResidualSelector(std::unique_ptr<RightHandSide> rhs) : rhs_(std::move(rhs)) {}

  std::string_view name() const override { return "residual"; }

  Order order(Committee& committee, const Candidates& candidates, std::size_t at_most,
              const Rng&) const override {
    Scored scored = finite_scores(candidates.open,
                                  residual_scores(committee, candidates, candidates.open, *rhs_));
    return {best_first(std::move(scored.ranked), at_most), scored.not_finite};
  }

 private:
  std::unique_ptr<RightHandSide> rhs_;
};

}  // namespace

double step_residual2(const Evaluated& before, const Evaluated& after, double dt) {
  double sum = 0.0;
  for (std::size_t i = 0; i < before.state.size(); ++i) {
    const double change = (after.state[i] - before.state[i]) / dt;
    const double left = change - 0.5 * (after.rate[i] + before.rate[i]);
    sum += left * left;
  }
  return sum;
}

std::vector<double> residual_scores(Committee& committee, const Candidates& candidates,
                                    std::span<const std::size_t> ids, const RightHandSide& rhs,
                                    std::size_t block) {
  return in_blocks(ids, block, [&](std::span<const std::size_t> some, std::span<double> scores) {
    score_block(committee, candidates, some, rhs, scores);
  });
}

std::unique_ptr<Selector> make_residual(std::unique_ptr<RightHandSide> rhs) {
  if (rhs == nullptr)
    throw Error(ErrorKind::internal, "residual was made without a right-hand side");
  return std::make_unique<ResidualSelector>(std::move(rhs));
}

}  // namespace stap
