#include "run/make_data.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"
#include "stap/core/version.h"
#include "stap/ic/ic.h"
#include "stap/pde/pde.h"

namespace stap {
namespace {

constexpr std::size_t kMostLanes = 8;
constexpr std::size_t kFirstRows = 32;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr double kBlockSeconds = 2.0;

}  // namespace

DataSections check_sections(const DataRequest& request) {
  const config::Family families[] = {
      config::named_family("pde", "the equation and its solver", pde_table()),
      config::named_family("initial", "how initial conditions are drawn", sampler_table())};
  config::Value document;
  document.set("pde", request.pde);
  document.set("initial", request.initial);
  config::Problems problems;
  config::Value effective = config::check(families, document, problems);
  if (request.pool == 0) problems.add("pool", "is 0, expected at least one initial condition");
  if (request.test == 0) problems.add("test", "is 0, expected at least one trajectory");
  if (request.steps == 0) problems.add("steps", "is 0, expected at least one step");
  problems.throw_if_any();
  // What passed the check names an entry.
  std::optional<config::Choice> pde = config::choose(families[0], *effective.find("pde"), problems);
  std::optional<config::Choice> initial =
      config::choose(families[1], *effective.find("initial"), problems);
  return {std::move(effective), *std::move(pde), *std::move(initial)};
}

config::Value request_document(const DataRequest& request, const DataSections& sections) {
  config::Value document;
  document.set("format", kDataFormat);
  document.set("version", version());
  document.set("instruction_set", to_string(active_isa()));
  document.set("pool", request.pool);
  document.set("test", request.test);
  document.set("steps", request.steps);
  document.set("data_seed", request.data_seed);
  for (const config::Value::Member& section : *sections.effective.map())
    document.set(section.key, section.value);
  return document;
}

DataMaker::DataMaker(const DataRequest& request, const DataSections& sections, const Solver& solver,
                     int threads)
    : request_(request), solver_(solver) {
  sampler_ = sampler_table()[sections.initial.index].make(sections.initial.options, solver.grid());
  if (sampler_->warm_up() > 0) {
    config::Value options = sections.pde.options;
    options.set("dt", sampler_->warm_up());
    warm_up_ = pde_table()[sections.pde.index].make(options, threads);
  }
}

States<double> DataMaker::pool(std::size_t first, std::size_t n) const {
  return initial(Rng(request_.data_seed).split("pool"), first, n);
}

States<double> DataMaker::test(std::size_t first, std::size_t n,
                               const std::function<void(std::size_t)>& step_done) const {
  const std::size_t times = request_.steps + 1;
  const States<double> start = initial(Rng(request_.data_seed).split("test"), first, n);
  States<double> block(solver_.grid(), n * times);
  for (std::size_t b = 0; b < n; ++b)
    std::copy(start.row(b).begin(), start.row(b).end(), block.row(b * times).begin());
  for (std::size_t step = 0; step < request_.steps; ++step) {
    advance(first, step, block);
    if (step_done) step_done(step + 1);
  }
  return block;
}

// Initial conditions first .. first+n-1 of a stream.
States<double> DataMaker::initial(const Rng& stream, std::size_t first, std::size_t n) const {
  std::vector<std::uint64_t> indices(n);
  std::iota(indices.begin(), indices.end(), first);
  return warm_up_ ? draw_initial(*sampler_, stream, indices, *warm_up_)
                  : draw_states(*sampler_, stream, indices);
}

// Step `step` (from 0) of a block of trajectories whose first one is `first`.
void DataMaker::advance(std::size_t first, std::size_t step, States<double>& block) const {
  const std::size_t times = request_.steps + 1, n = block.count() / times;
  std::vector<Query> queries(n);
  std::vector<Answer> answers(n);
  for (std::size_t b = 0; b < n; ++b)
    queries[b] = {.id = first + b,
                  .state = block.row(b * times + step),
                  .time = static_cast<double>(step) * solver_.dt(),
                  .params = {}};
  solver_.solve(queries, answers);
  for (std::size_t b = 0; b < n; ++b) {
    if (answers[b].status != Answer::Status::ok)
      throw Error(ErrorKind::numerics,
                  fmt::format("test trajectory {} was {} at step {} of {}: {}; a test set must "
                              "be whole, so choose other initial conditions or solver options",
                              first + b, to_string(answers[b].status), step + 1, request_.steps,
                              answers[b].reason));
    std::copy(answers[b].state.begin(), answers[b].state.end(),
              block.row(b * times + step + 1).begin());
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
