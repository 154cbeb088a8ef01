#include "stap/core/solver.h"

#include <cmath>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

// Index of the first value that is not finite, or the size.
std::size_t first_not_finite(std::span<const double> values) {
  std::size_t i = 0;
  while (i < values.size() && std::isfinite(values[i])) ++i;
  return i;
}

}  // namespace

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

Solver::Solver(std::string name, Grid grid, double dt)
    : name_(std::move(name)), grid_(std::move(grid)), dt_(dt) {}

void Solver::solve(std::span<const Query> queries, std::span<Answer> answers) const {
  if (queries.size() != answers.size())
    throw Error(ErrorKind::internal, fmt::format("{}: {} queries but room for {} answers", name_,
                                                 queries.size(), answers.size()));
  std::vector<const Query*> accepted;
  std::vector<Answer*> open;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const Query& query = queries[i];
    if (query.state.size() != grid_.values())
      throw Error(ErrorKind::data,
                  fmt::format("{}: query {} has {} values, expected {} ({})", name_, query.id,
                              query.state.size(), grid_.values(), grid_.shape_text()));
    answers[i] = Answer{};
    const std::size_t bad = first_not_finite(query.state);
    std::string reason = bad < query.state.size()
                             ? fmt::format("input value {} is {}", bad, query.state[bad])
                             : guard(query);
    if (!reason.empty()) {
      answers[i].status = Answer::Status::refused;
      answers[i].reason = std::move(reason);
      continue;
    }
    answers[i].attempts = 1;
    accepted.push_back(&query);
    open.push_back(&answers[i]);
  }
  if (!accepted.empty()) compute(accepted, open);
}

}  // namespace stap
