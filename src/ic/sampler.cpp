#include "stap/ic/sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

Sampler::Sampler(std::string name, Grid grid, double warm_up)
    : name_(std::move(name)), grid_(std::move(grid)), warm_up_(warm_up) {
  if (!std::isfinite(warm_up) || warm_up < 0)
    throw Error(
        ErrorKind::config,
        fmt::format("{}: warm_up is {}, expected a finite value, 0 or more", name_, warm_up));
}

void Sampler::draw(const Rng& stream, std::uint64_t i, std::span<double> state) const {
  if (state.size() != grid_.values())
    throw Error(ErrorKind::internal, fmt::format("{}: room for {} values, expected {}", name_,
                                                 state.size(), grid_.values()));
  fill(stream.split("initial", i), state);
}

States<double> draw_states(const Sampler& sampler, const Rng& stream,
                           std::span<const std::uint64_t> indices) {
  States<double> states(sampler.grid(), indices.size());
  for (std::size_t b = 0; b < indices.size(); ++b) sampler.draw(stream, indices[b], states.row(b));
  return states;
}

States<double> draw_initial(const Sampler& sampler, const Rng& stream,
                            std::span<const std::uint64_t> indices, const Solver& warm_up_solver,
                            double end) {
  const double length = sampler.warm_up() + end;
  if (warm_up_solver.dt() != length || !(warm_up_solver.grid() == sampler.grid()))
    throw Error(
        ErrorKind::internal,
        fmt::format("{}: the warm-up solver makes steps of {}, expected {} on the same grid",
                    sampler.name(), warm_up_solver.dt(), length));
  States<double> states = draw_states(sampler, stream, indices);
  std::vector<Query> queries(indices.size());
  std::vector<Answer> answers(indices.size());
  for (std::size_t b = 0; b < indices.size(); ++b)
    queries[b] = {.id = indices[b],
                  .state = {states.row(b).begin(), states.row(b).end()},
                  .time = -sampler.warm_up()};  // time is counted from the initial condition
  warm_up_solver.solve(queries, answers);
  for (std::size_t b = 0; b < indices.size(); ++b) {
    if (answers[b].status != Answer::Status::ok)
      throw Error(ErrorKind::numerics,
                  fmt::format("{}: initial condition {} cannot be warmed up: {}", sampler.name(),
                              indices[b], answers[b].reason));
    std::copy(answers[b].states.begin(), answers[b].states.end(), states.row(b).begin());
  }
  return states;
}

}  // namespace stap
