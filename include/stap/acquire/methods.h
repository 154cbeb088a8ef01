#pragma once

#include <cstddef>
#include <memory>

#include "stap/acquire/chooser.h"
#include "stap/acquire/selector.h"
#include "stap/config/fields.h"

namespace stap {

/// Probability proportional to q^exponent, without replacement.
struct SbalOptions {
  double exponent = 1.0;
};
/// Search for the pattern of largest utility per step bought: starts at all ones; every proposal
/// flips each bit with probability epsilon.
struct StapOptions {
  std::size_t proposals = 100;
  double epsilon = 0.1;
};
/// Of methods without options.
struct NoOptions {};

const config::Fields<SbalOptions>& sbal_fields();
const config::Fields<StapOptions>& stap_fields();
const config::Fields<NoOptions>& no_fields();

/// Uniform without replacement; never asks the committee.
std::unique_ptr<Selector> make_random();
/// Largest q first.
std::unique_ptr<Selector> make_qbc();
/// Throws Error(config) if an option is out of the range of its field; so does make_stap.
std::unique_ptr<Selector> make_sbal(const SbalOptions& options);
/// Largest cluster maximum distance (Holzmueller et al.), and greedy k-centre, both on sketched
/// hidden activations; trajectories of the pool that are not open are centres.
std::unique_ptr<Selector> make_lcmd();
std::unique_ptr<Selector> make_core_set();

/// All steps.
std::unique_ptr<StepChooser> make_full();
std::unique_ptr<StepChooser> make_stap(const StapOptions& options);

}  // namespace stap
