#include "run/make_data.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"
#include "stap/core/version.h"
#include "stap/study/clusters.h"

namespace stap {
namespace {

constexpr std::size_t kMostLanes = 8;
constexpr std::size_t kFirstRows = 32;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr double kBlockSeconds = 2.0;

void check_request(const DataRequest& request) {
  config::Complaints complaints;
  if (request.pool == 0) complaints.add("pool", "is 0, expected at least one initial condition");
  if (request.test == 0) complaints.add("test", "is 0, expected at least one trajectory");
  if (request.steps == 0) complaints.add("steps", "is 0, expected at least one step");
  if (request.cluster == 0) complaints.add("cluster", "is 0, expected at least one state");
  check_steps_clusters("steps", request.steps, request.cluster, complaints);
  complaints.throw_if_any();
}

}  // namespace

config::Value request_document(const DataRequest& request) {
  check_request(request);
  config::Value document;
  document.set("format", kDataFormat);
  document.set("version", version());
  document.set("instruction_set", to_string(active_isa()));
  document.set("pool", request.pool);
  document.set("test", request.test);
  document.set("steps", request.steps);
  if (request.cluster > 1) document.set("cluster", request.cluster);
  document.set("data_seed", request.data_seed);
  document.set("pde", request.pde.value());
  document.set("initial", request.initial.value());
  return document;
}

DataMaker::DataMaker(const DataRequest& request, const Solver& solver, int threads)
    : request_(request), solver_(solver), start_(cluster_start(request.cluster, solver.dt())) {
  check_request(request);
  sampler_ = make_sampler(request.initial, solver.grid());
  const double left = warm_up_before(start_, sampler_->warm_up());
  if (left > 0)
    warm_up_ = make_solver({request.pde.row, request.pde.options.with("dt", left)}, threads);
}

States<double> DataMaker::pool(std::size_t first, std::size_t n) const {
  const std::size_t k = request_.cluster;
  States<double> block(solver_.grid(), n * k);
  begin(Rng(request_.data_seed).split("pool"), first, k, block);
  if (k == 1) return block;
  States<double> clusters(cluster_grid(solver_.grid(), k), n);  // in memory the same
  std::copy(block.values().begin(), block.values().end(), clusters.values().begin());
  return clusters;
}

States<double> DataMaker::test(std::size_t first, std::size_t n,
                               const std::function<void(std::size_t)>& step_done) const {
  const std::size_t k = request_.cluster, times = k + request_.steps;
  States<double> block(solver_.grid(), n * times);
  begin(Rng(request_.data_seed).split("test"), first, times, block);
  for (std::size_t step = 0; step < request_.steps; ++step) {
    advance(first, times, k - 1 + step, block);
    if (step_done) step_done(step + 1);
  }
  return block;
}

// The first k states of a block of rows of `times` states: initial conditions first, first + 1, ...
// of a stream.
void DataMaker::begin(const Rng& stream, std::size_t first, std::size_t times,
                      States<double>& block) const {
  std::vector<std::uint64_t> indices(block.count() / times);
  std::iota(indices.begin(), indices.end(), first);
  const States<double> start = warm_up_
                                   ? draw_initial(*sampler_, stream, indices, *warm_up_, start_)
                                   : draw_states(*sampler_, stream, indices);
  for (std::size_t b = 0; b < start.count(); ++b)
    std::copy(start.row(b).begin(), start.row(b).end(), block.row(b * times).begin());
  for (std::size_t from = 0; from + 1 < request_.cluster; ++from)
    advance(first, times, from, block);
}

// State `from` of every row, by one learned step. State k - 1 is the initial condition, at time 0.
void DataMaker::advance(std::size_t first, std::size_t times, std::size_t from,
                        States<double>& block) const {
  const std::size_t n = block.count() / times, zero = request_.cluster - 1;
  std::vector<Query> queries(n);
  std::vector<Answer> answers(n);
  for (std::size_t b = 0; b < n; ++b)
    queries[b] = {.id = first + b,
                  .state = block.row(b * times + from),
                  .time = (static_cast<double>(from) - static_cast<double>(zero)) * solver_.dt(),
                  .params = {}};
  solver_.solve(queries, answers);
  for (std::size_t b = 0; b < n; ++b) {
    const Answer& answer = answers[b];
    if (answer.status != Answer::Status::ok && from < zero)
      throw Error(
          ErrorKind::numerics,
          fmt::format("{}: initial condition {} cannot be warmed up: step {} of the {} that "
                      "make its cluster was {}: {}",
                      sampler_->name(), first + b, from + 1, zero, to_string(answer.status),
                      answer.reason));
    if (answer.status != Answer::Status::ok)
      throw Error(ErrorKind::numerics,
                  fmt::format("test trajectory {} was {} at step {} of {}: {}; a test set must "
                              "be whole, so choose other initial conditions or solver options",
                              first + b, to_string(answer.status), from - zero + 1, request_.steps,
                              answer.reason));
    std::copy(answer.state.begin(), answer.state.end(), block.row(b * times + from + 1).begin());
  }
}

BlockSize::BlockSize(std::size_t row_bytes, int threads)
    : unit_(kMostLanes * static_cast<std::size_t>(thread_count(threads))) {
  const auto whole_units = [&](std::size_t rows) {
    return std::max<std::size_t>(1, rows / unit_) * unit_;
  };
  most_ = whole_units(kMostBytes / std::max<std::size_t>(1, row_bytes));
  rows_ = std::min(whole_units(kFirstRows), most_);
}

void BlockSize::took(std::size_t rows, double seconds) {
  const double fitting = kBlockSeconds * static_cast<double>(rows) / std::max(seconds, 1e-9);
  const std::size_t most = std::min(most_, 2 * rows_);
  const std::size_t units = fitting < static_cast<double>(most)
                                ? static_cast<std::size_t>(fitting) / unit_
                                : most / unit_;
  rows_ = std::max<std::size_t>(1, units) * unit_;
}

}  // namespace stap
