#include "nn/cuda/sketch_lists.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "core/parallel.h"
#include "nn/sketch.h"

namespace stap::cuda {
namespace {

static_assert(kSketchCoordinates == kSketchSize);
constexpr std::size_t kPart = kSketchPart, kSlice = kSketchSlice, kSlices = kSketchSlices;
constexpr std::uint32_t kFour = 4;  // entries that a thread reads at a time

using Lengths = std::array<std::uint32_t, kSketchSize>;

}  // namespace

SketchLists make_sketch_lists(const Net& net, std::span<const BodyPoint> table,
                              std::size_t channels, std::size_t member, std::size_t step) {
  const auto stride = static_cast<std::size_t>(net.projection);
  const std::size_t activations = static_cast<std::size_t>(net.points) * stride;
  const std::size_t parts = (activations + kPart - 1) / kPart;
  std::vector<std::array<std::uint16_t, 4>> targets(activations);
  std::vector<std::uint32_t> first(parts * kSlices + 1);
  // f(activation) for those of a part that are no padding, of channels or of the grid.
  const auto for_each = [&](std::size_t part, const auto& f) {
    for (std::size_t a = part * kPart; a < std::min((part + 1) * kPart, activations); ++a)
      if (a % stride < channels && (table.empty() || table[a / stride].place >= 0)) f(a);
  };
  const int threads = thread_count(0);

  // Lists of a slice are as long as its longest: a warp walks them together.
  parallel_for(threads, parts, [&](std::size_t part, int) {
    Lengths lengths{};
    for_each(part, [&](std::size_t a) {
      const std::size_t point = a / stride;
      const std::size_t place =
          table.empty() ? point : static_cast<std::size_t>(table[point].place);
      targets[a] = sketch_targets(member, step, a % stride, place);
      for (const std::uint16_t target : targets[a]) ++lengths[target & (kSketchMinus - 1u)];
    });
    for (std::size_t s = 0; s < kSlices; ++s) {
      const auto longest =
          std::max_element(lengths.begin() + s * kSlice, lengths.begin() + (s + 1) * kSlice);
      first[part * kSlices + s + 1] = (*longest + kFour - 1) / kFour;
    }
  });
  std::partial_sum(first.begin(), first.end(), first.begin());

  std::vector<std::uint16_t> entries(first.back() * kSlice * kFour, kSketchPart);
  parallel_for(threads, parts, [&](std::size_t part, int) {
    Lengths lengths{};
    for_each(part, [&](std::size_t a) {
      for (const std::uint16_t target : targets[a]) {
        const std::size_t c = target & (kSketchMinus - 1u), k = lengths[c]++;
        const std::size_t four = first[part * kSlices + c / kSlice] + k / kFour;
        entries[(four * kSlice + c % kSlice) * kFour + k % kFour] =
            static_cast<std::uint16_t>((a - part * kPart) | (target & kSketchMinus));
      }
    });
  });
  return {DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(first)),
          DeviceArray<std::uint16_t>(std::span<const std::uint16_t>(entries))};
}

}  // namespace stap::cuda
