#include "stap/acquire/methods.h"

namespace stap {

std::span<const ChooserRow> chooser_table() {
  static const ChooserRow rows[] = {
      {{"full", "all steps: the full-trajectory baseline", &no_fields()},
       [](const config::Value& options) {
         config::read(no_fields(), options, "steps");
         return make_full();
       }},
      {{"stap", "search for the steps of largest variance reduction per step bought",
        &stap_fields()},
       [](const config::Value& options) {
         return make_stap(config::read(stap_fields(), options, "steps"));
       }},
      {{"stap-mf",
        "as stap, with the mean model in the place of the other members: M rollouts a "
        "pattern instead of M(M-1)",
        &stap_fields()},
       [](const config::Value& options) {
         return make_stap_mf(config::read(stap_fields(), options, "steps"));
       }},
      {{"exact",
        "the steps of largest variance reduction per step bought, of all patterns; at "
        "most 16 steps",
        &no_fields()},
       [](const config::Value& options) {
         config::read(no_fields(), options, "steps");
         return make_exact();
       }},
      {{"bernoulli", "every step with probability p", &bernoulli_fields()},
       [](const config::Value& options) {
         return make_bernoulli(config::read(bernoulli_fields(), options, "steps"));
       }},
      {{"initial-bernoulli", "as many steps as bernoulli, from the first on", &bernoulli_fields()},
       [](const config::Value& options) {
         return make_initial_bernoulli(config::read(bernoulli_fields(), options, "steps"));
       }},
      {{"every", "steps 1, 1 + k, 1 + 2k, ...", &every_fields()},
       [](const config::Value& options) {
         return make_every(config::read(every_fields(), options, "steps"));
       }},
  };
  return rows;
}

}  // namespace stap
