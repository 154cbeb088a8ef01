#include "stap/nn/options.h"

namespace stap {

const config::Fields<FnoOptions>& fno_fields() {
  using config::between;
  using Target = FnoOptions::Target;
  static const config::Fields<FnoOptions> fields{
      {"modes", &FnoOptions::modes,
       "kept Fourier modes per axis, counting both signs; none: 32, or 16 x 16",
       between(2, 65536).multiple_of(2).length(0, 2)},
      {"width", &FnoOptions::width, "channels of the hidden layers", between(1, 4096)},
      {"lifting", &FnoOptions::lifting, "hidden channels of the pointwise network in front",
       between(1, 65536)},
      {"projection", &FnoOptions::projection, "hidden channels of the pointwise network at the end",
       between(1, 65536)},
      {"layers", &FnoOptions::layers, "number of Fourier layers", between(1, 256)},
      {"target", &FnoOptions::target,
       "what the network predicts: the change over one step, or the next state itself",
       config::choices<Target>({{"delta", Target::delta}, {"state", Target::state}})},
      {"time_input", &FnoOptions::time_input,
       "also give it the time, 0 at the start of a trajectory and 1 at its end"},
  };
  return fields;
}

const config::Fields<FitOptions>& fit_fields() {
  using config::above;
  using config::at_least;
  using config::between;
  static const config::Fields<FitOptions> fields{
      {"epochs", &FitOptions::epochs, "passes over the transitions", between(1, 1e7)},
      {"batch", &FitOptions::batch, "transitions per gradient step", between(1, 32)},
      {"learning_rate", &FitOptions::learning_rate,
       "step size of Adam at the start; it falls to 0 along a cosine", above(0)},
      {"beta1", &FitOptions::beta1, "Adam: decay of the mean gradient", at_least(0).below(1)},
      {"beta2", &FitOptions::beta2, "Adam: decay of the mean squared gradient",
       at_least(0).below(1)},
      {"epsilon", &FitOptions::epsilon, "Adam: added to the root of the mean squared gradient",
       above(0)},
  };
  return fields;
}

}  // namespace stap
