#include "stap/nn/engine.h"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/sizes.h"
#include "nn/engines.h"
#include "nn/gradients.h"
#include "stap/core/error.h"
#include "stap/nn/family.h"

namespace stap {
namespace {

void check_data(const NetworkSpec& spec, const TransitionsView& data) {
  const std::size_t values = spec.grid.values();
  if (data.count() == 0) throw Error(ErrorKind::data, "there are no transitions to train on");
  if (data.targets.count != data.count())
    throw Error(ErrorKind::data,
                fmt::format("{} inputs but {} targets", data.count(), data.targets.count));
  if (data.inputs.row_size != values || data.targets.row_size != values)
    throw Error(
        ErrorKind::data,
        fmt::format("transitions of {} and {} values, but a state of the network has {} ({})",
                    data.inputs.row_size, data.targets.row_size, values, spec.grid.shape_text()));
  const std::size_t told = data.count() * spec.told_channels();
  if (data.told.size() != told)
    throw Error(ErrorKind::data,
                fmt::format("{} numbers of times and parameters for {} transitions, expected {}",
                            data.told.size(), data.count(), told));
}

void check_options(const FitOptions& o) {
  const auto is_decay = [](double x) { return x >= 0 && x < 1; };
  if (o.epochs < 1 || o.steps < 0 || o.batch < 1 || o.batch > kBatchRows ||
      !(o.learning_rate > 0) || !is_decay(o.beta1) || !is_decay(o.beta2) || !(o.epsilon > 0) ||
      !is_decay(o.average) || !(o.noise >= 0) || !std::isfinite(o.noise))
    throw Error(
        ErrorKind::config,
        fmt::format("training options epochs {}, steps {}, batch {}, learning_rate {}, beta1 {}, "
                    "beta2 {}, epsilon {}, average {}, noise {}: expected epochs >= 1, steps >= 0, "
                    "batch 1 .. {}, rate and epsilon above 0, betas and average in [0, 1), noise "
                    "finite and at least 0",
                    o.epochs, o.steps, o.batch, o.learning_rate, o.beta1, o.beta2, o.epsilon,
                    o.average, o.noise, kBatchRows));
}

void check_factors(const NetworkSpec& spec, std::span<const float> factors) {
  if (!factors.empty() && factors.size() != spec.grid.channels)
    throw Error(ErrorKind::data, fmt::format("{} factors of errors for {} channels", factors.size(),
                                             spec.grid.channels));
  for (const float factor : factors)
    if (!(factor > 0) || !std::isfinite(factor))
      throw Error(ErrorKind::data,
                  fmt::format("a factor of errors is {}, expected a number above 0", factor));
}

void check_symmetries(const NetworkSpec& spec, std::span<const StateMap> maps) {
  if (maps.size() > kMostSymmetries)
    throw Error(ErrorKind::config, fmt::format("{} maps of states, expected at most {}",
                                               maps.size(), kMostSymmetries));
  const auto values = static_cast<std::int64_t>(spec.grid.values());
  for (const StateMap& map : maps) {
    if (static_cast<std::int64_t>(map.from.size()) != values)
      throw Error(ErrorKind::data,
                  fmt::format("a map of {} values, but a state has {}", map.from.size(), values));
    for (const std::int32_t from : map.from)
      if (from >= values || from < -values)
        throw Error(ErrorKind::data,
                    fmt::format("a map takes value {}, but a state has {}", from, values));
    const auto parameters = static_cast<std::int64_t>(map.parameters.size());
    if (parameters > 0 && map.parameters.size() != spec.parameters.size())
      throw Error(ErrorKind::data, fmt::format("a map of {} parameters, but a network is told {}",
                                               map.parameters.size(), spec.parameters.size()));
    for (const std::int32_t from : map.parameters)
      if (from >= parameters || from < -parameters)
        throw Error(ErrorKind::data,
                    fmt::format("a map takes parameter {}, but there are {}", from, parameters));
    if (map.reversed && spec.inputs.time)
      throw Error(ErrorKind::config,
                  "a network that is told the time cannot be trained with time turned round");
  }
}

void check_member(int members, int member) {
  if (member < 0 || member >= members)
    throw Error(ErrorKind::config,
                fmt::format("member {} asked for, but the engine has {}", member, members));
}

void check_members(int members, std::span<const int> list) {
  if (list.empty()) throw Error(ErrorKind::config, "a committee needs at least one member");
  for (int member : list) check_member(members, member);
}

void check_state(const NetworkSpec& spec, const MemberState& state) {
  check_parameters(spec, state.weights);
  if (!state.moment1.empty()) check_parameters(spec, state.moment1);
  if (!state.moment2.empty()) check_parameters(spec, state.moment2);
  if (!state.average.empty()) check_parameters(spec, state.average);
  const std::size_t channels = spec.out_channels();
  if (state.scaling.mean.size() != channels || state.scaling.deviation.size() != channels)
    throw Error(ErrorKind::data,
                fmt::format("scaling of {} means and {} deviations, expected {} (one per channel)",
                            state.scaling.mean.size(), state.scaling.deviation.size(), channels));
  for (float deviation : state.scaling.deviation)
    if (!(deviation > 0))
      throw Error(ErrorKind::data,
                  fmt::format("scaling has deviation {}, expected above 0", deviation));
}

void check_batch(const NetworkSpec& spec, const TransitionsView& batch) {
  check_data(spec, batch);
  if (batch.count() > kBatchRows)
    throw Error(ErrorKind::data,
                fmt::format("a batch of {} rows, expected at most {}", batch.count(), kBatchRows));
}

void check_epochs(const FitJob& job) {
  const int epochs = job.length().epochs;
  if (job.epochs_done < 0 || job.epochs_end() > epochs)
    throw Error(ErrorKind::config,
                fmt::format("training of member {} asked for from epoch {} to {} of {}", job.member,
                            job.epochs_done, job.epochs_end(), epochs));
  if (job.epochs_done >= job.epochs_end())
    throw Error(ErrorKind::config,
                fmt::format("member {} has no epoch to train: {} of {} are done, and it is to stop "
                            "at {}; leave the job out, or raise epochs_stop",
                            job.member, job.epochs_done, epochs, job.epochs_end()));
}

void check_jobs(const NetworkSpec& spec, int members, std::span<const FitJob> jobs) {
  std::vector<char> seen(static_cast<std::size_t>(members));
  for (const FitJob& job : jobs) {
    check_member(members, job.member);
    check_options(job.options);
    check_factors(spec, job.loss_factors);
    check_data(spec, job.data);
    check_symmetries(spec, job.symmetries);
    check_epochs(job);
    char& taken = seen[static_cast<std::size_t>(job.member)];
    if (taken) throw Error(ErrorKind::config, fmt::format("member {} has two jobs", job.member));
    taken = 1;
  }
}

}  // namespace

void Engine::fit(std::span<FitJob> jobs, Observer& observer, const StopAsked& stop) {
  check_jobs(spec(), members(), jobs);
  if (!jobs.empty()) do_fit(jobs, observer, stop ? stop : StopAsked([] { return false; }));
}

MemberState Engine::save(int member) const {
  check_member(members(), member);
  return do_save(member, false);
}

MemberState Engine::save_trained(int member) const {
  check_member(members(), member);
  return do_save(member, true);
}

void Engine::load(int member, const MemberState& state) {
  check_member(members(), member);
  check_state(spec(), state);
  do_load(member, state);
}

std::unique_ptr<Committee> Engine::committee(std::vector<int> list) {
  check_members(members(), list);
  if (spec().inputs.time && spec().horizon == 0)
    throw Error(ErrorKind::data,
                "these networks are told the time, but not over how many steps it runs: an earlier "
                "version has written them; give the folder of their run");
  return do_committee(std::move(list));
}

double batch_gradient(Engine& engine, int member, const TransitionsView& batch,
                      Parameters& gradient, std::span<const float> loss_factors) {
  check_member(engine.members(), member);
  check_factors(engine.spec(), loss_factors);
  check_batch(engine.spec(), batch);
  auto* gradients = dynamic_cast<Gradients*>(&engine);
  if (gradients == nullptr) throw Error(ErrorKind::internal, "this engine shows no gradients");
  return gradients->gradient(member, batch, gradient, loss_factors);
}

void check_member_count(int members) {
  if (members < 1)
    throw Error(ErrorKind::config,
                fmt::format("an engine of {} members, expected at least 1", members));
}

// Families for the CPU only are computed there, unless a GPU was asked for by name: then they are
// refused.
static bool on_gpu(const ComputeOptions& options, const FamilyRow& family) {
  return uses_gpu(options) && (options.device == ComputeOptions::Device::cuda || family.cuda);
}

std::string device_text(const ComputeOptions& options, const config::Choice<FamilyRow>& family) {
  const FamilyRow& row = family ? *family.row : *family_table().find(network_family().preset);
  if (!on_gpu(options, row)) return "cpu";
  std::string text = device_text(options);
  if (!row.cuda)
    throw Error(ErrorKind::config,
                fmt::format("networks of the family {} are not computed on a GPU: choose device: "
                            "cpu, or another network.name",
                            row.name));
  return text;
}

std::size_t training_bytes(const ComputeOptions& options, const NetworkSpec& spec, int members,
                           const RowChanges& changes, int threads) {
  const bool augmented = changes.maps > 0 || changes.noise;
  return sum_of({product_of({changes.maps, spec.grid.values(), sizeof(std::int32_t)}),
                 on_gpu(options, *spec.family.row)
                     ? cuda_training_bytes(spec, members, augmented)
                     : cpu_training_bytes(spec, members, augmented, threads)});
}

std::unique_ptr<Engine> make_engine(const ComputeOptions& options, const NetworkSpec& spec,
                                    int members, int threads) {
  return on_gpu(options, *spec.family.row) ? make_cuda_engine(spec, members, options.precision)
                                           : make_cpu_engine(spec, members, threads);
}

MemberState fresh_member(const NetworkSpec& spec, Scaling scaling, const Rng& rng) {
  MemberState state;
  state.scaling = std::move(scaling);
  state.weights = initial_parameters(spec, rng);
  return state;
}

MemberState warm_member(MemberState state) {
  return {.scaling = std::move(state.scaling),
          .weights = std::move(state.weights),
          .moment1 = {},
          .moment2 = {},
          .average = {}};
}

}  // namespace stap
