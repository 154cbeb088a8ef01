#include "pde/line_rate_kernels.h"

#include "pde/line_lanes.h"

namespace stap::STAP_ISA {
namespace {

std::size_t work_size(const LineFft& fft) {
  return 2 * mode_values(fft.points) + fft.scratch;
}

void rate(const LineRate& line, double* u, double* work) {
  const LineFft& fft = line.fft;
  double* const v = work;
  double* const squares = v + mode_values(fft.points);
  double* const scratch = squares + mode_values(fft.points);
  to_modes(fft, u, v, scratch);
  for (std::size_t i = 0; i < fft.points; ++i) {
    const V value = load(u + i * kRows);
    store(squares + i * kRows, value * value);
  }
  to_modes(fft, squares, squares, scratch);
  for (std::size_t k = 0; k < fft.modes(); ++k) {
    const double* const row = line.table + k * kLineColumns;
    const V re = broadcast(row[kLineLinear]), im = broadcast(row[kLineLinear + 1]);
    const V slope = broadcast(row[kLineSlope]);
    const Mode of_u = get_mode(v, k), of_squares = get_mode(squares, k);
    put_mode(v, k,
             {fnma(slope, of_squares.im, fnma(im, of_u.im, re * of_u.re)),
              fma(slope, of_squares.re, fma(im, of_u.re, re * of_u.im))});
  }
  to_grid(fft, v, u, scratch);
}

}  // namespace

const LineRateKernel kLineRateKernel = {kRows, work_size, rate};

}  // namespace stap::STAP_ISA
