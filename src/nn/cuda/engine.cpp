#include "stap/nn/engine.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "nn/adam.h"
#include "nn/augment.h"
#include "nn/cuda/body.h"
#include "nn/cuda/branches.h"
#include "nn/cuda/committee.h"
#include "nn/cuda/graph.h"
#include "nn/cuda/stream.h"
#include "nn/engines.h"
#include "nn/gradients.h"
#include "stap/core/error.h"
#include "stap/nn/family.h"

namespace stap {
namespace cuda {
namespace {

// Bundles worked on together: enough to fill the device, few enough to bound the memory.
constexpr std::size_t kGroupBytes = std::size_t{6} << 30;
constexpr int kGroupBundlesMost = 32;

// Bundles of a branch that are worked on together when there are `bundles` in all.
int group_bundles(const Body& body, int bundles) {
  const std::size_t one = body.workspace_bytes(1, true);
  const auto branches = static_cast<int>(kBranches);
  const int most =
      std::clamp(static_cast<int>(kGroupBytes / kBranches / one), 1, kGroupBundlesMost);
  return std::min((bundles + branches - 1) / branches, most);
}

// Transitions and maps of one set of jobs, on the device; members that share them share them here.
class Data {
 public:
  // `told`: of a row.
  void add_maps(std::span<const StateMap> maps, std::size_t told, DeviceJob& job) {
    if (maps.empty()) return;
    const auto found = maps_.find(maps.data());
    if (found == maps_.end()) {
      std::vector<std::int32_t> all, places(told);
      std::iota(places.begin(), places.end(), 0);
      for (const StateMap& map : maps) {
        all.insert(all.end(), map.from.begin(), map.from.end());
        all.insert(all.end(), places.begin(), places.end() - std::ssize(map.parameters));
        const auto before = static_cast<std::int32_t>(told - map.parameters.size());
        for (const std::int32_t from : map.parameters)
          all.push_back(from < 0 ? from - before : from + before);
      }
      maps_.emplace(maps.data(), DeviceArray<std::int32_t>(std::span<const std::int32_t>(all)));
    }
    job.maps = maps_.at(maps.data()).data();
    for (std::size_t g = 0; g < maps.size(); ++g)
      job.reversed |= std::uint64_t{maps[g].reversed} << g;
  }
  void add(const TransitionsView& view, DeviceJob& job) {
    const auto found = arrays_.find(view.inputs.values);
    if (found == arrays_.end()) {
      const std::size_t n = view.inputs.count * view.inputs.row_size;
      arrays_.emplace(view.inputs.values,
                      Arrays{DeviceArray<float>(std::span(view.inputs.values, n)),
                             DeviceArray<float>(std::span(view.targets.values, n)),
                             DeviceArray<float>(view.told)});
    }
    const Arrays& arrays = arrays_.at(view.inputs.values);
    job.inputs = arrays.inputs.data();
    job.targets = arrays.targets.data();
    job.told = arrays.told.data();
  }

 private:
  struct Arrays {
    DeviceArray<float> inputs, targets, told;
  };
  std::map<const float*, Arrays> arrays_;
  std::map<const StateMap*, DeviceArray<std::int32_t>> maps_;
};

class CudaEngine final : public Engine, public Gradients {
 public:
  CudaEngine(const NetworkSpec& spec, std::unique_ptr<Body> body, int members, bool exact)
      : members_(members),
        body_(std::move(body)),
        size_(body_->net().member_size),
        weights_(size_ * static_cast<std::size_t>(members)),
        moment1_(size_ * static_cast<std::size_t>(members)),
        moment2_(size_ * static_cast<std::size_t>(members)),
        fragments_(body_->fragments_size() * static_cast<std::size_t>(members)),
        mean_(static_cast<std::size_t>(members * kChannels)),
        deviation_(static_cast<std::size_t>(members * kChannels)),
        loss_factors_(static_cast<std::size_t>(members * kChannels)),
        positions_(position_inputs(spec)),
        mask_(spec.fixed ? std::span(spec.fixed->mask) : std::span<const std::uint8_t>()),
        table_(body_points(spec)),
        scalings_(static_cast<std::size_t>(members), unit_scaling(spec.out_channels())),
        steps_(static_cast<std::size_t>(members)),
        averaged_(static_cast<std::size_t>(members)) {
    body_->prepare();
    Net net = body_->net();
    net.weights = weights_.data();
    net.moment1 = moment1_.data();
    net.moment2 = moment2_.data();
    net.mean = mean_.data();
    net.deviation = deviation_.data();
    net.loss_factors = loss_factors_.data();
    net.positions = positions_.data();
    if (mask_.size() > 0) net.mask = mask_.data();
    if (table_.size() > 0) net.table = table_.data();
    net.fragments = fragments_.data();
    device_ = {spec, net, body_.get(), exact, stream_};
    for (int m = 0; m < members; ++m) put_scaling(m);
    prepare_kernels();
  }
  ~CudaEngine() override { cudaStreamSynchronize(stream_); }

  const NetworkSpec& spec() const override { return device_.spec; }
  int members() const override { return members_; }

  double gradient(int member, const TransitionsView& batch, Parameters& gradient,
                  std::span<const float> loss_factors) override {
    put_loss_factors(member, loss_factors);
    Data data;
    DeviceJob job{};
    data.add(batch, job);
    BundleRows rows{};
    const std::size_t values = spec().grid.values(), told = spec().told_channels();
    for (std::size_t r = 0; r < batch.count(); ++r) {
      rows.in[r] = job.inputs + r * values;
      rows.target[r] = job.targets + r * values;
      std::ranges::copy(batch.told.subspan(r * told, told), rows.told[r]);
    }
    rows.rows = static_cast<int>(batch.count());
    rows.made = kRows;
    rows.member = member;
    DeviceArray<BundleRows> table(std::span<const BundleRows>(&rows, 1));
    DeviceArray<double> squares(1);
    DeviceArray<float> packed(size_);
    const std::unique_ptr<Workspace> work = body_->workspace(1, true);
    body_->train_step(launch(table.data(), 1, stream_), *work, squares.data(), packed.data());
    check(cudaStreamSynchronize(stream_), "a gradient");
    std::vector<float> host(size_);
    packed.get(host);
    gradient = zero_parameters(spec());
    body_->unpack(host, gradient);
    double sum = 0.0;
    squares.get({&sum, 1});
    return sum / static_cast<double>(batch.count() * counted_values());
  }

 private:
  std::size_t counted_values() const {
    return spec().grid.channels * counted_points(spec().grid, spec().fixed.get());
  }

  void do_fit(std::span<FitJob> jobs, Observer& observer, const StopAsked& stop) override {
    Data data;
    std::vector<FitJob*> open;
    for (FitJob& job : jobs) open.push_back(&job);
    std::map<const FitJob*, DeviceJob> device_jobs;
    for (FitJob* job : open) {
      DeviceJob& to = device_jobs[job];
      to = {};
      data.add(job->data, to);
      data.add_maps(job->symmetries, spec().told_channels(), to);
      put_loss_factors(job->member, job->loss_factors);
      if (job->options.average > 0) begin_average(job->member);
      if (is_augmented(*job)) make_augmented();
      to.batch = static_cast<std::uint32_t>(job->options.batch);
      to.member = job->member;
      to.beta1 = static_cast<float>(job->options.beta1);
      to.beta2 = static_cast<float>(job->options.beta2);
      to.epsilon = static_cast<float>(job->options.epsilon);
      to.noise = job->options.noise;
    }
    while (!open.empty()) {
      run_epoch(open, device_jobs, observer);
      if (stop()) return;
      std::erase_if(open, [](const FitJob* job) { return job->epochs_done >= job->epochs_end(); });
    }
  }

  MemberState do_save(int member, bool trained) const override {
    const auto m = static_cast<std::size_t>(member);
    MemberState state;
    state.scaling = scalings_[m];
    state.steps = steps_[m];
    std::vector<float> host(size_);
    const auto get = [&](const DeviceArray<float>& from, Parameters& to) {
      to = zero_parameters(spec());
      from.get(host, m * size_);
      body_->unpack(host, to);
    };
    get(trained && averaged_[m] ? average_ : weights_, state.weights);
    if (trained) return state;
    get(moment1_, state.moment1);
    get(moment2_, state.moment2);
    if (averaged_[m]) get(average_, state.average);
    return state;
  }

  void do_load(int member, const MemberState& state) override {
    const auto m = static_cast<std::size_t>(member);
    scalings_[m] = state.scaling;
    steps_[m] = state.steps;
    put_scaling(member);
    std::vector<float> host(size_);
    const auto put = [&](const Parameters& from, DeviceArray<float>& to) {
      if (from.empty()) return to.zero(m * size_, size_);
      body_->pack(from, host);
      to.put(host, m * size_);
    };
    put(state.weights, weights_);
    put(state.moment1, moment1_);
    put(state.moment2, moment2_);
    averaged_[m] = !state.average.empty();
    if (averaged_[m]) {
      make_averages();
      put(state.average, average_);
    }
    BundleRows rows{};
    rows.rows = 1;
    rows.member = member;
    const DeviceArray<BundleRows> table(std::span<const BundleRows>(&rows, 1));
    body_->order_weights(launch(table.data(), 1, stream_));
    check(cudaStreamSynchronize(stream_), "ordering weights");
  }

  std::unique_ptr<Committee> do_committee(std::vector<int> members) override {
    return make_committee(device_, std::move(members));
  }

  Launch launch(const BundleRows* rows, int bundles, cudaStream_t stream) const {
    return {.net = device_.net,
            .rows = rows,
            .bundles = bundles,
            .exact = device_.exact,
            .stream = stream};
  }

  void put_scaling(int member) {
    const Scaling& s = scalings_[static_cast<std::size_t>(member)];
    const auto at = static_cast<std::size_t>(member * kChannels);
    mean_.put(s.mean, at);
    deviation_.put(s.deviation, at);
  }

  void put_loss_factors(int member, std::span<const float> factors) {
    const std::vector<float> ones(spec().out_channels(), 1.0f);
    loss_factors_.put(factors.empty() ? ones : factors,
                      static_cast<std::size_t>(member * kChannels));
  }

  // Memory for averages, which few engines need; recorded kernels do not know of it.
  void make_averages() {
    if (average_.size() > 0) return;
    average_ = DeviceArray<float>(weights_.size());
    device_.net.average = average_.data();
    graphs_.clear();
  }

  // An average starts at the weights of its first day.
  void begin_average(int member) {
    const auto m = static_cast<std::size_t>(member);
    if (averaged_[m]) return;
    make_averages();
    std::vector<float> host(size_);
    weights_.get(host, m * size_);
    average_.put(host, m * size_);
    averaged_[m] = 1;
  }

  // Likewise for rows that are not what they are: workspaces are made anew, with room for them.
  void make_augmented() {
    if (augmented_) return;
    augmented_ = true;
    graphs_.clear();
    work_.clear();
  }

  std::unique_ptr<Workspace> make_workspace(int bundles) const {
    std::unique_ptr<Workspace> work = body_->workspace(bundles, true);
    const std::size_t values = static_cast<std::size_t>(bundles * kRows) * spec().grid.values();
    if (augmented_) {
      work->inputs = DeviceArray<float>(values);
      work->targets = DeviceArray<float>(values);
    }
    return work;
  }

  // The kernels of one step of `bundles` jobs: groups of bundles side by side, and one after the
  // other on the same fields where there are more than the memory is meant for.
  const Graph& step_graph(int bundles) {
    const auto found = graphs_.find(bundles);
    if (found != graphs_.end()) return found->second;
    const auto branches = std::min(static_cast<std::size_t>(bundles), kBranches);
    const int group = group_bundles(*body_, bundles);
    if (work_.size() < branches || work_[0]->bundles < group) {
      check(cudaStreamSynchronize(stream_), "training");
      graphs_.clear();
      work_.clear();
      for (std::size_t b = 0; b < branches; ++b) work_.push_back(make_workspace(group));
    }
    const auto record = [&] {
      gather_rows(device_jobs_.data(), bundles, step_.data(), rows_.data(),
                  static_cast<int>(spec().grid.values()), static_cast<int>(spec().told_channels()),
                  stream_);
      branches_.run(stream_, branches, [&](std::size_t b, cudaStream_t stream) {
        const int begin = static_cast<int>(b) * bundles / static_cast<int>(branches);
        const int end = static_cast<int>(b + 1) * bundles / static_cast<int>(branches);
        for (int first = begin; first < end; first += group) {
          const int n = std::min(group, end - first);
          const Launch group_launch = launch(rows_.data() + first, n, stream);
          if (augmented_)
            augment(group_launch, device_jobs_.data() + first, step_.data(), rows_.data() + first,
                    work_[b]->inputs.data(), work_[b]->targets.data());
          body_->train_step(group_launch, *work_[b], squares_.data() + first, nullptr);
          if (average_.size() > 0) average_weights(group_launch);
        }
      });
      next_step(step_.data(), stream_);
    };
    return graphs_.try_emplace(bundles, static_cast<cudaStream_t>(stream_), record).first->second;
  }

  // One epoch of every open job: as many steps as the longest needs; bundles of shorter ones idle.
  void run_epoch(const std::vector<FitJob*>& open, std::map<const FitJob*, DeviceJob>& device_jobs,
                 Observer& observer) {
    const std::size_t bundles = open.size();
    std::vector<std::uint32_t> order, orders;
    std::vector<std::uint8_t> drawn, images;
    std::vector<StepFactors> factors;
    std::vector<std::size_t> order_at, factors_at, rows;
    std::int64_t most_steps = 0;
    for (const FitJob* job : open) {
      order_at.push_back(orders.size());
      factors_at.push_back(factors.size());
      shuffle(job->rng.split("epoch", static_cast<std::uint64_t>(job->epochs_done)),
              job->data.count(), order);
      const FitLength length = job->length();
      const std::int64_t first = length.steps_after(job->epochs_done);
      const std::int64_t end = length.steps_after(job->epochs_done + 1);
      rows.push_back(
          std::min(order.size(), static_cast<std::size_t>(end - first) * job->options.batch));
      order.resize(rows.back());
      orders.insert(orders.end(), order.begin(), order.end());
      draw_images(*job, order.size(), drawn);
      images.insert(images.end(), drawn.begin(), drawn.end());
      images.resize(orders.size());  // of who has none, too: places are those of the orders
      most_steps = std::max(most_steps, end - first);
      std::int64_t& made = steps_[static_cast<std::size_t>(job->member)];
      for (std::int64_t s = first; s < end; ++s) {
        const double rate = learning_rate(job->options, job->epochs_done, s);
        const AdamFactors f = adam_factors(job->options, rate, ++made);
        factors.push_back({f.rate, f.root_scale, average_part(job->options, made)});
      }
    }
    if (!augmented_) images.clear();
    reserve_bundles(bundles, orders.size(), factors.size());
    images_.reserve(images.size());
    std::vector<DeviceJob> table;
    for (std::size_t s = 0; s < bundles; ++s) {
      table.push_back(device_jobs.at(open[s]));
      table.back().count = static_cast<std::uint32_t>(rows[s]);
      table.back().order = orders_.data() + order_at[s];
      table.back().factors = factors_.data() + factors_at[s];
      table.back().noise_key = noise_of_epoch(*open[s]).key();
      if (table.back().maps != nullptr) table.back().images = images_.data() + order_at[s];
    }
    orders_.put(orders);
    images_.put(images);
    factors_.put(factors);
    device_jobs_.put(table);
    squares_.put(std::vector<double>(bundles, 0.0));
    step_.put(std::vector<int>{0});

    const Graph& graph = step_graph(static_cast<int>(bundles));
    for (std::int64_t s = 0; s < most_steps; ++s) graph.launch(stream_);
    check(cudaStreamSynchronize(stream_), "training");
    std::vector<double> squares(bundles);
    squares_.get(squares);
    for (std::size_t s = 0; s < bundles; ++s) {
      FitJob& job = *open[s];
      const FitLength length = job.length();
      const int epoch = job.epochs_done++;
      observer.epoch_done({job.member, epoch, length.epochs,
                           squares[s] / static_cast<double>(rows[s] * counted_values()),
                           learning_rate(job.options, epoch, length.steps_after(epoch))});
    }
  }

  // Arrays the recorded kernels point at: when they move, the records go.
  void reserve_bundles(std::size_t bundles, std::size_t orders, std::size_t factors) {
    orders_.reserve(orders);
    factors_.reserve(factors);
    if (rows_.size() >= bundles) return;
    graphs_.clear();
    device_jobs_.reserve(bundles);
    rows_.reserve(bundles);
    squares_.reserve(bundles);
    step_.reserve(1);
  }

  int members_;
  Stream stream_;
  std::unique_ptr<Body> body_;
  std::size_t size_;
  DeviceArray<float> weights_, moment1_, moment2_, fragments_, mean_, deviation_, loss_factors_,
      positions_;
  DeviceArray<std::uint8_t> mask_;
  DeviceArray<BodyPoint> table_;
  DeviceArray<float> average_;  // empty until a member has one
  std::vector<Scaling> scalings_;
  std::vector<std::int64_t> steps_;
  std::vector<char> averaged_;  // per member: whether it has an average
  bool augmented_ = false;      // whether a job's rows were: then recorded kernels see to it
  Device device_;
  Branches branches_;
  std::vector<std::unique_ptr<Workspace>> work_;  // one per branch
  DeviceArray<std::uint32_t> orders_;
  DeviceArray<std::uint8_t> images_;  // beside the orders
  DeviceArray<StepFactors> factors_;
  DeviceArray<DeviceJob> device_jobs_;
  DeviceArray<BundleRows> rows_;
  DeviceArray<double> squares_;
  DeviceArray<int> step_;
  std::map<int, Graph> graphs_;  // by the number of bundles
};

}  // namespace
}  // namespace cuda

std::string cuda_problem() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return fmt::format("no GPU can be used: {}", cudaGetErrorString(status));
  }
  if (devices == 0) return "there is no GPU";
  int shared = 0, capability = 0;
  cuda::check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0),
              "asking the GPU");
  cuda::check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, 0),
              "asking the GPU");
  constexpr int kClusters = 9;  // the capability with which clusters of blocks came
  if (capability < kClusters || static_cast<std::size_t>(shared) < cuda::kSharedNeeded)
    return fmt::format(
        "the GPU has compute capability {} and gives {} KiB of shared memory to a block, expected "
        "{} and {} or more (NVIDIA H100, H200 and later ones for data centres)",
        capability, shared / 1024, kClusters, cuda::kSharedNeeded / 1024);
  return {};
}

std::string cuda_name() {
  if (!cuda_problem().empty()) return {};
  cudaDeviceProp properties;
  cuda::check(cudaGetDeviceProperties(&properties, 0), "asking the GPU");
  return properties.name;
}

// Without a GPU.
static std::unique_ptr<cuda::Body> body_of(const NetworkSpec& spec, bool exact) {
  const FamilyRow& row = *spec.family.row;
  if (!row.cuda)
    throw Error(ErrorKind::config,
                fmt::format("networks of the family {} are not computed on a GPU: choose device: "
                            "cpu, or another network.name",
                            row.name));
  return row.cuda(spec, exact);
}

std::size_t cuda_training_bytes(const NetworkSpec& spec, int members, bool augmented) {
  const std::unique_ptr<cuda::Body> body = body_of(spec, false);
  const int branches = std::min(members, static_cast<int>(cuda::kBranches));
  const int bundles = cuda::group_bundles(*body, members);
  const std::size_t rows =
      augmented ? static_cast<std::size_t>(2 * bundles * cuda::kRows) * spec.grid.values() : 0;
  return static_cast<std::size_t>(branches) *
             (body->workspace_bytes(bundles, true) + rows * sizeof(float)) +
         3 * sizeof(float) * body->net().member_size * static_cast<std::size_t>(members);
}

std::unique_ptr<Engine> make_cuda_engine(const NetworkSpec& spec, int members,
                                         ComputeOptions::Precision precision) {
  check_member_count(members);
  const bool exact = precision == ComputeOptions::Precision::fp32;
  std::unique_ptr<cuda::Body> body = body_of(spec, exact);
  body->check_limits();
  if (const std::string problem = cuda_problem(); !problem.empty())
    throw Error(ErrorKind::unavailable, problem);
  return std::make_unique<cuda::CudaEngine>(spec, std::move(body), members, exact);
}

}  // namespace stap
