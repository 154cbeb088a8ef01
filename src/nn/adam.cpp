#include "nn/adam.h"

#include <cmath>
#include <numbers>

namespace stap {

double cosine_rate(const FitOptions& options, int epoch) {
  return options.learning_rate * 0.5 *
         (1.0 + std::cos(std::numbers::pi * epoch / static_cast<double>(options.epochs)));
}

AdamFactors adam_factors(const FitOptions& o, double rate, std::int64_t step) {
  const double t = static_cast<double>(step);
  return {.rate = static_cast<float>(rate / (1.0 - std::pow(o.beta1, t))),
          .beta1 = static_cast<float>(o.beta1),
          .beta2 = static_cast<float>(o.beta2),
          .root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(o.beta2, t))),
          .epsilon = static_cast<float>(o.epsilon)};
}

}  // namespace stap
