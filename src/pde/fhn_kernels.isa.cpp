#include "pde/fhn_kernels.h"

#include "pde/lane_rows.h"

namespace stap::STAP_ISA {
namespace {

// Classical Runge-Kutta: stable on the negative real axis to 2.78 / h.
constexpr double kStable = 2.5;

std::size_t work_size(std::size_t points) {
  return 3 * 2 * points * kRows;
}

// The largest |value| of the open cells, and whether all are within the bound (NaN is not).
V peak_of(const FhnStep& step, const double* state, V bound, Mask& inside) {
  V peak{};
  inside = ~Mask{};
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t i = 0; i < step.open; ++i) {
      const V size = magnitude(
          load(state + (c * step.points + static_cast<std::size_t>(step.cells[i])) * kRows));
      peak = larger(size, peak);
      inside &= size <= bound;
    }
  return peak;
}

struct Numbers {
  V du, dv, k, reaction;
};

// Divergence of the fluxes into a cell, without the diffusivity.
inline V laplace(const FhnStep& step, const double* field, const std::int32_t* beside, V here) {
  const auto at = [&](std::size_t face) {
    return load(field + static_cast<std::size_t>(beside[face]) * kRows);
  };
  const V x = (at(0) - here) + (at(1) - here), y = (at(2) - here) + (at(3) - here);
  return step.inverse_dx2[0] * x + step.inverse_dx2[1] * y;
}

// With slopes f of `at`: sum += part f, and next = from + whole f unless it is null.
void stage(const FhnStep& step, const Numbers& n, const double* at, const double* from, V part,
           V whole, double* sum, double* next) {
  const std::size_t second = step.points * kRows;
  for (std::size_t i = 0; i < step.open; ++i) {
    const std::size_t here = static_cast<std::size_t>(step.cells[i]) * kRows;
    const std::int32_t* beside = step.neighbours + 4 * i;
    const V u = load(at + here), v = load(at + second + here);
    const V slope_u = n.du * laplace(step, at, beside, u) + n.reaction * (u - u * u * u - n.k - v);
    const V slope_v = n.dv * laplace(step, at + second, beside, v) + n.reaction * (u - v);
    store(sum + here, load(sum + here) + part * slope_u);
    store(sum + second + here, load(sum + second + here) + part * slope_v);
    if (next == nullptr) continue;
    store(next + here, load(from + here) + whole * slope_u);
    store(next + second + here, load(from + second + here) + whole * slope_v);
  }
}

// The next internal step of each row: what is left, in equal parts of at most `wish`.
V next_step(const FhnStep& step, std::size_t count, const V& wish, const V& left, Mask& last) {
  V h = left;
  for (std::size_t r = 0; r < count; ++r) {
    const double parts = left[r] / wish[r];
    last[r] = parts <= 1.0 + 1e-12 ? -1 : 0;
    if (last[r]) continue;
    if (!(parts < static_cast<double>(step.max_steps))) {
      h[r] = wish[r];  // it ends as too slow, or not finite
      continue;
    }
    const auto whole = static_cast<std::size_t>(parts * (1.0 - 1e-12)) + 1;
    h[r] = left[r] / static_cast<double>(whole);
  }
  return h;
}

void advance(const FhnStep& step, const FhnRows& own, std::size_t count, double* state,
             double* work, LaneEnd* ends) {
  const std::size_t values = 2 * step.points * kRows;
  double *sum = work, *one = work + values, *other = work + 2 * values;
  const Numbers n{load(own.du), load(own.dv), load(own.k), broadcast(step.reaction)};
  const V bound = broadcast(step.bound);
  // The greatest rates of decay: of the shortest wave, and of the reaction about a state.
  const V diffusion = 4.0 * (step.inverse_dx2[0] + step.inverse_dx2[1]) * larger(n.du, n.dv);

  Rows rows(count, ends);
  Mask inside;
  V peak = peak_of(step, state, bound, inside);
  V elapsed{};
  for (std::size_t taken = 1; rows.any(); ++taken) {
    const V rate = diffusion + step.reaction * (3.0 * peak * peak + 2.0);
    const V wish = smaller(kStable / rate, broadcast(step.largest));
    const V left = step.dt - elapsed;
    Mask last{};
    const V h = next_step(step, count, wish, left, last);

    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t i = 0; i < step.open; ++i) {
        const std::size_t here =
            (c * step.points + static_cast<std::size_t>(step.cells[i])) * kRows;
        store(sum + here, load(state + here));
      }
    stage(step, n, state, state, h / 6.0, 0.5 * h, sum, one);
    stage(step, n, one, state, h / 3.0, 0.5 * h, sum, other);
    stage(step, n, other, state, h / 3.0, h, sum, one);
    stage(step, n, one, state, h / 6.0, h, sum, nullptr);

    const Mask active = rows.active();
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t i = 0; i < step.open; ++i) {
        const std::size_t here =
            (c * step.points + static_cast<std::size_t>(step.cells[i])) * kRows;
        store(state + here, active ? load(sum + here) : load(state + here));
      }
    peak = peak_of(step, state, bound, inside);
    elapsed += h;
    rows.end_step(inside, last, taken, step.max_steps);
  }
}

}  // namespace

const FhnKernel kFhnKernel = {kRows, work_size, advance};

}  // namespace stap::STAP_ISA
