#include "pde/cns_kernels.h"

#include "pde/lane_rows.h"

namespace stap::STAP_ISA {
namespace {

constexpr std::size_t kChannels = 4;  // density, velocity x, velocity y, pressure
constexpr std::size_t kCell = kChannels * kRows;
constexpr std::size_t kGhosts = 2;  // cells before and behind each axis: the periodic continuation

inline V root(V a) {
#if defined(__AVX512F__)
  return (V)_mm512_maskz_sqrt_pd(0xff, (__m512d)a);  // the plain one warns in GCC 12
#elif defined(__AVX2__)
  return (V)_mm256_sqrt_pd((__m256d)a);
#else
  for (std::size_t r = 0; r < kRows; ++r) a[r] = __builtin_sqrt(a[r]);
  return a;
#endif
}

// Where things are: [x][y][channel][lane], with ghost cells on all sides.
struct Layout {
  std::size_t nx, ny;
  std::size_t row;  // doubles from a cell to the next along x

  Layout(std::size_t x, std::size_t y) : nx(x), ny(y), row((y + 2 * kGhosts) * kCell) {}
  std::size_t size() const { return (nx + 2 * kGhosts) * row; }
  // The offset of a cell; ghosts have indices 0, 1 and n + 2, n + 3.
  std::size_t at(std::size_t i, std::size_t j) const { return i * row + j * kCell; }
};

// A cell, a difference or a slope as seen along an axis: n is the velocity along it, t across.
struct Cell {
  V rho, n, t, p;
};
inline Cell operator+(const Cell& a, const Cell& b) {
  return {a.rho + b.rho, a.n + b.n, a.t + b.t, a.p + b.p};
}
inline Cell operator-(const Cell& a, const Cell& b) {
  return {a.rho - b.rho, a.n - b.n, a.t - b.t, a.p - b.p};
}

// Of mass, momentum along and across the axis, energy.
struct Flux {
  V mass, n, t, energy;
};

template <std::size_t kAxis>
inline Cell cell_at(const double* c) {
  return {load(c), load(c + (1 + kAxis) * kRows), load(c + (2 - kAxis) * kRows),
          load(c + 3 * kRows)};
}

// Constants of one axis.
struct Axis {
  std::size_t along, across;  // strides
  V normal, mixed;            // normal stress per difference of n along, of t across
  V shear, turned;            // shear stress per difference of t along, of n across
  double half_gamma_1;        // (gamma - 1)/2
  double gamma, enthalpy;     // gamma, gamma/(gamma - 1)
};

// Half the limited slope from the differences to both neighbours: minmod(2a, 2b, (a + b) / 2) / 2,
// as the mean of a and b, halved, between 0 and the smaller of them (0 for opposite signs).
inline V half_slope(V a, V b) {
  const V most = larger(V{}, smaller(a, b)), least = smaller(V{}, larger(a, b));
  return larger(smaller(0.25 * (a + b), most), least);
}

// Face values lie between those of the cells, so they are positive where these are: but for
// rounding, when a cell holds a tiny fraction of its neighbour's value. Then the cell is constant.
inline Cell half_slopes(const Cell& here, const Cell& before, const Cell& behind) {
  const Cell s = {half_slope(before.rho, behind.rho), half_slope(before.n, behind.n),
                  half_slope(before.t, behind.t), half_slope(before.p, behind.p)};
  const Mask positive = (magnitude(s.rho) < here.rho) & (magnitude(s.p) < here.p);
  return {positive ? s.rho : V{}, positive ? s.n : V{}, positive ? s.t : V{}, positive ? s.p : V{}};
}

inline void put(double* at, const Cell& cell) {
  store(at, cell.rho);
  store(at + kRows, cell.n);
  store(at + 2 * kRows, cell.t);
  store(at + 3 * kRows, cell.p);
}

// The loops below run along y over a row of cells or faces, whatever the axis: each does a part of
// the work, because one loop that does all is a chain of roots and divisions longer than the
// processor can look ahead (twice the time, measured).

// Half the slopes along the axis of cells c, c + kCell, ...
template <std::size_t kAxis>
void find_slopes(const double* c, const Axis& axis, std::size_t n, double* slopes) {
  for (std::size_t f = 0; f < n; ++f, c += kCell, slopes += kCell) {
    const Cell here = cell_at<kAxis>(c);
    put(slopes, half_slopes(here, here - cell_at<kAxis>(c - axis.along),
                            cell_at<kAxis>(c + axis.along) - here));
  }
}

// A row of faces: face f lies between cell c + f kCell and the next one along the axis, whose
// half slopes are at f kCell from `slopes` and `next_slopes`.
struct Faces {
  const double* c;
  std::size_t n;
  const double *slopes, *next_slopes;
  const Axis* axis;

  template <std::size_t kAxis>
  Cell left(std::size_t f) const {
    return cell_at<kAxis>(c + f * kCell) + cell_at<0>(slopes + f * kCell);
  }
  template <std::size_t kAxis>
  Cell right(std::size_t f) const {
    return cell_at<kAxis>(c + f * kCell + axis->along) - cell_at<0>(next_slopes + f * kCell);
  }
};

// The speeds of the outer waves, slowest and fastest, after Einfeldt and Batten et al.: the extreme
// ones of the two states and of their Roe average, with which HLLC keeps densities and pressures
// positive.
template <std::size_t kAxis>
void find_speeds(const Faces& faces, double* speeds) {
  const Axis& axis = *faces.axis;
  for (std::size_t f = 0; f < faces.n; ++f) {
    const Cell l = faces.left<kAxis>(f), r = faces.right<kAxis>(f);
    const V product = l.rho * r.rho;
    const V mean = root(product);
    const V total = (l.rho + r.rho) + 2.0 * mean;
    const V inverse = 1.0 / (product * total);  // one division for three
    const V per_product = total * inverse, per_total = product * inverse;
    const V c2_l = axis.gamma * l.p * (r.rho * per_product);
    const V c2_r = axis.gamma * r.p * (l.rho * per_product);
    const V weight_l = (l.rho + mean) * per_total, weight_r = (r.rho + mean) * per_total;
    const V rise = r.n - l.n;
    const V roe = weight_l * l.n + weight_r * r.n;
    const V roe_c = root((weight_l * c2_l + weight_r * c2_r) +
                         axis.half_gamma_1 * (mean * per_total) * (rise * rise));
    store(speeds + 2 * f * kRows, smaller(l.n - root(c2_l), roe - roe_c));
    store(speeds + (2 * f + 1) * kRows, larger(r.n + root(c2_r), roe + roe_c));
  }
}

// HLLC. S is the contact's speed; the state K beside the face is the left one for S >= 0. With s
// its outer speed, or 0 if that does not point to its side, and q = s (S - u)/(s_K - S) the flux
// F_K + s (U* - U_K) becomes the few terms below; the supersonic cases have q = 0.
inline Flux hllc(const Cell& l, const Cell& r, V s_l, V s_r, double enthalpy_factor) {
  const V m_l = l.rho * (l.n - s_l), m_r = r.rho * (s_r - r.n);
  const V contact = ((l.p - r.p) + (m_l * l.n + m_r * r.n)) / (m_l + m_r);
  const Mask left = contact >= 0.0;
  const V rho = left ? l.rho : r.rho, u = left ? l.n : r.n, t = left ? l.t : r.t;
  const V p = left ? l.p : r.p, outer = left ? s_l : s_r;
  const V towards = left ? smaller(s_l, V{}) : larger(s_r, V{});
  const V q = towards * (contact - u) / (outer - contact);
  const V carried = u + q;
  const V mass = rho * carried;
  const V enthalpy = enthalpy_factor * p + 0.5 * rho * (u * u + t * t);
  return {mass, p + rho * (u * u + outer * q), t * mass,
          enthalpy * carried + q * rho * (outer - u) * contact};
}

// Takes the viscous stress off the flux through the face behind cell c.
template <std::size_t kAxis, bool kFull>
inline void subtract_stress(const double* c, const Axis& axis, Flux& flux) {
  const Cell here = cell_at<kAxis>(c), ahead = cell_at<kAxis>(c + axis.along);
  V stress_n, stress_t;
  if constexpr (kFull) {
    const double *up = c + axis.across, *down = c - axis.across;
    const Cell high = cell_at<kAxis>(up), high_ahead = cell_at<kAxis>(up + axis.along);
    const Cell low = cell_at<kAxis>(down), low_ahead = cell_at<kAxis>(down + axis.along);
    stress_n = axis.normal * (ahead.n - here.n) +
               axis.mixed * ((high.t + high_ahead.t) - (low.t + low_ahead.t));
    stress_t = axis.shear * (ahead.t - here.t) +
               axis.turned * ((high.n + high_ahead.n) - (low.n + low_ahead.n));
  } else {
    const V density = 0.5 * (here.rho + ahead.rho);
    stress_n = axis.normal * density * (ahead.n - here.n);
    stress_t = axis.shear * density * (ahead.t - here.t);
  }
  flux.n -= stress_n;
  flux.t -= stress_t;
  flux.energy -= 0.5 * ((here.n + ahead.n) * stress_n + (here.t + ahead.t) * stress_t);
}

template <std::size_t kAxis, bool kFull>
void find_fluxes(const Faces& faces, double* speeds, double* fluxes) {
  find_speeds<kAxis>(faces, speeds);
  for (std::size_t f = 0; f < faces.n; ++f) {
    Flux flux = hllc(faces.left<kAxis>(f), faces.right<kAxis>(f), load(speeds + 2 * f * kRows),
                     load(speeds + (2 * f + 1) * kRows), faces.axis->enthalpy);
    subtract_stress<kAxis, kFull>(faces.c + f * kCell, *faces.axis, flux);
    put(fluxes + f * kCell, Cell{flux.mass, flux.n, flux.t, flux.energy});
  }
}

// Difference of the fluxes at two faces.
inline Flux difference(const double* behind, const double* before) {
  const Cell d = cell_at<0>(behind) - cell_at<0>(before);
  return {d.rho, d.n, d.t, d.p};
}

// Fills the ghost cells from the other end of each (periodic) axis, corners too.
void wrap(const Layout& layout, double* w) {
  const auto copy = [&](std::size_t to, std::size_t from, std::size_t n) {
    std::memcpy(w + to, w + from, n * sizeof(double));
  };
  for (std::size_t i = kGhosts; i < layout.nx + kGhosts; ++i) {
    copy(layout.at(i, 0), layout.at(i, layout.ny), kGhosts * kCell);
    copy(layout.at(i, layout.ny + kGhosts), layout.at(i, kGhosts), kGhosts * kCell);
  }
  copy(layout.at(0, 0), layout.at(layout.nx, 0), kGhosts * layout.row);
  copy(layout.at(layout.nx + kGhosts, 0), layout.at(kGhosts, 0), kGhosts * layout.row);
}

// One block of rows on its way through a learned step.
class Block {
 public:
  Block(const CnsStep& step, const double* shear, const double* bulk, double* work)
      : step_(step),
        shear_(load(shear)),
        bulk_(load(bulk)),
        layout_(step.points[0], step.points[1]),
        axes_{axis(0), axis(1)},
        now_(work),
        half_(now_ + layout_.size()),
        line_(half_ + layout_.size()) {}

  static std::size_t work(std::size_t x, std::size_t y) {
    return 2 * Layout(x, y).size() + kLines * line(y);
  }

  void advance(std::size_t count, double* state, LaneEnd* ends) {
    take(state);
    Rows rows(count, ends);
    V elapsed{};
    for (std::size_t taken = 1; rows.any(); ++taken) {
      wrap(layout_, now_);
      const V wish = step_.cfl / rate();
      const V left = step_.dt - elapsed;
      const Mask last = wish >= left;
      const V h = last ? left : wish;

      Mask inside = ~Mask{};
      stage(now_, 0.5 * h, ~Mask{}, half_, inside);
      wrap(layout_, half_);
      stage(half_, h, rows.active(), now_, inside);
      elapsed += h;
      rows.end_step(inside, last, taken, step_.max_steps);
    }
    give(now_, state);
  }

 private:
  static constexpr std::size_t kLines = 7;
  static std::size_t line(std::size_t y) { return (y + 2) * kCell; }

  Axis axis(std::size_t a) const {
    const double along = step_.dx[a], across = step_.dx[1 - a];
    const V eta = shear_, normal = 4.0 * eta / 3.0 + bulk_;
    return {.along = a == 0 ? layout_.row : kCell,
            .across = a == 0 ? kCell : layout_.row,
            .normal = normal / along,
            .mixed = (bulk_ - 2.0 * eta / 3.0) / (4.0 * across),
            .shear = eta / along,
            .turned = eta / (4.0 * across),
            .half_gamma_1 = 0.5 * (step_.gamma - 1.0),
            .gamma = step_.gamma,
            .enthalpy = step_.gamma / (step_.gamma - 1.0)};
  }

  // Between [channel, x, y] and our layout; pressures below the floor are raised.
  void take(const double* state) {
    const V floor = broadcast(step_.floor);
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t i = 0; i < layout_.nx; ++i)
        for (std::size_t j = 0; j < layout_.ny; ++j, state += kRows) {
          const V value = load(state);
          store(now_ + layout_.at(i + kGhosts, j + kGhosts) + c * kRows,
                c == 3 ? larger(value, floor) : value);
        }
  }
  void give(const double* from, double* state) const {
    for (std::size_t c = 0; c < kChannels; ++c)
      for (std::size_t i = 0; i < layout_.nx; ++i)
        for (std::size_t j = 0; j < layout_.ny; ++j, state += kRows)
          store(state, load(from + layout_.at(i + kGhosts, j + kGhosts) + c * kRows));
  }

  // 1/h at cfl = 1: the largest over the cells of the sum over axes of (|v| + c)/dx + 2 D/dx^2,
  // where D is the larger diffusivity of velocities in a cell. Advection and diffusion add up, so
  // that any cfl <= 1 is stable.
  V rate() const {
    const V normal = 4.0 * shear_ / 3.0 + bulk_;
    const double per_x = 1.0 / step_.dx[0], per_y = 1.0 / step_.dx[1];
    const V spread_x = normal * per_x * per_x, spread_y = normal * per_y * per_y;
    V fastest{};
    for (std::size_t i = kGhosts; i < layout_.nx + kGhosts; ++i)
      for (std::size_t j = kGhosts; j < layout_.ny + kGhosts; ++j) {
        const double* c = now_ + layout_.at(i, j);
        const Cell cell = cell_at<0>(c);
        const V per_rho = 1.0 / cell.rho;
        const V sound = root(step_.gamma * cell.p * per_rho);
        V weight_x, weight_y;
        if (step_.full_tensor) {
          weight_x = weight_y = 2.0 * per_rho;
        } else {  // the faces' densities over the cell's: 2 where they are equal
          const V twice = 2.0 * cell.rho, half = 0.5 * per_rho;
          weight_x = ((load(c - layout_.row) + load(c + layout_.row)) + twice) * half;
          weight_y = ((load(c - kCell) + load(c + kCell)) + twice) * half;
        }
        const V x = (magnitude(cell.n) + sound) * per_x + spread_x * weight_x;
        const V y = (magnitude(cell.t) + sound) * per_y + spread_y * weight_y;
        fastest = larger(x + y, fastest);
      }
    return fastest;
  }

  void stage(const double* from, V h, Mask active, double* to, Mask& inside) {
    if (step_.full_tensor)
      stage_with<true>(from, h, active, to, inside);
    else
      stage_with<false>(from, h, active, to, inside);
  }

  // to = now + h times the rate of change of `from`, in active lanes; clears `inside` where that is
  // not a state of a gas within the bound.
  template <bool kFull>
  void stage_with(const double* from, V h, Mask active, double* to, Mask& inside) {
    const V over_x = h / step_.dx[0], over_y = h / step_.dx[1];
    for_cells<kFull>(from, [&](std::size_t at, const Flux& x, const Flux& y) {
      update(now_ + at, over_x * x.mass + over_y * y.mass, over_x * x.n + over_y * y.t,
             over_x * x.t + over_y * y.n, over_x * x.energy + over_y * y.energy, active, to + at,
             inside);
    });
  }

  // visit(at, x, y) for every cell: where it lies, and what flows out of it along x and along y.
  template <bool kFull, class Visit>
  void for_cells(const double* from, const Visit& visit) {
    const std::size_t ny = layout_.ny, length = line(ny);
    // Along x the slopes and fluxes behind one row of cells are those before the next.
    double *slopes = line_, *next_slopes = slopes + length, *before = next_slopes + length;
    double *behind = before + length, *y_slopes = behind + length, *y_fluxes = y_slopes + length;
    double* speeds = y_fluxes + length;
    const auto x_faces = [&](std::size_t i, double* fluxes) {
      const double* c = from + layout_.at(i, kGhosts);
      find_slopes<0>(c + layout_.row, axes_[0], ny, next_slopes);
      find_fluxes<0, kFull>({c, ny, slopes, next_slopes, &axes_[0]}, speeds, fluxes);
      exchange(slopes, next_slopes);
    };
    find_slopes<0>(from + layout_.at(kGhosts - 1, kGhosts), axes_[0], ny, slopes);
    x_faces(kGhosts - 1, before);
    for (std::size_t i = kGhosts; i < layout_.nx + kGhosts; ++i) {
      x_faces(i, behind);
      const double* c = from + layout_.at(i, kGhosts - 1);
      find_slopes<1>(c, axes_[1], ny + 2, y_slopes);
      find_fluxes<1, kFull>({c, ny + 1, y_slopes, y_slopes + kCell, &axes_[1]}, speeds, y_fluxes);
      for (std::size_t j = 0; j < ny; ++j) {
        const std::size_t f = j * kCell;
        visit(layout_.at(i, j + kGhosts), difference(behind + f, before + f),
              difference(y_fluxes + f + kCell, y_fluxes + f));
      }
      exchange(before, behind);
    }
  }

  // Takes mass, momentum and energy out of a cell. Written in changes of the primitive variables,
  // so that nothing moves, not by a bit, where nothing is taken.
  void update(const double* cell, V mass, V momentum_x, V momentum_y, V energy, Mask active,
              double* to, Mask& inside) const {
    const Cell old = cell_at<0>(cell);
    const V rho = old.rho - mass;
    const V per_rho = 1.0 / rho;
    const V vx = old.n - (momentum_x - old.n * mass) * per_rho;
    const V vy = old.t - (momentum_y - old.t * mass) * per_rho;
    const V slowed = 0.5 * (old.rho * (old.n * old.n + old.t * old.t) - rho * (vx * vx + vy * vy));
    const V p = old.p + (step_.gamma - 1.0) * (slowed - energy);
    const V bound = broadcast(step_.bound);
    inside &= (rho > 0.0) & (rho <= bound) & (magnitude(vx) <= bound) & (magnitude(vy) <= bound) &
              (magnitude(p) <= bound);
    const V raised = larger(p, broadcast(step_.floor));
    put(to, Cell{active ? rho : old.rho, active ? vx : old.n, active ? vy : old.t,
                 active ? raised : old.p});
  }

  const CnsStep& step_;
  V shear_, bulk_;
  Layout layout_;
  Axis axes_[2];
  double *now_, *half_;  // the state at the beginning of an internal step and in its middle
  double* line_;         // kLines rows of slopes, fluxes or speeds
};

void advance(const CnsStep& step, const double* shear, const double* bulk, std::size_t rows,
             double* state, double* work, LaneEnd* ends) {
  Block(step, shear, bulk, work).advance(rows, state, ends);
}

}  // namespace

const CnsKernel kCnsKernel = {kRows, Block::work, advance};

}  // namespace stap::STAP_ISA
