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
/// Of selectors by distance: how trajectories become points. There is one way; runs name it.
struct SketchOptions {
  enum class Sketch : unsigned char { sparse };
  Sketch sketch = Sketch::sparse;
};
/// Search for the pattern of largest utility per step bought: starts at all ones; every proposal
/// flips each bit with probability epsilon.
struct StapOptions {
  std::size_t proposals = 100;
  double epsilon = 0.1;
};
/// How the best single step is looked for: until no other can be better, or until no other is
/// likely to be (docs/reference/methods.md), for a fraction of the cost.
struct StapOneOptions {
  enum class Search : unsigned char { exact, quick };
  Search search = Search::exact;
};
/// Every step with probability p, by itself.
struct BernoulliOptions {
  double p = 0.125;
};
/// Steps 1, 1 + k, 1 + 2k, ...
struct EveryOptions {
  std::size_t k = 2;
};
/// Of methods without options.
struct NoOptions {};

const config::Fields<SbalOptions>& sbal_fields();
const config::Fields<SketchOptions>& sketch_fields();
const config::Fields<StapOptions>& stap_fields();
const config::Fields<StapOneOptions>& stap_one_fields();
const config::Fields<BernoulliOptions>& bernoulli_fields();
const config::Fields<EveryOptions>& every_fields();
const config::Fields<NoOptions>& no_fields();

/// Uniform without replacement; never asks the committee.
std::unique_ptr<Selector> make_random();
/// Largest q first.
std::unique_ptr<Selector> make_qbc();
/// Throws Error(config) if an option is out of the range of its field; so do all below.
std::unique_ptr<Selector> make_sbal(const SbalOptions& options);
/// Largest cluster maximum distance (Holzmueller et al.), and greedy k-centre, both on sketched
/// hidden activations; trajectories of the pool that are not open are centres.
std::unique_ptr<Selector> make_lcmd();
std::unique_ptr<Selector> make_core_set();

/// All steps.
std::unique_ptr<StepChooser> make_full();
/// The mean of R(a,b,S) over ordered pairs of different members, by search.
std::unique_ptr<StepChooser> make_stap(const StapOptions& options);
/// The same search with the mean model in the place of a: M rollouts a pattern, not M(M-1).
std::unique_ptr<StepChooser> make_stap_mf(const StapOptions& options);
/// STAP's utility, the best of all 2^L - 1 patterns, L at most 16. Of equally good ones the one
/// with the fewest steps; of these the first as text ("0011" before "0101").
std::unique_ptr<StepChooser> make_exact();
/// An empty draw is redrawn.
std::unique_ptr<StepChooser> make_bernoulli(const BernoulliOptions& options);
/// As many steps as make_bernoulli's draw for the same candidate has, from the first on.
std::unique_ptr<StepChooser> make_initial_bernoulli(const BernoulliOptions& options);
/// The first step is always bought, so a pattern is never empty.
std::unique_ptr<StepChooser> make_every(const EveryOptions& options);
/// The first step alone, which starts from the initial condition itself.
std::unique_ptr<StepChooser> make_first();
/// One step, each with the same probability.
std::unique_ptr<StepChooser> make_uniform_one();
/// The single step of largest utility, STAP's; of equals the last, as of make_exact(). The first
/// one where rollouts are not finite. With Search::quick mostly that step or one nearly as good.
std::unique_ptr<StepChooser> make_stap_one(const StapOneOptions& options = {});

}  // namespace stap
