#include "stap/eval/rollout.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {

void roll_out(Committee& committee, StatesView<const float> initial, int member, std::size_t steps,
              std::size_t block, const RolloutVisitor& visit, std::span<const double> times) {
  if (block == 0 || initial.row_size != committee.grid().values())
    throw Error(ErrorKind::internal,
                fmt::format("a rollout in blocks of {} from states of {} values, expected {}",
                            block, initial.row_size, committee.grid().values()));
  if (!times.empty() && (steps != 1 || times.size() != initial.count))
    throw Error(ErrorKind::internal, fmt::format("{} times of {} rollouts of {} steps",
                                                 times.size(), initial.count, steps));
  const std::size_t most = std::min(block, initial.count);
  const ResidentRows rows(committee, most);
  States<float> states(committee.grid(), most);
  std::vector<std::size_t> index(most);
  std::iota(index.begin(), index.end(), std::size_t{0});
  const std::vector<int> members(most, member);
  std::vector<double> time(most);

  for (std::size_t first = 0; first < initial.count; first += most) {
    const std::size_t n = std::min(most, initial.count - first);
    const auto part = [n](const auto& all) { return std::span(all).first(n); };
    committee.put(rows, 0, initial.rows(first, n));
    for (std::size_t step = 0; step < steps; ++step) {
      if (times.empty())
        std::fill(time.begin(), time.end(), input_time(step, steps));
      else
        std::copy_n(times.begin() + static_cast<std::ptrdiff_t>(first), n, time.begin());
      committee.advance(rows, part(index), part(members), part(time), rows, part(index));
      committee.get(rows, 0, states.view().rows(0, n));
      visit(step, first, states.view().rows(0, n));
    }
  }
}

}  // namespace stap
