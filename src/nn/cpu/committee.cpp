#include "nn/cpu/committee.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "core/parallel.h"
#include "nn/sketch.h"

namespace stap::cpu {
namespace {

// Rows of a call that are worked on before the next ones start: bounds the memory of the mean
// model's intermediate results.
constexpr std::size_t kSlice = 1024;

constexpr std::size_t kTasksPerThread = 4, kTaskRowsLeast = 8;

// One application of one member.
struct Item {
  std::size_t row;  // of the call
  int member;
  const float* from;
  float* to;
  const float* told;
};

class CpuCommittee final : public Committee {
 public:
  CpuCommittee(const Network& network, std::vector<const Member*> members, int threads)
      : Committee(network.spec.told()),
        net_(network),
        members_(std::move(members)),
        threads_(threads),
        memory_(to_size(threads)) {}

  const Grid& grid() const override { return net_.spec.grid; }
  int members() const override { return static_cast<int>(members_.size()); }

  const FixedFields* fixed() const override { return net_.spec.fixed.get(); }

 private:
  void do_rows(RowsId id, std::size_t n) override {
    const auto index = static_cast<std::size_t>(id);
    blocks_.resize(std::max(blocks_.size(), index + 1));
    blocks_[index] = Buffer<float>(n * grid().values());
  }

  void do_release(RowsId id) override { blocks_[static_cast<std::size_t>(id)] = {}; }

  void do_put(RowsId id, std::size_t first, StatesView<const float> states) override {
    std::copy(states.values, states.values + states.count * states.row_size, row_of(id, first));
  }

  void do_get(RowsId id, std::size_t first, StatesView<float> states) const override {
    const float* from = row_of(id, first);
    std::copy(from, from + states.count * states.row_size, states.values);
  }

  void do_advance(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                  std::span<const double> told, RowsId to,
                  std::span<const std::size_t> j) override {
    const std::size_t values = grid().values(), all = members_.size();
    take_told(told);
    for (std::size_t first = 0; first < i.size(); first += kSlice) {
      const std::size_t end = std::min(i.size(), first + kSlice);
      const auto means = static_cast<std::size_t>(std::count(
          member.begin() + to_difference(first), member.begin() + to_difference(end), kMean));
      if (mean_parts_.size() < means * all * values)
        mean_parts_ = Buffer<float>(means * all * values);
      std::vector<Item> items;
      std::size_t mean = 0;
      for (std::size_t r = first; r < end; ++r) {
        const float* input = row_of(from, i[r]);
        if (member[r] != kMean) {
          items.push_back({r, member[r], input, row_of(to, j[r]), told_row(r)});
          continue;
        }
        for (std::size_t m = 0; m < all; ++m)
          items.push_back({r, static_cast<int>(m), input,
                           mean_parts_.data() + (mean * all + m) * values, told_row(r)});
        ++mean;
      }
      apply(std::move(items), {}, {});
      mean = 0;
      for (std::size_t r = first; r < end; ++r)
        if (member[r] == kMean)
          average(mean_parts_.data() + mean++ * all * values, row_of(to, j[r]));
    }
  }

  void do_sketch(RowsId from, std::span<const std::size_t> i, std::span<const int> member,
                 std::span<const double> told, std::size_t step, RowsId to,
                 std::span<const std::size_t> j, std::span<double> features) override {
    std::vector<std::optional<SketchMap>> sketches(members_.size());
    take_told(told);
    std::vector<Item> items;
    for (std::size_t r = 0; r < i.size(); ++r) {
      const auto m = static_cast<std::size_t>(member[r]);
      if (!sketches[m]) sketches[m].emplace(m, step, net_.body->hidden_channels(), net_.points);
      items.push_back({r, member[r], row_of(from, i[r]), row_of(to, j[r]), told_row(r)});
    }
    apply(std::move(items), sketches, features);
  }

  void do_distance2(RowsId x, std::span<const std::size_t> i, RowsId y,
                    std::span<const std::size_t> j, std::span<double> out) const override {
    const std::size_t points = grid().points_total();
    parallel_for(threads_, i.size(), [&](std::size_t r, int) {
      const float* a = row_of(x, i[r]);
      const float* b = row_of(y, j[r]);
      double sum = 0.0;
      for (std::size_t v = 0; v < grid().values(); ++v) {
        if (net_.is_masked(v % points)) continue;
        const double factor = channel_factor(v / points);
        const double d = (static_cast<double>(a[v]) - static_cast<double>(b[v])) * factor;
        sum += d * d;
      }
      out[r] = sum;
    });
  }

  void do_spread(RowsId x, std::span<const std::size_t> i, std::span<double> out) const override {
    const std::size_t all = members_.size(), points = grid().points_total();
    parallel_for(threads_, out.size(), [&](std::size_t g, int) {
      double sum = 0.0;
      for (std::size_t v = 0; v < grid().values(); ++v) {
        if (net_.is_masked(v % points)) continue;
        double mean = 0.0;
        for (std::size_t m = 0; m < all; ++m)
          mean += static_cast<double>(row_of(x, i[g * all + m])[v]);
        mean /= static_cast<double>(all);
        const double factor = channel_factor(v / points);
        for (std::size_t m = 0; m < all; ++m) {
          const double d = (static_cast<double>(row_of(x, i[g * all + m])[v]) - mean) * factor;
          sum += d * d;
        }
      }
      out[g] = sum / static_cast<double>(all);
    });
  }

  static std::size_t to_size(int n) { return static_cast<std::size_t>(n); }
  static std::ptrdiff_t to_difference(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

  float* row_of(RowsId id, std::size_t row) {
    return blocks_[static_cast<std::size_t>(id)].data() + row * grid().values();
  }
  const float* row_of(RowsId id, std::size_t row) const {
    return blocks_[static_cast<std::size_t>(id)].data() + row * grid().values();
  }

  void take_told(std::span<const double> told) {
    told_floats_.resize(told.size());
    convert(told, told_floats_);
  }
  const float* told_row(std::size_t r) const {
    return told_floats_.data() + r * net_.spec.told_channels();
  }

  using Sketches = std::span<const std::optional<SketchMap>>;  // of each member, or none at all

  // Applies all items, those of one member in blocks that share its weights. With sketches, adds
  // each row's sketched hidden activations to its features. A call may take seconds, so a stop is
  // heard before every block.
  void apply(std::vector<Item> items, Sketches sketches, std::span<double> features) {
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.member < b.member; });
    const std::size_t threads = to_size(threads_);
    // Several tasks a thread, or some threads would wait for the last one; but of some rows, to
    // share weights that come from far.
    const std::size_t share = (items.size() + threads - 1) / threads;
    const std::size_t most =
        std::clamp(share / kTasksPerThread, std::min(share, kTaskRowsLeast), kForwardRows);
    std::vector<std::span<const Item>> tasks;
    for (std::size_t first = 0; first < items.size();) {
      std::size_t n = 1;
      while (n < most && first + n < items.size() && items[first + n].member == items[first].member)
        ++n;
      tasks.push_back({items.data() + first, n});
      first += n;
    }
    for (std::size_t t = 0; t < std::min(threads, tasks.size()); ++t)
      if (!memory_[t]) memory_[t].emplace(net_);
    std::atomic<bool> stopped = false;
    parallel_for(static_cast<int>(std::min(threads, tasks.size())), tasks.size(),
                 [&](std::size_t index, int thread) {
                   if (stopped || stop_asked())
                     stopped = true;
                   else
                     run(tasks[index], *memory_[to_size(thread)], sketches, features);
                 });
    if (stopped) throw Stopped();
  }

  void run(std::span<const Item> task, ForwardMemory& memory, Sketches sketches,
           std::span<double> features) const {
    std::array<const float*, kForwardRows> from;
    std::array<float*, kForwardRows> to;
    std::array<const float*, kForwardRows> told;
    for (std::size_t r = 0; r < task.size(); ++r) {
      from[r] = task[r].from;
      to[r] = task[r].to;
      told[r] = task[r].told;
    }
    const auto member = static_cast<std::size_t>(task[0].member);
    HiddenSink sink;
    if (!sketches.empty())
      sink = [&](std::size_t row, std::size_t first, std::size_t n, const float* hidden,
                 std::size_t ld) {
        const std::span<double> into = features.subspan(task[row].row * kSketchSize, kSketchSize);
        net_.for_runs(first, n, [&](std::size_t run, std::size_t place, std::size_t length) {
          sketches[member]->add(place, length, hidden + run * ld, ld, into);
        });
      };
    forward(net_, members_[member]->view(), {from.data(), task.size()}, {told.data(), task.size()},
            {to.data(), task.size()}, memory, sink ? &sink : nullptr);
  }

  // The mean of M states, summed in double in member order.
  void average(const float* parts, float* to) const {
    const std::size_t values = grid().values(), all = members_.size();
    for (std::size_t v = 0; v < values; ++v) {
      double sum = 0.0;
      for (std::size_t m = 0; m < all; ++m) sum += static_cast<double>(parts[m * values + v]);
      to[v] = static_cast<float>(sum / static_cast<double>(all));
    }
  }

  const Network& net_;
  std::vector<const Member*> members_;
  int threads_;
  std::vector<Buffer<float>> blocks_;                 // [rows][values], by id
  std::vector<std::optional<ForwardMemory>> memory_;  // per thread, made when first needed
  Buffer<float> mean_parts_;
  std::vector<float> told_floats_;  // of the call under way
};

}  // namespace

std::unique_ptr<Committee> make_committee(const Network& network,
                                          std::vector<const Member*> members, int threads) {
  return std::make_unique<CpuCommittee>(network, std::move(members), threads);
}

}  // namespace stap::cpu
