#include "stap/ic/sines.h"

#include <algorithm>
#include <numbers>

#include <fmt/format.h>

#include "ic/interval.h"
#include "stap/core/error.h"

namespace stap {
namespace {

class Sines final : public Sampler {
 public:
  Sines(const SinesOptions& options, const Grid& grid)
      : Sampler("sines", require_interval(grid, "sines"), options.warm_up), options_(options) {}

 private:
  // Every quantity has a stream of its own, so a draw keeps its value when options change how many
  // others there are.
  void fill(const Rng& rng, std::span<double> state) const override {
    const Rng amplitude = rng.split("amplitude"), phase = rng.split("phase");
    const Rng wave_number = rng.split("wave number");
    std::fill(state.begin(), state.end(), 0.0);
    for (std::size_t j = 0; j < options_.terms; ++j)
      add_sine(amplitude.uniform(j, options_.amplitude_low, options_.amplitude_high),
               static_cast<double>(1 + wave_number.below(j, options_.max_wave_number)),
               phase.uniform(j, 0.0, 2.0 * std::numbers::pi), state);
  }

  SinesOptions options_;
};

}  // namespace

const config::Fields<SinesOptions>& sines_fields() {
  using O = SinesOptions;
  static const config::Fields<O> fields{
      {"terms", &O::terms, "number of sines", config::between(1, 1000)},
      {"max_wave_number", &O::max_wave_number, "wave numbers are drawn from 1 to this",
       config::between(1, 1e6)},
      {"amplitude_low", &O::amplitude_low, "amplitudes are drawn from this ..."},
      {"amplitude_high", &O::amplitude_high, "... to this"},
      {"warm_up", &O::warm_up, "time a drawn state is evolved before it is used",
       config::at_least(0), "time"},
  };
  return fields;
}

std::unique_ptr<Sampler> make_sines(const SinesOptions& options, const Grid& grid) {
  // The field table is the one place that states ranges of single options.
  const auto& fields = sines_fields();
  config::read(fields, config::to_value(fields, options), "sines");
  if (!(options.amplitude_low <= options.amplitude_high))
    throw Error(ErrorKind::config,
                fmt::format("sines: amplitude_low = {:g} is above amplitude_high = {:g}",
                            options.amplitude_low, options.amplitude_high));
  return std::make_unique<Sines>(options, grid);
}

}  // namespace stap
