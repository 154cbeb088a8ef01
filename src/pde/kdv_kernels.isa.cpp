#include "pde/kdv_kernels.h"

#include "pde/line_lanes.h"

namespace stap::STAP_ISA {
namespace {

constexpr int kStages = 7;

// Row s: the weights of the rates 1 .. s-1 in the argument of rate s (Dormand and Prince 1980). Row
// 7 is the fifth-order solution itself, so its rate is the first one of the next step; row 8 is
// that solution minus the fourth-order one.
constexpr double kWeights[kStages + 2][kStages] = {
    {},
    {},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
    {71.0 / 57600, 0.0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40},
};

// The usual controller: h times 0.9 error^(-1/5), within these factors.
constexpr double kSafety = 0.9, kShrink = 0.2, kGrow = 5.0;
// A step this small beside dt makes no progress any more.
constexpr double kVanishing = 1e-14;

/// What the rates 1 .. 7 and the fields need.
struct Fields {
  double* v;                   ///< modes of the state
  double* next;                ///< modes of the state one step later
  double* stage;               ///< modes of a stage
  double* squares;             ///< grid and then modes of u^2; then of the error
  double* u;                   ///< grid values of v
  double* u_next;              ///< grid values of next
  double* rates[kStages + 1];  ///< modes; 1 .. 7
  double* scratch;
};

/// rate = -(u^2/2)_x - u_xxx of mode k.
inline Mode rate_of(const double* table, std::size_t k, Mode squares, Mode v) {
  const V first = broadcast(table[2 * k]), third = broadcast(table[2 * k + 1]);
  return {fnma(third, v.im, first * squares.im), fnma(first, squares.re, third * v.re)};
}

/// The weighted sum of the rates 1 .. S of mode k that row S + 1 of the table states; `last` is
/// rate number S.
template <int S>
inline Mode combine(const Fields& f, std::size_t k, Mode last) {
  constexpr const double* weights = kWeights[S + 1];
  const V w = broadcast(weights[S - 1]);
  Mode sum = {w * last.re, w * last.im};
  STAP_UNROLL
  for (int s = 1; s < S; ++s) {
    if (weights[s - 1] == 0.0) continue;
    const Mode rate = get_mode(f.rates[s], k);
    const V weight = broadcast(weights[s - 1]);
    sum.re = fma(weight, rate.re, sum.re);
    sum.im = fma(weight, rate.im, sum.im);
  }
  return sum;
}

/// Rate number S of `argument`, from the modes of its squares, and the next stage's argument.
template <int S>
void stage(const KdvStep& step, const Fields& f, const double* argument, V h, double* next) {
  double* const rate_s = f.rates[S];
  for (std::size_t k = 0; k < step.fft.modes(); ++k) {
    const Mode rate = rate_of(step.table, k, get_mode(f.squares, k), get_mode(argument, k));
    put_mode(rate_s, k, rate);
    const Mode sum = combine<S>(f, k, rate);
    const Mode v = get_mode(f.v, k);
    put_mode(next, k, {fma(h, sum.re, v.re), fma(h, sum.im, v.im)});
  }
}

/// The last rate, that of `f.next`, and in `f.squares` the modes of the error.
void last_stage(const KdvStep& step, const Fields& f, V h) {
  for (std::size_t k = 0; k < step.fft.modes(); ++k) {
    const Mode rate = rate_of(step.table, k, get_mode(f.squares, k), get_mode(f.next, k));
    put_mode(f.rates[kStages], k, rate);
    const Mode sum = combine<kStages>(f, k, rate);
    put_mode(f.squares, k, {h * sum.re, h * sum.im});
  }
}

/// Mean over the grid of (error / (atol + rtol max(|u|, |u_next|)))^2.
V error_square(const KdvStep& step, const Fields& f) {
  V sum{};
  for (std::size_t i = 0; i < step.fft.points; ++i) {
    const V before = magnitude(load(f.u + i * kRows)),
            after = magnitude(load(f.u_next + i * kRows));
    const V scale = step.atol + step.rtol * (before > after ? before : after);
    const V ratio = load(f.squares + i * kRows) / scale;
    sum += ratio * ratio;
  }
  return sum / static_cast<double>(step.fft.points);
}

/// One percent of the time in which the row changes by its own size; depends on the row alone.
V first_step(const KdvStep& step, const Fields& f) {
  V size{}, change{};
  for (std::size_t i = 0; i < 2 * step.fft.modes(); ++i) {
    const V value = load(f.v + i * kRows), rate = load(f.rates[1] + i * kRows);
    size += value * value;
    change += rate * rate;
  }
  V h;
  for (std::size_t r = 0; r < kRows; ++r) {
    const double wish = 0.01 * __builtin_sqrt(size[r] / change[r]);
    h[r] = wish < step.dt ? wish : step.dt;  // also for 0/0: a row that does not change
  }
  return h;
}

// to = from in the lanes that `which` names.
void copy_lanes(std::size_t registers, Mask which, const double* from, double* to) {
  for (std::size_t i = 0; i < registers; ++i)
    store(to + i * kRows, which ? load(from + i * kRows) : load(to + i * kRows));
}

std::size_t work_size(const LineFft& fft) {
  return (4 + 2 + kStages) * mode_values(fft.points) + fft.scratch;
}

void advance(const KdvStep& step, std::size_t count, double* result, double* work, LaneEnd* ends) {
  const LineFft& fft = step.fft;
  const std::size_t size = mode_values(fft.points), n = fft.points;
  Fields f;
  double* place = work;
  for (double** field : {&f.v, &f.next, &f.stage, &f.squares, &f.u, &f.u_next}) {
    *field = place;
    place += size;
  }
  for (int s = 1; s <= kStages; ++s, place += size) f.rates[s] = place;
  f.scratch = place;
  const V bound = broadcast(step.bound);
  // From here f.squares holds the modes of the squares of the field with modes `of`.
  const auto squares_of = [&](const double* of, double* grid) {
    to_grid(fft, of, grid, f.scratch);
    const Mask inside = square(n, grid, bound, f.squares);
    to_modes(fft, f.squares, f.squares, f.scratch);
    return inside;
  };

  to_modes(fft, result, f.v, f.scratch);
  const V scale = broadcast(1.0 / static_cast<double>(n));
  for (std::size_t i = 0; i < 2 * fft.modes(); ++i)
    store(f.v + i * kRows, scale * load(f.v + i * kRows));
  squares_of(f.v, f.u);
  for (std::size_t k = 0; k < fft.modes(); ++k)
    put_mode(f.rates[1], k, rate_of(step.table, k, get_mode(f.squares, k), get_mode(f.v, k)));

  V wish = first_step(step, f);
  V elapsed{};
  Mask grow = ~Mask{};  // not just after a rejected step
  Rows rows(count, ends);
  for (std::size_t taken = 1; rows.any(); ++taken) {
    const V left = step.dt - elapsed;
    const Mask last = wish >= left;
    // A lane that has ended stands still, so that it stays finite.
    const V h = rows.active() ? (last ? left : wish) : V{};

    for (std::size_t i = 0; i < 2 * fft.modes(); ++i)
      store(f.stage + i * kRows,
            fma(h * kWeights[2][0], load(f.rates[1] + i * kRows), load(f.v + i * kRows)));
    squares_of(f.stage, f.u_next);
    stage<2>(step, f, f.stage, h, f.stage);
    squares_of(f.stage, f.u_next);
    stage<3>(step, f, f.stage, h, f.stage);
    squares_of(f.stage, f.u_next);
    stage<4>(step, f, f.stage, h, f.stage);
    squares_of(f.stage, f.u_next);
    stage<5>(step, f, f.stage, h, f.stage);
    squares_of(f.stage, f.u_next);
    stage<6>(step, f, f.stage, h, f.next);
    const Mask inside = squares_of(f.next, f.u_next);
    last_stage(step, f, h);
    to_grid(fft, f.squares, f.squares, f.scratch);
    const V error = error_square(step, f);

    const Mask accepted = rows.active() & (error <= 1.0);
    elapsed = accepted ? elapsed + h : elapsed;
    bool all = true;
    for (std::size_t r = 0; r < count; ++r) {
      if (!rows.active()[r]) continue;
      if (accepted[r] && (!inside[r] || last[r])) {
        for (std::size_t i = 0; i < n; ++i) result[i * kRows + r] = f.u_next[i * kRows + r];
        rows.end(r, inside[r] ? LaneEnd::How::finished : LaneEnd::How::unbounded, taken);
        continue;
      }
      // The root of the mean square and then its fifth root; 0.2 for what is not finite.
      double factor = error[r] > 0 ? kSafety * __builtin_pow(error[r], -0.1) : kGrow;
      const double most = grow[r] && accepted[r] ? kGrow : 1.0;
      factor = factor < most ? factor : most;
      factor = factor > kShrink ? factor : kShrink;
      wish[r] = h[r] * factor;
      grow[r] = accepted[r];
      all = all && accepted[r];
      const bool vanishing = !(wish[r] > kVanishing * step.dt);
      if (vanishing || taken == step.max_steps)
        rows.end(r, vanishing ? LaneEnd::How::stalled : LaneEnd::How::too_slow, taken);
    }
    if (all) {
      exchange(f.v, f.next);
      exchange(f.u, f.u_next);
      exchange(f.rates[1], f.rates[kStages]);
    } else {
      copy_lanes(2 * fft.modes(), accepted, f.next, f.v);
      copy_lanes(2 * fft.modes(), accepted, f.rates[kStages], f.rates[1]);
      copy_lanes(n, accepted, f.u_next, f.u);
    }
  }
}

}  // namespace

const KdvKernel kKdvKernel = {kRows, work_size, advance};

}  // namespace stap::STAP_ISA
