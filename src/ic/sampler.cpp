#include "stap/ic/sampler.h"

#include <cmath>

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

void Sampler::draw(const Rng& stream, std::uint64_t i, std::span<double> state,
                   std::span<double> parameters) const {
  if (state.size() != grid_.values())
    throw Error(ErrorKind::internal, fmt::format("{}: room for {} values, expected {}", name_,
                                                 state.size(), grid_.values()));
  fill_row(stream.split("initial", i), state, parameters);
}

}  // namespace stap
