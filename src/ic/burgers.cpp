#include "stap/ic/burgers.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ic/interval.h"
#include "ic/window.h"

namespace stap {
namespace {

class BurgersAsCoded final : public Sampler {
 public:
  BurgersAsCoded(const BurgersAsCodedOptions& options, const Grid& grid)
      : Sampler("burgers-as-coded", require_interval(grid, "burgers-as-coded"), options.warm_up),
        options_(options) {}

 private:
  // Every quantity has a stream of its own, so a draw keeps its value when options change how many
  // others there are.
  void fill(const Rng& rng, std::span<double> state) const override {
    std::vector<std::size_t> times_drawn(options_.terms, 0);
    const Rng which = rng.split("wave number");
    for (std::size_t j = 0; j < options_.draws; ++j) ++times_drawn[which.below(j, options_.terms)];

    const Rng amplitude = rng.split("amplitude"), phase = rng.split("phase");
    std::fill(state.begin(), state.end(), 0.0);
    for (std::size_t j = 0; j < options_.terms; ++j)
      add_sine(amplitude.uniform(j, 0.0, options_.amplitude),
               static_cast<double>((j + 1) * times_drawn[j]),
               phase.uniform(j, 0.0, 2.0 * std::numbers::pi), state);

    if (rng.split("sign").below(0, 2) == 1)
      for (double& value : state) value = -value;
    if (rng.split("absolute").uniform(0) < options_.absolute_probability)
      for (double& value : state) value = std::abs(value);
    const Rng edges = rng.split("window");
    if (edges.uniform(0) < options_.window_probability)
      apply_window(edges.uniform(1, 0.1, 0.45), edges.uniform(2, 0.55, 0.9), state);
  }

  // Left and right end as fractions of the length.
  void apply_window(double left, double right, std::span<double> state) const {
    const double n = static_cast<double>(state.size()), width = options_.window_width;
    for (std::size_t i = 0; i < state.size(); ++i) {
      const double x = (static_cast<double>(i) + 0.5) / n;
      state[i] *= window(x, left, right, width);
    }
  }

  BurgersAsCodedOptions options_;
};

}  // namespace

const config::Fields<BurgersAsCodedOptions>& burgers_as_coded_fields() {
  using O = BurgersAsCodedOptions;
  static const config::Fields<O> fields{
      {"terms", &O::terms, "number of terms, with wave numbers 1, 2, ...",
       config::between(1, 1000)},
      {"draws", &O::draws,
       "draws that switch terms on; a term drawn n times has n times its wave number, others are "
       "constants",
       config::between(0, 1000)},
      {"amplitude", &O::amplitude, "amplitudes are drawn from 0 to this", config::at_least(0)},
      {"absolute_probability", &O::absolute_probability, "how often the absolute value is taken",
       config::between(0, 1)},
      {"window_probability", &O::window_probability, "how often the state is windowed",
       config::between(0, 1)},
      {"window_width", &O::window_width, "width of the window's edges, as a fraction of the length",
       config::above(0)},
      {"warm_up", &O::warm_up, "time a drawn state is evolved before it is used",
       config::at_least(0), "time"},
  };
  return fields;
}

std::unique_ptr<Sampler> make_burgers_as_coded(const BurgersAsCodedOptions& options,
                                               const Grid& grid) {
  // The field table is the one place that states ranges.
  const auto& fields = burgers_as_coded_fields();
  config::read(fields, config::to_value(fields, options), "burgers-as-coded");
  return std::make_unique<BurgersAsCoded>(options, grid);
}

}  // namespace stap
