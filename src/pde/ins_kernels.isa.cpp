// Between steps a row is its modes [ky][kx]. The product goes to points and back in two passes: all
// kx -> x of one ky (four fields side by side), then, for one x after the other, ky -> y, product,
// y -> ky. Each pass works in the first-level cache but for the four fields between them.
#include "pde/ins_kernels.h"

#include <cstdint>

#include "pde/lane_rows.h"

namespace stap::STAP_ISA {
namespace {

constexpr std::size_t kPair = 2 * kRows;        // a mode: real part, imaginary part
constexpr std::size_t kFields = 4;              // u, v, -w_x, -w_y
constexpr std::size_t kWide = kFields * kRows;  // a point of all fields

struct Complex {
  V re, im;
};
inline Complex get(const double* p) {
  return {load(p), load(p + kRows)};
}
inline void put(double* p, Complex z) {
  store(p, z.re);
  store(p + kRows, z.im);
}
inline Complex operator*(V a, Complex z) {
  return {a * z.re, a * z.im};
}
/// a x + y
inline Complex axpy(V a, Complex x, Complex y) {
  return {fma(a, x.re, y.re), fma(a, x.im, y.im)};
}

std::size_t modes_y(const InsStep& step) {
  return step.ny / 2 + 1;
}

/// Where things lie in the work space.
struct Work {
  double* modes;     ///< [ky][kx] pairs: w
  double* stage;     ///< the same of a Runge-Kutta stage
  double* sum;       ///< the same: what the stages add up to
  double* rate;      ///< [ky <= box_y][kx] pairs: f - product, 0 where |kx| > box_x
  double* fields;    ///< [x][ky] four fields' real parts, then their imaginary parts
  double* column;    ///< [kx] the same of one ky
  double* points;    ///< [y] four fields at one x
  double* product;   ///< [x][ky <= box_y] pairs
  double* decay;     ///< [ky][kx] of each lane's own viscosity and ...
  double* gain;      ///< ... likewise
  double* factor_x;  ///< [kx] and ...
  double* factor_y;  ///< [ky] of each lane's own h
  double* scratch;   ///< of the transforms
  V half_forcing;
};

/// Lays the parts one after the other; returns their size. Without a base it only counts.
std::size_t lay_out(const InsStep& step, double* base, Work& work) {
  const std::size_t nx = step.nx, my = modes_y(step), kept = step.box_y + 1;
  std::size_t used = 0;
  const auto take = [&](std::size_t values) {
    double* const part = base == nullptr ? nullptr : base + used;
    used += (values + 7) / 8 * 8;
    return part;
  };
  const bool stages = step.decay == nullptr;
  work.modes = take(my * nx * kPair);
  work.stage = take(stages ? my * nx * kPair : 0);
  work.sum = take(stages ? my * nx * kPair : 0);
  work.rate = take(kept * nx * kPair);
  work.fields = take(nx * my * 2 * kWide);
  work.column = take(nx * 2 * kWide);
  work.points = take(step.ny * kWide);
  work.product = take(nx * kept * kPair);
  work.decay = take(step.square != nullptr ? my * nx * kRows : 0);
  work.gain = take(step.square != nullptr ? my * nx * kRows : 0);
  work.factor_x = take(nx * kRows);
  work.factor_y = take(my * kRows);
  const FftRealPlan<double>& real = *step.along_y;
  work.scratch = take(step.fft->scratch(*step.along_x, real));
  return used;
}

std::size_t work_size(const InsStep& step) {
  Work work;
  return lay_out(step, nullptr, work);
}

// --- states <-> modes ---------------------------------------------------------------------------

void analyse(const InsStep& step, const double* w, const Work& work) {
  const std::size_t nx = step.nx, ny = step.ny, my = modes_y(step);
  double* const half = work.fields;  // [x][ky] pairs
  for (std::size_t x = 0; x < nx; ++x)
    step.fft->real_forward(*step.along_y, w + x * ny * kRows, kRows, half + x * my * kPair,
                           half + x * my * kPair + kRows, kPair, kRows, my, work.scratch);
  const V scale = broadcast(1.0 / static_cast<double>(nx * ny));
  for (std::size_t ky = 0; ky < my; ++ky) {
    double* const column = work.modes + ky * nx * kPair;
    step.fft->forward(*step.along_x, half + ky * kPair, half + ky * kPair + kRows, my * kPair,
                      column, column + kRows, kPair, kRows, work.scratch);
    for (std::size_t kx = 0; kx < nx; ++kx)
      put(column + kx * kPair, scale * get(column + kx * kPair));
  }
}

/// Returns in each lane whether every |w| <= bound (false for NaN).
Mask synthesise(const InsStep& step, const Work& work, double* w) {
  const std::size_t nx = step.nx, ny = step.ny, my = modes_y(step);
  double* const half = work.fields;
  for (std::size_t ky = 0; ky < my; ++ky) {
    const double* const column = work.modes + ky * nx * kPair;
    // Real and imaginary part swapped on both sides: the inverse.
    step.fft->forward(*step.along_x, column + kRows, column, kPair, half + ky * kPair + kRows,
                      half + ky * kPair, my * kPair, kRows, work.scratch);
  }
  for (std::size_t x = 0; x < nx; ++x)
    step.fft->real_inverse(*step.along_y, half + x * my * kPair, half + x * my * kPair + kRows,
                           kPair, w + x * ny * kRows, kRows, kRows, my, work.scratch);
  const V bound = broadcast(step.bound);
  Mask inside = ~Mask{};
  for (std::size_t i = 0; i < nx * ny; ++i) inside &= magnitude(load(w + i * kRows)) <= bound;
  return inside;
}

// --- the product --------------------------------------------------------------------------------

/// Modes -> u, v, -w_x, -w_y at [x][ky]. 1/(nx ny) of the way back is in the slopes of w.
void to_fields(const InsStep& step, const double* modes, const Work& work) {
  const std::size_t nx = step.nx, my = modes_y(step);
  const double scale = -1.0 / static_cast<double>(nx * step.ny);
  for (std::size_t ky = 0; ky < my; ++ky) {
    const V slope_y = broadcast(step.slope_y[ky]), scaled_y = broadcast(scale * step.slope_y[ky]);
    for (std::size_t kx = 0; kx < nx; ++kx) {
      const V slope_x = broadcast(step.slope_x[kx]), scaled_x = broadcast(scale) * slope_x;
      const Complex w = get(modes + (ky * nx + kx) * kPair);
      const Complex psi = broadcast(step.inverse[ky * nx + kx]) * w;
      double* const re = work.column + kx * 2 * kWide;
      double* const im = re + kWide;
      store(re + 0 * kRows, -slope_y * psi.im);
      store(im + 0 * kRows, slope_y * psi.re);
      store(re + 1 * kRows, slope_x * psi.im);
      store(im + 1 * kRows, -slope_x * psi.re);
      store(re + 2 * kRows, -scaled_x * w.im);
      store(im + 2 * kRows, scaled_x * w.re);
      store(re + 3 * kRows, -scaled_y * w.im);
      store(im + 3 * kRows, scaled_y * w.re);
    }
    double* const out = work.fields + ky * 2 * kWide;
    step.fft->forward(*step.along_x, work.column + kWide, work.column, 2 * kWide, out + kWide, out,
                      my * 2 * kWide, kWide, work.scratch);
  }
}

/// Fields -> -(V + v) . grad w at [x][ky <= box_y]. Returns max(|u| Kx + |v| Ky) over the points.
V multiply(const InsStep& step, const Work& work) {
  const std::size_t nx = step.nx, ny = step.ny, my = modes_y(step), kept = step.box_y + 1;
  const V mean_u = broadcast(step.velocity_x), mean_v = broadcast(step.velocity_y);
  const V last_x = broadcast(step.slope_x[step.box_x]),
          last_y = broadcast(step.slope_y[step.box_y]);
  V peak{};
  for (std::size_t x = 0; x < nx; ++x) {
    const double* const in = work.fields + x * my * 2 * kWide;
    step.fft->real_inverse(*step.along_y, in, in + kWide, 2 * kWide, work.points, kWide, kWide, my,
                           work.scratch);
    for (std::size_t y = 0; y < ny; ++y) {
      const double* const at = work.points + y * kWide;
      const V u = load(at) + mean_u, v = load(at + kRows) + mean_v;
      const V sum = fma(u, load(at + 2 * kRows), v * load(at + 3 * kRows));
      peak = larger(fma(magnitude(u), last_x, magnitude(v) * last_y), peak);
      store(work.points + y * kRows, sum);  // behind what is still to be read
    }
    double* const out = work.product + x * kept * kPair;
    step.fft->real_forward(*step.along_y, work.points, kRows, out, out + kRows, kPair, kRows, kept,
                           work.scratch);
  }
  return peak;
}

/// rate = -product within the box. Returns what multiply() does.
V product_rate(const InsStep& step, const double* modes, const Work& work) {
  const std::size_t nx = step.nx, kept = step.box_y + 1;
  to_fields(step, modes, work);
  const V peak = multiply(step, work);
  for (std::size_t ky = 0; ky < kept; ++ky) {
    double* const column = work.rate + ky * nx * kPair;
    step.fft->forward(*step.along_x, work.product + ky * kPair, work.product + ky * kPair + kRows,
                      kept * kPair, column, column + kRows, kPair, kRows, work.scratch);
    for (std::size_t kx = step.box_x + 1; kx < nx - step.box_x; ++kx)
      put(column + kx * kPair, Complex{V{}, V{}});
  }
  return peak;
}

/// Adds f = forcing (sin p + cos p), whose only mode with ky >= 0 is (1, 1).
void add_forcing(const InsStep& step, const V& time, const Work& work) {
  V re = broadcast(1.0), im{};  // exp(2 pi i rate max(t, 0))
  if (step.forcing_rate != 0.0)
    for (std::size_t r = 0; r < kRows; ++r) {
      const double turns = step.forcing_rate * (time[r] > 0.0 ? time[r] : 0.0);
      const double angle = 2.0 * 3.14159265358979323846 * (turns - __builtin_floor(turns));
      re[r] = __builtin_cos(angle);
      im[r] = __builtin_sin(angle);
    }
  const V half = work.half_forcing;
  double* const mode = work.rate + (step.nx + 1) * kPair;
  const Complex old = get(mode);
  put(mode, {old.re + half * (re + im), old.im + half * (im - re)});
}

// --- steps --------------------------------------------------------------------------------------

/// Adds up mean(w^2) while modes are written. Modes that have died out become 0: numbers below the
/// normal ones would cost hundreds of cycles each, for ever. A NaN stays one.
class Square {
 public:
  Complex add(Complex w, V weight) {
    const V floor = broadcast(1e-200);
    w.re = magnitude(w.re) < floor ? V{} : w.re;
    w.im = magnitude(w.im) < floor ? V{} : w.im;
    sum_ = fma(weight, fma(w.re, w.re, w.im * w.im), sum_);
    return w;
  }
  /// Modes with ky of its own mirror image count once, others twice.
  static V weight(const InsStep& step, std::size_t ky) {
    return broadcast(ky == 0 || 2 * ky == step.ny ? 1.0 : 2.0);
  }
  Mask within(double bound) const { return sum_ <= broadcast(bound * bound); }

 private:
  V sum_{};
};

/// Decay and gain of each lane's own viscosity.
void fill_tables(const InsStep& step, V viscosity, const Work& work) {
  const V half = broadcast(0.5 * step.h) * viscosity;
  for (std::size_t k = 0; k < modes_y(step) * step.nx; ++k) {
    const V slowed = half * broadcast(step.square[k]);
    store(work.decay + k * kRows, (1.0 - slowed) / (1.0 + slowed));
    store(work.gain + k * kRows, step.h / (1.0 + slowed));
  }
}

/// One step, with a viscosity for each lane or one for all. Returns in each lane whether rms(w) <=
/// bound (false for NaN).
template <bool kOwn>
Mask crank_nicolson(const InsStep& step, const V& time, const Work& work) {
  const std::size_t nx = step.nx;
  product_rate(step, work.modes, work);
  add_forcing(step, time, work);
  Square square;
  for (std::size_t ky = 0; ky < modes_y(step); ++ky) {
    const V weight = Square::weight(step, ky);
    const double* const rate = ky <= step.box_y ? work.rate + ky * nx * kPair : nullptr;
    for (std::size_t kx = 0; kx < nx; ++kx) {
      const std::size_t k = ky * nx + kx;
      double* const mode = work.modes + k * kPair;
      const V decay = kOwn ? load(work.decay + k * kRows) : broadcast(step.decay[k]);
      Complex w = decay * get(mode);
      if (rate != nullptr) {
        const V gain = kOwn ? load(work.gain + k * kRows) : broadcast(step.gain[k]);
        w = axpy(gain, get(rate + kx * kPair), w);
      }
      put(mode, square.add(w, weight));
    }
  }
  return square.within(step.bound);
}

/// Each lane's integrating factor over half its step.
void fill_factors(const InsStep& step, const InsRows& own, std::size_t lane, std::size_t level,
                  const Work& work) {
  const std::size_t nx = step.nx, my = modes_y(step);
  const double *along_x = own.factors[lane], *along_y = along_x + (kInsLevels + 1) * nx;
  for (std::size_t kx = 0; kx < nx; ++kx)
    work.factor_x[kx * kRows + lane] = along_x[level * nx + kx];
  for (std::size_t ky = 0; ky < my; ++ky)
    work.factor_y[ky * kRows + lane] = along_y[level * my + ky];
}

/// f(E, ky, at, rate) for every mode: its integrating factor over h/2, where it lies, its rate.
template <class Function>
void for_modes(const InsStep& step, const Work& work, Function f) {
  const std::size_t nx = step.nx;
  for (std::size_t ky = 0; ky < modes_y(step); ++ky) {
    const V factor = load(work.factor_y + ky * kRows);
    const double* const rate = work.rate + ky * nx * kPair;
    for (std::size_t kx = 0; kx < nx; ++kx) {
      const Complex slope = ky <= step.box_y ? get(rate + kx * kPair) : Complex{V{}, V{}};
      f(factor * load(work.factor_x + kx * kRows), ky, (ky * nx + kx) * kPair, slope);
    }
  }
}

/// The rest of a Runge-Kutta step of h once `rate` is that of w at its start (without forcing).
Mask runge_kutta(const InsStep& step, const V& time, const V& h, const Mask& active,
                 const Work& work) {
  const V half = 0.5 * h, third = h / 3.0, sixth = h / 6.0;
  add_forcing(step, time, work);
  for_modes(step, work, [&](V e, std::size_t, std::size_t at, Complex k1) {
    const Complex w = get(work.modes + at);
    put(work.stage + at, e * axpy(half, k1, w));
    put(work.sum + at, e * (e * axpy(sixth, k1, w)));
  });

  product_rate(step, work.stage, work);
  add_forcing(step, time + half, work);
  for_modes(step, work, [&](V e, std::size_t, std::size_t at, Complex k2) {
    put(work.stage + at, axpy(half, k2, e * get(work.modes + at)));
    put(work.sum + at, axpy(third * e, k2, get(work.sum + at)));
  });

  product_rate(step, work.stage, work);
  add_forcing(step, time + half, work);
  for_modes(step, work, [&](V e, std::size_t, std::size_t at, Complex k3) {
    put(work.stage + at, e * axpy(h, k3, e * get(work.modes + at)));
    put(work.sum + at, axpy(third * e, k3, get(work.sum + at)));
  });

  product_rate(step, work.stage, work);
  add_forcing(step, time + h, work);
  Square square;
  for_modes(step, work, [&](V, std::size_t ky, std::size_t at, Complex k4) {
    const Complex next = square.add(axpy(sixth, k4, get(work.sum + at)), Square::weight(step, ky));
    const Complex old = get(work.modes + at);
    put(work.modes + at, {active ? next.re : old.re, active ? next.im : old.im});
  });
  return square.within(step.bound);
}

void advance_crank_nicolson(const InsStep& step, const V& start, const Work& work, Rows& rows) {
  const auto make_step = step.square != nullptr ? crank_nicolson<true> : crank_nicolson<false>;
  for (std::size_t taken = 1; taken <= step.steps && rows.any(); ++taken) {
    const Mask inside = make_step(step, start + static_cast<double>(taken - 1) * step.h, work);
    rows.end_step(inside, taken == step.steps ? ~Mask{} : Mask{}, taken, step.steps);
  }
}

/// How often the base step is halved for a flow of this peak, at this position (in units of the
/// smallest step): a step of 2^-j begins at a multiple of itself, so that all of them end at dt.
std::size_t level_for(const InsStep& step, double peak, std::uint64_t position) {
  std::size_t level = 0;
  for (double h = step.h; level < kInsLevels && h * peak > step.courant; h *= 0.5) ++level;
  while (position % (std::uint64_t{1} << (kInsLevels - level)) != 0) ++level;
  return level;
}

void advance_ifrk4(const InsStep& step, const InsRows& own, const V& start, const Work& work,
                   Rows& rows) {
  const std::uint64_t end = static_cast<std::uint64_t>(step.steps) << kInsLevels;
  const double unit = step.h / static_cast<double>(std::uint64_t{1} << kInsLevels);
  std::uint64_t position[kRows] = {};
  std::size_t level[kRows];
  for (std::size_t r = 0; r < kRows; ++r) fill_factors(step, own, r, level[r] = 0, work);
  for (std::size_t taken = 1; rows.any(); ++taken) {
    const V peak = product_rate(step, work.modes, work);
    V time{}, h{};
    for (std::size_t r = 0; r < rows.count(); ++r) {
      if (!rows.active()[r]) continue;
      const std::size_t wanted = level_for(step, peak[r], position[r]);
      if (wanted != level[r]) fill_factors(step, own, r, level[r] = wanted, work);
      const std::uint64_t units = std::uint64_t{1} << (kInsLevels - wanted);
      time[r] = start[r] + static_cast<double>(position[r]) * unit;
      h[r] = static_cast<double>(units) * unit;
      position[r] += units;
    }

    const Mask inside = runge_kutta(step, time, h, rows.active(), work);
    Mask reached{};
    for (std::size_t r = 0; r < rows.count(); ++r) reached[r] = position[r] == end ? -1 : 0;
    rows.end_step(inside, reached, taken, step.max_steps);
  }
}

void advance(const InsStep& step, const InsRows& own, std::size_t count, double* w, double* base,
             LaneEnd* ends) {
  Work work;
  lay_out(step, base, work);
  Rows rows(count, ends);
  V start{};
  for (std::size_t r = 0; r < count; ++r) start[r] = own.times[r];
  work.half_forcing = 0.5 * load(own.forcing);
  if (step.square != nullptr) fill_tables(step, load(own.viscosity), work);

  analyse(step, w, work);
  if (step.decay != nullptr)
    advance_crank_nicolson(step, start, work, rows);
  else
    advance_ifrk4(step, own, start, work, rows);
  const Mask inside = synthesise(step, work, w);

  for (std::size_t r = 0; r < count; ++r)
    if (ends[r].how == LaneEnd::How::finished && !inside[r]) ends[r].how = LaneEnd::How::unbounded;
}

}  // namespace

const InsKernel kInsKernel = {kRows, work_size, advance};

}  // namespace stap::STAP_ISA
