#include "nn/cuda/committee.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "nn/cuda/branches.h"
#include "nn/rows_checks.h"
#include "nn/sketch.h"
#include "stap/core/error.h"

namespace stap::cuda {
namespace {

// Share of the free memory that a committee takes for its fields.
constexpr std::size_t kMemoryShare = 4;
// More slots at a time would not keep the device busier.
constexpr std::size_t kSlotsMost = 64;

// One row to advance.
struct Item {
  const float* from;
  float* to;
  float time;
  int member;       // of the committee
  std::size_t row;  // of the call
};

// The sketch of one (member, step), turned round: what each coordinate sums.
struct SketchLists {
  DeviceArray<std::uint32_t> first, entries;
};

class CudaCommittee final : public Committee {
 public:
  CudaCommittee(const Device& device, std::vector<int> members)
      : device_(device), members_(std::move(members)) {
    const std::size_t slot = Workspace::bytes(device.shape, 1, false);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "memory of the GPU");
    most_slots_ = std::clamp<std::size_t>(free / kMemoryShare / kBranches / slot, 1, kSlotsMost);
  }
  ~CudaCommittee() override { cudaStreamSynchronize(device_.stream); }

  const Grid& grid() const override { return device_.shape.grid; }
  int members() const override { return static_cast<int>(members_.size()); }
  std::size_t rows_at_once() const override { return 256; }

  RowsId rows(std::size_t n) override {
    const std::size_t free = static_cast<std::size_t>(
        std::find(blocks_.begin(), blocks_.end(), std::nullopt) - blocks_.begin());
    if (free == blocks_.size()) blocks_.emplace_back();
    blocks_[free].emplace(Rows{DeviceArray<float>(n * grid().values()), n});
    return static_cast<RowsId>(free);
  }
  void release(RowsId id) override {
    block(id);
    check(cudaStreamSynchronize(device_.stream), "the work on rows");
    blocks_[static_cast<std::size_t>(id)].reset();
  }

  void put(RowsId id, std::size_t first, StatesView<const float> states) override {
    check_rows(grid(), block(id).count, first, states.count, states.row_size);
    check(cudaMemcpyAsync(row_of(id, first), states.values,
                          states.count * states.row_size * sizeof(float), cudaMemcpyHostToDevice,
                          device_.stream),
          "copying rows to the GPU");
    check(cudaStreamSynchronize(device_.stream), "copying rows to the GPU");
  }
  void get(RowsId id, std::size_t first, StatesView<float> states) const override {
    check_rows(grid(), block(id).count, first, states.count, states.row_size);
    check(cudaMemcpyAsync(states.values, row_of(id, first),
                          states.count * states.row_size * sizeof(float), cudaMemcpyDeviceToHost,
                          device_.stream),
          "copying rows from the GPU");
    check(cudaStreamSynchronize(device_.stream), "copying rows from the GPU");
  }

  void advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
               std::span<const double> time, RowsId to, std::span<const std::size_t> j) override {
    check_advance(device_.shape, members(), block(from).count, i, member, time, block(to).count, j,
                  true);
    const std::size_t values = grid().values(), all = members_.size();
    const auto mean_rows =
        static_cast<std::size_t>(std::count(member.begin(), member.end(), kMean));
    mean_parts_.reserve(mean_rows * all * values);
    std::vector<Item> items;
    std::vector<float*> mean_to;
    for (std::size_t r = 0; r < i.size(); ++r) {
      const float t = time.empty() ? 0.0f : static_cast<float>(time[r]);
      const float* state = row_of(from, i[r]);
      if (member[r] != kMean) {
        items.push_back({state, row_of(to, j[r]), t, member[r], r});
        continue;
      }
      for (std::size_t m = 0; m < all; ++m)
        items.push_back({state, mean_parts_.data() + (m * mean_rows + mean_to.size()) * values, t,
                         static_cast<int>(m), r});
      mean_to.push_back(row_of(to, j[r]));
    }
    apply(std::move(items), nullptr);
    if (mean_to.empty()) return;
    put_async(pointers_, mean_to, device_.stream);
    average(mean_parts_.data(), mean_rows * values, members(), pointers_.data(),
            static_cast<int>(mean_rows), static_cast<int>(values), device_.stream);
  }

  void sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
              std::span<const double> time, std::size_t step, SketchKind kind, RowsId to,
              std::span<const std::size_t> j, std::span<double> features) override {
    check_advance(device_.shape, members(), block(from).count, i, member, time, block(to).count, j,
                  false);
    check_length(i.size() * kSketchSize, features.size());
    if (kind != SketchKind::sparse)
      throw Error(ErrorKind::unavailable,
                  "the GPU has no gaussian sketch: choose sketch: sparse, or device: cpu");
    std::vector<Item> items;
    for (std::size_t r = 0; r < i.size(); ++r)
      items.push_back({row_of(from, i[r]), row_of(to, j[r]),
                       time.empty() ? 0.0f : static_cast<float>(time[r]), member[r], r});
    features_ = DeviceArray<double>(features.size());
    features_.put(features);
    apply(std::move(items), &step);
    check(cudaStreamSynchronize(device_.stream), "sketching");
    features_.get(features);
  }

  void distance2(RowsId x, std::span<const std::size_t> i, RowsId y, std::span<const std::size_t> j,
                 std::span<double> out) const override {
    check_indices(block(x).count, i);
    check_indices(block(y).count, j);
    check_length(i.size(), j.size());
    check_length(i.size(), out.size());
    if (out.empty()) return;
    std::vector<const float*> pairs;
    for (std::size_t r : i) pairs.push_back(row_of(x, r));
    for (std::size_t r : j) pairs.push_back(row_of(y, r));
    put_async(const_pointers_, pairs, device_.stream);
    results_.reserve(out.size());
    distances(const_pointers_.data(), const_pointers_.data() + i.size(), static_cast<int>(i.size()),
              static_cast<int>(grid().values()), results_.data(), device_.stream);
    fetch(out);
  }

  void spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const override {
    check_indices(block(x).count, i);
    check_length(i.size(), out.size() * members_.size());
    if (out.empty()) return;
    std::vector<const float*> all;
    for (std::size_t r : i) all.push_back(row_of(x, r));
    put_async(const_pointers_, all, device_.stream);
    results_.reserve(out.size());
    spreads(const_pointers_.data(), static_cast<int>(out.size()), members(),
            static_cast<int>(grid().values()), results_.data(), device_.stream);
    fetch(out);
  }

 private:
  struct Rows {
    DeviceArray<float> values;
    std::size_t count = 0;
  };

  const Rows& block(RowsId id) const {
    const auto index = static_cast<std::size_t>(id);
    check_block(index < blocks_.size() && blocks_[index].has_value(), index);
    return *blocks_[index];
  }
  float* row_of(RowsId id, std::size_t row) const {
    return blocks_[static_cast<std::size_t>(id)]->values.data() + row * grid().values();
  }
  void fetch(std::span<double> out) const {
    check(cudaMemcpyAsync(out.data(), results_.data(), out.size_bytes(), cudaMemcpyDeviceToHost,
                          device_.stream),
          "copying results from the GPU");
    check(cudaStreamSynchronize(device_.stream), "the work on rows");
  }

  // Applies all items, those of one member in slots of up to 32 rows; with a step, sketches them.
  void apply(std::vector<Item> items, const std::size_t* step) {
    if (items.empty()) return;
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.member < b.member; });
    std::vector<std::span<const Item>> slots;
    for (std::size_t first = 0; first < items.size();) {
      std::size_t n = 1;
      while (n < kRows && first + n < items.size() &&
             items[first + n].member == items[first].member)
        ++n;
      slots.push_back({items.data() + first, n});
      first += n;
    }
    const std::size_t share = (slots.size() + kBranches - 1) / kBranches;
    const std::size_t at_once = std::min(share, most_slots_);
    if (work_.empty() || static_cast<std::size_t>(work_[0].slots) < at_once) {
      check(cudaStreamSynchronize(device_.stream), "the work on rows");
      work_.clear();
      for (std::size_t b = 0; b < kBranches; ++b)
        work_.emplace_back(device_.shape, static_cast<int>(at_once), false);
    }
    run(slots, at_once, step);
  }

  void run(std::span<const std::span<const Item>> slots, std::size_t at_once,
           const std::size_t* step) {
    std::vector<SlotRows> table(slots.size());
    for (std::size_t s = 0; s < slots.size(); ++s) {
      SlotRows& rows = table[s];
      rows = {};
      rows.rows = static_cast<int>(slots[s].size());
      rows.member = members_[static_cast<std::size_t>(slots[s][0].member)];
      for (std::size_t r = 0; r < slots[s].size(); ++r) {
        rows.in[r] = slots[s][r].from;
        rows.out[r] = slots[s][r].to;
        rows.time[r] = slots[s][r].time;
      }
    }
    put_async(table_, table, device_.stream);
    const auto launch = [&](std::size_t first, std::size_t n, cudaStream_t stream) {
      return Launch{.net = device_.net,
                    .rows = table_.data() + first,
                    .slots = static_cast<int>(n),
                    .exact = device_.exact,
                    .stream = stream};
    };
    if (step == nullptr) {
      const std::size_t groups = (slots.size() + at_once - 1) / at_once;
      branches_.run(device_.stream, std::min(groups, kBranches),
                    [&](std::size_t b, cudaStream_t stream) {
                      for (std::size_t g = b; g < groups; g += kBranches) {
                        const std::size_t first = g * at_once;
                        const std::size_t n = std::min(at_once, slots.size() - first);
                        forward(launch(first, n, stream), *device_.transform, work_[b], nullptr);
                      }
                    });
      return;
    }
    // Slot by slot: the hidden layer of many would be large.
    const auto row_floats = static_cast<std::size_t>(device_.net.points) * kHidden;
    hidden_.reserve(static_cast<std::size_t>(device_.net.field_points()) * kHidden);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      forward(launch(s, 1, device_.stream), *device_.transform, work_[0], hidden_.data());
      const SketchLists& lists = sketch_lists(slots[s][0].member, *step);
      std::vector<int> feature_row;
      for (const Item& item : slots[s]) feature_row.push_back(static_cast<int>(item.row));
      put_async(feature_rows_, feature_row, device_.stream);
      cuda::sketch(hidden_.data(), row_floats, lists.first.data(), lists.entries.data(),
                   feature_rows_.data(), static_cast<int>(feature_row.size()), features_.data(),
                   device_.stream);
    }
  }

  const SketchLists& sketch_lists(int member, std::size_t step) {
    if (step != sketch_step_) {
      check(cudaStreamSynchronize(device_.stream), "sketching");
      lists_.clear();
      sketch_step_ = step;
    }
    const auto found = lists_.find(member);
    if (found != lists_.end()) return found->second;
    const std::size_t channels = device_.shape.options.projection;
    const auto points = static_cast<std::size_t>(device_.net.points);
    const SketchMap map(static_cast<std::size_t>(member), step, channels, points);
    std::array<std::vector<std::uint32_t>, kSketchSize> sums;
    map.for_each([&](std::size_t point, std::size_t channel, std::size_t coordinate, bool minus) {
      sums[coordinate].push_back(
          static_cast<std::uint32_t>((point * kHidden + channel) * 2 + (minus ? 1 : 0)));
    });
    std::vector<std::uint32_t> first(1, 0), entries;
    for (const auto& sum : sums) {
      entries.insert(entries.end(), sum.begin(), sum.end());
      first.push_back(static_cast<std::uint32_t>(entries.size()));
    }
    return lists_
        .emplace(member,
                 SketchLists{DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(first)),
                             DeviceArray<std::uint32_t>(std::span<const std::uint32_t>(entries))})
        .first->second;
  }

  const Device& device_;
  std::vector<int> members_;
  std::size_t most_slots_;
  std::vector<std::optional<Rows>> blocks_;
  Branches branches_;
  std::vector<Workspace> work_;  // one per branch
  DeviceArray<SlotRows> table_;
  DeviceArray<float> mean_parts_, hidden_;
  DeviceArray<float*> pointers_;
  mutable DeviceArray<const float*> const_pointers_;
  mutable DeviceArray<double> results_;
  DeviceArray<double> features_;
  DeviceArray<int> feature_rows_;
  std::map<int, SketchLists> lists_;  // of sketch_step_
  std::size_t sketch_step_ = 0;
};

}  // namespace

std::unique_ptr<Committee> make_committee(const Device& device, std::vector<int> members) {
  return std::make_unique<CudaCommittee>(device, std::move(members));
}

}  // namespace stap::cuda
