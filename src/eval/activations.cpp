#include "stap/eval/activations.h"

#include <algorithm>
#include <numeric>

#include "stap/core/resident_rows.h"

namespace stap {
namespace {

constexpr std::size_t kBlock = 256;  // states at a time: bounds the memory of their rows

}  // namespace

std::vector<double> sketched_states(Committee& committee, StatesView<const float> states,
                                    ConditionsView conditions) {
  std::vector<double> features(states.count * kSketchSize, 0.0);
  const std::size_t most = std::min(kBlock, states.count);
  const ResidentRows from(committee, most), to(committee, most);
  std::vector<std::size_t> all(most);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t first = 0; first < states.count; first += most) {
    const std::size_t n = std::min(most, states.count - first);
    const auto index = std::span(all).first(n);
    committee.put(from, 0, states.rows(first, n), conditions.part(first, n));
    for (int m = 0; m < committee.members(); ++m)
      committee.sketch(from, index, std::vector<int>(n, m), 0, to, index,
                       std::span(features).subspan(first * kSketchSize, n * kSketchSize));
  }
  return features;
}

}  // namespace stap
