#include "stap/nn/engine.h"

#include <algorithm>
#include <utility>

#include "core/parallel.h"
#include "core/sizes.h"
#include "nn/adam.h"
#include "nn/augment.h"
#include "nn/cpu/committee.h"
#include "nn/cpu/gradient.h"
#include "nn/cpu/member.h"
#include "nn/cpu/network.h"
#include "nn/engines.h"
#include "nn/gradients.h"

namespace stap {
namespace cpu {
namespace {

// Values one task of the Adam update works on.
constexpr std::size_t kAdamSlice = 16384;

AdamStep to_kernel(const AdamFactors& f) {
  return {.rate = f.rate,
          .beta1 = f.beta1,
          .beta2 = f.beta2,
          .root_scale = f.root_scale,
          .epsilon = f.epsilon};
}

void move_towards(float part, std::span<const float> weights, float* average) {
  for (std::size_t i = 0; i < weights.size(); ++i) average[i] += part * (weights[i] - average[i]);
}

// An epoch of one job, under way.
struct Epoch {
  FitJob* job = nullptr;
  Member* member = nullptr;
  std::vector<std::uint32_t> order;
  std::vector<std::uint8_t> images;  // by place in the order; empty without symmetries
  Rng noise{0};
  std::size_t next = 0;   // row of the order the next batch starts at
  double squares = 0.0;   // sum over rows of the mean squared error
  std::int64_t step = 0;  // of the whole training, made so far

  double rate() const { return learning_rate(job->options, job->epochs_done, step); }
};

// What it takes to train up to `jobs` jobs at a time on `threads` threads.
struct TrainingMemory {
  TrainingMemory(const Network& network, std::size_t jobs, int threads, bool augmented)
      : pass(network, jobs, threads),
        batches(jobs),
        active(jobs),
        inputs(augmented ? jobs * kBatchRows * network.spec.grid.values() : 0),
        targets(inputs.size()),
        told(augmented ? jobs * kBatchRows * network.spec.told_channels() : 0) {}
  GradientPass pass;
  std::vector<Batch> batches;
  std::vector<Epoch*> active;
  Buffer<float> inputs, targets;  // in the place of rows, [job][row][C][points]; empty if none are
  Buffer<float> told;             // likewise, [job][row][told_channels]
};

std::size_t most_rows(std::span<const FitJob> jobs) {
  std::size_t most = 0;
  for (const FitJob& job : jobs) most = std::max(most, job.data.count());
  return most;
}

class CpuEngine final : public Engine, public Gradients {
 public:
  CpuEngine(const NetworkSpec& spec, int members, int threads)
      : net_(spec, active_isa()), threads_(thread_count(threads)) {
    for (int m = 0; m < members; ++m) members_.emplace_back(net_);
  }

  const NetworkSpec& spec() const override { return net_.spec; }
  int members() const override { return static_cast<int>(members_.size()); }

  double gradient(int member, const TransitionsView& batch, Parameters& gradient,
                  std::span<const float> loss_factors) override {
    GradientPass pass(net_, 1, threads_);
    Batch b;
    Member& m = members_[static_cast<std::size_t>(member)];
    m.set_loss_factors(loss_factors);
    b.member = m.view();
    for (std::size_t r = 0; r < batch.count(); ++r) add_row(batch, r, b);
    pass.run({&b, 1});
    gradient = zero_parameters(net_.spec);
    net_.body->unpack(pass.gradient(0), gradient);
    return pass.loss(0);
  }

 private:
  void do_fit(std::span<FitJob> jobs, Observer& observer, const StopAsked& stop) override {
    std::vector<FitJob*> open;
    auto find_open = [&] {
      open.clear();
      for (FitJob& job : jobs)
        if (job.epochs_done < job.epochs_end()) open.push_back(&job);
    };
    open.reserve(jobs.size());
    find_open();
    for (const FitJob& job : jobs) begin_fit(job);
    const bool augmented = std::ranges::any_of(jobs, is_augmented);
    std::vector<Epoch> epochs(jobs.size());
    for (Epoch& epoch : epochs) {
      epoch.order.reserve(most_rows(jobs));
      epoch.images.reserve(augmented ? most_rows(jobs) : 0);
    }
    // While there are jobs for all threads, each thread trains one by itself: no waiting between
    // the phases of a step. What is left over shares all threads, phase by phase. Either way a
    // member's bits are the same.
    const auto threads = static_cast<std::size_t>(threads_);
    auto on_their_own = [&] { return threads > 1 ? open.size() / threads * threads : 0; };
    const std::size_t together = std::min(open.size(), (2 * threads + 7) / 8);
    std::vector<TrainingMemory> of_thread;
    for (std::size_t t = 0; t < (on_their_own() > 0 ? threads : 0); ++t)
      of_thread.emplace_back(net_, 1, 1, augmented);
    TrainingMemory shared(net_, together, threads_, augmented);

    for (bool stopped = false; !open.empty() && !stopped; find_open()) {
      const std::size_t own = on_their_own();
      for (std::size_t e = 0; e < open.size(); ++e) begin_epoch(*open[e], epochs[e]);
      parallel_for(threads_, own, [&](std::size_t e, int thread) {
        run_epochs({&epochs[e], 1}, of_thread[static_cast<std::size_t>(thread)]);
      });
      for (std::size_t e = own; e < open.size(); e += together)
        run_epochs({&epochs[e], std::min(together, open.size() - e)}, shared);
      for (std::size_t e = 0; e < open.size(); ++e) end_epoch(epochs[e], observer);
      stopped = stop();
    }
  }

  MemberState do_save(int member, bool trained) const override {
    const Member& m = members_[static_cast<std::size_t>(member)];
    MemberState state;
    state.scaling = m.scaling;
    state.steps = m.steps;
    const auto get = [&](const float* from, Parameters& to) {
      to = zero_parameters(net_.spec);
      net_.body->unpack(from, to);
    };
    get(trained && !m.average.empty() ? m.average.data() : m.weights.data(), state.weights);
    if (trained) return state;
    get(m.moment1.data(), state.moment1);
    get(m.moment2.data(), state.moment2);
    if (!m.average.empty()) get(m.average.data(), state.average);
    return state;
  }

  void do_load(int member, const MemberState& state) override {
    Member& m = members_[static_cast<std::size_t>(member)];
    m.scaling = state.scaling;
    m.steps = state.steps;
    auto put = [&](const Parameters& from, Buffer<float>& to) {
      if (from.empty()) {
        std::fill(to.begin(), to.end(), 0.0f);
      } else {
        net_.body->pack(from, to.data());
      }
    };
    put(state.weights, m.weights);
    put(state.moment1, m.moment1);
    put(state.moment2, m.moment2);
    m.average.resize(state.average.empty() ? 0 : net_.body->size());
    if (!m.average.empty()) net_.body->pack(state.average, m.average.data());
  }

  std::unique_ptr<Committee> do_committee(std::vector<int> members) override {
    std::vector<const Member*> chosen;
    for (int member : members) chosen.push_back(&members_[static_cast<std::size_t>(member)]);
    return make_committee(net_, std::move(chosen), threads_);
  }

  // An average starts at the weights of its first day.
  void begin_fit(const FitJob& job) {
    Member& m = members_[static_cast<std::size_t>(job.member)];
    m.set_loss_factors(job.loss_factors);
    if (job.options.average > 0 && m.average.empty())
      m.average.assign(m.weights.begin(), m.weights.end());
  }

  void begin_epoch(FitJob& job, Epoch& epoch) {
    epoch.job = &job;
    epoch.member = &members_[static_cast<std::size_t>(job.member)];
    epoch.next = 0;
    epoch.squares = 0.0;
    shuffle(job.rng.split("epoch", static_cast<std::uint64_t>(job.epochs_done)), job.data.count(),
            epoch.order);
    epoch.noise = noise_of_epoch(job);
    draw_images(job, job.data.count(), epoch.images);
    const FitLength length = job.length();
    epoch.step = length.steps_after(job.epochs_done);
    const std::int64_t steps = length.steps_after(job.epochs_done + 1) - epoch.step;
    epoch.order.resize(
        std::min(epoch.order.size(), static_cast<std::size_t>(steps) * job.options.batch));
  }

  void add_row(const TransitionsView& data, std::size_t row, Batch& batch) const {
    batch.inputs[batch.rows] = data.inputs.row(row).data();
    batch.targets[batch.rows] = data.targets.row(row).data();
    batch.told[batch.rows] = data.told.data() + row * net_.spec.told_channels();
    ++batch.rows;
  }

  // All steps of some epochs; at each step those with rows left take part.
  void run_epochs(std::span<Epoch> epochs, TrainingMemory& memory) {
    for (;;) {
      std::size_t n = 0;
      for (Epoch& epoch : epochs) {
        if (epoch.next == epoch.order.size()) continue;
        Batch& batch = memory.batches[n];
        batch.rows = 0;
        batch.member = epoch.member->view();
        const std::size_t end = std::min(epoch.order.size(), epoch.next + epoch.job->options.batch);
        for (; epoch.next < end; ++epoch.next)
          add_row(epoch.job->data, epoch.order[epoch.next], batch);
        memory.active[n++] = &epoch;
      }
      if (n == 0) break;
      if (memory.inputs.size() > 0) augment(memory, n);
      memory.pass.run({memory.batches.data(), n});
      for (std::size_t s = 0; s < n; ++s)
        memory.active[s]->squares +=
            memory.pass.loss(s) * static_cast<double>(memory.batches[s].rows);
      update({memory.active.data(), n}, memory.pass);
    }
  }

  // Images and noisy copies in the place of the rows of the first n batches, where their jobs ask
  // for it.
  void augment(TrainingMemory& memory, std::size_t n) {
    const std::size_t values = net_.spec.grid.values(), told = net_.spec.told_channels();
    parallel_for(memory.pass.threads(), n * kBatchRows, [&](std::size_t task, int) {
      const Epoch& epoch = *memory.active[task / kBatchRows];
      Batch& batch = memory.batches[task / kBatchRows];
      const std::size_t r = task % kBatchRows;
      if (r >= batch.rows) return;
      const FitJob& job = *epoch.job;
      const std::size_t place = epoch.next - batch.rows + r;
      float* input = memory.inputs.data() + task * values;
      if (!epoch.images.empty()) {
        const StateMap& map = job.symmetries[epoch.images[place]];
        float* target = memory.targets.data() + task * values;
        if (map.reversed) std::swap(batch.inputs[r], batch.targets[r]);
        map_state(map, batch.inputs[r], input);
        map_state(map, batch.targets[r], target);
        batch.inputs[r] = input;
        batch.targets[r] = target;
        float* own = memory.told.data() + task * told;
        map_told(map, std::span(batch.told[r], told), own);
        batch.told[r] = own;
      }
      if (job.options.noise > 0) {
        add_noise(epoch.noise, place, job.options.noise, epoch.member->scaling,
                  {batch.inputs[r], values}, input);
        batch.inputs[r] = input;
      }
    });
  }

  void end_epoch(Epoch& epoch, Observer& observer) {
    FitJob& job = *epoch.job;
    const FitLength length = job.length();
    const int number = job.epochs_done++;
    observer.epoch_done({job.member, number, length.epochs,
                         epoch.squares / static_cast<double>(epoch.order.size()),
                         learning_rate(job.options, number, length.steps_after(number))});
  }

  void update(std::span<Epoch* const> epochs, const GradientPass& pass) {
    for (Epoch* epoch : epochs) ++epoch->member->steps;
    const std::size_t slices = (net_.body->size() + kAdamSlice - 1) / kAdamSlice;
    parallel_for(pass.threads(), epochs.size() * slices, [&](std::size_t index, int) {
      const std::size_t s = index / slices, begin = index % slices * kAdamSlice;
      const std::size_t n = std::min(kAdamSlice, net_.body->size() - begin);
      Member& m = *epochs[s]->member;
      const FitOptions& options = epochs[s]->job->options;
      net_.kernels.adam(n, to_kernel(adam_factors(options, epochs[s]->rate(), m.steps)),
                        pass.gradient(s) + begin, m.weights.data() + begin,
                        m.moment1.data() + begin, m.moment2.data() + begin);
      if (const float part = average_part(options, m.steps); part > 0)
        move_towards(part, {m.weights.data() + begin, n}, m.average.data() + begin);
    });
    for (Epoch* epoch : epochs) ++epoch->step;
  }

  Network net_;
  int threads_;
  std::vector<Member> members_;
};

}  // namespace
}  // namespace cpu

std::size_t cpu_training_bytes(const NetworkSpec& spec, int members, bool augmented, int threads) {
  const std::unique_ptr<cpu::Body> body = spec.family.row->cpu(spec, active_isa());
  const auto together = static_cast<std::size_t>(std::min(members, thread_count(threads)));
  const std::size_t rows = augmented ? 2 * kBatchRows : 0;
  return sum_of(
      {product_of({together, body->batch_bytes()}),
       product_of({static_cast<std::size_t>(thread_count(threads)), body->thread_bytes()}),
       product_of({together, rows, spec.grid.values(), sizeof(float)}),
       product_of({3, sizeof(float), body->size(), static_cast<std::size_t>(members)})});
}

std::unique_ptr<Engine> make_cpu_engine(const NetworkSpec& spec, int members, int threads) {
  check_member_count(members);
  return std::make_unique<cpu::CpuEngine>(spec, members, threads);
}

}  // namespace stap
