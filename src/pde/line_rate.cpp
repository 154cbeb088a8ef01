#include "pde/line_rate.h"

#include "core/parallel.h"
#include "pde/line_rate_kernels.h"
#include "pde/line_solver.h"
#include "stap/core/isa.h"

namespace stap {
namespace {

class LineRightHandSide final : public RightHandSide {
 public:
  LineRightHandSide(const Grid& grid, double dt, const std::vector<std::complex<double>>& linear,
                    int threads)
      : RightHandSide(grid, dt),
        plan_(grid.points[0], active_isa()),
        threads_(thread_count(threads)),
        kernel_(STAP_CHOOSE_ISA(active_isa(), kLineRateKernel)) {
    const std::size_t n = grid.points[0];
    const double scale = 1.0 / static_cast<double>(n);  // of the way back
    for (std::size_t j = 0; j <= n / 2; ++j) {
      const double slope = 2 * j == n ? 0.0 : -0.5 * wave_number(grid, j);
      for (double value : {linear[j].real(), linear[j].imag(), slope})
        table_.push_back(scale * value);
    }
    line_ = {.fft = line_fft(plan_), .table = table_.data()};
  }

 private:
  void compute(double, StatesView<const double> states, StatesView<double> rates) const override {
    const LaneBlocks blocks{.lanes = kernel_.lanes,
                            .values = grid().values(),
                            .work = kernel_.work(line_.fft),
                            .threads = threads_};

    rates_in_lanes(blocks, states, rates,
                   [&](double* state, double* work) { kernel_.rate(line_, state, work); });
  }

  FftPlan<double> plan_;
  std::vector<double> table_;
  LineRate line_;
  int threads_;
  const LineRateKernel& kernel_;
};

}  // namespace

std::unique_ptr<RightHandSide> make_line_rhs(const Grid& grid, double dt,
                                             const std::vector<std::complex<double>>& linear,
                                             int threads) {
  return std::make_unique<LineRightHandSide>(grid, dt, linear, threads);
}

}  // namespace stap
