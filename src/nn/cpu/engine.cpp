#include "stap/nn/engine.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/parallel.h"
#include "nn/cpu/committee.h"
#include "nn/cpu/gradient.h"
#include "nn/cpu/member.h"
#include "nn/cpu/network.h"
#include "stap/core/error.h"

namespace stap {
namespace cpu {
namespace {

// Values one task of the Adam update works on.
constexpr std::size_t kAdamSlice = 16384;

void check_data(const FnoShape& shape, const TransitionsView& data) {
  const std::size_t values = shape.grid.values();
  if (data.count() == 0) throw Error(ErrorKind::data, "there are no transitions to train on");
  if (data.targets.count != data.count())
    throw Error(ErrorKind::data,
                fmt::format("{} inputs but {} targets", data.count(), data.targets.count));
  if (data.inputs.row_size != values || data.targets.row_size != values)
    throw Error(
        ErrorKind::data,
        fmt::format("transitions of {} and {} values, but a state of the network has {} ({})",
                    data.inputs.row_size, data.targets.row_size, values, shape.grid.shape_text()));
  const std::size_t times = shape.options.time_input ? data.count() : 0;
  if (data.times.size() != times)
    throw Error(ErrorKind::data, fmt::format("{} times for {} transitions, expected {}",
                                             data.times.size(), data.count(), times));
}

void check_options(const FitOptions& o) {
  if (o.epochs < 1 || o.batch < 1 || o.batch > kBatchRows || !(o.learning_rate > 0) ||
      !(o.beta1 >= 0 && o.beta1 < 1) || !(o.beta2 >= 0 && o.beta2 < 1) || !(o.epsilon > 0))
    throw Error(
        ErrorKind::config,
        fmt::format("training options epochs {}, batch {}, learning_rate {}, beta1 {}, beta2 "
                    "{}, epsilon {}: expected epochs >= 1, batch 1 .. {}, rate and epsilon "
                    "above 0, betas in [0, 1)",
                    o.epochs, o.batch, o.learning_rate, o.beta1, o.beta2, o.epsilon, kBatchRows));
}

double cosine_rate(const FitOptions& options, int epoch) {
  return options.learning_rate * 0.5 *
         (1.0 + std::cos(std::numbers::pi * epoch / static_cast<double>(options.epochs)));
}

AdamStep adam_step(const FitOptions& o, double rate, std::int64_t step) {
  const double t = static_cast<double>(step);
  AdamStep s;
  s.rate = static_cast<float>(rate / (1.0 - std::pow(o.beta1, t)));
  s.beta1 = static_cast<float>(o.beta1);
  s.beta2 = static_cast<float>(o.beta2);
  s.root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(o.beta2, t)));
  s.epsilon = static_cast<float>(o.epsilon);
  return s;
}

// One job in its current epoch.
struct Course {
  FitJob* job = nullptr;
  Member* member = nullptr;
  std::vector<std::uint32_t> order;
  std::size_t next = 0;  // row of the order the next batch starts at
  double squares = 0.0;  // sum over rows of the mean squared error
  double rate = 0.0;
};

// What it takes to train up to `slots` courses at a time on `threads` threads.
struct Lane {
  Lane(const Network& network, std::size_t slots, int threads)
      : pass(network, slots, threads), batches(slots), active(slots) {}
  GradientPass pass;
  std::vector<Batch> batches;
  std::vector<Course*> active;
};

std::size_t most_rows(std::span<const FitJob> jobs) {
  std::size_t most = 0;
  for (const FitJob& job : jobs) most = std::max(most, job.data.count());
  return most;
}

class CpuEngine final : public Engine {
 public:
  CpuEngine(const FnoShape& shape, int members, int threads)
      : net_(shape, active_isa()), threads_(thread_count(threads)) {
    for (int m = 0; m < members; ++m) members_.emplace_back(net_);
  }

  const FnoShape& shape() const override { return net_.shape; }
  int members() const override { return static_cast<int>(members_.size()); }

  void fit(std::span<FitJob> jobs, Observer& observer) override {
    check_jobs(jobs);
    std::vector<FitJob*> open;
    auto find_open = [&] {
      open.clear();
      for (FitJob& job : jobs)
        if (job.epochs_done < job.epochs_stop) open.push_back(&job);
    };
    open.reserve(jobs.size());
    find_open();
    std::vector<Course> courses(jobs.size());
    for (std::size_t c = 0; c < jobs.size(); ++c) courses[c].order.reserve(most_rows(jobs));
    // While there are jobs for all threads, each thread trains one by itself: no waiting between
    // the phases of a step. What is left over shares all threads, phase by phase. Either way a
    // member's bits are the same.
    const auto threads = static_cast<std::size_t>(threads_);
    auto on_their_own = [&] { return threads > 1 ? open.size() / threads * threads : 0; };
    const std::size_t shared_slots =
        std::min(std::max(open.size(), std::size_t{1}), (2 * threads + 7) / 8);
    std::vector<Lane> lanes;
    for (std::size_t t = 0; t < (on_their_own() > 0 ? threads : 0); ++t)
      lanes.emplace_back(net_, 1, 1);
    Lane shared(net_, shared_slots, threads_);

    for (; !open.empty(); find_open()) {
      const std::size_t own = on_their_own();
      for (std::size_t c = 0; c < open.size(); ++c) begin_epoch(*open[c], courses[c]);
      parallel_for(threads_, own, [&](std::size_t c, int thread) {
        run_epoch({&courses[c], 1}, lanes[static_cast<std::size_t>(thread)]);
      });
      for (std::size_t c = own; c < open.size(); c += shared_slots)
        run_epoch({&courses[c], std::min(shared_slots, open.size() - c)}, shared);
      for (std::size_t c = 0; c < open.size(); ++c) end_epoch(courses[c], observer);
    }
  }

  double gradient(int member, const TransitionsView& batch, Parameters& gradient) override {
    check_member(member);
    check_data(net_.shape, batch);
    if (batch.count() > kBatchRows)
      throw Error(ErrorKind::data, fmt::format("a batch of {} rows, expected at most {}",
                                               batch.count(), kBatchRows));
    GradientPass pass(net_, 1, threads_);
    Batch b;
    b.member = members_[static_cast<std::size_t>(member)].view();
    for (std::size_t r = 0; r < batch.count(); ++r) add_row(batch, r, b);
    pass.run({&b, 1});
    gradient = zero_parameters(net_.shape);
    net_.layout.unpack(pass.gradient(0), gradient);
    return pass.loss(0);
  }

  MemberState save(int member) const override {
    check_member(member);
    const Member& m = members_[static_cast<std::size_t>(member)];
    MemberState state;
    state.scaling = m.scaling;
    state.steps = m.steps;
    state.weights = state.moment1 = state.moment2 = zero_parameters(net_.shape);
    net_.layout.unpack(m.weights.data(), state.weights);
    net_.layout.unpack(m.moment1.data(), state.moment1);
    net_.layout.unpack(m.moment2.data(), state.moment2);
    return state;
  }

  void load(int member, const MemberState& state) override {
    check_member(member);
    check_parameters(net_.shape, state.weights);
    if (!state.moment1.empty()) check_parameters(net_.shape, state.moment1);
    if (!state.moment2.empty()) check_parameters(net_.shape, state.moment2);
    if (state.scaling.mean.size() != net_.layout.out ||
        state.scaling.deviation.size() != net_.layout.out)
      throw Error(
          ErrorKind::data,
          fmt::format("scaling of {} means and {} deviations, expected {} (one per channel)",
                      state.scaling.mean.size(), state.scaling.deviation.size(), net_.layout.out));
    for (float deviation : state.scaling.deviation)
      if (!(deviation > 0))
        throw Error(ErrorKind::data,
                    fmt::format("scaling has deviation {}, expected above 0", deviation));
    Member& m = members_[static_cast<std::size_t>(member)];
    m.scaling = state.scaling;
    m.steps = state.steps;
    auto put = [&](const Parameters& from, Buffer<float>& to) {
      if (from.empty()) {
        std::fill(to.begin(), to.end(), 0.0f);
      } else {
        net_.layout.pack(from, to.data());
      }
    };
    put(state.weights, m.weights);
    put(state.moment1, m.moment1);
    put(state.moment2, m.moment2);
  }

  std::unique_ptr<Committee> committee(std::vector<int> members) override {
    if (members.empty()) throw Error(ErrorKind::config, "a committee needs at least one member");
    std::vector<const Member*> chosen;
    for (int member : members) {
      check_member(member);
      chosen.push_back(&members_[static_cast<std::size_t>(member)]);
    }
    return make_committee(net_, std::move(chosen), threads_);
  }

 private:
  void check_member(int member) const {
    if (member < 0 || member >= members())
      throw Error(ErrorKind::config,
                  fmt::format("member {} asked for, but the engine has {}", member, members()));
  }

  void check_jobs(std::span<const FitJob> jobs) const {
    std::vector<char> seen(members_.size());
    for (const FitJob& job : jobs) {
      check_member(job.member);
      check_options(job.options);
      check_data(net_.shape, job.data);
      if (job.epochs_stop > job.options.epochs || job.epochs_done < 0)
        throw Error(ErrorKind::config,
                    fmt::format("training asked for from epoch {} to {} of {}", job.epochs_done,
                                job.epochs_stop, job.options.epochs));
      char& taken = seen[static_cast<std::size_t>(job.member)];
      if (taken) throw Error(ErrorKind::config, fmt::format("member {} has two jobs", job.member));
      taken = 1;
    }
  }

  void begin_epoch(FitJob& job, Course& course) {
    course.job = &job;
    course.member = &members_[static_cast<std::size_t>(job.member)];
    course.next = 0;
    course.squares = 0.0;
    course.rate = cosine_rate(job.options, job.epochs_done);
    shuffle(job.rng.split("epoch", static_cast<std::uint64_t>(job.epochs_done)), job.data.count(),
            course.order);
  }

  static void add_row(const TransitionsView& data, std::size_t row, Batch& batch) {
    batch.inputs[batch.rows] = data.inputs.row(row).data();
    batch.targets[batch.rows] = data.targets.row(row).data();
    batch.times[batch.rows] = data.times.empty() ? 0.0f : data.times[row];
    ++batch.rows;
  }

  // All steps of one epoch of every course; at each step those with rows left take part.
  void run_epoch(std::span<Course> courses, Lane& lane) {
    for (;;) {
      std::size_t n = 0;
      for (Course& course : courses) {
        if (course.next == course.order.size()) continue;
        Batch& batch = lane.batches[n];
        batch.rows = 0;
        batch.member = course.member->view();
        const std::size_t end =
            std::min(course.order.size(), course.next + course.job->options.batch);
        for (; course.next < end; ++course.next)
          add_row(course.job->data, course.order[course.next], batch);
        lane.active[n++] = &course;
      }
      if (n == 0) break;
      lane.pass.run({lane.batches.data(), n});
      for (std::size_t s = 0; s < n; ++s)
        lane.active[s]->squares += lane.pass.loss(s) * static_cast<double>(lane.batches[s].rows);
      update({lane.active.data(), n}, lane.pass);
    }
  }

  void end_epoch(Course& course, Observer& observer) {
    FitJob& job = *course.job;
    const int epoch = job.epochs_done++;
    observer.epoch_done({job.member, epoch, job.options.epochs,
                         course.squares / static_cast<double>(job.data.count()), course.rate});
  }

  void update(std::span<Course* const> courses, const GradientPass& pass) {
    for (Course* course : courses) ++course->member->steps;
    const std::size_t slices = (net_.layout.size + kAdamSlice - 1) / kAdamSlice;
    parallel_for(pass.threads(), courses.size() * slices, [&](std::size_t index, int) {
      const std::size_t s = index / slices, begin = index % slices * kAdamSlice;
      const std::size_t n = std::min(kAdamSlice, net_.layout.size - begin);
      Member& m = *courses[s]->member;
      net_.kernels.adam(n, adam_step(courses[s]->job->options, courses[s]->rate, m.steps),
                        pass.gradient(s) + begin, m.weights.data() + begin,
                        m.moment1.data() + begin, m.moment2.data() + begin);
    });
  }

  Network net_;
  int threads_;
  std::vector<Member> members_;
};

}  // namespace
}  // namespace cpu

MemberState fresh_member(const FnoShape& shape, Scaling scaling, const Rng& rng) {
  MemberState state;
  state.scaling = std::move(scaling);
  state.weights = initial_parameters(shape, rng);
  return state;
}

std::unique_ptr<Engine> make_cpu_engine(const FnoShape& shape, int members, int threads) {
  if (members < 1)
    throw Error(ErrorKind::config,
                fmt::format("an engine of {} members, expected at least 1", members));
  return std::make_unique<cpu::CpuEngine>(shape, members, threads);
}

}  // namespace stap
