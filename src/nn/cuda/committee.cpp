#include "nn/cuda/committee.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/parallel.h"
#include "nn/cuda/branches.h"
#include "nn/cuda/graph.h"
#include "nn/cuda/sketch_lists.h"
#include "nn/cuda/stream.h"
#include "stap/core/error.h"

namespace stap::cuda {
namespace {

// Share of the free memory that a committee takes for its fields, and again for hidden layers.
constexpr std::size_t kMemoryShare = 4;
// More bundles at a time would not keep the device busier.
constexpr std::size_t kBundlesMost = 64;
constexpr std::size_t kHiddenBundlesMost = 16;
// Calls of up to so many bundles are replayed as graphs, one per number of bundles: their kernels
// are so short that launching them one by one would take longer than they do.
constexpr std::size_t kGraphBundles = 16;
// Tiles that fill the device: with fewer to a branch, branches would only be more launches.
constexpr std::size_t kTilesPerBranch = 512;
// Lists of sketches kept for the next block of rows.
constexpr std::size_t kListBytes = std::size_t{512} << 20;

// One row to advance.
struct Item {
  const float* from;
  float* to;
  const double* told;
  std::size_t row;  // of the call
};

// Up to 32 rows of one member.
struct Bundle {
  std::size_t member;  // of the committee
  std::span<const Item> items;
};

class CudaCommittee final : public Committee {
 public:
  // On the engine's stream, or on one of its own.
  CudaCommittee(const Device& device, std::vector<int> members, std::unique_ptr<Stream> own = {})
      : Committee(device.spec.told()),
        device_(device),
        own_stream_(std::move(own)),
        stream_(own_stream_ ? cudaStream_t(*own_stream_) : device.stream),
        members_(std::move(members)),
        items_(members_.size()),
        table_(kGraphBundles) {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "memory of the GPU");
    const std::size_t share = free / kMemoryShare / kBranches;
    most_bundles_ =
        std::clamp<std::size_t>(share / device.body->workspace_bytes(1, false), 1, kBundlesMost);
    most_hidden_ =
        std::clamp<std::size_t>(share / (bundle_hidden() * sizeof(float)), 1, kHiddenBundlesMost);
    for (std::size_t n = 1; n <= kGraphBundles; ++n)
      graph_bundles_ = std::max(graph_bundles_, split(n, most_bundles_).at_once);
    do_weigh_channels();
  }
  ~CudaCommittee() override { cudaStreamSynchronize(stream_); }

  const Grid& grid() const override { return device_.spec.grid; }
  int members() const override { return static_cast<int>(members_.size()); }
  std::size_t rows_at_once() const override { return 256; }
  const FixedFields* fixed() const override { return device_.spec.fixed.get(); }

 private:
  std::unique_ptr<Committee> do_another() override {
    wait("the work on rows");
    return std::make_unique<CudaCommittee>(device_, members_, std::make_unique<Stream>());
  }

  void do_trim() override {
    drop_graphs();
    work_.clear();
    for (DeviceArray<float>& hidden : hidden_) hidden = {};
    mean_parts_ = {};
    lists_.clear();
    list_bytes_ = 0;
  }

  void do_weigh_channels() override {
    std::vector<double> factors;
    for (std::size_t c = 0; c < grid().channels; ++c) factors.push_back(channel_factor(c));
    factors_ = DeviceArray<double>(std::span<const double>(factors));
  }

  void do_rows(RowsId id, std::size_t n) override {
    const auto index = static_cast<std::size_t>(id);
    if (index >= blocks_.size()) blocks_.resize(index + 1);
    blocks_[index] = DeviceArray<float>(n * grid().values());
  }
  void do_release(RowsId id) override {
    wait("the work on rows");
    blocks_[static_cast<std::size_t>(id)] = {};
  }

  void do_put(RowsId id, std::size_t first, StatesView<const float> states) override {
    check(cudaMemcpyAsync(row_of(id, first), states.values,
                          states.count * states.row_size * sizeof(float), cudaMemcpyHostToDevice,
                          stream_),
          "copying rows to the GPU");
    wait("copying rows to the GPU");
  }
  void do_get(RowsId id, std::size_t first, StatesView<float> states) const override {
    check(cudaMemcpyAsync(states.values, row_of(id, first),
                          states.count * states.row_size * sizeof(float), cudaMemcpyDeviceToHost,
                          stream_),
          "copying rows from the GPU");
    wait("copying rows from the GPU");
  }

  void do_advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                  std::span<const double> told, RowsId to,
                  std::span<const std::size_t> j) override {
    const std::size_t values = grid().values(), all = members_.size();
    const auto mean_rows =
        static_cast<std::size_t>(std::count(member.begin(), member.end(), kMean));
    mean_parts_.reserve(mean_rows * all * values);
    const std::span<float*> mean_to = mean_to_.write(mean_rows);
    std::size_t mean = 0;
    clear_items();
    for (std::size_t r = 0; r < i.size(); ++r) {
      const double* t = told.data() + r * device_.spec.told_channels();
      const float* state = row_of(from, i[r]);
      if (member[r] != kMean) {
        items_[static_cast<std::size_t>(member[r])].push_back({state, row_of(to, j[r]), t, r});
        continue;
      }
      for (std::size_t m = 0; m < all; ++m)
        items_[m].push_back({state, mean_parts_.data() + (m * mean_rows + mean) * values, t, r});
      mean_to[mean++] = row_of(to, j[r]);
    }
    send_bundles();
    mean_to_.send(stream_);
    advance_bundles();
    if (mean_rows == 0) return;
    average(mean_parts_.data(), mean_rows * values, members(), mean_to_.data(),
            static_cast<int>(mean_rows), static_cast<int>(values), stream_);
  }

  void do_sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                 std::span<const double> told, std::size_t step, RowsId to,
                 std::span<const std::size_t> j, std::span<double> features) override {
    clear_items();
    for (std::size_t r = 0; r < i.size(); ++r)
      items_[static_cast<std::size_t>(member[r])].push_back(
          {row_of(from, i[r]), row_of(to, j[r]), told.data() + r * device_.spec.told_channels(),
           r});
    results_.reserve(features.size());
    send_bundles();
    send_sketches(step);
    sketch_bundles();
    wait("sketching");
    // Kept out of the kernels, which would have to be sent the features before.
    constexpr std::size_t kValues = std::size_t{1} << 15;
    parallel_for(thread_count(0), (features.size() + kValues - 1) / kValues,
                 [&](std::size_t task, int) {
                   const std::size_t end = std::min((task + 1) * kValues, features.size());
                   for (std::size_t v = task * kValues; v < end; ++v)
                     features[v] += results_.data()[v];
                 });
  }

  void do_distance2(RowsId x, std::span<const std::size_t> i, RowsId y,
                    std::span<const std::size_t> j, std::span<double> out) const override {
    const std::size_t n = i.size();
    const std::span<const float*> pairs = pointers_.write(2 * n);
    for (std::size_t r = 0; r < n; ++r) {
      pairs[r] = row_of(x, i[r]);
      pairs[n + r] = row_of(y, j[r]);
    }
    pointers_.send(stream_);
    results_.reserve(n);
    distances(pointers_.data(), pointers_.data() + n, static_cast<int>(n),
              static_cast<int>(grid().values()), channels(), results_.data(), stream_);
    take_results(out);
  }

  void do_spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const override {
    const std::span<const float*> all = pointers_.write(i.size());
    for (std::size_t r = 0; r < i.size(); ++r) all[r] = row_of(x, i[r]);
    pointers_.send(stream_);
    results_.reserve(out.size());
    spreads(pointers_.data(), static_cast<int>(out.size()), members(),
            static_cast<int>(grid().values()), channels(), results_.data(), stream_);
    take_results(out);
  }

  ChannelFactors channels() const {
    return {factors_.data(), static_cast<int>(grid().points_total()), device_.net.mask};
  }

  // How bundles are worked on: groups of up to at_once, on some branches.
  struct Split {
    std::size_t branches, at_once;
  };

  float* row_of(RowsId id, std::size_t row) const {
    return blocks_[static_cast<std::size_t>(id)].data() + row * grid().values();
  }
  void wait(const char* what) const { check(cudaStreamSynchronize(stream_), what); }
  void take_results(std::span<double> out) const {
    wait("the work on rows");
    std::copy_n(results_.data(), out.size(), out.begin());
  }
  // Floats of the hidden layer of a bundle.
  std::size_t bundle_hidden() const {
    return static_cast<std::size_t>(device_.net.field_points()) *
           static_cast<std::size_t>(device_.net.projection);
  }

  void clear_items() {
    for (std::vector<Item>& items : items_) items.clear();
  }

  // Puts items_ into bundles and these on the device. A member's bundles are of equal size, so that
  // branches have equal work.
  void send_bundles() {
    bundles_.clear();
    for (std::size_t m = 0; m < items_.size(); ++m) {
      const std::size_t n = items_[m].size(), bundles = (n + kRows - 1) / kRows;
      for (std::size_t s = 0; s < bundles; ++s) {
        const std::size_t first = n * s / bundles, end = n * (s + 1) / bundles;
        bundles_.push_back({m, std::span<const Item>(items_[m]).subspan(first, end - first)});
      }
    }
    if (bundles_.size() > table_.capacity()) drop_graphs();
    const std::span<BundleRows> table = table_.write(bundles_.size());
    for (std::size_t s = 0; s < bundles_.size(); ++s) {
      const std::span<const Item> items = bundles_[s].items;
      BundleRows& rows = table[s];
      rows = {};
      rows.rows = rows.made = static_cast<int>(items.size());
      rows.member = members_[bundles_[s].member];
      for (std::size_t r = 0; r < items.size(); ++r) {
        rows.in[r] = items[r].from;
        rows.out[r] = items[r].to;
        for (std::size_t c = 0; c < device_.spec.told_channels(); ++c)
          rows.told[r][c] = static_cast<float>(items[r].told[c]);
      }
    }
    table_.send(stream_);
  }

  Split split(std::size_t bundles, std::size_t most) const {
    const std::size_t tiles = bundles * static_cast<std::size_t>(device_.net.tiles());
    const std::size_t branches = std::clamp<std::size_t>(tiles / kTilesPerBranch, 1, kBranches);
    return {branches, std::min((bundles + branches - 1) / branches, most)};
  }

  // What recorded kernels point at is about to move.
  void drop_graphs() {
    wait("the work on rows");
    graphs_.clear();
  }

  void reserve_work(const Split& split) {
    if (!work_.empty() && static_cast<std::size_t>(work_[0]->bundles) < split.at_once) {
      drop_graphs();
      work_.clear();
    }
    // Room for every graph from the start: else they would be dropped as calls grow.
    const int bundles = work_.empty() ? static_cast<int>(std::max(split.at_once, graph_bundles_))
                                      : work_[0]->bundles;
    while (work_.size() < split.branches) work_.push_back(device_.body->workspace(bundles, false));
  }

  // work(branch, first bundle, launch) for all groups of bundles.
  template <class Work>
  void in_groups(const Split& split, const Work& work) {
    const std::size_t groups = (bundles_.size() + split.at_once - 1) / split.at_once;
    const std::size_t used = std::min(groups, split.branches);
    branches_.run(stream_, used, [&](std::size_t b, cudaStream_t stream) {
      for (std::size_t g = b; g < groups; g += used) {
        const std::size_t first = g * split.at_once;
        work(b, first,
             Launch{.net = device_.net,
                    .rows = table_.data() + first,
                    .bundles = static_cast<int>(std::min(split.at_once, bundles_.size() - first)),
                    .exact = device_.exact,
                    .stream = stream});
      }
    });
  }

  void advance_bundles() {
    if (bundles_.empty()) return;
    const Split how = split(bundles_.size(), most_bundles_);
    reserve_work(how);
    const auto work = [&] {
      in_groups(how, [&](std::size_t b, std::size_t, const Launch& launch) {
        device_.body->forward(launch, *work_[b], nullptr);
      });
    };
    if (bundles_.size() > kGraphBundles) {
      work();
      return;
    }
    auto graph = graphs_.find(bundles_.size());
    if (graph == graphs_.end()) graph = graphs_.try_emplace(bundles_.size(), stream_, work).first;
    graph->second.launch(stream_);
  }

  // Makes the lists that are missing, and sends where the bundles find theirs.
  void send_sketches(std::size_t step) {
    if (list_bytes_ > kListBytes) {
      lists_.clear();
      list_bytes_ = 0;
    }
    const std::span<BundleSketch> sketches = sketches_.write(bundles_.size());
    for (std::size_t s = 0; s < bundles_.size(); ++s) {
      const Bundle& bundle = bundles_[s];
      auto found = lists_.find({step, bundle.member});
      if (found == lists_.end()) {
        found =
            lists_
                .emplace(std::pair{step, bundle.member},
                         make_sketch_lists(device_.net, body_points(device_.spec),
                                           device_.body->hidden_channels(), bundle.member, step))
                .first;
        list_bytes_ += found->second.bytes();
      }
      sketches[s] = {found->second.first.data(), found->second.fours(), {}};
      for (std::size_t r = 0; r < bundle.items.size(); ++r)
        sketches[s].feature_row[r] = static_cast<int>(bundle.items[r].row);
    }
    sketches_.send(stream_);
  }

  // Advances the bundles; their sketches go to results_.
  void sketch_bundles() {
    const Split how = split(bundles_.size(), std::min(most_bundles_, most_hidden_));
    reserve_work(how);
    for (std::size_t b = 0; b < how.branches; ++b)
      hidden_[b].reserve(how.at_once * bundle_hidden());
    in_groups(how, [&](std::size_t b, std::size_t first, const Launch& launch) {
      device_.body->forward(launch, *work_[b], hidden_[b].data());
      cuda::sketch(launch, sketches_.data() + first, hidden_[b].data(), results_.data());
    });
  }

  const Device& device_;
  std::unique_ptr<Stream> own_stream_;
  cudaStream_t stream_;
  std::vector<int> members_;
  std::size_t most_bundles_ = 1, most_hidden_ = 1;
  std::size_t graph_bundles_ = 1;           // that a branch of a graph works on at a time, at most
  DeviceArray<double> factors_;             // of channels
  std::vector<DeviceArray<float>> blocks_;  // [rows][values], by id
  Branches branches_;
  std::vector<std::unique_ptr<Workspace>> work_;  // one per branch, of equal size
  std::vector<std::vector<Item>> items_;          // of the call under way, by member
  std::vector<Bundle> bundles_;                   // of the call under way
  Sent<BundleRows> table_;
  DeviceArray<float> mean_parts_;
  Sent<float*> mean_to_;
  mutable Sent<const float*> pointers_;
  mutable HostArray<double> results_;                 // kernels write it: no copy to wait for
  std::array<DeviceArray<float>, kBranches> hidden_;  // one per branch
  Sent<BundleSketch> sketches_;
  std::map<std::pair<std::size_t, std::size_t>, SketchLists> lists_;  // by step and member
  std::size_t list_bytes_ = 0;
  std::map<std::size_t, Graph> graphs_;  // by the number of bundles
};

}  // namespace

std::unique_ptr<Committee> make_committee(const Device& device, std::vector<int> members) {
  return std::make_unique<CudaCommittee>(device, std::move(members));
}

}  // namespace stap::cuda
