#pragma once

#include <functional>
#include <memory>

#include "stap/config/registry.h"
#include "stap/core/make_context.h"
#include "stap/ic/sampler.h"

namespace stap {

/// A distribution of initial conditions.
struct SamplerRow : config::Entry {
  /// Of the context's grid. Throws Error(config) for options that do not fit each other, and for a
  /// grid that does not fit.
  std::function<std::unique_ptr<Sampler>(const config::AnyOptions&, const MakeContext&)> make{};
};

/// sines, burgers-as-coded, gaussian-field, gas-waves, white-noise, and what was added. None is
/// called `file` or `program`, which in a configuration are something else.
const config::Registry<SamplerRow>& sampler_table();
/// As config::Registry::add says, and when.
void add_sampler(SamplerRow row);

}  // namespace stap
