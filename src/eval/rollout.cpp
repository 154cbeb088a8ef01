#include "stap/eval/rollout.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "stap/core/error.h"
#include "stap/core/resident_rows.h"

namespace stap {
namespace {

// Rows g r .. g r + g - 1 of `to` become the g images of row r.
void make_images(StatesView<const float> states, std::span<const StateMap> maps, int threads,
                 States<float>& to) {
  parallel_for(threads, states.count * maps.size(), [&](std::size_t i, int) {
    map_state(maps[i % maps.size()], states.row(i / maps.size()).data(), to.row(i).data());
  });
}

// The way back: row r becomes the mean of what its images were taken from.
void average_images(const States<float>& images, std::span<const StateMap> maps, std::size_t count,
                    int threads, States<float>& to) {
  std::vector<std::vector<double>> sums(static_cast<std::size_t>(threads),
                                        std::vector<double>(to.grid().values()));
  parallel_for(threads, count, [&](std::size_t r, int thread) {
    std::vector<double>& sum = sums[static_cast<std::size_t>(thread)];
    std::ranges::fill(sum, 0.0);
    for (std::size_t m = 0; m < maps.size(); ++m)
      add_mapped_back(maps[m], images.row(r * maps.size() + m).data(), sum.data());
    std::ranges::transform(sum, to.row(r).begin(), [&](double x) {
      return static_cast<float>(x / static_cast<double>(maps.size()));
    });
  });
}

}  // namespace

void roll_out(Committee& committee, StatesView<const float> initial, int member, std::size_t steps,
              std::size_t block, const RolloutVisitor& visit, ConditionsView conditions,
              std::span<const StateMap> images, int threads_asked) {
  const int threads = thread_count(threads_asked);
  if (block == 0 || initial.row_size != committee.grid().values())
    throw Error(ErrorKind::internal,
                fmt::format("a rollout in blocks of {} from states of {} values, expected {}",
                            block, initial.row_size, committee.grid().values()));
  if ((!conditions.steps.empty() && conditions.steps.size() != initial.count) ||
      conditions.parameters.size() != conditions.count * initial.count)
    throw Error(
        ErrorKind::internal,
        fmt::format("{} steps and {} x {} parameters of {} rollouts", conditions.steps.size(),
                    conditions.parameters.size(), conditions.count, initial.count));
  if (std::ranges::any_of(images, &StateMap::reversed))
    throw Error(ErrorKind::internal, "a rollout over images that turn time round");
  const std::size_t most = std::min(block, initial.count);
  const std::size_t each = std::max<std::size_t>(1, images.size());
  const ResidentRows rows(committee, most * each);
  States<float> states(committee.grid(), most * each);
  States<float> means(committee.grid(), images.empty() ? 0 : most);
  std::vector<std::size_t> index(most * each);
  std::iota(index.begin(), index.end(), std::size_t{0});
  const std::vector<int> members(most * each, member);

  for (std::size_t first = 0; first < initial.count; first += most) {
    const std::size_t n = std::min(most, initial.count - first);
    const auto part = [&](const auto& all) { return std::span(all).first(n * each); };
    const auto put = [&](StatesView<const float> from, std::size_t step) {
      Conditions before;
      std::vector<double> own(conditions.count);
      for (std::size_t r = 0; r < n * each; ++r) {
        std::ranges::copy(conditions.parameters_of(first + r / each), own.begin());
        if (!images.empty())
          map_values(images[r % each].parameters, conditions.parameters_of(first + r / each).data(),
                     own.data());
        before.add(conditions.step(first + r / each) + step, own);
      }
      if (images.empty()) return committee.put(rows, 0, from, before.view());
      make_images(from, images, threads, states);
      committee.put(rows, 0, std::as_const(states).view().rows(0, n * each), before.view());
    };
    put(initial.rows(first, n), 0);
    for (std::size_t step = 0; step < steps; ++step) {
      committee.advance(rows, part(index), part(members), rows, part(index));
      committee.get(rows, 0, states.view().rows(0, n * each));
      if (!images.empty()) average_images(states, images, n, threads, means);
      const auto made = std::as_const(images.empty() ? states : means).view().rows(0, n);
      visit(step, first, made);
      if (!images.empty() && step + 1 < steps) put(made, step + 1);
    }
  }
}

}  // namespace stap
