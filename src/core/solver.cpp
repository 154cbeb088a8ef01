#include "stap/core/solver.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/checked_queue.h"
#include "stap/core/error.h"
#include "stap/core/solver_queue.h"

namespace stap {

std::string_view to_string(Answer::Status status) {
  switch (status) {
    case Answer::Status::ok:
      return "ok";
    case Answer::Status::refused:
      return "refused";
    case Answer::Status::failed:
      return "failed";
  }
  return "unknown";
}

Solver::Solver(std::string name, Grid grid, double dt, std::size_t steps_at_once)
    : name_(std::move(name)), grid_(std::move(grid)), dt_(dt), steps_at_once_(steps_at_once) {
  if (!(std::isfinite(dt) && dt > 0))
    throw Error(ErrorKind::config,
                fmt::format("{}: dt is {}, expected a finite value above 0", name_, dt));
  if (steps_at_once == 0)
    throw Error(ErrorKind::config,
                fmt::format("{}: 0 steps are one call, expected at least 1", name_));
}

std::string Solver::refusal(const Query& query) const {
  if (query.state.size() != grid_.values())
    throw Error(ErrorKind::data,
                fmt::format("{}: query {} has {} values, expected {} ({})", name_, query.id,
                            query.state.size(), grid_.values(), grid_.shape_text()));
  if (const auto names = parameters(); query.params.size() != names.size())
    throw Error(ErrorKind::data,
                fmt::format("{}: query {} has {} values of parameters, expected {}{}", name_,
                            query.id, query.params.size(), names.size(),
                            names.empty() ? "" : fmt::format(" ({})", fmt::join(names, ", "))));
  if (const std::size_t bad = first_not_finite(query.params); bad < query.params.size())
    return fmt::format("parameter {} is {}", parameters()[bad], query.params[bad]);
  const std::size_t bad = first_not_finite(query.state);
  if (bad < query.state.size()) return fmt::format("input value {} is {}", bad, query.state[bad]);
  return guard(query);
}

std::unique_ptr<SolverQueue> Solver::open() const {
  return make_checked_queue(*this, open_queue());
}

void Solver::solve(std::span<const Query> queries, std::span<Answer> answers) const {
  if (queries.size() != answers.size())
    throw Error(ErrorKind::internal, fmt::format("{}: {} queries but room for {} answers", name_,
                                                 queries.size(), answers.size()));
  const std::unique_ptr<SolverQueue> queue = open();
  for (std::size_t i = 0; i < queries.size(); ++i) {
    Query query = queries[i];
    query.id = i;
    queue->submit(std::move(query));
  }
  while (queue->open() > 0) {
    if (auto reply = queue->next(SolverQueue::Clock::now() + std::chrono::seconds(1)))
      answers[reply->id] = std::move(reply->answer);
    else if (queue->people() != nullptr)
      throw Error(ErrorKind::config,
                  fmt::format("{} is asked by hand: nobody answers while one waits", name_));
  }
}

std::vector<std::string> Solver::channels() const {
  return unnamed_channels(grid_.channels);
}

std::unique_ptr<Solver> Solver::with_step(double) const {
  return nullptr;
}

std::string Solver::guard(const Query&) const {
  return {};
}

}  // namespace stap
