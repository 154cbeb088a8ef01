#include <fmt/format.h>

#include "stap/acquire/methods.h"
#include "stap/acquire/planner.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using config::AnyOptions;

// Makers of a thing, with or without options, as a row keeps them.
template <class Made>
auto made(std::unique_ptr<Made> (*make)()) {
  return [make](const AnyOptions&, const MakeContext&) { return make(); };
}
template <class Options, class Made>
auto made(const config::Fields<Options>& (*fields)(),
          std::unique_ptr<Made> (*make)(const Options&)) {
  return [fields, make](const AnyOptions& options, const MakeContext&) {
    return make(options.as(fields()));
  };
}

config::Registry<SelectorRow>& selectors() {
  static config::Registry<SelectorRow> rows(
      "base", "which initial conditions to buy", config::Affects::method,
      {
          {{"random", "uniform without replacement", &no_fields()}, made(&make_random)},
          {{"qbc", "query by committee: largest spread of the members' rollouts first",
            &no_fields()},
           made(&make_qbc)},
          {{"sbal", "stochastic batch: drawn in proportion to a power of the spread",
            &sbal_fields()},
           made(&sbal_fields, &make_sbal)},
          {{"lcmd", "largest cluster maximum distance on sketched hidden activations",
            &sketch_fields()},
           made(&make_lcmd)},
          {{"core-set", "greedy k-centre: the candidate farthest from all that are known",
            &sketch_fields()},
           made(&make_core_set)},
      });
  return rows;
}

config::Registry<ChooserRow>& choosers() {
  static config::Registry<ChooserRow> rows(
      "steps", "which time steps of each to buy", config::Affects::method,
      {
          {{"full", "all steps: the full-trajectory baseline", &no_fields()}, made(&make_full)},
          {{"first", "the first step alone, from the initial condition itself", &no_fields()},
           made(&make_first)},
          {{"uniform-one", "one step, drawn uniformly", &no_fields()}, made(&make_uniform_one)},
          {{"stap", "search for the steps of largest variance reduction per step bought",
            &stap_fields()},
           made(&stap_fields, &make_stap)},
          {{"stap-one",
            "the single step of largest variance reduction, or one that is likely to be",
            &stap_one_fields()},
           made(&stap_one_fields, &make_stap_one)},
          {{"stap-mf",
            "as stap, with the averaged model instead of the other members: M rollouts per "
            "pattern instead of M(M-1)",
            &stap_fields()},
           made(&stap_fields, &make_stap_mf)},
          {{"exact",
            "the steps of largest variance reduction per step bought, of all patterns; at "
            "most 16 steps",
            &no_fields()},
           made(&make_exact)},
          {{"bernoulli", "every step with probability p", &bernoulli_fields()},
           made(&bernoulli_fields, &make_bernoulli)},
          {{"initial-bernoulli", "as many steps as bernoulli, from the first on",
            &bernoulli_fields()},
           made(&bernoulli_fields, &make_initial_bernoulli)},
          {{"every", "steps 1, 1 + k, 1 + 2k, ...", &every_fields()},
           made(&every_fields, &make_every)},
      });
  return rows;
}

config::Registry<PlannerRow>& planners() {
  static config::Registry<PlannerRow> rows(
      "planner", "methods that choose initial conditions and steps together",
      config::Affects::method, {});
  return rows;
}

// `method: NAME` must mean one thing.
void check_method_name(const std::string& name, bool taken, std::string_view by) {
  if (taken)
    throw Error(ErrorKind::config,
                fmt::format("the method '{}' cannot be added: there is a {} of that name; choose "
                            "another",
                            name, by));
}

}  // namespace

const config::Fields<NoOptions>& no_fields() {
  static const config::Fields<NoOptions> fields{};
  return fields;
}

const config::Registry<SelectorRow>& selector_table() {
  return selectors();
}
const config::Registry<ChooserRow>& chooser_table() {
  return choosers();
}
const config::Registry<PlannerRow>& planner_table() {
  return planners();
}

void add_selector(SelectorRow row) {
  check_method_name(row.name, planners().find(row.name) != nullptr, "planner");
  selectors().add(std::move(row));
}
void add_chooser(ChooserRow row) {
  choosers().add(std::move(row));
}
void add_planner(PlannerRow row) {
  check_method_name(row.name, selectors().find(row.name) != nullptr, "selector");
  planners().add(std::move(row));
}

}  // namespace stap
