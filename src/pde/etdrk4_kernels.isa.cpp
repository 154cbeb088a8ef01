#include "pde/etdrk4_kernels.h"

#include "pde/line_lanes.h"

namespace stap::STAP_ISA {
namespace {

// A complex coefficient of mode k, the same for all lanes or of each.
struct OneTable {
  const double* table;
  Mode operator()(std::size_t k, Etdrk4Column column) const {
    const double* const c = table + k * kEtdColumns + column;
    return {broadcast(c[0]), broadcast(c[1])};
  }
};
struct TablePerLane {
  const double* table;
  Mode operator()(std::size_t k, Etdrk4Column column) const {
    const double* const c = table + (k * kEtdColumns + column) * kRows;
    return {load(c), load(c + kRows)};
  }
};

// c x and sum + c x.
inline Mode times(Mode c, Mode x) {
  return {fnma(c.im, x.im, c.re * x.re), fma(c.im, x.re, c.re * x.im)};
}
inline Mode plus_times(Mode sum, Mode c, Mode x) {
  return {fnma(c.im, x.im, fma(c.re, x.re, sum.re)), fma(c.im, x.re, fma(c.re, x.im, sum.im))};
}

std::size_t work_size(const LineFft& fft) {
  return 7 * mode_values(fft.points) + fft.scratch;
}

template <class Table>
void advance_with(Table c, const Etdrk4Step& step, std::size_t rows, double* u, double* work,
                  LaneEnd* ends) {
  const LineFft& fft = step.fft;
  const std::size_t modes = fft.modes(), size = mode_values(fft.points);
  double* const v = work;             // the state
  double* const a = work + size;      // the stage values ...
  double* const b = work + 2 * size;  // ... b and then c
  double* const sv = work + 3 * size;
  double* const sa = work + 4 * size;  // then S_a + S_b
  double* const sb = work + 5 * size;
  double* const sc = work + 6 * size;
  double* const scratch = work + 7 * size;
  const V bound = broadcast(step.bound);
  Mask inside = ~Mask{};
  const auto squares_of = [&](const double* stage, double* squares) {
    to_grid(fft, stage, squares, scratch);
    inside &= square(fft.points, squares, bound, squares);
    to_modes(fft, squares, squares, scratch);
  };

  to_modes(fft, u, v, scratch);
  const V scale = broadcast(1.0 / static_cast<double>(fft.points));
  for (std::size_t i = 0; i < 2 * modes; ++i) store(v + i * kRows, scale * load(v + i * kRows));

  std::size_t open = rows;
  for (std::size_t r = 0; r < rows; ++r) ends[r] = {LaneEnd::How::finished, step.steps};
  const auto end_lanes = [&](std::size_t taken) {
    for (std::size_t r = 0; r < rows; ++r)
      if (!inside[r] && ends[r].how == LaneEnd::How::finished) {
        ends[r] = {LaneEnd::How::unbounded, taken};
        --open;
      }
  };
  for (std::size_t taken = 1; taken <= step.steps && open > 0; ++taken) {
    squares_of(v, sv);
    for (std::size_t k = 0; k < modes; ++k) {
      put_mode(a, k,
               plus_times(times(c(k, kEtdHalf), get_mode(v, k)), c(k, kEtdStage), get_mode(sv, k)));
    }
    squares_of(a, sa);
    for (std::size_t k = 0; k < modes; ++k) {
      put_mode(b, k,
               plus_times(times(c(k, kEtdHalf), get_mode(v, k)), c(k, kEtdStage), get_mode(sa, k)));
    }
    squares_of(b, sb);
    for (std::size_t k = 0; k < modes; ++k) {
      const Mode of_v = get_mode(sv, k), of_a = get_mode(sa, k), of_b = get_mode(sb, k);
      const Mode difference = {2.0 * of_b.re - of_v.re, 2.0 * of_b.im - of_v.im};
      put_mode(b, k,
               plus_times(times(c(k, kEtdHalf), get_mode(a, k)), c(k, kEtdStage), difference));
      put_mode(sa, k, {of_a.re + of_b.re, of_a.im + of_b.im});
    }
    squares_of(b, sc);
    for (std::size_t k = 0; k < modes; ++k) {
      Mode sum = times(c(k, kEtdFull), get_mode(v, k));
      sum = plus_times(sum, c(k, kEtdFirst), get_mode(sv, k));
      sum = plus_times(sum, c(k, kEtdMiddle), get_mode(sa, k));
      put_mode(v, k, plus_times(sum, c(k, kEtdLast), get_mode(sc, k)));
    }
    end_lanes(taken);
  }

  to_grid(fft, v, u, scratch);
  inside &= square(fft.points, u, bound, sv);
  end_lanes(step.steps);
}

void advance(const Etdrk4Step& step, std::size_t rows, double* u, double* work, LaneEnd* ends) {
  if (step.per_lane)
    advance_with(TablePerLane{step.table}, step, rows, u, work, ends);
  else
    advance_with(OneTable{step.table}, step, rows, u, work, ends);
}

}  // namespace

const Etdrk4Kernel kEtdrk4Kernel = {kRows, work_size, advance};

}  // namespace stap::STAP_ISA
