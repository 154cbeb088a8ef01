#pragma once

#include <memory>
#include <span>

#include "stap/config/family.h"
#include "stap/ic/sampler.h"

namespace stap {

/// A built-in distribution of initial conditions.
struct SamplerRow : config::Entry {
  /// Throws Error(config) with every problem of the options, and for a grid that does not fit.
  std::unique_ptr<Sampler> (*make)(const config::Value& options, const Grid& grid) = nullptr;
};

/// One row per distribution.
std::span<const SamplerRow> sampler_table();

}  // namespace stap
