#include "nn/adam.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stap {

double learning_rate(const FitOptions& options, int epoch, std::int64_t step) {
  const bool by_step = options.steps > 0;
  const double done = by_step ? static_cast<double>(step) : epoch;
  const double all = by_step ? options.steps : options.epochs;
  switch (options.schedule) {
    case FitOptions::Schedule::constant:
      return options.learning_rate;
    case FitOptions::Schedule::linear:
      return options.learning_rate * (1.0 - done / all);
    case FitOptions::Schedule::cosine:
      break;
  }
  return options.learning_rate * 0.5 * (1.0 + std::cos(std::numbers::pi * done / all));
}

AdamFactors adam_factors(const FitOptions& o, double rate, std::int64_t step) {
  const double t = static_cast<double>(step);
  return {.rate = static_cast<float>(rate / (1.0 - std::pow(o.beta1, t))),
          .beta1 = static_cast<float>(o.beta1),
          .beta2 = static_cast<float>(o.beta2),
          .root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(o.beta2, t))),
          .epsilon = static_cast<float>(o.epsilon)};
}

float average_part(const FitOptions& o, std::int64_t step) {
  if (o.average == 0.0) return 0.0f;
  const double t = static_cast<double>(step);
  return static_cast<float>(1.0 - std::min(o.average, (1.0 + t) / (10.0 + t)));
}

}  // namespace stap
