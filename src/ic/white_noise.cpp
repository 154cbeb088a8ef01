#include "stap/ic/white_noise.h"

namespace stap {
namespace {

class WhiteNoise final : public Sampler {
 public:
  WhiteNoise(const WhiteNoiseOptions& options, const Grid& grid)
      : Sampler("white-noise", grid, options.warm_up), deviation_(options.deviation) {}

 private:
  void fill(const Rng& rng, std::span<double> state) const override {
    for (std::size_t v = 0; v < state.size(); ++v) state[v] = deviation_ * rng.normal(v);
  }

  double deviation_;
};

}  // namespace

const config::Fields<WhiteNoiseOptions>& white_noise_fields() {
  using O = WhiteNoiseOptions;
  static const config::Fields<O> fields{
      {"deviation", &O::deviation, "standard deviation of a value", config::at_least(0)},
      {"warm_up", &O::warm_up, "time a drawn state is evolved before it is used",
       config::at_least(0), "time"},
  };
  return fields;
}

std::unique_ptr<Sampler> make_white_noise(const WhiteNoiseOptions& options, const Grid& grid) {
  // The field table is the one place that states ranges.
  const auto& fields = white_noise_fields();
  config::read(fields, config::to_value(fields, options), "white-noise");
  return std::make_unique<WhiteNoise>(options, grid);
}

}  // namespace stap
