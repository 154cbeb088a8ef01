#include "stap/eval/rollout_models.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {

void roll_out_models(Committee& committee, StatesView<const float> initial,
                     std::span<const int> models, std::size_t steps, std::size_t block,
                     const ModelsVisitor& visit, ConditionsView conditions) {
  if (block == 0 || models.empty() || initial.row_size != committee.grid().values())
    throw Error(ErrorKind::internal,
                fmt::format("rollouts of {} models in blocks of {} from states of {} values, "
                            "expected {}",
                            models.size(), block, initial.row_size, committee.grid().values()));
  const std::size_t most = std::min(block, initial.count);
  const ResidentRows rows(committee, most * models.size());
  States<float> states(committee.grid(), most * models.size());
  for (std::size_t first = 0; first < initial.count; first += most) {
    const std::size_t n = std::min(most, initial.count - first);
    std::vector<std::size_t> index(n * models.size());
    std::vector<int> model(index.size());
    std::vector<StatesView<const float>> made;
    std::iota(index.begin(), index.end(), std::size_t{0});
    for (std::size_t m = 0; m < models.size(); ++m) {
      std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(m * n), n, models[m]);
      committee.put(rows, m * n, initial.rows(first, n), conditions.part(first, n));
      made.push_back(std::as_const(states).view().rows(m * n, n));
    }
    for (std::size_t step = 0; step < steps; ++step) {
      committee.advance(rows, index, model, rows, index);
      committee.get(rows, 0, states.view().rows(0, index.size()));
      visit(step, first, made);
    }
  }
}

}  // namespace stap
