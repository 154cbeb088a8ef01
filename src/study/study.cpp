#include "stap/study/study.h"

#include <algorithm>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/ic/ic.h"
#include "stap/pde/pde.h"
#include "stap/study/clusters.h"

namespace stap {
namespace {

const config::Family& family(std::string_view name) {
  for (const config::Family& f : study_families())
    if (f.name == name) return f;
  throw Error(ErrorKind::internal, fmt::format("there is no section {}", name));
}

// The row of a family's table that a section names, made by `make(row, options)`.
template <class Table, class Make>
auto make_named(const config::Value& effective, const char* section, const Table& table,
                const Make& make) {
  config::Complaints complaints;
  const config::Value* value = effective.find(section);
  const auto choice =
      config::choose(family(section), value != nullptr ? *value : config::Value(), complaints);
  complaints.throw_if_any();
  return make(table[choice->index], choice->options);
}

// One side of the + of a method: "name" or "name(key=value,...)".
config::Value parse_part(std::string_view text, std::string_view whole) {
  auto bad = [&](std::string_view why) {
    return Error(ErrorKind::config,
                 fmt::format("method '{}': {}; expected BASE or BASE+STEPS, each a name or "
                             "name(key=value,...), for example sbal+stap(proposals=10)",
                             whole, why));
  };
  const std::size_t open = text.find('(');
  config::Value section;
  section.set("name", text.substr(0, open));
  if (open == std::string_view::npos) {
    if (text.empty()) throw bad("a name is missing");
    return section;
  }
  if (!text.ends_with(')')) throw bad("a bracket is not closed");
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    config::apply_override(section, rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return section;
}

void add_differences(const config::Value* a, const config::Value* b, const std::string& path,
                     std::vector<std::string>& list) {
  const bool maps = a != nullptr && b != nullptr && a->is_map() && b->is_map();
  if (!maps) {
    if (a != nullptr && b != nullptr && *a == *b) return;
    auto text = [](const config::Value* v) {
      return v == nullptr ? std::string("nothing") : config::json_text(*v, 0);
    };
    list.push_back(fmt::format("{}: {} here, {} there", path, text(a), text(b)));
    return;
  }
  auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  for (const auto& member : *a->map())
    add_differences(&member.value, b->find(member.key), below(member.key), list);
  for (const auto& member : *b->map())
    if (a->find(member.key) == nullptr)
      add_differences(nullptr, &member.value, below(member.key), list);
}

}  // namespace

const config::Fields<StudyOptions>& study_fields() {
  using O = StudyOptions;
  static const config::Fields<O> fields{
      {"steps", &O::steps, "learned steps of a trajectory (L)", config::at_least(1)},
      {"cluster", &O::cluster,
       "states that a network takes and gives at once (k); steps and budget are multiples of it",
       config::at_least(1)},
      {"pool", &O::pool, "initial conditions to choose from", config::at_least(1)},
      {"test", &O::test, "test trajectories", config::at_least(1)},
      {"initial", &O::initial, "full trajectories to start with, drawn from the pool",
       config::at_least(1)},
      {"rounds", &O::rounds, "acquisitions (R); there are R + 1 trainings", config::at_least(0)},
      {"budget", &O::budget, "solver steps a round", config::at_least(1)},
      {"members", &O::members, "networks of the committee (M)", config::at_least(1)},
      {"data_seed", &O::data_seed, "seed of pool and test set"},
      {"seed", &O::seed, "seed of the initial draw, weights, shuffles and selection"},
      {"checkpoint_epochs", &O::checkpoint_epochs, "epochs between two checkpoints",
       config::at_least(1)},
      {"keep_committees", &O::keep_committees, "which rounds' networks stay on disk",
       config::choices<O::Keep>({{"last", O::Keep::last}, {"all", O::Keep::all}})},
      {"on_unstable", &O::on_unstable,
       "what becomes of the steps behind a query that is refused or fails: they stay unspent, or "
       "are spent on further trajectories in the same round",
       config::choices<OnUnstable>({{"drop", OnUnstable::drop}, {"refill", OnUnstable::refill}})},
      {"charge_failed", &O::charge_failed, "a query that fails costs a solver step"},
      {"trust_quantile", &O::trust_quantile,
       "trust band: refuse states of the mean model on which members are farther apart than on "
       "this share of the inputs bought so far; 0: no band",
       config::between(0, 1)},
  };
  return fields;
}

std::span<const config::Family> study_families() {
  static const config::Family rows[] = {
      config::named_family("pde", "the equation and its solver", pde_table()),
      config::named_family("initial", "how initial conditions are drawn", sampler_table()),
      config::plain_family("network", "shape of the Fourier neural operator", fno_fields()),
      config::plain_family("train", "how networks are trained", fit_fields()),
      config::plain_family("study", "sizes and seeds of a study", study_fields()),
      config::named_family("base", "which initial conditions to buy", selector_table()),
      config::named_family("steps", "which time steps of each to buy", chooser_table()),
      config::plain_family("compute", "where networks are computed", compute_fields()),
  };
  return rows;
}

void expand_method(config::Value& document) {
  const config::Value* method = document.find("method");
  if (method == nullptr) return;
  if (method->text() == nullptr)
    throw Error(ErrorKind::config, "method is not a text, expected for example sbal+stap");
  if (document.find("base") != nullptr || document.find("steps") != nullptr)
    throw Error(ErrorKind::config,
                "method is short for base and steps: give either method, or base and steps");
  const std::string text = *method->text();
  int depth = 0;
  std::size_t plus = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] == '+' && depth == 0) plus = std::min(plus, i);
  }
  const std::string_view whole = text;
  document.erase("method");
  document.set("base", parse_part(whole.substr(0, plus), whole));
  document.set("steps", parse_part(plus < whole.size() ? whole.substr(plus + 1) : "full", whole));
}

std::string method_text(const config::Value& effective) {
  auto part = [&](const char* section) {
    const config::Value& value = *effective.find(section);
    const std::string name = *value.find("name")->text();
    config::Value plain, document;
    plain.set("name", name);
    document.set(section, plain);
    config::Complaints ignored;
    const config::Value defaults = config::check({&family(section), 1}, document, ignored);
    std::string options;
    for (const auto& member : *value.map()) {
      const config::Value* usual = defaults.find(section)->find(member.key);
      if (usual != nullptr && *usual == member.value) continue;
      options += fmt::format("{}{}={}", options.empty() ? "" : ",", member.key,
                             config::json_text(member.value, 0));
    }
    return options.empty() ? name : fmt::format("{}({})", name, options);
  };
  const std::string steps = part("steps");
  return steps == "full" ? part("base") : part("base") + "+" + steps;
}

void check_together(const config::Value& effective, config::Complaints& complaints) {
  if (effective.find("pde") == nullptr) return;
  auto attempt = [&](const char* path, const auto& make) {
    try {
      return make();
    } catch (const Error& e) {
      complaints.add(path, e.what());
    }
    return decltype(make()){};
  };
  const auto solver = attempt("pde", [&] {
    return make_named(effective, "pde", pde_table(),
                      [](const PdeRow& row, const auto& o) { return row.make(o, 1); });
  });
  if (!solver) return;
  std::unique_ptr<Sampler> sampler;
  if (effective.find("initial") != nullptr)
    sampler = attempt("initial", [&] {
      return make_named(effective, "initial", sampler_table(), [&](const SamplerRow& row, auto& o) {
        return row.make(o, solver->grid());
      });
    });
  if (const config::Value* network = effective.find("network"))
    attempt("", [&] {  // its message names the key
      return make_shape(solver->grid(), config::read(fno_fields(), *network, "network"));
    });
  if (effective.find("study") == nullptr) return;
  const auto options = config::read(study_fields(), *effective.find("study"), "study");
  check_trajectory_clusters(options, sampler.get(), solver->dt(), complaints);
  if (effective.find("base") == nullptr || effective.find("steps") == nullptr) return;
  check_budget_clusters(options, complaints);
  if (options.initial >= options.pool)
    complaints.add("study.initial", fmt::format("is {}, but the pool has {} initial conditions: "
                                                "choose fewer or a larger pool",
                                                options.initial, options.pool));
  Study study{effective, options, {}, {}, {}};
  const auto selector = attempt("base", [&] { return make_selector(study, 1); });
  const auto chooser = attempt("steps", [&] { return make_chooser(study); });
  const int needed =
      std::max(selector ? selector->members_needed() : 1, chooser ? chooser->members_needed() : 1);
  if (options.members < needed)
    complaints.add("study.members", fmt::format("is {}, but {} compares members: at least {} are "
                                                "needed",
                                                options.members, method_text(effective), needed));
  if (options.trust_quantile > 0 && options.members < 2)
    complaints.add("study.trust_quantile",
                   fmt::format("is {}, but a trust band compares members and study.members is {}: "
                               "choose at least 2 members, or 0 for no band",
                               options.trust_quantile, options.members));
  const config::Value* compute = effective.find("compute");
  if (selector && selector->needs_cpu() && compute != nullptr &&
      uses_gpu(config::read(compute_fields(), *compute, "compute")))
    complaints.add("base.sketch",
                   "is gaussian, which the GPU does not have: choose sparse, or "
                   "compute.device: cpu");
  if (chooser && options.pattern_steps() > chooser->steps_most())
    complaints.add(
        "study.steps",
        fmt::format("is {}{}, but {} takes at most {} steps: choose stap instead, or fewer "
                    "steps",
                    options.steps,
                    options.cluster > 1 ? fmt::format(", {} clusters of {}",
                                                      options.pattern_steps(), options.cluster)
                                        : "",
                    chooser->name(), chooser->steps_most()));
}

Study make_study(config::Value document) {
  expand_method(document);
  config::Complaints complaints;
  Study study;
  study.effective = config::check(study_families(), document, complaints);
  for (const char* section : {"pde", "initial"})
    if (document.find(section) == nullptr)
      complaints.add(section, "is missing; 'stap list' shows what there is");
  if (document.find("base") == nullptr || document.find("steps") == nullptr)
    complaints.add("method", "is missing, expected for example method: sbal+stap");
  if (complaints.empty()) check_together(study.effective, complaints);
  complaints.throw_if_any();
  study.options = config::read(study_fields(), *study.effective.find("study"), "study");
  study.network = config::read(fno_fields(), *study.effective.find("network"), "network");
  study.train = config::read(fit_fields(), *study.effective.find("train"), "train");
  study.compute = config::read(compute_fields(), *study.effective.find("compute"), "compute");
  return study;
}

std::unique_ptr<Solver> make_solver(const Study& study, int threads) {
  return make_named(study.effective, "pde", pde_table(),
                    [&](const PdeRow& row, const auto& o) { return row.make(o, threads); });
}

std::unique_ptr<Selector> make_selector(const Study& study, int threads) {
  auto rhs_for = [&](const std::string& method) {
    if (study.options.cluster > 1)
      throw Error(ErrorKind::config,
                  fmt::format("{} looks at single steps, but study.cluster is {}: choose another "
                              "method, or cluster: 1",
                              method, study.options.cluster));
    return make_named(study.effective, "pde", pde_table(), [&](const PdeRow& row, const auto& o) {
      return make_rhs(row, o, threads, method);
    });
  };
  return make_named(study.effective, "base", selector_table(),
                    [&](const SelectorRow& row, const auto& o) {
                      return row.make(o, row.needs_rhs ? rhs_for(row.name) : nullptr);
                    });
}

std::unique_ptr<StepChooser> make_chooser(const Study& study) {
  return make_named(study.effective, "steps", chooser_table(),
                    [](const ChooserRow& row, const auto& o) { return row.make(o); });
}

std::vector<std::string> differences(const config::Value& here, const config::Value& there) {
  std::vector<std::string> list;
  add_differences(&here, &there, "", list);
  return list;
}

}  // namespace stap
