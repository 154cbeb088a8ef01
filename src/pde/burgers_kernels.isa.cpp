#include "pde/burgers_kernels.h"

#include "pde/lane_rows.h"

namespace stap::STAP_ISA {
namespace {

// Half the limited slope from the differences to both neighbours: minmod(2a, 2b, (a + b) / 2) / 2.
// The halves and quarters are exact, so this is the textbook value to the last bit.
inline V half_slope(V a, V b) {
  const V centre = 0.25 * (a + b);
  const V low = smaller(smaller(a, b), centre);
  const V high = larger(larger(a, b), centre);
  return larger(low, V{}) + smaller(high, V{});
}

// The exact solution's flux u^2/2 at a face with these values beside it (Godunov).
inline V godunov(V left, V right) {
  const V from_left = larger(left, V{}), from_right = smaller(right, V{});
  return 0.5 * larger(from_left * from_left, from_right * from_right);
}

// Fills the ghost cells from the other end of the (periodic) row.
inline void wrap(double* u, std::size_t points) {
  const std::size_t n = points;
  for (std::size_t g = 0; g < kBurgersGhosts; ++g) {
    store(u + g * kRows, load(u + (g + n) * kRows));
    store(u + (g + n + kBurgersGhosts) * kRows, load(u + (g + kBurgersGhosts) * kRows));
  }
}

// Walks the faces of a row from left to right; each call gives the flux through the next one:
// advection by limited reconstruction, minus D u_x.
class Faces {
 public:
  Faces(const double* u, V diffusion_over_dx) : next_(u), diffusion_over_dx_(diffusion_over_dx) {
    const V before = take();
    here_ = take();
    ahead_ = take();
    rise_ = ahead_ - here_;
    slope_ = half_slope(here_ - before, rise_);
  }

  V flux() {
    const V beyond = take();
    const V next_rise = beyond - ahead_;
    const V next_slope = half_slope(rise_, next_rise);
    const V flux = godunov(here_ + slope_, ahead_ - next_slope) - diffusion_over_dx_ * rise_;
    here_ = ahead_;
    ahead_ = beyond;
    rise_ = next_rise;
    slope_ = next_slope;
    return flux;
  }

 private:
  V take() {
    const V value = load(next_);
    next_ += kRows;
    return value;
  }

  const double* next_;
  V diffusion_over_dx_;
  V here_, ahead_;  // the cells beside the next face
  V rise_, slope_;  // ahead - here, and half the slope in `here`
};

// half = u - factor (difference of the fluxes of u)
void predict(std::size_t points, const double* u, V factor, V diffusion_over_dx, double* half) {
  Faces faces(u, diffusion_over_dx);
  V left = faces.flux();
  for (std::size_t i = kBurgersGhosts; i < points + kBurgersGhosts; ++i) {
    const V right = faces.flux();
    store(half + i * kRows, load(u + i * kRows) - factor * (right - left));
    left = right;
  }
}

// u -= factor (difference of the fluxes of half), in active lanes only. Returns max|u| and in
// `inside` whether every |u| <= bound (false for NaN).
V correct(std::size_t points, const double* half, V factor, V diffusion_over_dx, Mask active,
          V bound, double* u, Mask& inside) {
  Faces faces(half, diffusion_over_dx);
  V left = faces.flux();
  V peak{};
  Mask all_inside = ~Mask{};
  for (std::size_t i = kBurgersGhosts; i < points + kBurgersGhosts; ++i) {
    const V right = faces.flux();
    const V old = load(u + i * kRows);
    const V value = active ? old - factor * (right - left) : old;
    store(u + i * kRows, value);
    const V size = magnitude(value);
    peak = larger(size, peak);  // in this order a peak of -0 cannot come out: dx / peak >= 0
    all_inside &= size <= bound;
    left = right;
  }
  inside = all_inside;
  return peak;
}

V peak_of(std::size_t points, const double* u) {
  V peak{};
  for (std::size_t i = kBurgersGhosts; i < points + kBurgersGhosts; ++i)
    peak = larger(magnitude(load(u + i * kRows)), peak);
  return peak;
}

void advance(const BurgersStep& step, std::size_t count, const double* diffusion, double* u,
             double* half, LaneEnd* ends) {
  const std::size_t n = step.points;
  const V bound = broadcast(step.bound);
  const V diffusion_over_dx = load(diffusion) / step.dx;
  const V viscous_limit = step.dx * step.dx / (2.0 * load(diffusion));  // inf at D = 0

  Rows rows(count, ends);
  V peak = peak_of(n, u);
  V elapsed{};
  for (std::size_t taken = 1; rows.any(); ++taken) {
    const V wish = step.cfl * smaller(step.dx / peak, viscous_limit);
    const V left = step.dt - elapsed;
    const Mask last = wish >= left;
    const V h = last ? left : wish;

    wrap(u, n);
    predict(n, u, 0.5 * h / step.dx, diffusion_over_dx, half);
    wrap(half, n);
    Mask inside;
    peak = correct(n, half, h / step.dx, diffusion_over_dx, rows.active(), bound, u, inside);
    elapsed += h;
    rows.end_step(inside, last, taken, step.max_steps);
  }
}

}  // namespace

const BurgersKernel kBurgersKernel = {kRows, advance};

}  // namespace stap::STAP_ISA
