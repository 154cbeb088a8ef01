#include "stap/acquire/methods.h"

namespace stap {

const config::Fields<NoOptions>& no_fields() {
  static const config::Fields<NoOptions> fields{};
  return fields;
}

std::span<const SelectorRow> selector_table() {
  static const SelectorRow rows[] = {
      {{"random", "uniform without replacement", &no_fields()},
       [](const config::Value& options, std::unique_ptr<RightHandSide>) {
         config::read(no_fields(), options, "base");
         return make_random();
       }},
      {{"qbc", "query by committee: largest spread of the members' rollouts first", &no_fields()},
       [](const config::Value& options, std::unique_ptr<RightHandSide>) {
         config::read(no_fields(), options, "base");
         return make_qbc();
       }},
      {{"sbal", "stochastic batch: drawn in proportion to a power of the spread", &sbal_fields()},
       [](const config::Value& options, std::unique_ptr<RightHandSide>) {
         return make_sbal(config::read(sbal_fields(), options, "base"));
       }},
      {{"lcmd", "largest cluster maximum distance on sketched hidden activations",
        &sketch_fields()},
       [](const config::Value& options, std::unique_ptr<RightHandSide>) {
         return make_lcmd(config::read(sketch_fields(), options, "base"));
       }},
      {{"core-set", "greedy k-centre: the candidate farthest from all that are known",
        &sketch_fields()},
       [](const config::Value& options, std::unique_ptr<RightHandSide>) {
         return make_core_set(config::read(sketch_fields(), options, "base"));
       }},
      {{"residual",
        "rollouts farthest from obeying du/dt = F(u) first; experimental: at large learned steps "
        "mostly time-differencing error",
        &no_fields()},
       [](const config::Value& options, std::unique_ptr<RightHandSide> rhs) {
         config::read(no_fields(), options, "base");
         return make_residual(std::move(rhs));
       },
       true},
  };
  return rows;
}

}  // namespace stap
