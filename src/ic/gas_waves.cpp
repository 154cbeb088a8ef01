#include "stap/ic/gas_waves.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "ic/window.h"
#include "stap/core/error.h"

namespace stap {
namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;

const Grid& require_gas(const Grid& grid) {
  if (grid.axes() != 2 || grid.channels != 4)
    throw Error(ErrorKind::config,
                fmt::format("gas-waves: the grid is {}, expected four channels (density, velocity "
                            "x, velocity y, pressure) and two axes",
                            grid.shape_text()));
  return grid;
}

// cos and sin of 2 pi k x/X at the cell centres, for k = 1 .. n: [k - 1][cell].
struct Harmonics {
  std::size_t cells;
  std::vector<double> cosine, sine;

  Harmonics(std::size_t n, std::size_t points) : cells(points) {
    for (std::size_t k = 1; k <= n; ++k)
      for (std::size_t i = 0; i < cells; ++i) {
        const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(cells);
        cosine.push_back(std::cos(kTwoPi * static_cast<double>(k) * x));
        sine.push_back(std::sin(kTwoPi * static_cast<double>(k) * x));
      }
  }
};

// Every quantity has a stream of its own, and every wave of every field too, so a draw keeps its
// value when options change how many others there are.
class GasWaves final : public Sampler {
 public:
  GasWaves(const GasWavesOptions& options, const Grid& on)
      : Sampler("gas-waves", require_gas(on), options.warm_up),
        options_(options),
        x_(options.max_wave_number, on.points[0]),
        y_(options.max_wave_number, on.points[1]) {}

 private:
  void fill(const Rng& rng, std::span<double> state) const override {
    const GasWavesOptions& o = options_;
    const auto uniform = [&](const char* what, double low, double high) {
      return rng.split(what).uniform(0, low, high);
    };
    const double density = uniform("density", o.density_low, o.density_high);
    const double temperature = uniform("temperature", o.temperature_low, o.temperature_high);
    const double mach = uniform("mach", o.mach_low, o.mach_high);
    const std::size_t cells = grid().points_total();
    const auto rho = state.subspan(0, cells), vx = state.subspan(cells, cells),
               vy = state.subspan(2 * cells, cells), p = state.subspan(3 * cells, cells);

    add_contrast(rng.split("density phase"), density,
                 uniform("density contrast", o.density_contrast_low, o.density_contrast_high), rho);
    add_contrast(rng.split("pressure phase"), density * temperature,
                 uniform("pressure contrast", o.pressure_contrast_low, o.pressure_contrast_high),
                 p);
    waves(rng.split("velocity phase", 0), vx);
    waves(rng.split("velocity phase", 1), vy);
    double speed = 0.0;
    for (std::size_t i = 0; i < cells; ++i)
      speed += std::hypot(vx[i], vy[i]) / static_cast<double>(cells);
    const double scale = mach * std::sqrt(o.gamma * temperature) / speed;
    for (double& value : vx) value *= scale;
    for (double& value : vy) value *= scale;

    if (rng.split("window").uniform(0) < o.window_probability) {
      const double mean[] = {density, 0.0, 0.0, density * temperature};
      apply_window(rng.split("window edges"), mean, state);
    }
  }

  // mean (1 + contrast r / max|r|)
  void add_contrast(const Rng& phase, double mean, double contrast, std::span<double> field) const {
    waves(phase, field);
    double peak = 0.0;
    for (double value : field) peak = std::max(peak, std::abs(value));
    for (double& value : field) value = mean * (1.0 + contrast * (value / peak));
  }

  // The sum r. A wave and the one of opposite k differ by the sign of the angle only, and
  // sin(a + b + phi) comes from the tables of both axes.
  void waves(const Rng& phase, std::span<double> field) const {
    const auto n = static_cast<std::int64_t>(options_.max_wave_number);
    std::fill(field.begin(), field.end(), 0.0);
    for (std::int64_t i = -n; i <= n; ++i)
      for (std::int64_t j = -n; j <= n; ++j)
        if (i != 0 && j != 0) add_wave(i, j, phase_of(phase, i, j), field);
  }

  static double phase_of(const Rng& phase, std::int64_t i, std::int64_t j) {
    return phase.split("x", static_cast<std::uint64_t>(i))
        .split("y", static_cast<std::uint64_t>(j))
        .uniform(0, 0.0, kTwoPi);
  }

  void add_wave(std::int64_t i, std::int64_t j, double phi, std::span<double> field) const {
    const double amplitude =
        1.0 / std::sqrt(std::hypot(kTwoPi * static_cast<double>(i) / grid().lengths[0],
                                   kTwoPi * static_cast<double>(j) / grid().lengths[1]));
    const double sin_phi = std::sin(phi), cos_phi = std::cos(phi);
    const std::size_t x_row = static_cast<std::size_t>(std::abs(i) - 1) * x_.cells;
    const std::size_t y_row = static_cast<std::size_t>(std::abs(j) - 1) * y_.cells;
    const double x_sign = i < 0 ? -1.0 : 1.0, y_sign = j < 0 ? -1.0 : 1.0;
    for (std::size_t a = 0; a < x_.cells; ++a) {
      const double c = x_.cosine[x_row + a], s = x_sign * x_.sine[x_row + a];
      // sin and cos of k_x x + phi, then the addition theorem for k_y y.
      const double with_cos = amplitude * (s * cos_phi + c * sin_phi);
      const double with_sin = amplitude * y_sign * (c * cos_phi - s * sin_phi);
      double* row = field.data() + a * y_.cells;
      for (std::size_t b = 0; b < y_.cells; ++b)
        row[b] += with_cos * y_.cosine[y_row + b] + with_sin * y_.sine[y_row + b];
    }
  }

  void apply_window(const Rng& edges, std::span<const double> mean, std::span<double> state) const {
    std::vector<double> along[2];
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::size_t n = grid().points[axis];
      const double left = edges.uniform(2 * axis, 0.1, 0.45);
      const double right = edges.uniform(2 * axis + 1, 0.55, 0.9);
      for (std::size_t i = 0; i < n; ++i)
        along[axis].push_back(window((static_cast<double>(i) + 0.5) / static_cast<double>(n), left,
                                     right, options_.window_width));
    }
    double* value = state.data();
    for (double to : mean)
      for (double x : along[0])
        for (double y : along[1]) {
          *value = to + x * y * (*value - to);
          ++value;
        }
  }

  GasWavesOptions options_;
  Harmonics x_, y_;
};

}  // namespace

const config::Fields<GasWavesOptions>& gas_waves_fields() {
  using O = GasWavesOptions;
  static const config::Fields<O> fields{
      {"max_wave_number", &O::max_wave_number, "largest wave number along each axis",
       config::between(1, 1000)},
      {"gamma", &O::gamma, "ratio of the specific heats: the Mach number's", config::above(1)},
      {"density_low", &O::density_low, "mean densities are drawn from this", config::above(0),
       "density"},
      {"density_high", &O::density_high, "to this", config::above(0), "density"},
      {"temperature_low", &O::temperature_low, "mean pressure/density is drawn from this",
       config::above(0), "pressure/density"},
      {"temperature_high", &O::temperature_high, "to this", config::above(0), "pressure/density"},
      {"density_contrast_low", &O::density_contrast_low,
       "largest relative deviations of the density are drawn from this",
       config::at_least(0).below(1)},
      {"density_contrast_high", &O::density_contrast_high, "to this", config::at_least(0).below(1)},
      {"pressure_contrast_low", &O::pressure_contrast_low,
       "largest relative deviations of the pressure are drawn from this",
       config::at_least(0).below(1)},
      {"pressure_contrast_high", &O::pressure_contrast_high, "to this",
       config::at_least(0).below(1)},
      {"mach_low", &O::mach_low, "mean |v| in units of sqrt(gamma temperature), drawn from this",
       config::at_least(0)},
      {"mach_high", &O::mach_high, "to this", config::at_least(0)},
      {"window_probability", &O::window_probability, "how often the state is windowed",
       config::between(0, 1)},
      {"window_width", &O::window_width, "width of the window's edges, as a fraction of the length",
       config::above(0)},
      {"warm_up", &O::warm_up, "time a drawn state is evolved before it is used",
       config::at_least(0), "time"},
  };
  return fields;
}

std::unique_ptr<Sampler> make_gas_waves(const GasWavesOptions& options, const Grid& grid) {
  // The field table is the one place that states ranges; that they are not empty is said here.
  const auto& fields = gas_waves_fields();
  const GasWavesOptions o = config::read(fields, config::to_value(fields, options), "gas-waves");
  const struct {
    const char* name;
    double low, high;
  } ranges[] = {{"density", o.density_low, o.density_high},
                {"temperature", o.temperature_low, o.temperature_high},
                {"density_contrast", o.density_contrast_low, o.density_contrast_high},
                {"pressure_contrast", o.pressure_contrast_low, o.pressure_contrast_high},
                {"mach", o.mach_low, o.mach_high}};
  for (const auto& [name, low, high] : ranges)
    if (!(low <= high))
      throw Error(ErrorKind::config,
                  fmt::format("gas-waves: {0}_low = {1:g} is above {0}_high = {2:g}: make it the "
                              "smaller one",
                              name, low, high));
  return std::make_unique<GasWaves>(o, grid);
}

}  // namespace stap
