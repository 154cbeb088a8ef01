// Right-hand sides for tests, and rows through them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "stap/core/right_hand_side.h"
#include "stap/pde/pde.h"

namespace stap::test {

/// The rows that offer a right-hand side. Not all do, and the laws of right-hand sides are not
/// about those that do not.
template <class Rows>
std::vector<const PdeRow*> offering_rhs(const Rows& table) {
  std::vector<const PdeRow*> rows;
  for (const PdeRow& row : table)
    if (row.make_rhs) rows.push_back(&row);
  return rows;
}

/// du/dt = f(u, t), value by value.
class FunctionRhs final : public RightHandSide {
 public:
  using Function = std::function<double(double value, double time)>;

  FunctionRhs(const Grid& grid, double dt, Function f)
      : RightHandSide(grid, dt), f_(std::move(f)) {}

 private:
  void compute(double time, StatesView<const double> states,
               StatesView<double> rates) const override {
    for (std::size_t i = 0; i < states.count * states.row_size; ++i)
      rates.values[i] = f_(states.values[i], time);
  }

  Function f_;
};

/// du/dt = -u.
inline std::unique_ptr<RightHandSide> decay(const Grid& grid, double dt) {
  return std::make_unique<FunctionRhs>(grid, dt, [](double u, double) { return -u; });
}

/// The rates of one call with these rows.
inline std::vector<std::vector<double>> rates_of(const RightHandSide& rhs,
                                                 const std::vector<std::vector<double>>& rows,
                                                 double time = 0.0) {
  States<double> states(rhs.grid(), rows.size()), rates(rhs.grid(), rows.size());
  for (std::size_t b = 0; b < rows.size(); ++b)
    std::copy(rows[b].begin(), rows[b].end(), states.row(b).begin());
  rhs.evaluate(time, states.view(), rates.view());
  std::vector<std::vector<double>> result;
  for (std::size_t b = 0; b < rows.size(); ++b)
    result.emplace_back(rates.row(b).begin(), rates.row(b).end());
  return result;
}

inline std::vector<double> rate_of(const RightHandSide& rhs, const std::vector<double>& row,
                                   double time = 0.0) {
  return rates_of(rhs, {row}, time)[0];
}

}  // namespace stap::test
