// Many short real transforms: ours, columns and rows, against FFTW's plan_many in the same layouts.
// One JSON object per line. Outputs are compared before anything is timed; the contestants take
// turns, and each is given its best time. One thread.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/fft_rows.h"
#include "stap/core/fft.h"
#include "stap/core/isa.h"
#include "stap/core/rng.h"

#if defined(STAP_HAVE_FFTW)
#include <fftw3.h>
#endif

namespace {

using std::size_t;

#if defined(STAP_HAVE_FFTW)
/// A batch of real forward transforms by FFTW: element j of transform b is at j * stride + b *
/// dist.
template <class T>
struct Fftw;

template <>
struct Fftw<float> {
  using Mode = fftwf_complex;
  fftwf_plan plan;
  Fftw(std::vector<int> n, int batch, float* in, int stride, int dist, float* out, int out_stride,
       int out_dist)
      : plan(fftwf_plan_many_dft_r2c(static_cast<int>(n.size()), n.data(), batch, in, nullptr,
                                     stride, dist, reinterpret_cast<Mode*>(out), nullptr,
                                     out_stride, out_dist, FFTW_MEASURE)) {}
  ~Fftw() { fftwf_destroy_plan(plan); }
  Fftw(const Fftw&) = delete;
  void operator()() const { fftwf_execute(plan); }
};

template <>
struct Fftw<double> {
  using Mode = fftw_complex;
  fftw_plan plan;
  Fftw(std::vector<int> n, int batch, double* in, int stride, int dist, double* out, int out_stride,
       int out_dist)
      : plan(fftw_plan_many_dft_r2c(static_cast<int>(n.size()), n.data(), batch, in, nullptr,
                                    stride, dist, reinterpret_cast<Mode*>(out), nullptr, out_stride,
                                    out_dist, FFTW_MEASURE)) {}
  ~Fftw() { fftw_destroy_plan(plan); }
  Fftw(const Fftw&) = delete;
  void operator()() const { fftw_execute(plan); }
};
#endif

/// Best seconds of each contestant over several rounds in which all take turns.
std::vector<double> race(const std::vector<std::function<void()>>& contestants) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(contestants.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      contestants[i]();  // warm
      int calls = 0;
      const auto start = Clock::now();
      double seconds = 0;
      while (seconds < 0.001) {
        contestants[i]();
        ++calls;
        seconds = std::chrono::duration<double>(Clock::now() - start).count();
      }
      best[i] = std::min(best[i], seconds / calls);
    }
  }
  return best;
}

template <class T>
void expect_close(const std::vector<T>& ours, const std::vector<T>& theirs, const char* what) {
  double error = 0, size = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    error += std::pow(static_cast<double>(ours[i]) - static_cast<double>(theirs[i]), 2);
    size += std::pow(static_cast<double>(theirs[i]), 2);
  }
  if (std::sqrt(error / size) < 50 * static_cast<double>(std::numeric_limits<T>::epsilon())) return;
  fmt::print(stderr, "{}: outputs differ by {} (relative)\n", what, std::sqrt(error / size));
  std::exit(1);
}

void report(const std::string& size, double points, const char* type, const char* layout,
            size_t batch, double ours, double theirs) {
  const double ns = 1e9 / static_cast<double>(batch);
  fmt::print(
      "{{\"bench\":\"fft\",\"n\":\"{}\",\"type\":\"{}\",\"layout\":\"{}\",\"isa\":\"{}\","
      "\"rows\":{},\"ns_per_row\":{:.1f},\"gflops\":{:.2f}",
      size, type, layout, stap::to_string(stap::active_isa()), batch, ours * ns,
      2.5 * points * std::log2(points) / (ours * ns));
  if (theirs > 0)
    fmt::print(",\"fftw_ns_per_row\":{:.1f},\"factor\":{:.2f}", theirs * ns, theirs / ours);
  fmt::print("}}\n");
  std::fflush(stdout);
}

template <class T>
std::vector<T> noise(size_t count) {
  const stap::Rng rng(7);
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(rng.normal(i));
  return values;
}

/// `batch` rows of n, as the network ([n][64 columns] blocks) and as a solver (rows) holds them.
template <class T>
void one_dimension(size_t n, const char* type) {
  constexpr size_t columns = 64;
  const size_t batch = n <= 256 ? 2048 : 512, m = n / 2 + 1, blocks = batch / columns;
  std::vector<T> in = noise<T>(batch * n);
  std::vector<T> ours(2 * batch * m), theirs(2 * batch * m), column_in(batch * n), re(batch * m),
      im(batch * m);
  for (size_t b = 0; b < blocks; ++b)
    for (size_t j = 0; j < n; ++j)
      for (size_t c = 0; c < columns; ++c)
        column_in[(b * n + j) * columns + c] = in[(b * columns + c) * n + j];

  const stap::Fft<T> fft(n);
  std::vector<T> scratch(fft.scratch_size());
  const auto by_columns = [&] {
    for (size_t b = 0; b < blocks; ++b)
      fft.real_forward(column_in.data() + b * n * columns, columns, re.data() + b * m * columns,
                       im.data() + b * m * columns, columns, columns, m, scratch.data());
  };
  const auto few_modes = [&] {
    for (size_t b = 0; b < blocks; ++b)
      fft.real_forward(column_in.data() + b * n * columns, columns, re.data() + b * m * columns,
                       im.data() + b * m * columns, columns, columns, std::min<size_t>(m, 16),
                       scratch.data());
  };
  const stap::RealFftRows<T> rows_fft(n);
  std::vector<T> rows_scratch(rows_fft.scratch_size());
  const auto by_rows = [&] {
    rows_fft.forward(in.data(), batch, reinterpret_cast<std::complex<T>*>(ours.data()),
                     rows_scratch.data());
  };
  std::vector<std::function<void()>> contestants = {by_columns, by_rows, few_modes};

#if defined(STAP_HAVE_FFTW)
  const std::vector<int> size = {static_cast<int>(n)};
  const int wide = static_cast<int>(columns);
  // FFTW writes pairs; its column plan covers one block and is run on each by new-array execute's
  // rules only with equal alignment, so a plan per block keeps it simple and fair.
  std::vector<T> column_out(2 * batch * m), keep = in;
  const Fftw<T> their_rows(size, static_cast<int>(batch), in.data(), 1, static_cast<int>(n),
                           theirs.data(), 1, static_cast<int>(m));
  std::vector<std::unique_ptr<Fftw<T>>> their_columns;
  std::vector<T> keep_columns = column_in;
  for (size_t b = 0; b < blocks; ++b)
    their_columns.push_back(
        std::make_unique<Fftw<T>>(size, wide, column_in.data() + b * n * columns, wide, 1,
                                  column_out.data() + 2 * b * m * columns, wide, 1));
  in = keep;  // measuring overwrites its input
  column_in = keep_columns;
  contestants.push_back([&] {
    for (const auto& plan : their_columns) (*plan)();
  });
  contestants.push_back([&] { their_rows(); });

  for (const auto& run : contestants) run();
  by_columns();
  expect_close(ours, theirs, "rows");
  std::vector<T> ours_columns(2 * batch * m);
  for (size_t i = 0; i < batch * m; ++i) {
    ours_columns[2 * i] = re[i];
    ours_columns[2 * i + 1] = im[i];
  }
  expect_close(ours_columns, column_out, "columns");
#endif

  const std::vector<double> best = race(contestants);
  const bool fftw = best.size() == 5;
  const double points = static_cast<double>(n);
  report(std::to_string(n), points, type, "columns", batch, best[0], fftw ? best[3] : 0);
  report(std::to_string(n), points, type, "columns, 16 modes", batch, best[2], fftw ? best[3] : 0);
  report(std::to_string(n), points, type, "rows", batch, best[1], fftw ? best[4] : 0);
}

template <class T>
void two_dimensions(size_t nx, size_t ny, const char* type) {
  const size_t batch = 64, m = ny / 2 + 1;
  std::vector<T> in = noise<T>(batch * nx * ny);
  std::vector<T> ours(2 * batch * nx * m), theirs(2 * batch * nx * m);
  const stap::RealFft2<T> fft(nx, ny);
  std::vector<T> scratch(fft.scratch_size());
  std::vector<std::function<void()>> contestants = {[&] {
    fft.forward(in.data(), batch, reinterpret_cast<std::complex<T>*>(ours.data()), scratch.data());
  }};
#if defined(STAP_HAVE_FFTW)
  const std::vector<T> keep = in;
  const Fftw<T> their(std::vector<int>{static_cast<int>(nx), static_cast<int>(ny)},
                      static_cast<int>(batch), in.data(), 1, static_cast<int>(nx * ny),
                      theirs.data(), 1, static_cast<int>(nx * m));
  in = keep;
  contestants.push_back([&] { their(); });
  for (const auto& run : contestants) run();
  expect_close(ours, theirs, "states");
#endif
  const std::vector<double> best = race(contestants);
  report(fmt::format("{}x{}", nx, ny), static_cast<double>(nx * ny), type, "rows", batch, best[0],
         best.size() > 1 ? best[1] : 0);
}

}  // namespace

int main(int argc, char** argv) {
  for (size_t n : {32u, 64u, 128u, 256u, 1024u}) {
    if (argc > 1 && std::to_string(n) != argv[1]) continue;
    one_dimension<float>(n, "float");
    one_dimension<double>(n, "double");
  }
  if (argc > 1 && std::string(argv[1]) != "32x32") return 0;
  two_dimensions<float>(32, 32, "float");
  two_dimensions<double>(32, 32, "double");
}
